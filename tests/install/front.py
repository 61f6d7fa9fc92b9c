#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the command s5066 with programs that print how they were called.

usage: front.py PATH_OF_S5066
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

FRONT = sys.argv.pop(1)
PROGRAMS = ("s5066d", "s5066-relay", "s5066-acp142", "s5066-ip", "hfmodem", "s5066-chat", "sis_cat")
NODE = 'address: "1.2.0.1"  # a control { socket: "/no" }\ncontrol {\n  socket: "/run/c"\n}\n'


class Front(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "bin").mkdir()
        (self.folder / "etc").mkdir()
        shutil.copy(FRONT, self.folder / "bin/s5066")
        for name in PROGRAMS:
            stub = self.folder / "bin" / name
            stub.write_text('#!/bin/sh\necho "$(basename "$0")" "$@"\nexit ${STUB_STATUS:-0}\n')
            stub.chmod(0o755)
        self.configure("shore", NODE)

    def configure(self, name, text=""):
        (self.folder / "etc" / f"{name}.textproto").write_text(text)

    def call(self, *words, status=0, **variables):
        done = subprocess.run(
            [str(self.folder / "bin/s5066"), *words], capture_output=True, text=True, check=False,
            env={"PATH": os.environ["PATH"], "S5066_CONFIG": str(self.folder / "etc"),
                 "S5066_CHECK_AS_ROOT": "yes",
                 **variables})
        self.assertEqual(done.returncode, status, done.stderr)
        return (done.stdout or done.stderr).replace(str(self.folder / "etc"), "ETC")

    def test_a_request_goes_to_the_only_station(self):
        self.assertEqual(self.call("station", "queue", "to=1.2.3.4"),
                         "s5066d --config ETC/shore.textproto queue to=1.2.3.4\n")
        for option in "--control=/c", "--config=x":
            self.assertEqual(self.call("station", "status", option), f"s5066d status {option}\n")

    def test_gateways_get_the_configuration_of_the_station(self):
        self.configure("shore-relay")
        self.configure("shore-mail")
        self.assertEqual(self.call("file", "send", "--to", "1.2.0.2", "a b"),
                         "s5066-relay send --to 1.2.0.2 a b --config ETC/shore-relay.textproto\n")
        self.assertEqual(self.call("mail", "queue"),
                         "s5066-acp142 queue --config ETC/shore-mail.textproto\n")
        self.assertEqual(self.call("mail", "queue", "--config=x"),
                         "s5066-acp142 queue --config=x\n")

    def test_one_of_several_stations_is_named(self):
        self.configure("ship", NODE)
        self.assertEqual(self.call("station", "status", status=2),
                         "s5066: name one of the stations with -S: ship shore\n")
        wanted = "s5066d --config ETC/ship.textproto status\n"
        self.assertEqual(self.call("-S", "ship", "station", "status"), wanted)
        self.assertEqual(self.call("--station=ship", "station", "status"), wanted)
        self.assertEqual(self.call("station", "status", S5066_STATION="ship"), wanted)

    def test_a_configuration_that_was_not_completed_is_no_station(self):
        self.configure("station", '# address: "1.2.0.1"\ncontrol { socket: "/run/d" }\n')
        self.assertEqual(self.call("station", "status"),
                         "s5066d --config ETC/shore.textproto status\n")

    def test_check_calls_all_and_keeps_the_failure(self):
        self.configure("shore-relay")
        self.configure("shore-mail", "# routes\n")
        both = ("s5066d check --config ETC/shore.textproto\n"
                "s5066-relay check --config ETC/shore-relay.textproto\n")
        self.assertEqual(self.call("check"), both + "the configurations of shore are good\n")
        self.assertEqual(self.call("check", status=2, STUB_STATUS="2"), both)
        self.configure("shore-mail", "routes { }\n")
        self.configure("shore-ip")
        self.assertIn("s5066-acp142 check", self.call("check"))
        self.assertIn("s5066-ip check -q", self.call("check", "-q"))
        self.assertNotIn("are good", self.call("check", "-q"))

    def test_check_without_a_name_calls_all_stations(self):
        self.configure("ship", NODE)
        self.configure("shore-relay")
        ship = "s5066d check --config ETC/ship.textproto\n"
        shore = ("s5066d check --config ETC/shore.textproto\n"
                 "s5066-relay check --config ETC/shore-relay.textproto\n")
        self.assertEqual(self.call("check"), ship + "the configurations of ship are good\n" +
                         shore + "the configurations of shore are good\n")
        self.assertEqual(self.call("check", status=2, STUB_STATUS="2"), ship + shore)
        self.assertEqual(self.call("-S", "ship", "check", "-q"),
                         "s5066d check -q --config ETC/ship.textproto\n")

    def test_the_other_programs_get_their_words(self):
        self.assertEqual(self.call("modem", "doctor", "--loop"), "hfmodem doctor --loop\n")
        self.assertEqual(self.call("chat", "--stay"), "s5066-chat --stay\n")
        self.assertEqual(self.call("cat", "-l"), "sis_cat -l\n")
        self.assertEqual(self.call("file", "--help"), "s5066-relay --help\n")
        self.assertEqual(self.call("--version"), "s5066d --version\n")

    def test_mistakes_are_named(self):
        for words, told in (
                (["fiel"], "cat and chat; did you mean file?"), (["-x"], "no such option: -x"),
                (["-S"], "-S needs a name"), (["-S", "../x", "check"], "has no slash: ../x"),
                (["file", "queue"], "there is no ETC/shore-relay.textproto"), ([], "station REQ")):
            self.assertIn(told, self.call(*words, status=2))
        (self.folder / "etc/shore.textproto").unlink()
        self.assertIn("no station is configured in ETC", self.call("check", status=2))


if __name__ == "__main__":
    unittest.main()
