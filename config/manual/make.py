#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the manual pages and the completions of bash.

usage: make.py --out FOLDER --version VERSION NAME=PROGRAM...

The options come from what each program prints for --help, so pages, completions and programs
agree. The other text of a page is in the file NAME.SECTION.txt beside this script; a page about a
configuration ends with the example in config/examples that its line `@EXAMPLE FILE@` names.
A program whose help lists subcommands with a purpose each gets a page for each of them.
"""
import argparse
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent / "examples"

OPTION = re.compile(
    r"^  (?:(?P<short>-\w) \[ (?P<long>--[\w-]+) \]|(?P<only>--?[\w-]+))"
    r"(?P<value> arg| [A-Z][^\s]*(?: [A-Z][^\s]*)*)?"
    r"(?: \(=(?P<default>[^)]*)\))?"
    r"(?:\s+(?P<text>\S.*))?$")
SUBCOMMAND = re.compile(r"^  (?P<name>[a-z][\w-]*) {2,}(?P<purpose>\S.*)$")


class Option:
    def __init__(self, match):
        self.long = match["long"] or match["only"]
        self.short = match["short"]
        self.value = (match["value"] or "").strip()
        self.default = match["default"]
        self.text = [match["text"]] if match["text"] else []

    def names(self):
        return [name for name in (self.short, self.long) if name]


class Help:
    """What a program prints for --help: options, subcommands, and all other lines in order."""

    def __init__(self, text):
        self.options = []
        self.subcommands = []
        self.before = []  # lines before the first option: the synopsis
        self.after = []
        indent = None
        for line in text.splitlines():
            option = OPTION.match(line)
            subcommand = SUBCOMMAND.match(line)
            if option:
                self.options.append(Option(option))
                indent = None
            elif self.options and indent is not False and re.match(r"^ {6,}\S", line):
                self.options[-1].text.append(line.strip())
            elif subcommand and not self.options:
                self.subcommands.append((subcommand["name"], subcommand["purpose"]))
            else:
                if self.options and line.strip() and not line.startswith(" "):
                    indent = False  # other text has begun
                if line.startswith("  ") or not line.endswith(":"):
                    (self.after if self.options else self.before).append(line)
        self.before = trimmed(self.before)
        self.after = trimmed(self.after)


def trimmed(lines):
    text = "\n".join(lines).strip("\n")
    return text.splitlines() if text.strip() else []


def help_of(words, needed=True):
    """Returns the Help that the program prints, or None if it prints none and need not."""
    done = subprocess.run([*words, "--help"], capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout:
        if not needed:
            return None
        sys.exit(f"make.py: {' '.join(words)} --help ended with {done.returncode}: {done.stderr}")
    return Help(done.stdout)


# Text of a page: paragraphs, headings `## NAME`, and literal blocks, which are indented by four.


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"\*\*(.+?)\*\*", r"\\fB\1\\fR", text)
    text = re.sub(r"`(.+?)`", r"\\fB\1\\fR", text)
    return "\n".join(("\\&" + line if line[:1] in (".", "'") else line) for line in text.split("\n"))


def literal(lines):
    text = "\n".join(lines).replace("\\", "\\e").replace("-", "\\-")
    safe = "\n".join(("\\&" + line if line[:1] in (".", "'") else line) for line in text.split("\n"))
    return [".PP", ".nf", *safe.split("\n"), ".fi"]


def body(text):
    lines = []
    for block in re.split(r"\n{2,}", text.strip("\n")):
        if block.startswith("## "):
            lines.append(".SH " + block[3:].strip())
        elif block.startswith("    "):
            lines += literal([line[4:] for line in block.split("\n")])
        elif block.startswith(": "):
            term, _, rest = block[2:].partition("\n")
            lines += [".TP", roff(term), roff(rest)]
        else:
            lines += [".PP", roff(block)]
    return lines


def option_lines(options):
    lines = [".SH OPTIONS"] if options else []
    for option in options:
        value = "" if not option.value else " \\fI" + roff(
            "VALUE" if option.value == "arg" else option.value) + "\\fR"
        names = ", ".join("\\fB" + roff(name) + "\\fR" for name in option.names())
        text = " ".join(option.text)
        if option.default is not None:
            text += f" (default {option.default})" if option.default else " (default: empty)"
        lines += [".TP", names + value, roff(text.strip() or "see above")]
    return lines


def header(title, section, version):
    return [f'.TH {title.upper()} {section} "" "s5066 {version}" "STANAG 5066"']


def page_of(source, section, version, about):
    """Returns the roff of a page; `about` is the Help of its program, or None."""
    name = source.name.split(f".{section}.txt")[0]
    text = source.read_text(encoding="utf-8")
    title, _, text = text.partition("\n")
    lines = header(name, section, version) + [".SH NAME", roff(f"{name} - {title.strip()}")]
    for part in re.split(r"^(@.*@)$", text, flags=re.M):
        if part.startswith("@EXAMPLE "):
            example = (EXAMPLES / part.strip("@").split()[1]).read_text(encoding="utf-8")
            lines += literal(example.rstrip("\n").split("\n"))
        elif part == "@HELP@":
            lines += [".SH SYNOPSIS", *literal(about.before or [f"{name} [OPTION]..."])]
            if about.subcommands:
                lines.append(".SH SUBCOMMANDS")
                for sub, purpose in about.subcommands:
                    lines += [".TP", f"\\fB{roff(sub)}\\fR", roff(purpose)]
            lines += option_lines(about.options)
            if about.after:
                requests = about.after[0].startswith("Requests")
                lines += [".SH REQUESTS" if requests else ".SH NOTES", *literal(about.after)]
        else:
            lines += body(part)
    return "\n".join(lines) + "\n"


def subcommand_page(program, section, name, purpose, about, version):
    lines = header(f"{program}-{name}", section, version)
    lines += [".SH NAME", roff(f"{program}-{name}") + " \\- " + roff(purpose), ".SH SYNOPSIS",
              *literal([line.removeprefix("usage: ") for line in about.before]),
              *option_lines(about.options)]
    if about.after:
        lines += [".SH NOTES", *literal(about.after)]
    lines += [".SH SEE ALSO", f"\\fB{roff(program)}\\fR({section})"]
    return "\n".join(lines) + "\n"


# Names of commands in a synopsis: "s5066-relay send    --config FILE ...".
def commands_in(program, about):
    pattern = re.compile(rf"^(?:usage: )?{re.escape(program)} (?:\[[^]]*\] )*([a-z][\w-]*)(?= |$)")
    found = [match[1] for line in about.before if (match := pattern.match(line))]
    return list(dict.fromkeys(found))


def completion(program, about, by_subcommand):
    function = "_" + re.sub(r"\W", "_", program)
    words = lambda options: " ".join(name for option in options for name in option.names())
    files = "|".join(sorted({name for each in (about, *by_subcommand.values())
                             for option in each.options if option.value for name in option.names()}))
    commands = [name for name, _ in about.subcommands] or commands_in(program, about)
    lines = [f"# Completion of {program} for bash.", f"{function}() {{",
             "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}",
             "  COMPREPLY=()"]
    if files:
        lines += ["  case $before in", f"    {files})",
                  "      mapfile -t COMPREPLY < <(compgen -f -- \"$word\")", "      return ;;",
                  "  esac"]
    lines += [f"  local words='{' '.join([*commands, words(about.options)]).strip()}'"]
    if by_subcommand:
        lines.append("  if ((COMP_CWORD > 1)); then")
        lines.append("    case ${COMP_WORDS[1]} in")
        for name, each in by_subcommand.items():
            lines.append(f"      {name}) words='{words(each.options)}' ;;")
        lines += ["    esac", "  fi"]
    lines += ["  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")",
              "  ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- \"$word\")", "}",
              f"complete -o filenames -F {function} {program}"]
    return "\n".join(lines) + "\n"


def section_of(program):
    sources = list(HERE.glob(f"{program}.[18].txt"))
    if not sources:
        sys.exit(f"make.py: no page of {program} in config/manual")
    return sources[0].name.rsplit(".", 2)[1]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("programs", nargs="+", metavar="NAME=PROGRAM")
    given = parser.parse_args()
    helps = {}
    for entry in given.programs:
        name, _, path = entry.partition("=")
        helps[name] = help_of([path])
        subs = {}
        for sub, purpose in helps[name].subcommands:
            about = help_of([path, sub], needed=False)
            if about is None:
                continue
            subs[sub] = about
            section = section_of(name)
            write(given.out / f"man/man{section}" / f"{name}-{sub}.{section}",
                  subcommand_page(name, section, sub, purpose, about, given.version))
        write(given.out / "completions" / name, completion(name, helps[name], subs))
    for source in sorted(HERE.glob("*.txt")):
        name, section, _ = source.name.rsplit(".", 2)
        about = helps.pop(name, None)
        if about is None and "@HELP@" in source.read_text(encoding="utf-8"):
            continue  # the program was not built
        write(given.out / f"man/man{section}" / f"{name}.{section}",
              page_of(source, section, given.version, about))


if __name__ == "__main__":
    main()
