#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures UDP or TCP between two stations on one audio cable with s5066-traffic.

Prints one JSON object for the run. Times are real, so a run takes --time seconds and what --settle
allows for the link to come up and for the rest to arrive.

usage: measure.py --build DIR --mode MODE --rate BPS [--mtu OCTETS] --time SECONDS
                  (--tcp ALGORITHM | --udp PERCENT [--size OCTETS]) [--svg FILE]
"""
import argparse
import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "live" / "ip"))
from world import ADDRESSES, World, until  # noqa: E402

KEPT = ("received", "lost", "doubles", "reordered", "altered", "octets", "throughput_bps",
        "plateau_bps", "time_to_50_s", "time_to_80_s", "delay_s")


def sending(given):
    load = ["--to", ADDRESSES["bravo"], "--line-rate", given.rate, "--time", given.time, "--json"]
    if given.tcp:
        return ["tcp", "send", *load, "--congestion", given.tcp, "--size", 500, "--connect-time",
                given.time]
    return ["udp", "send", *load, "--load", given.udp, "--size", given.size]


def run(world, given):
    traffic = world.program("s5066-traffic")
    protocol = "tcp" if given.tcp else "udp"
    wait_s = given.time + (0 if given.tcp else given.settle)
    receiver = world.start("receiver", world.within(
        "bravo", traffic, protocol, "receive", "--bind", ADDRESSES["bravo"], "--json", "--interval",
        given.interval, "--quiet-end", wait_s,
        *(["--svg", pathlib.Path(given.svg).resolve()] if given.svg else [])))
    until(lambda: world.listens("bravo", 5201, protocol[0]), "the receiver")
    sender = world.start("sender", world.within("alpha", traffic, *sending(given)))
    try:
        receiver.wait(wait_s)
    except Exception:
        receiver.send_signal(signal.SIGINT)
        receiver.wait(30)
    sender.send_signal(signal.SIGINT)
    runs = json.loads(world.log("receiver"))["runs"]
    row = {"mode": given.mode, "mtu": given.mtu, "time_s": given.time,
           "load": given.tcp or given.udp}
    row.update({key: value for key, value in runs[0].items() if key in KEPT} if runs else {})
    row["line_share"] = round(8 * row.get("octets", 0) / given.time / given.rate, 4)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--mode", required=True)
    parser.add_argument("--rate", type=int, required=True)
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--time", type=int, required=True)
    parser.add_argument("--settle", type=int, default=120)
    parser.add_argument("--interval", type=float, default=10)
    parser.add_argument("--tcp")
    parser.add_argument("--udp", type=float)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--svg")
    given = parser.parse_args()
    world = World(given.build, mode=given.mode, pace="real", mtu=given.mtu,
                  ip=f"line_rate_bps: {given.rate}\n")
    try:
        if not world.make_spaces():
            sys.exit("needs root and /dev/net/tun")
        world.start_stations()
        print(json.dumps(run(world, given)), flush=True)
    finally:
        world.stop()


if __name__ == "__main__":
    main()
