#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Switches one of three stations off: no other mail waits for it, and every report is on time.

Alpha, Bravo and Charlie share one audio cable, each with an s5066d, a file relay and a mail
gateway. Charlie is off. Alpha has mail of every precedence and files for Charlie, enough to fill
each limit that applies to all stations together, and then mail and a file for Bravo. The test
checks:

1. Bravo gets all of its mail and its file while everything for Charlie still waits.
2. Every message for Charlie ends in one report to its sender once its lifetime is over, and none
   for Bravo does.
3. Every request of an operator is answered meanwhile.
4. When Charlie is switched on, it gets its files and a new message.

Usage: absent_station.py --build DIR [--keep]
"""
import argparse
import email
import email.policy
import json
import pathlib
import re
import shutil
import smtplib
import subprocess
import sys
import tempfile
import time
from email.message import EmailMessage

SOURCE = pathlib.Path(__file__).resolve().parents[3]
STATIONS = ["alpha", "bravo", "charlie"]
PRECEDENCES = [-4, 0, 4, 6]  # MT-PRIORITY: routine to flash
ROUTINE = 12                 # messages for the absent station, more than a few slots hold
FILES = 6
# The mail gateways use the wall clock. The cable is many times faster on an idle machine and slower
# on a busy one, so the lifetime allows eight rounds and more: 6 s after the first, then half as
# long again each time.
ACK_WAIT_S = 5
LIFETIME_S = 120             # of every message
PATIENCE_S = 400  # for each wait; far more than a slow machine takes


class Failure(Exception):
    pass


def check(truth, what):
    if not truth:
        raise Failure(what)


class World:
    def __init__(self, build, stations=STATIONS, way="", mail=""):
        """`way`: settings of each entry of `stations` in the mail gateways; `mail`: their others."""
        self.build = pathlib.Path(build)
        self.stations = stations
        self.way = way
        self.mail_settings = mail
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="s5066-absent-"))
        self.processes = {}
        self.mailbox = {}

    def program(self, name):
        places = {"s5066d": "s5066d", "hfmodem": "modem/tools", "s5066-relay": "gateways/file_relay",
                  "s5066-acp142": "gateways/acp142"}
        return str(self.build / places[name] / name)

    def start(self, name, *command):
        log = open(self.folder / f"{name}.log", "ab")
        self.processes[name] = subprocess.Popen([str(word) for word in command], cwd=self.folder,
                                                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self):
        for process in reversed(list(self.processes.values())):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()

    def ask(self, program, *arguments):
        return subprocess.run([self.program(program), *arguments], cwd=self.folder,
                              capture_output=True, text=True, timeout=60, check=False)

    def everyone_alive(self):
        for name, process in self.processes.items():
            check(process.poll() is None, f"{name} ended with status {process.returncode}")

    def wait_for(self, what, condition):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            self.everyone_alive()
            check(time.monotonic() < end, f"no {what}")
            time.sleep(0.2)

    # --- Stations ---

    def start_cable(self):
        self.start("cable", self.program("hfmodem"), "cable", "--socket", "cable.sock",
                   "--stations", len(self.stations), "--pace", "max")
        self.wait_for("cable", (self.folder / "cable.sock").exists)

    def start_radio(self, name):
        """Starts a receiver in place of a station, because an open end stops the cable's clock."""
        self.start(f"{name}-radio", self.program("hfmodem"), "scope", "--cable", "cable.sock",
                   "--station", self.stations.index(name))

    def stop_radio(self, name):
        radio = self.processes.pop(f"{name}-radio")
        radio.terminate()
        radio.wait(30)

    def start_station(self, name):
        number = self.stations.index(name) + 1
        for kind in ["spool", "inbox", "mail", "box"]:
            (self.folder / f"{name}-{kind}").mkdir()
        self.write(f"{name}-node", f"""
            address: "1.2.0.{number}"
            modem {{ mode: "110a-2400-short"
                     cable {{ socket: "cable.sock" station: {number - 1} }} }}
            data_transfer {{ adaptation {{ enabled: false }} }}
            sis {{ port: 0 }}
            control {{ socket: "{name}.control" }}""")
        self.start(name, self.program("s5066d"), "--config", f"{name}-node.textproto")
        self.wait_for(f"answer of {name}", lambda: self.status(name).returncode == 0)
        port = json.loads(self.status(name).stdout)["sis_port"]
        self.write(f"{name}-relay", f"""
            sis {{ port: {port} }}
            spool_directory: "{name}-spool" inbox_directory: "{name}-inbox"
            control {{ socket: "{name}-relay.control" }}
            node_control {{ socket: "{name}.control" }}
            retry_delay_max_s: 600 attempts_max: 10000""")
        self.start(f"{name}-relay", self.program("s5066-relay"), "run", "--config",
                   f"{name}-relay.textproto")
        self.start(f"{name}-mailbox", sys.executable, SOURCE / "config/back-to-back/mail.py",
                   "serve", f"{name}-box")
        self.wait_for("mailbox", (self.folder / f"{name}-box" / "port").exists)
        server = (self.folder / f"{name}-box" / "port").read_text()
        others = "".join(
            f"""stations {{ name: "{other}" node_id: "10.1.1.{at + 1}" address: "1.2.0.{at + 1}"
                             {self.way} }}
                routes {{ pattern: "{other}.example" stations: "{other}" }}"""
            for at, other in enumerate(self.stations) if other != name)
        self.write(f"{name}-mail", f"""
            sis {{ port: {port} }}
            spool_directory: "{name}-mail"
            control {{ socket: "{name}-mail.control" }}
            node_id: "10.1.1.{number}" hostname: "gateway.{name}.example"
            smtp {{ port: 0 }}
            mail_server {{ port: {server} }}
            {others}
            {self.mail_settings}
            routes {{ pattern: "{name}.example" own: true }}
            lifetimes {{ flash_s: {LIFETIME_S} immediate_s: {LIFETIME_S}
                         priority_s: {LIFETIME_S} routine_s: {LIFETIME_S} }}
            ack_wait_s: {ACK_WAIT_S}
            receiving {{ ack_slot_ms: 1000 }}
            dead_delay_min_s: 3600
            line_rate_bps: 2400""")
        self.start(f"{name}-mail", self.program("s5066-acp142"), "run", "--config",
                   f"{name}-mail.textproto")
        self.wait_for("mail gateway",
                      lambda: '"bound": true' in self.mail(name, "status").stdout)

    def write(self, name, text):
        (self.folder / f"{name}.textproto").write_text(text)

    # --- What users and operators do ---

    def status(self, name):
        return self.ask("s5066d", "--control", f"{name}.control", "--status", "--json")

    def mail(self, name, verb, *words):
        return self.ask("s5066-acp142", verb, "--json", "--config", f"{name}-mail.textproto", *words)

    def relay(self, name, verb, *words):
        return self.ask("s5066-relay", verb, "--config", f"{name}-relay.textproto", *words)

    def send_mail(self, to, subject, priority):
        port = json.loads(self.mail("alpha", "status").stdout)["smtp_port"]
        message = EmailMessage()
        message["From"] = "op@alpha.example"
        message["To"] = f"op@{to}.example"
        message["Subject"] = subject
        message["Message-ID"] = f"<{subject}@alpha.example>"
        message.set_content("One line of text.\n")
        with smtplib.SMTP("127.0.0.1", int(port)) as server:
            server.ehlo()
            options = [f"MT-PRIORITY={priority}"] if server.has_extn("mt-priority") else []
            server.send_message(message, mail_options=options)

    def send_file(self, to, name, octets):
        (self.folder / name).write_bytes(bytes(i * 37 % 251 for i in range(octets)))
        address = f"1.2.0.{STATIONS.index(to) + 1}"
        sent = self.relay("alpha", "send", "--to", address, name)
        check(sent.returncode == 0, f"send {name}: {sent.stderr}")

    def box(self, name):
        """Returns the messages in a station's mailbox."""
        return [email.message_from_bytes(path.read_bytes(), policy=email.policy.SMTP)
                for path in sorted((self.folder / f"{name}-box").glob("*.eml"))]

    def subjects(self, name):
        return sorted(str(message["Subject"]) for message in self.box(name))

    def inbox(self, name):
        inbox = self.folder / f"{name}-inbox"
        return sorted(path.name for path in inbox.iterdir() if path.is_file())

    def look(self):
        """Sends every request that an operator uses."""
        for answer in [self.mail("alpha", "queue"), self.mail("alpha", "stations"),
                       self.mail("alpha", "status"), self.relay("alpha", "list"),
                       self.status("alpha")]:
            check(answer.returncode == 0, f"{answer.args}: {answer.stderr}")


def reports(world):
    """Returns the Message-IDs in the reports to the sender at Alpha."""
    found = []
    for message in world.box("alpha"):
        check(message.get_content_type() == "multipart/report", f"not a report: {message['Subject']}")
        found += re.findall(r"<((?:absent|present)[^<>@\s]*)@alpha\.example>", message.as_string())
    return sorted(set(found))


def run(world):
    world.start_cable()
    world.start_radio("charlie")
    for name in ["alpha", "bravo"]:
        world.start_station(name)
    absent = [f"absent-{n}" for n in range(ROUTINE)]
    for subject in absent:
        world.send_mail("charlie", subject, 0)
    for priority in PRECEDENCES:
        absent.append(f"absent-priority{priority}")
        world.send_mail("charlie", absent[-1], priority)
    for n in range(FILES):
        world.send_file("charlie", f"absent-{n}.bin", 3000)
    world.look()

    present = []
    for priority in PRECEDENCES:
        present.append(f"present-priority{priority}")
        world.send_mail("bravo", present[-1], priority)
    world.send_file("bravo", "present.bin", 7)
    world.wait_for("mail and file at Bravo", lambda: (
        world.subjects("bravo") == sorted(present) and world.inbox("bravo") == ["present.bin"]))
    check(not world.box("alpha"), "something for the absent station ended before all for the other")
    mails = json.loads(world.mail("alpha", "queue").stdout)["mails"]
    waiting = [mail for mail in mails if "charlie" in mail["waits_for"]]
    check(len(waiting) >= len(absent), f"not all of it waits:\n{mails}")
    world.look()

    world.wait_for("report for each message", lambda: len(reports(world)) >= len(absent))
    check(reports(world) == sorted(absent), f"reports of {reports(world)}")
    check(len(world.box("alpha")) == len(absent), "more than one report for a message")
    check(world.subjects("bravo") == sorted(present), "Bravo has something twice")
    world.look()

    world.stop_radio("charlie")
    world.start_station("charlie")
    world.send_mail("charlie", "back", 6)
    files = [f"absent-{n}.bin" for n in range(FILES)]
    world.wait_for("files at Charlie", lambda: world.inbox("charlie") == files)
    world.wait_for("mail at Charlie", lambda: "back" in world.subjects("charlie"))
    check(world.subjects("charlie") == ["back"], "Charlie got what had been reported as failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="folder of the programs")
    parser.add_argument("--keep", action="store_true", help="leave the logs also after success")
    given = parser.parse_args()
    world = World(pathlib.Path(given.build).resolve())
    good = False
    try:
        run(world)
        good = True
    except Failure as problem:
        print(f"absent_station.py: {problem}", file=sys.stderr)
    finally:
        world.stop()
    if good and not given.keep:
        shutil.rmtree(world.folder)
    else:
        print(f"logs stay in {world.folder}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
