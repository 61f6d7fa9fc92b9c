#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs three mail gateways on one machine, with P_MUL by UDP multicast over the loopback interface
and without STANAG 5066.

Mail of several sizes goes by SMTP to one, and must come out of the two others by SMTP once each,
also if one of them is killed on the way. A gateway in EMCON receives all mail, and sends nothing
until the operator ends EMCON, also after a restart.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import smtplib
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

NAMES = ["alpha", "bravo", "charlie"]


class Sink(socketserver.StreamRequestHandler):
    """A mail server that accepts every mail and keeps it."""

    def handle(self):
        self.say("220 sink")
        while line := self.rfile.readline():
            verb = line.split()[0].upper() if line.split() else b""
            if verb == b"DATA":
                self.say("354 go on")
                lines = []
                while (text := self.rfile.readline()) != b".\r\n":
                    if not text:
                        return
                    lines.append(text[1:] if text.startswith(b".") else text)
                self.server.mails.append(b"".join(lines))
                self.say("250 kept")
            elif verb == b"QUIT":
                return self.say("221 bye")
            else:
                self.say("250 sink")

    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")


def start_sink(address):
    """Starts a mail server at a free port; `mails` has the mail that it accepted."""
    sink = socketserver.ThreadingTCPServer((address, 0), Sink)
    sink.daemon_threads = True
    sink.mails = []
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    return sink


class Station:
    def __init__(self, number, folder, program, more=""):
        self.name = NAMES[number]
        self.program = program
        self.sink = start_sink("127.0.0.1")
        self.folder = folder / self.name
        (self.folder / "spool").mkdir(parents=True)
        self.log = self.folder / "log"
        own = f"127.0.0.{number + 1}"
        text = f"""spool_directory: "{self.folder}/spool" node_id: "{own}" hostname: "{self.name}"
udp {{ interface: "127.0.0.1" listen: "{own}" hops: 0 rate_bps: 20000000 }}
smtp {{ port: 0 }} mail_server {{ port: {self.sink.server_address[1]} }} retry_delay_min_s: 1
routes {{ pattern: "{self.name}.example" own: true }}\n"""
        others = [n for n in range(len(NAMES)) if n != number]
        for n in others:
            text += f'stations {{ name: "{NAMES[n]}" node_id: "127.0.0.{n + 1}" }}\n'
        names = " ".join(f'stations: "{NAMES[n]}"' for n in others)
        text += f'groups {{ name: "all" udp_address: "239.255.42.42" {names} }}\n'
        if number == 2:
            text += 'routes { pattern: "alpha.example" stations: "alpha" }\n'
        # The address belongs to the two others; each of them has it as its own.
        for n in range(len(NAMES)):
            route = names if n == number else "own: true"
            text += f'routes {{ pattern: "from-{NAMES[n]}.example" {route} }}\n'
        (self.folder / "config").write_text(text + more)
        self.start()

    def start(self):
        self.log.write_text("")
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [self.program, "run", "--config", self.folder / "config"], stderr=log)
        until(lambda: "mail_gateway_started" in self.log.read_text(), self)

    def port(self):
        return int(re.findall(r"smtp_port=(\d+)", self.log.read_text())[-1])

    def ask(self, *words):
        command = [self.program, words[0], "--config", self.folder / "config", *words[1:]]
        command.append("--json")
        return json.loads(subprocess.run(command, capture_output=True, text=True,
                                         check=True).stdout)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def until(done, *stations, seconds=120):
    """Waits until `done` holds; the time limit only ends a test that fails."""
    for _ in range(seconds * 10):
        if done():
            return
        time.sleep(0.1)
    for station in stations:
        print(station.log.read_text()[-3000:], file=sys.stderr)
    sys.exit("it did not come to that")


class Capture:
    """Captures UDP packets on the loopback interface from one address; this needs root."""

    def __init__(self, address):
        self.address = socket.inet_aton(address)
        self.socket = None
        if os.geteuid() == 0:
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
            self.socket.bind(("lo", 0))
            self.socket.setblocking(False)

    def count(self):
        packets = 0
        while self.socket:
            try:
                packet = self.socket.recv(65536)
            except BlockingIOError:
                break
            packets += packet[9] == socket.IPPROTO_UDP and packet[12:16] == self.address
        return packets


def emcon(alpha, bravo, charlie, client):
    def delivered(station):
        return len(re.findall(f"mail_delivered.* station={station}", alpha.log.read_text()))

    capture = Capture("127.0.0.3")
    before = delivered("charlie")
    taken = len(charlie.sink.mails)
    if not charlie.ask("emcon", "on")["on"]:
        sys.exit("emcon on was refused")
    capture.count()
    rounds = alpha.log.read_text().count("round_started")
    client.sendmail("a@alpha.example", ["x@from-alpha.example"],
                    "Subject: 90\r\nMessage-ID: <90@t>\r\n\r\nquiet\r\n")
    until(lambda: len(charlie.sink.mails) > taken, alpha, charlie)
    until(lambda: "mail_delivered" in charlie.log.read_text()[-500:], charlie)
    charlie.kill()
    charlie.start()
    with smtplib.SMTP("127.0.0.1", charlie.port()) as own:
        own.sendmail("c@charlie.example", ["x@alpha.example"],
                     "Subject: 91\r\nMessage-ID: <91@t>\r\n\r\nlater\r\n")
    until(lambda: alpha.log.read_text().count("round_started") > rounds + 2, alpha)
    state = charlie.ask("emcon", "show")
    waiting = charlie.ask("queue")["mails"]
    if (not state["on"] or state["reason"] != "operator"
            or not any("EMCON" in mail["waits_for"] for mail in waiting)):
        sys.exit("the restart ended EMCON")
    if delivered("charlie") != before or alpha.sink.mails:
        sys.exit("charlie spoke in EMCON")
    if sent := capture.count():
        sys.exit(f"{sent} datagrams left charlie in EMCON")
    charlie.ask("emcon", "off")
    until(lambda: delivered("charlie") > before and alpha.sink.mails, alpha, charlie)
    if capture.socket and not capture.count():
        sys.exit("what watched charlie sees nothing")
    if subjects(charlie).count(b"90") != 1:
        sys.exit("the message of EMCON came twice")


def subjects(station):
    return sorted(re.search(rb"Subject: (\d+)", mail).group(1) for mail in station.sink.mails)


def in_a_namespace():
    """Starts this program again in a network namespace, or returns if that is not allowed."""
    unshare = ["unshare", "--net"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    if subprocess.run(unshare + ["true"], stderr=subprocess.DEVNULL).returncode == 0:
        inside = 'ip link set lo up && exec "$@" --inside'
        os.execvp("unshare", unshare + ["sh", "-c", inside, "sh", sys.executable] + sys.argv)


def run(play, routes=""):
    """Lets `play` have the stations, in a network namespace; the first of them has more routes."""
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
        stations = [Station(n, pathlib.Path(folder), program, routes if n == 0 else "")
                    for n in range(len(NAMES))]
        try:
            play(*stations)
        finally:
            for station in stations:
                station.process.kill()
                station.process.wait()


def play(alpha, bravo, charlie):
    stations = (alpha, bravo, charlie)
    client = smtplib.SMTP("127.0.0.1", alpha.port())
    sizes = [0, 1000, 30000, 200000]
    for number, size in enumerate(sizes):
        if number == 2:
            bravo.kill()
        body = "".join(f"{n:062d}\r\n" for n in range(size // 64))
        client.sendmail("a@alpha.example", ["x@from-alpha.example"],
                        f"Subject: {number}\r\nMessage-ID: <{number}@t>\r\n\r\n{body}")
    until(lambda: len(charlie.sink.mails) >= len(sizes), *stations)
    bravo.start()
    # bravo repeats a delivery if it died between its mail server's reply and its own record
    # of it.
    until(lambda: len(set(subjects(bravo))) >= len(sizes), *stations)
    until(lambda: alpha.log.read_text().count("mail_delivered") >= 2 * len(sizes), *stations)
    wanted = sorted(str(n).encode() for n in range(len(sizes)))
    for station in (bravo, charlie):
        came = subjects(station)
        if (sorted(set(came)) if station is bravo else came) != wanted:
            sys.exit(f"{station.name} has {came}")
        largest = max(station.sink.mails, key=len)
        if largest.count(b"\r\n") < sizes[-1] // 64:
            sys.exit(f"{station.name} lacks a part of the largest")
    emcon(alpha, bravo, charlie, client)


if __name__ == "__main__":
    run(play)
