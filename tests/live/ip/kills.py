#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills s5066-ip and s5066d with SIGKILL during transfers, and starts them again.

In each round a program of one station is killed at random while numbered UDP datagrams and a page
cross the air. After it the interface has its address and its routes again, datagrams pass again,
and a page that curl reports as complete is the right one. At the end no datagram has arrived with
other octets than it was sent with.

The number of rounds is that of the environment variable S5066_KILLS, or 6. The test needs the right
to make namespaces and /dev/net/tun, and is skipped (status 77) without.

usage: kills.py --build DIR [--pace real|max] [--load PERCENT] [--seed N] [--keep]
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from world import ADDRESSES, SKIPPED, STATIONS, Failure, World, check, until

ROUNDS = 6
BRAVO = ADDRESSES["bravo"]
RECOVERY_S = 240  # until datagrams pass again: the stations call each other first

ECHO = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 7))
while True:
    data, sender = s.recvfrom(65536)
    try:
        s.sendto(data, sender)
    except OSError:
        pass
"""

# Asks every three seconds until an answer comes.
ASK = """
import os, socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(3)
question = os.urandom(16)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    try:
        s.sendto(question, (sys.argv[1], 7))
        while s.recv(100) != question:
            pass
        raise SystemExit(0)
    except TimeoutError:
        pass
    except OSError:
        time.sleep(1)
raise SystemExit(1)
"""


class Kills:
    def __init__(self, world, seed, load):
        self.world = world
        self.load = load
        self.choice = random.Random(seed)
        self.page = os.urandom(3000)
        self.fetched = self.failed = 0

    def start(self):
        served = self.world.folder / "served"
        served.mkdir()
        (served / "page").write_bytes(self.page)
        self.world.start_python("echo", "bravo", ECHO, BRAVO)
        self.world.start("web", self.world.within(
            "bravo", sys.executable, "-m", "http.server", "80", "--bind", BRAVO, "--directory",
            served))
        until(lambda: self.world.listens("bravo", 80), "the web server")
        traffic = self.world.program("s5066-traffic")
        self.world.start("receiver", self.world.within(
            "bravo", traffic, "udp", "receive", "--bind", BRAVO, "--json", "--quiet-end", 86400))
        until(lambda: self.world.listens("bravo", 5201, "u"), "the receiver")
        self.world.start("sender", self.world.within(
            "alpha", traffic, "udp", "send", "--to", BRAVO, "--line-rate", 2400, "--load", self.load,
            "--size", "64-1500", "--time", 36000))

    def interface(self, name):
        space = self.world.spaces[name]
        shown = [subprocess.run(["ip", "-n", space, *what, "dev", "hf0"], text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
                 for what in (("-4", "addr", "show"), ("-4", "route", "show"))]
        return "\n".join(" ".join(sorted(line.split())) for text in shown
                         for line in sorted(text.splitlines()) if "valid_lft" not in line)

    def start_again(self, name, kind, before):
        bound = self.world.bound(name)
        if kind == "s5066d":
            self.world.start_node(name)
        else:
            self.world.start_ip(name)
        until(lambda: self.world.bound(name) > bound, f"the IP client of {name}")
        def without_index(text):
            return [word for word in text.split() if not word.rstrip(":").isdigit()]
        until(lambda: without_index(self.interface(name)) == without_index(before),
              f"the interface of {name} as it was:\n{before}\nnow:\n{self.interface(name)}")

    def round(self, number):
        got = self.world.folder / f"got-{number}"
        name = self.choice.choice(sorted(STATIONS))
        kind = self.choice.choice(("s5066-ip", "s5066d"))
        before = self.interface(name)
        check(ADDRESSES[name] in before and "10.77.0.0/16" in before, f"the interface: {before}")
        fetch = self.world.start(f"curl-{number}", self.world.within(
            "alpha", "curl", "-s", "-m", 80, "-o", got, f"http://{BRAVO}/page"))
        time.sleep(self.choice.uniform(0, 3))
        process = self.world.processes[name if kind == "s5066d" else f"{name}-ip"]
        process.kill()
        check(process.wait(30) == -signal.SIGKILL, f"{kind} of {name} had ended before")
        begin = time.monotonic()
        self.start_again(name, kind, before)
        asked = self.world.run("alpha", sys.executable, "-c", ASK, BRAVO, RECOVERY_S,
                               patience_s=RECOVERY_S + 30)
        check(asked.returncode == 0, f"datagrams pass again after {kind} of {name} was killed")
        passed_s = time.monotonic() - begin
        if fetch.wait(100) == 0:
            self.fetched += 1
            check(got.read_bytes() == self.page, "curl fetched another page")
        else:
            self.failed += 1
        del self.world.processes[f"curl-{number}"]
        print(f"{number}: {kind} of {name}, datagrams pass after {passed_s:.1f} s", flush=True)

    def end(self):
        for name in ("sender", "receiver"):
            self.world.processes[name].send_signal(signal.SIGINT)
            self.world.processes[name].wait(30)
        report = json.loads(self.world.log("receiver"))
        check(report["runs"], "nothing has arrived: " + self.world.log("sender"))
        run = report["runs"][0]
        sent = self.world.log("sender").split(" probes")[0]
        print(f"UDP: {sent}, {run['received']} received, {run['doubles']} twice, "
              f"{run['altered']} altered; pages: {self.fetched} whole, {self.failed} given up")
        check(run["altered"] == 0, "altered datagrams")
        check(report["counters"]["traffic_datagrams_malformed"] == 0, "malformed datagrams")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--pace", default="max")
    parser.add_argument("--load", type=int, default=4000, help="of 2400 bit/s of real time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "ss", "curl"))):
        print("skipped: needs root, ip, ss and curl")
        return SKIPPED
    world = World(given.build, pace=given.pace)
    status = 1
    try:
        if not world.make_spaces():
            print("skipped: cannot make namespaces")
            return SKIPPED
        world.start_stations()
        kills = Kills(world, given.seed, given.load)
        kills.start()
        for number in range(int(os.environ.get("S5066_KILLS", ROUNDS))):
            kills.round(number)
        kills.end()
        status = 0
    except (Failure, subprocess.SubprocessError) as failure:
        print(f"FAILED: {failure}")
        for name in STATIONS:
            print(world.log(f"{name}-ip")[-3000:], world.log(name)[-3000:])
    finally:
        world.stop(keep=status != 0 or given.keep)
    return status


if __name__ == "__main__":
    sys.exit(main())
