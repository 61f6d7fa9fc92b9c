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
import re
import shutil
import signal
import struct
import subprocess
import sys
import time

from world import PATIENCE_S, SKIPPED, STATIONS, Failure, World, check, until

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
    check("alpha-ip.textproto:6:10: prefix" in world.log("alpha-ip"), world.log("alpha-ip"))
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
        return SKIPPED
    world = World(given.build)
    status = 1
    try:
        if not world.make_spaces():
            print("skipped: cannot make namespaces")
            return SKIPPED
        world.start_stations(capture=True)
        world.start_python("echo", "bravo", ECHO)
        world.start("http", world.within("bravo", sys.executable, "-m", "http.server", "8080",
                                         "--bind", "10.66.0.2"))
        until(lambda: world.listens("bravo", 8080), "the web server")
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
        world.stop(keep=status != 0 or given.keep)
    return status


if __name__ == "__main__":
    sys.exit(main())
