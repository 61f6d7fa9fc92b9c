#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every installed program and holds it to what all of them promise.

usage: programs.py VERSION NAME=PROGRAM...
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

VERSION = ""
PROGRAMS = {}

# Commands that list something, of programs that need no daemon and of running daemons. The form for
# programs is a document, or a document on each line.
LISTS = {
    "hfmodem": ["modes", "devices"],
    "s5066d": ["status", "counters", "events", "queue", "help"],
    "s5066-relay": ["status", "counters", "events", "queue", "queue --all", "list", "incoming",
                    "received", "show 1"],
    "s5066-acp142": ["status", "counters", "events", "queue", "queue --all", "stations",
                     "emcon show"],
    "s5066-ip": ["status", "table", "flows", "queue", "counters", "events"],
}
LINES = {"hfmodem"}  # a document on each line
# Lists whose form for programs may have no line here.
MAY_BE_EMPTY = {("hfmodem", "devices")}
# Commands without further words that list nothing.
NO_LISTS = {"run", "check", "watch", "pause", "resume", "send", "delete", "requeue", "reload", "purge"}
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


class Station(unittest.TestCase):
    """A station whose daemons run: s5066d with an audio cable, the file relay and the mail gateway."""

    def setUp(self):
        # A path of a socket has at most 107 octets.
        self.folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {"PATH": os.environ["PATH"], "S5066_CONFIG": str(self.folder)}
        at = self.folder
        for name in ("spool", "inbox", "mail"):
            (at / name).mkdir()
        (at / "x.textproto").write_text(
            f'address: "1.2.0.1" modem {{ mode: "110a-2400-short" cable {{ socket: "{at}/cable" }} }}\n'
            f'sis {{ port: 0 local {{ socket: "{at}/sis" }} }} control {{ socket: "{at}/c" }}\n',
            encoding="utf-8")
        (at / "x-relay.textproto").write_text(
            f'sis {{ socket: "{at}/sis" }} spool_directory: "{at}/spool" inbox_directory: "{at}/inbox"\n'
            f'control {{ socket: "{at}/relay-c" }}\n', encoding="utf-8")
        (at / "x-mail.textproto").write_text(
            f'sis {{ socket: "{at}/sis" }} spool_directory: "{at}/mail" node_id: "10.1.1.1"\n'
            f'smtp {{ port: 0 }} control {{ socket: "{at}/mail-c" }}\n', encoding="utf-8")
        self.start("hfmodem", ["cable", "--socket", str(at / "cable"), "--stations", "1"], at / "cable")
        self.start("s5066d", ["run"], at / "c", at / "sis")
        self.start("s5066-relay", ["run"], at / "relay-c")
        self.start("s5066-acp142", ["run"], at / "mail-c")
        # Only root makes interfaces.
        self.has_ip = os.geteuid() == 0 and os.path.exists("/dev/net/tun")
        if self.has_ip:
            (at / "x-ip.textproto").write_text(
                f'sis {{ socket: "{at}/sis" }} interface {{ name: "s66t{os.getpid() % 100000}" }}\n'
                'routes { prefix: "10.2.0.0/16" station: "1.2.0.2" }\n'
                f'control {{ socket: "{at}/ip-c" }}\n', encoding="utf-8")
            self.start("s5066-ip", ["run"], at / "ip-c")

    def start(self, name, words, *sockets):
        log = self.folder / f"{name}.log"
        with open(log, "w", encoding="utf-8") as out:
            process = subprocess.Popen([PROGRAMS[name], *words], env=self.environment, stdout=out,
                                       stderr=out, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.terminate)
        deadline = time.monotonic() + 60
        while not all(socket.exists() for socket in sockets):
            if process.poll() is not None or time.monotonic() > deadline:
                self.fail(f"{name} did not start: {log.read_text(encoding='utf-8')}")
            time.sleep(0.05)

    def ask(self, name, words, stdout=subprocess.PIPE):
        return subprocess.run([PROGRAMS[name], *words], env=self.environment, stdout=stdout,
                              stderr=subprocess.PIPE, text=True, check=False, timeout=60,
                              stdin=subprocess.DEVNULL)

    def put_a_file(self):
        file = self.folder / "file"
        file.write_text("text", encoding="utf-8")
        done = self.ask("s5066-relay", ["put", "--to", "1.2.0.2", str(file)])
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_each_list_is_a_table_or_json_and_status_1_when_it_cannot_be_written(self):
        self.put_a_file()
        for name, commands in LISTS.items():
            if name == "s5066-ip" and not self.has_ip:
                continue
            for command in commands:
                with self.subTest(f"{name} {command}"):
                    self.check_list(name, command)

    def check_list(self, name, command):
        table = self.ask(name, command.split())
        self.assertEqual((table.returncode, table.stderr), (0, ""))
        json_form = self.ask(name, [*command.split(), "--json"])
        self.assertEqual((json_form.returncode, json_form.stderr), (0, ""))
        texts = json_form.stdout.splitlines() if name in LINES else [json_form.stdout]
        for text in texts:
            self.assertIsInstance(json.loads(text), dict)
        self.assertNotEqual(table.stdout.strip(), "")
        self.assertRaises(ValueError, json.loads, table.stdout)
        for form in ([], ["--json"]):
            if form and not texts:
                self.assertIn((name, command), MAY_BE_EMPTY)
                continue
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = self.ask(name, [*command.split(), *form], stdout=full)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("could not be written", done.stderr)

    def test_check_is_status_1_when_its_output_cannot_be_written(self):
        for name in LISTS:
            if name in LINES or (name == "s5066-ip" and not self.has_ip):
                continue
            done = self.ask(name, ["check", "-v"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("good", done.stdout, name)
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = self.ask(name, ["check", "-v"], stdout=full)
            self.assertEqual(done.returncode, 1, name + done.stderr)

    def test_every_command_without_words_is_known_as_a_list_or_as_none(self):
        """The help of a program names each list, so that LISTS misses none."""
        for name, commands in LISTS.items():
            if name in LINES:
                continue
            known = {command.split()[0] for command in commands}
            listed = set(re.findall(rf"^(?:{name}| ) ([a-z]+)(?:$| {{2,}}\S| \[)",
                                    self.ask(name, ["--help"]).stdout, re.M))
            self.assertIn("status", listed)
            for command in sorted(listed - known - NO_LISTS):
                self.fail(f"`{name} {command}` is in neither LISTS nor NO_LISTS")


if __name__ == "__main__":
    VERSION = sys.argv[1]
    PROGRAMS = dict(word.split("=", 1) for word in sys.argv[2:])
    # The command s5066 looks for the others beside itself and on the path.
    folders = [os.path.dirname(program) for program in PROGRAMS.values()]
    os.environ["PATH"] = os.pathsep.join([*folders, os.environ["PATH"]])
    unittest.main(argv=sys.argv[:1])
