#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares manual pages and completions with what the programs print for --help.

usage: manual.py MANUAL NAME=PROGRAM...

MANUAL is the folder that config/manual/make.py wrote. This script reads the help in a way of its
own, so that an option which make.py overlooks is found.
"""
import pathlib
import re
import subprocess
import sys

problems = []


def options_of(words):
    text = subprocess.run([*words, "--help"], capture_output=True, text=True, check=True).stdout
    lines = [line for line in text.splitlines() if re.match(r" {2}-", line)]
    return {re.search(r"--[a-z][a-z0-9-]*", line)[0] for line in lines if "--" in line}, text


def options_in_page(path):
    """The terms of the section OPTIONS, without the marks of roff."""
    text = path.read_text(encoding="utf-8").replace("\\-", "-")
    part = re.search(r"^\.SH OPTIONS\n(.*?)(?=^\.SH|\Z)", text, re.M | re.S)
    terms = re.findall(r"^\.TP\n(.*)$", part[1], re.M) if part else []
    return {option for term in terms for option in re.findall(r"--[a-z][a-z0-9-]*", term)}


def expect(right, text):
    if not right:
        problems.append(text)


def completed(script, words):
    """The words that bash offers for the last one of `words`."""
    line = (f"source {script}; COMP_WORDS=({' '.join(repr(word) for word in words)}); "
            f"COMP_CWORD={len(words) - 1}; _{re.sub(r'[^A-Za-z0-9]', '_', words[0])}; "
            "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    expect(not done.stderr, f"{script}: {done.stderr}")
    return set(done.stdout.split())


def compare(manual, name, words, page, before):
    wanted, _ = options_of(words)
    expect(bool(wanted), f"{' '.join(words)} --help shows no options")
    if not page.exists():
        problems.append(f"{page} does not exist")
        return
    shown = options_in_page(page)
    expect(wanted == shown, f"{page.name}: --help and page differ in {sorted(wanted ^ shown)}")
    offered = completed(manual / "completions" / name, [*before, "--"])
    expect(wanted <= offered, f"completion of {' '.join(before)}: no {sorted(wanted - offered)}")


def main():
    manual = pathlib.Path(sys.argv[1])
    for entry in sys.argv[2:]:
        name, _, program = entry.partition("=")
        pages = list((manual / "man").glob(f"man[18]/{name}.[18]"))
        if len(pages) != 1:
            problems.append(f"{len(pages)} pages of {name}")
            continue
        _, text = options_of([program])
        help_lists = re.findall(r"^  ([a-z][a-z-]*) {2,}\S", text.partition("\n  -")[0], re.M)
        if help_lists:
            for sub in help_lists:
                page = pages[0].with_name(f"{name}-{sub}{pages[0].suffix}")
                compare(manual, name, [program, sub], page, [name, sub])
            offered = completed(manual / "completions" / name, [name, ""])
            expect(set(help_lists) <= offered, f"completion of {name} offers only {offered}")
        else:
            compare(manual, name, [program], pages[0], [name])
    print("\n".join(problems) or "pages, completions and programs agree")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
