#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Joins two network namespaces by two stations on one audio cable at 110A 2400 short.

Each namespace has an s5066d and an s5066-ip, which makes its interface. The test checks:

1. Echo requests are answered.
2. UDP datagrams of several sizes, fragments among them, come back from an echo server.
3. curl fetches a page without a proxy.
4. A refused port is reported.
5. `status`, `table`, `flows`, `queue` and `reload` answer, and a table with errors is refused with
   its line and column.
6. tshark dissects the datagrams in the D_PDUs and in the primitives.

It needs the right to make namespaces and /dev/net/tun, and is skipped (status 77) without them.
Usage: two_namespaces.py --build DIR [--keep]
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

STATIONS = {"alpha": 1, "bravo": 2}
MODE = "110a-2400-short"
PATIENCE_S = 120  # for each step; far more than a slow machine takes
PLACES = {"s5066d": "s5066d", "hfmodem": "modem/tools", "s5066-ip": "gateways/ip_client"}
# In a C_PDU segment that starts a C_PDU: one octet of the C_PDU and five of the S_PDU.
HEADERS_BEFORE_IP = 6

ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("10.66.0.2", 7))
while True:
    data, sender = s.recvfrom(65536)
    s.sendto(data, sender)
"""

PING = """
import socket, struct, sys, time
def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.settimeout(float(sys.argv[2]))
for number in range(3):
    body = struct.pack("!BBHHH", 8, 0, 0, 7, number) + bytes(56)
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    start = time.monotonic()
    s.sendto(body, (sys.argv[1], 0))
    while True:
        answer = s.recv(2000)[20:]
        if answer[0] == 0 and struct.unpack("!H", answer[6:8])[0] == number:
            break
    print(f"ping {number}: {time.monotonic() - start:.2f} s")
"""

EXCHANGE = """
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(100)
s.connect(("10.66.0.2", 7))
for octets in (1, 100, 1472, 1473, 3000):
    data = os.urandom(octets)
    s.send(data)
    assert s.recv(65536) == data, octets
"""

REFUSED = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(100)
s.connect(("10.66.0.2", 9999))
s.send(b"x")
try:
    s.recv(10)
except ConnectionRefusedError:
    raise SystemExit(0)
raise SystemExit(1)
"""


class Failure(Exception):
    pass


def check(truth, what):
    if not truth:
        raise Failure(what)


def until(condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        check(time.monotonic() < end, f"in vain: {what}")
        time.sleep(0.05)


class World:
    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="s5066-ip-"))
        self.spaces = {name: f"s5066-{os.getpid()}-{name}" for name in STATIONS}
        self.processes = {}

    def program(self, name):
        return str(self.build / PLACES[name] / name)

    def within(self, name, *command):
        return ["ip", "netns", "exec", self.spaces[name], *[str(word) for word in command]]

    def run(self, name, *command):
        return subprocess.run(self.within(name, *command), cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S)

    def start(self, log, command):
        out = open(self.folder / f"{log}.log", "ab")
        process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=out)
        self.processes[log] = process

    def log(self, name):
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def make_spaces(self):
        for space in self.spaces.values():
            for command in (["netns", "add", space], ["-n", space, "link", "set", "lo", "up"]):
                done = subprocess.run(["ip", *command], stderr=subprocess.DEVNULL)
                if done.returncode != 0:
                    return False
        return pathlib.Path("/dev/net/tun").exists()

    def configure(self, name):
        number = STATIONS[name]
        peer = 3 - number
        (self.folder / f"{name}-node.textproto").write_text(
            f'address: "1.2.0.{number}"\n'
            f'modem {{ mode: "{MODE}" cable {{ socket: "cable.sock" station: {number - 1} }} }}\n'
            f'sis {{ port: 5066 }}\ncontrol {{ socket: "{name}.control" }}\n')
        (self.folder / f"{name}-ip.textproto").write_text(
            f'control {{ socket: "{name}-ip.control" }}\n'
            f'interface {{ addresses: "10.66.0.{number}/24" }}\n'
            f'routes {{ prefix: "10.66.0.{peer}/32" station: "1.2.0.{peer}" }}\n'
            f'routes {{ prefix: "10.77.0.0/16" station: "1.2.0.9" }}\n')

    def start_stations(self):
        self.start("cable", [self.program("hfmodem"), "cable", "--socket", "cable.sock", "--pace",
                             "max"])
        until(lambda: (self.folder / "cable.sock").exists(), "the cable")
        for name in STATIONS:
            self.configure(name)
            self.start(name, self.within(name, self.program("s5066d"), "--config",
                                         f"{name}-node.textproto", "--capture", f"{name}.pcap"))
        for name in STATIONS:
            until(lambda: (self.folder / f"{name}.control").exists(), f"the node of {name}")
        self.start("dumpcap", self.within("alpha", "dumpcap", "-q", "-i", "lo", "-f",
                                          "tcp port 5066", "-w", self.folder / "sis.pcap"))
        until(lambda: (self.folder / "sis.pcap").exists(), "dumpcap")
        for name in STATIONS:
            self.start(f"{name}-ip", self.within(name, self.program("s5066-ip"), "run", "--config",
                                                 f"{name}-ip.textproto"))
        for name in STATIONS:
            until(lambda: " bound " in self.log(f"{name}-ip"), f"the IP client of {name}")

    def ask(self, *request):
        return self.run("alpha", self.program("s5066-ip"), *request, "--config",
                        "alpha-ip.textproto")

    def stop(self):
        for process in reversed(list(self.processes.values())):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        for space in self.spaces.values():
            subprocess.run(["ip", "netns", "delete", space], stderr=subprocess.DEVNULL)


def exchange(world):
    for what, script, *arguments in (("ping", PING, "10.66.0.2", "100"), ("UDP", EXCHANGE),
                                     ("refused port", REFUSED)):
        done = world.run("alpha", sys.executable, "-c", script, *arguments)
        print(done.stdout, end="")
        check(done.returncode == 0, f"{what}: {done.stdout}")


def fetch(world):
    page = os.urandom(3000)
    (world.folder / "page").write_bytes(page)
    start = time.monotonic()
    done = world.run("alpha", "curl", "-s", "-m", str(PATIENCE_S), "-o", "got",
                     "http://10.66.0.2:8080/page")
    check(done.returncode == 0, f"curl ended with {done.returncode}")
    check((world.folder / "got").read_bytes() == page, "the page is another")
    print(f"curl of 3000 octets: {time.monotonic() - start:.2f} s")


def operate(world):
    answers = {request: json.loads(world.ask(request, "--json").stdout)
               for request in ("status", "table", "flows", "queue", "counters")}
    check(answers["status"]["bound"], answers["status"])
    rows = [(row["prefix"], row["station"]) for row in answers["table"]["routes"]]
    check(("10.66.0.2/32", "1.2.0.2") in rows, rows)
    flows = [flow["flow"] for flow in answers["flows"]["flows"]]
    check(any(flow.endswith("10.66.0.2:7") for flow in flows), flows)
    check("turnaround_s" in answers["queue"]["stations"][0], answers["queue"])
    check(world.ask("status").stdout.startswith("bound"), "status as text")
    file = world.folder / "alpha-ip.textproto"
    good = file.read_text()
    file.write_text(good + 'routes { prefix: "10.1.1.1/8" station: "1.2.0.2" }\n')
    world.processes["alpha-ip"].send_signal(signal.SIGHUP)
    until(lambda: "table_refused" in world.log("alpha-ip"), "the table with an error")
    check("alpha-ip.textproto:5:10: prefix" in world.log("alpha-ip"), world.log("alpha-ip"))
    file.write_text(good)
    check(world.ask("reload").returncode == 0, "reload")


def raw_ip_capture(datagrams):
    out = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    for datagram in datagrams:
        out += struct.pack("<IIII", 0, 0, len(datagram), len(datagram)) + datagram
    return out


def tshark(*arguments):
    return subprocess.run(["tshark", *map(str, arguments)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout


def expect_ip(world, what, hex_strings):
    """Dissects octets that another dissector has shown as data; each must be an IP datagram."""
    file = world.folder / f"{what}-ip.pcap"
    file.write_bytes(raw_ip_capture([bytes.fromhex(text) for text in hex_strings]))
    shown = tshark("-r", file, "-o", "ip.check_checksum:TRUE", "-T", "fields", "-e", "ip.src", "-e",
                   "ip.checksum.status", "-e", "_ws.malformed").splitlines()
    check(len(shown) >= 5, f"{len(shown)} datagrams in {what}")
    for line in shown:
        check(re.match(r"10\.66\.0\.[12](,|\t)", line), f"{what}: {line}")
        check(line.split("\t")[1].startswith("1"), f"{what}, checksum: {line}")
    print(f"{what}: {len(shown)} datagrams dissected")


def dissect(world):
    whole = "s5066dts.data_only.cpdu_start == 1 && s5066dts.data_only.cpdu_end == 1"
    segments = tshark("-r", world.folder / "alpha.pcap", "-Y", whole, "-T", "fields", "-e",
                      "s5066dts.segmented_cpdu").split()
    expect_ip(world, "D_PDUs", [text[2 * HEADERS_BEFORE_IP:] for text in segments
                                if text[2 * HEADERS_BEFORE_IP:].startswith("45")])
    data = tshark("-r", world.folder / "sis.pcap", "-Y", "s5066sis", "-T", "fields", "-e",
                  "data.data").replace(",", " ").split()
    expect_ip(world, "primitives", [text for text in data if text.startswith("45")])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tshark", "dumpcap", "curl"))):
        print("skipped: needs root, ip, tshark, dumpcap and curl")
        return 77
    world = World(given.build)
    status = 1
    try:
        if not world.make_spaces():
            print("skipped: cannot make namespaces")
            return 77
        world.start_stations()
        world.start("echo", world.within("bravo", sys.executable, "-c", ECHO))
        world.start("http", world.within("bravo", sys.executable, "-m", "http.server", "8080",
                                         "--bind", "10.66.0.2"))
        until(lambda: world.run("bravo", "ss", "-ltn").stdout.count(":8080") > 0, "the web server")
        exchange(world)
        fetch(world)
        operate(world)
        for name in STATIONS:
            process = world.processes[f"{name}-ip"]
            process.terminate()
            check(process.wait(30) == 0, "an IP client did not end with status 0")
        time.sleep(1)
        dissect(world)
        status = 0
    except (Failure, subprocess.SubprocessError) as failure:
        print(f"FAILED: {failure}")
        for name in STATIONS:
            print(world.log(f"{name}-ip"))
    finally:
        world.stop()
        if status == 0 and not given.keep:
            shutil.rmtree(world.folder)
        else:
            print(f"logs stay in {world.folder}")
    return status


if __name__ == "__main__":
    sys.exit(main())
