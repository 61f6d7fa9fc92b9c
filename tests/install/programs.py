#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every installed program and holds it to what all of them promise.

usage: programs.py VERSION NAME=PROGRAM...
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

VERSION = ""
PROGRAMS = {}

# Commands that list something, for which there is a form for programs.
LISTS = {
    "hfmodem": [["modes", "--json"], ["devices", "--json"]],
    "s5066d": [["status", "--json", "--control", "NOWHERE"]],
    "s5066-relay": [["status", "--json", "--config", "RELAY"]],
    "s5066-acp142": [["queue", "--json", "--config", "MAIL"]],
    "s5066-ip": [["status", "--json", "--config", "IP"]],
}
# One mistake for each program that has a configuration, and its place.
MISTAKES = {
    "s5066d": ('address: "1.2.3.4"\nmodem { mode: "110a-300-lnog" cable { socket: "/x" } }\n',
               ':2:9: mode: "110a-300-lnog" is no mode; `hfmodem modes` lists them; did you mean 110a-300-long?'),
    "s5066-relay": ('spool_directory: "/none/x"\ninbox_directory: "/tmp"\n',
                    ':1:1: spool_directory: "/none/x" does not exist; make it: mkdir -p /none/x'),
    "s5066-acp142": ('node_id: "10.1.1.1" spool_directory: "/tmp"\n'
                     'smtp { tls { certificate_file: "/none" key_file: "/none" } }\n',
                     ':2:14: certificate_file: "/none" does not exist'),
    "s5066-ip": ('interface { name: "lo" }\n', ':1:13: name: lo is an interface of another kind'),
}


def call(words, **options):
    return subprocess.run(words, capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=60, **options)


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {"PATH": os.environ["PATH"], "S5066_CONFIG": str(self.folder)}

    def test_help_is_printed_by_both_options(self):
        for name, program in PROGRAMS.items():
            long, short = call([program, "--help"]), call([program, "-h"])
            self.assertEqual((long.returncode, long.stderr), (0, ""), name)
            self.assertIn(name, long.stdout)
            self.assertEqual(short.stdout, long.stdout, name)

    def test_the_version_is_one_line_with_the_commit_that_is_known(self):
        for name, program in PROGRAMS.items():
            done = call([program, "--version"])
            self.assertEqual(done.returncode, 0, done.stderr)
            called = "s5066d" if name == "s5066" else name
            self.assertRegex(done.stdout, rf"^{called} {re.escape(VERSION)}( \([0-9a-f]{{8,}}\))?\n$")

    def test_an_output_that_cannot_be_written_is_status_1(self):
        for name, program in PROGRAMS.items():
            for words in (["--help"], ["--version"]):
                with open("/dev/full", "w", encoding="utf-8") as full:
                    done = subprocess.run([program, *words], stdout=full, check=False, text=True,
                                          stderr=subprocess.PIPE, timeout=60)
                self.assertEqual(done.returncode, 1, f"{name} {words}")
                self.assertRegex(done.stderr, "could not be written|write error")

    def test_wrong_arguments_are_status_2_and_name_what_was_meant(self):
        for name, program in PROGRAMS.items():
            done = call([program, "--hepl"], env=self.environment)
            self.assertEqual((done.returncode, done.stdout), (2, ""), name + done.stderr)
            self.assertIn("--hepl", done.stderr)
            self.assertIn("--help", done.stderr)
            done = call([program, "no-such-command"], env=self.environment)
            self.assertEqual((done.returncode, done.stdout), (2, ""), name + done.stderr)
            self.assertIn("no-such-command", done.stderr, name)
            self.assertEqual(call([program], env=self.environment).returncode, 2, name)

    def configuration(self, name, text):
        file = self.folder / f"{name}.textproto"
        file.write_text(text, encoding="utf-8")
        return str(file)

    def test_lists_have_a_form_for_programs(self):
        spool = self.folder / "spool"
        spool.mkdir()
        files = {
            "RELAY": self.configuration(
                "r", f'spool_directory: "{spool}" inbox_directory: "{self.folder}"'),
            "MAIL": self.configuration("m", f'spool_directory: "{spool}" node_id: "10.1.1.1"'),
            "IP": self.configuration("i", 'control { socket: "/none/c" }'),
            "NOWHERE": "/none/c"}
        for name, program in PROGRAMS.items():
            for words in LISTS.get(name, []):
                done = call([program, *[files.get(word, word) for word in words]])
                self.assertIn(done.returncode, (0, 1), done.stderr)
                if done.stdout:
                    self.assertRegex(done.stdout, r"^[\[{]", f"{name} {words}")

    def test_check_finds_a_mistake_with_place_value_and_cure(self):
        for name, program in PROGRAMS.items():
            if name not in MISTAKES:
                continue
            text, wanted = MISTAKES[name]
            file = self.configuration("x", text)
            for command in ("check", "run"):
                done = call([program, command, "--config", file])
                status, message = 2, wanted
                if command == "run" and "mkdir" in wanted:
                    # The folder may be mounted later, so that a restart can cure it.
                    status, message = 1, wanted.replace(": ", ": warning: ", 1)
                self.assertEqual(done.returncode, status, f"{name} {command}: {done.stderr}")
                self.assertIn(file + message, done.stderr)

    def test_the_default_configuration_is_that_of_the_only_station(self):
        self.configuration("shore", MISTAKES["s5066d"][0])
        for name, suffix in (("s5066d", ""), ("s5066-relay", "-relay"), ("s5066-acp142", "-mail"),
                             ("s5066-ip", "-ip")):
            file = self.configuration("shore" + suffix, MISTAKES[name][0])
            done = call([PROGRAMS[name], "check"], env=self.environment)
            self.assertEqual(done.returncode, 2)
            self.assertIn(file + MISTAKES[name][1], done.stderr)


if __name__ == "__main__":
    VERSION = sys.argv[1]
    PROGRAMS = dict(word.split("=", 1) for word in sys.argv[2:])
    # The command s5066 looks for the others beside itself and on the path.
    folders = [os.path.dirname(program) for program in PROGRAMS.values()]
    os.environ["PATH"] = os.pathsep.join([*folders, os.environ["PATH"]])
    unittest.main(argv=sys.argv[:1])
