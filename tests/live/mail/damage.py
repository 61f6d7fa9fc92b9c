#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damages the spools of a file relay and of two mail gateways while they run. Mail goes by UDP
multicast on the loopback interface.

Each program ends with status 3 and is started again, as its unit does. It must recover its spool
without help and go on: no message may come twice, each that does not come must be named in the
report to the operator's mailbox, and only messages whose pages were damaged may be missing.
"""

import argparse
import pathlib
import random
import re
import smtplib
import subprocess
import sys
import tempfile

from udp import Station, in_a_namespace, until

MESSAGES = 80
OCTETS = 100_000  # of a message or file, so that the spool is larger than what SQLite keeps in memory
DAMAGED = [10, 20, 30]
PAGE = 4096


def message(number, randomness):
    body = "\r\n".join(randomness.randbytes(35).hex() for _ in range(OCTETS // 72))
    return f"Subject: {number}\r\nMessage-ID: <{number:04d}@t>\r\n\r\nmark-{number:04d}\r\n{body}"


def overwrite_pages_with(station, text):
    """Overwrites every page of the spool that has this text. Returns the messages named in them,
    because several rows share a page."""
    messages = set()
    with open(station.folder / "spool/spool.db", "r+b") as spool:
        octets = spool.read()
        for place in range(0, len(octets), PAGE):
            if text in octets[place:place + PAGE]:
                spool.seek(place)
                spool.write(b"\xff" * PAGE)
                named = re.findall(rb"mark-(\d{4})|<(\d{4})@t>", octets[place:place + PAGE])
                messages |= {int(mark or name) for mark, name in named}
    return messages


def restart_after_damage(station):
    """Waits until the gateway has ended because of its spool, and starts it as systemd would."""
    until(lambda: station.process.poll() is not None, station)
    if station.process.returncode != 3 or "spool_damaged" not in station.log.read_text():
        print(station.log.read_text()[-3000:], file=sys.stderr)
        sys.exit(f"{station.name} ended with {station.process.returncode}")
    station.start()
    if "spool_recovered" not in station.log.read_text():
        sys.exit(f"{station.name} recovered nothing")


def report_of(station):
    until(lambda: any(b"Damaged spool" in mail for mail in station.sink.mails), station)
    return next(mail for mail in station.sink.mails if b"Damaged spool" in mail)


def mails_at(station):
    return [mail for mail in station.sink.mails if b"Damaged spool" not in mail]


def numbers_at(station):
    return sorted(int(re.search(rb"Subject: (\d+)", mail).group(1)) for mail in mails_at(station))


def play(alpha, bravo):
    randomness = random.Random(1)
    bravo.kill()
    with smtplib.SMTP("127.0.0.1", alpha.port()) as client:
        for number in range(MESSAGES):
            client.sendmail("a@alpha.example", ["x@bravo.example"], message(number, randomness))
    until(lambda: "spool_backed_up" in alpha.log.read_text(), alpha)
    damaged = sorted(set().union(*(overwrite_pages_with(alpha, b"mark-%04d" % n)
                                   for n in DAMAGED)))
    if not damaged:
        sys.exit("the messages are not in the database yet")

    # The sender finds the damage when it deletes what has arrived.
    bravo.start()
    restart_after_damage(alpha)
    report = report_of(alpha)
    lost = sorted(int(n) for n in re.findall(rb"message \d+ <(\d+)@t>", report))
    wanted = sorted(set(range(MESSAGES)) - set(lost))
    until(lambda: set(wanted) <= set(numbers_at(bravo)), alpha, bravo)
    if not set(lost) <= set(damaged):
        sys.exit(f"{lost} were lost, and only {damaged} were damaged")

    # The receiver finds it when an operator looks at all messages.
    until(lambda: bravo.log.read_text().count("mail_delivered") >= len(wanted), bravo)
    if not overwrite_pages_with(bravo, b"<0005@t>"):
        sys.exit("the receiver has no row in the database yet")
    subprocess.run([bravo.program, "queue", "--all", "--config", bravo.folder / "config"],
                   capture_output=True)
    restart_after_damage(bravo)
    report_of(bravo)
    with smtplib.SMTP("127.0.0.1", alpha.port()) as client:
        client.sendmail("a@alpha.example", ["x@bravo.example"], message(MESSAGES, randomness))
    until(lambda: MESSAGES in numbers_at(bravo), alpha, bravo)
    came = numbers_at(bravo)
    if len(came) != len(set(came)):
        sys.exit(f"some came twice: {came}")
    print(f"damaged {damaged}, lost {lost}, delivered {len(came)} once each")


class Relay:
    """A file relay without a server, so that its files wait."""

    def __init__(self, folder, program):
        self.name = "relay"
        self.program = program
        self.folder = folder
        self.log = folder / "log"
        for name in ("spool", "inbox"):
            (folder / name).mkdir(parents=True)
        (folder / "config").write_text(
            f'''sis {{ address: "127.0.0.1" port: 1 }} spool_directory: "{folder}/spool"
inbox_directory: "{folder}/inbox" spool_reserve_octets: 1000000\n''')
        self.start()

    def start(self):
        self.log.write_text("")
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [self.program, "run", "--config", self.folder / "config"], stderr=log)
        until(lambda: "relay_started" in self.log.read_text(), self)

    def ask(self, *words, status=0):
        command = [self.program, words[0], "--config", self.folder / "config", *words[1:]]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != status:
            sys.exit(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout


def play_relay(relay):
    """Damages the page with the rows of some files, and lets an operator look at one of them."""
    names = [f"file-{number:03d}-{'n' * 180}" for number in range(60)]
    randomness = random.Random(2)
    for name in names:
        (relay.folder / name).write_bytes(name.encode() + randomness.randbytes(OCTETS))
        relay.ask("send", "--to", "1.2.3.4", str(relay.folder / name))
    relay.process.terminate()
    relay.process.wait()
    relay.start()  # so that all rows are in the database
    with open(relay.folder / "spool/spool.db", "r+b") as spool:
        octets = spool.read()
        place = octets.find(names[30].encode()) // PAGE * PAGE
        page = octets[place:place + PAGE]
        spool.seek(place)
        spool.write(b"\xff" * PAGE)
    damaged = [name for name in names if name[:8].encode() in page]
    relay.ask("hold", "31", status=1)
    restart_after_damage(relay)
    report = (relay.folder / "inbox/spool-report.txt").read_text()
    listed = relay.ask("list", "--all")
    for name in names:
        if (name[:8] in listed) == (name in damaged):
            sys.exit(f"{name} was damaged: {name in damaged}, listed: {name[:8] in listed}")
    if len(re.findall(r"^- file \d+.*its row cannot be read", report, re.M)) != len(damaged):
        sys.exit(f"{len(damaged)} files were damaged, and this was reported:\n{report}")
    relay.ask("send", "--to", "1.2.3.4", str(relay.folder / names[0]))
    print(f"relay: lost {len(damaged)} of {len(names)} files and reported them")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--inside", action="store_true", help="the namespace has been made")
    options = parser.parse_args()
    if not options.inside:
        in_a_namespace()
        print("no network namespace can be made here")
        sys.exit(77)
    program = options.build / "gateways/acp142/s5066-acp142"
    with tempfile.TemporaryDirectory() as folder:
        relay = Relay(pathlib.Path(folder) / "relay",
                      options.build / "gateways/file_relay/s5066-relay")
        try:
            play_relay(relay)
        finally:
            relay.process.kill()
            relay.process.wait()
        stations = []
        for number, name in enumerate(["alpha", "bravo"]):
            backups = pathlib.Path(folder) / f"{name}-backups"
            backups.mkdir()
            more = f'backup {{ directory: "{backups}" interval_s: 31536000 copies: 2 }}\n'
            if number == 0:
                more += 'routes { pattern: "bravo.example" stations: "bravo" }\n'
            stations.append(Station(number, pathlib.Path(folder), program, more))
        try:
            play(*stations)
        finally:
            for station in stations:
                station.process.kill()
                station.process.wait()


if __name__ == "__main__":
    main()
