#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Carries TCP between two LANs whose gateways an audio cable joins.

A host behind Alpha fetches a page from a web server on a host behind Bravo, by IPv4 and by IPv6. The
test checks:

1. The first connection goes as datagrams through both gateways, and the page is right.
2. Later connections of the host are intercepted at its gateway: no TCP goes over the air, and the
   web server sees the gateway of its LAN as its client.
3. A server in the LAN that is not allowed is not connected to.
4. The rules of nftables are gone after the end.

It needs the right to make namespaces, /dev/net/tun and nft, and is skipped (status 77) without.

usage: lan.py --build DIR [--keep]
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

import world as two_stations
from world import SKIPPED, STATIONS, Failure, check, until

HOSTS = {f"{name}-host": name for name in STATIONS}


def address(number, host, v6=False):
    return f"fd66:{number}::{host}" if v6 else f"192.168.{number}.{host}"


class World(two_stations.World):
    """Adds a LAN with one host to each station."""

    def __init__(self, build):
        super().__init__(build)
        for host in HOSTS:
            self.spaces[host] = f"s5066-{os.getpid()}-{host}"

    def configure(self, name):
        number, peer = STATIONS[name], 3 - STATIONS[name]
        self.more["ip"] = (
            f'routes {{ prefix: "192.168.{peer}.0/24" station: "1.2.0.{peer}" }}\n'
            f'routes {{ prefix: "fd66:{peer}::/64" station: "1.2.0.{peer}" }}\n'
            f'tcp_proxy {{ transparent: true allow {{ prefix: "192.168.{number}.0/24" port: 8080 }}\n'
            f'  allow {{ prefix: "fd66:{number}::/64" port: 8080 }} }}\n')
        super().configure(name)

    def join_lans(self):
        for host, gateway in HOSTS.items():
            number = STATIONS[gateway]
            inside = ["ip", "-n", self.spaces[host]]
            outside = ["ip", "-n", self.spaces[gateway]]
            for command in (
                    [*outside, "link", "add", "lan", "type", "veth", "peer", "name", "eth", "netns",
                     self.spaces[host]],
                    [*outside, "addr", "add", f"{address(number, 1)}/24", "dev", "lan"],
                    [*outside, "addr", "add", f"{address(number, 1, True)}/64", "dev", "lan",
                     "nodad"],
                    [*outside, "link", "set", "lan", "up"],
                    [*inside, "addr", "add", f"{address(number, 10)}/24", "dev", "eth"],
                    [*inside, "addr", "add", f"{address(number, 10, True)}/64", "dev", "eth",
                     "nodad"],
                    [*inside, "link", "set", "eth", "up"],
                    [*inside, "route", "add", "default", "via", address(number, 1)],
                    [*inside, "-6", "route", "add", "default", "via", address(number, 1, True)],
                    self.within(gateway, "sysctl", "-qw", "net.ipv4.ip_forward=1",
                                "net.ipv6.conf.all.forwarding=1")):
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def serve(self):
        (self.folder / "page").write_bytes(os.urandom(3000))
        for v6 in (False, True):
            bind = address(2, 10, v6)
            self.start(f"http{int(v6)}", self.within(
                "bravo-host", sys.executable, "-u", "-m", "http.server", "8080", "--bind", bind))
        until(lambda: self.run("bravo-host", "ss", "-ltn").stdout.count(":8080 ") == 2,
              "the web servers")

    def fetch(self, v6, port=8080):
        host = f"[{address(2, 10, v6)}]" if v6 else address(2, 10)
        return self.run("alpha-host", "curl", "-sgm", "100", "-o", "got",
                        f"http://{host}:{port}/page")

    def flows(self):
        flows = json.loads(self.ask("flows", "--json").stdout).get("flows", [])
        return sorted(flow["flow"] for flow in flows if flow["flow"].startswith("tcp"))


def fetch_both_ways(world, v6):
    what = "IPv6" if v6 else "IPv4"
    (world.folder / "got").unlink(missing_ok=True)
    before = world.flows()
    start = time.monotonic()
    done = world.fetch(v6)
    check(done.returncode == 0, f"curl by {what} ended with {done.returncode}")
    check((world.folder / "got").read_bytes() == (world.folder / "page").read_bytes(),
          f"the page by {what} is another")
    print(f"3000 octets by {what}: {time.monotonic() - start:.2f} s")
    return world.flows() != before


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "nft", "curl", "sysctl"))):
        print("skipped: needs root, ip, nft, curl and sysctl")
        return SKIPPED
    world = World(given.build)
    result = 1
    try:
        if not world.make_spaces():
            print("skipped: cannot make namespaces")
            return SKIPPED
        world.join_lans()
        world.start_stations()
        world.serve()
        check(fetch_both_ways(world, False), "the first connection did not go as datagrams")
        until(lambda: json.loads(world.ask("status", "--json").stdout)["proxy"]["interception"]
              == "on", "the interception")
        for v6 in (False, True):
            check(not fetch_both_ways(world, v6), "an intercepted connection went over the air")
            log = world.log(f"http{int(v6)}")
            check(address(2, 1, v6) in log.splitlines()[-1], f"the client of the server: {log}")
        check(world.fetch(False, 8081).returncode != 0, "a port that is not allowed")
        until(lambda: "server_not_allowed" in world.log("bravo-ip"), "the refusal at Bravo")
        world.processes["alpha-ip"].terminate()
        check(world.processes["alpha-ip"].wait(30) == 0, "s5066-ip did not end with status 0")
        rules = world.run("alpha", "nft", "list", "tables").stdout
        check("s5066" not in rules, f"rules are left: {rules}")
        result = 0
    except (Failure, subprocess.SubprocessError) as failure:
        print(f"FAILED: {failure}")
        for name in STATIONS:
            print(world.log(f"{name}-ip")[-4000:])
    finally:
        world.stop(keep=result != 0 or given.keep)
    return result


if __name__ == "__main__":
    sys.exit(main())
