#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs four mail gateways, each in a network namespace of its own on one LAN, without a common
group: each message gets one of two multicast addresses.

Two gateways want the same address, and one gets the announcement of its group only later. The
packets on the LAN are recorded, and tshark has to decode them. Needs root.
"""

import argparse
import ctypes
import json
import os
import pathlib
import re
import shutil
import smtplib
import subprocess
import sys
import tempfile

from udp import start_sink, subjects, until

NAMES = ["alpha", "bravo", "charlie", "delta"]
POOL = ["239.7.7.1", "239.7.7.2"]
SKIPPED = 77
CLONE_NEWNET = 0x40000000


def run(*words):
    subprocess.run([str(word) for word in words], check=True)


class Station:
    """A gateway in its namespace, with a mail server in this process."""

    def __init__(self, number, folder, program):
        self.name = NAMES[number]
        self.address = f"10.77.0.{number + 1}"
        self.program = program
        self.process = None
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"])
        own_net = os.readlink("/proc/self/ns/net")
        until(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own_net)
        link = f"lan{number}"
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns",
            self.holder.pid)
        run("ip", "link", "set", link, "master", "lan", "up")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "route", "add", "224.0.0.0/4", "dev", "eth0")
        self.sink = start_sink("10.77.0.254")
        self.folder = folder / self.name
        (self.folder / "spool").mkdir(parents=True)
        self.log = self.folder / "log"
        self.log.write_text("")
        text = f"""spool_directory: "{self.folder}/spool" node_id: "{self.address}"
hostname: "{self.name}" smtp {{ address: "{self.address}" port: 2525 allow: "10.77.0.0/24" }}
mail_server {{ address: "10.77.0.254" port: {self.sink.server_address[1]} }}
retry_delay_min_s: 1 ack_wait_s: 1
udp {{
  interface: "{self.address}"
  dynamic_groups {{
    pool {{ first: "{POOL[0]}" last: "{POOL[-1]}" }}
    wait_for_reject_ms: 500 announce_delay_ms: 500 announce_count: 5
  }}
}}
routes {{ pattern: "{self.name}.example" own: true }}\n"""
        for n, name in enumerate(NAMES):
            if n == number:
                continue
            text += f'stations {{ name: "{name}" node_id: "10.77.0.{n + 1}" }}\n'
            text += f'routes {{ pattern: "{name}.example" stations: "{name}" }}\n'
        (self.folder / "config").write_text(text)

    def run(self, *words):
        run("nsenter", "-t", self.holder.pid, "-n", *words)

    def start(self):
        before = self.starts()
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                ["nsenter", "-t", str(self.holder.pid), "-n", self.program, "run", "--config",
                 self.folder / "config"], stderr=log)
        until(lambda: self.starts() > before, self)

    def starts(self):
        return self.log.read_text().count("mail_gateway_started")

    def send(self, number, *names):
        with smtplib.SMTP(self.address, 2525) as client:
            body = "".join(f"{n:062d}\r\n" for n in range(200))
            client.sendmail("op@" + self.name + ".example", [f"x@{n}.example" for n in names],
                            f"Subject: {number}\r\nMessage-ID: <{number}@t>\r\n\r\n{body}")

    def groups(self):
        """Returns the addresses of the pool that its kernel has joined."""
        listed = pathlib.Path(f"/proc/{self.holder.pid}/net/igmp").read_text()
        return [a for a in POOL
                if "%02X%02X%02X%02X" % tuple(reversed([int(n) for n in a.split(".")])) in listed]

    def delivered(self):
        return len(re.findall("mail_delivered.* station=", self.log.read_text()))

    def counter(self, name):
        command = [self.program, "counters", "--json", "--config", self.folder / "config"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return sum(counter["value"] for counter in json.loads(said)["counters"]
                   if counter["name"].endswith(name))

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def end(self):
        self.stop()
        self.holder.kill()
        self.holder.wait()


def releases(path):
    """Counts the senders of Release_PDUs in the capture so far, whose end may be cut off."""
    command = ["tshark", "-r", path, "-d", "udp.port==2751-2754,p_mul", "-Y", "p_mul.pdu_type == 7",
               "-T", "fields", "-e", "ip.src"]
    return len(set(subprocess.run(command, capture_output=True, text=True).stdout.split()))


def check_capture(path):
    fields = ["p_mul.pdu_type", "p_mul.checksum_good", "p_mul.checksum_bad", "ip.src", "ip.dst",
              "_ws.malformed", "udp.dstport"]
    command = ["tshark", "-r", path, "-d", "udp.port==2751-2754,p_mul", "-Y", "p_mul && !icmp",
               "-T", "fields"]
    for field in fields:
        command += ["-e", field]
    seen = {}
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        pdu, good, bad, source, target, malformed, port = line.split("\t")
        if malformed or good not in ("1", "True") or bad in ("1", "True"):
            sys.exit(f"tshark does not like: {line}")
        seen.setdefault(int(pdu, 0), []).append((source, target, port))
    control = ("10.77.0.1", "10.77.0.2")  # who transmits
    for pdu, port in ((4, "2752"), (5, "2751"), (7, "2751")):
        rows = seen.get(pdu, [])
        if not rows or any(row[1] != "239.1.1.1" or row[2] != port for row in rows):
            sys.exit(f"PDUs of type {pdu}: {rows}")
        if {row[0] for row in rows} != set(control):
            sys.exit(f"PDUs of type {pdu} are from {rows}")
    if {row[1:] for row in seen.get(6, [])} != {("10.77.0.2", "2751")}:
        sys.exit(f"rejected: {seen.get(6)}")
    # If alpha has a message for delta alone, delta may get it at its own address.
    targets = {(source, group) for source in control for group in POOL}
    targets.add(("10.77.0.1", "10.77.0.4"))
    for pdu in (0, 2):
        if not seen.get(pdu) or not {row[:2] for row in seen[pdu]} <= targets:
            sys.exit(f"PDUs of type {pdu} went to {seen.get(pdu)}")
    # Each transmitter used an address of its own.
    if {row[1] for row in seen[0] if row[0] == control[0]} & {
            row[1] for row in seen[0] if row[0] == control[1]}:
        sys.exit("both sent on one address")
    print({pdu: len(rows) for pdu, rows in sorted(seen.items())})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    program = parser.parse_args().build / "gateways/acp142/s5066-acp142"
    tools = all(shutil.which(tool) for tool in ("ip", "unshare", "nsenter", "tshark"))
    if os.geteuid() != 0 or not tools or ctypes.CDLL(None).unshare(CLONE_NEWNET) != 0:
        print("needs root, iproute2, util-linux and tshark")
        sys.exit(SKIPPED)
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "lan", "type", "bridge", "mcast_snooping", "0")
    run("ip", "address", "add", "10.77.0.254/24", "dev", "lan")
    run("ip", "link", "set", "lan", "up")
    stations, recorder = [], None
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chmod(folder, 0o755)
            capture = pathlib.Path(folder) / "capture.pcap"
            recorder = subprocess.Popen(["tshark", "-q", "-i", "lan", "-w", capture],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            while "Capture started" not in (line := recorder.stderr.readline()):
                if not line:
                    sys.exit("tshark does not record")
            stations = [Station(n, pathlib.Path(folder), program) for n in range(len(NAMES))]
            alpha, bravo, charlie, delta = stations
            alpha.start()
            charlie.start()
            # delta is off and gets no announcement of the group, so that the message keeps it.
            alpha.send(1, "charlie", "delta")
            until(lambda: charlie.sink.mails and alpha.delivered() == 1, *stations)
            taken = charlie.groups()
            if len(taken) != 1 or alpha.groups():
                sys.exit(f"charlie is in {taken}, alpha in {alpha.groups()}")
            # bravo got no announcement either, and may request the same address. The choice is
            # random, and a restart clears what bravo has heard.
            bravo.start()
            for number in range(2, 40):
                bravo.send(number, "alpha", "charlie")
                until(lambda: bravo.delivered() == 2 * (number - 1), *stations)
                if bravo.counter("groups_rejected") > 0:
                    break
                bravo.stop()
                bravo.start()
            else:
                sys.exit("bravo has never wanted the address that alpha has")
            # charlie may have left alpha's group as well, because it has its message.
            until(lambda: not alpha.groups() and set(charlie.groups()) <= set(taken), *stations)
            delta.start()
            until(lambda: delta.sink.mails and alpha.delivered() == 2, *stations)
            until(lambda: not any(station.groups() for station in stations), *stations)
            wanted = [str(n).encode() for n in range(2, number + 1)]
            if (subjects(alpha) != sorted(wanted) or subjects(charlie) != sorted([b"1"] + wanted)
                    or subjects(delta) != [b"1"]):
                sys.exit(f"{[subjects(station) for station in stations]}")
            until(lambda: releases(capture) == 2, *stations)  # the capture is written with a delay
            recorder.terminate()
            recorder.wait()
            check_capture(capture)
        finally:
            for station in stations:
                station.end()
            if recorder:
                recorder.kill()


main()
