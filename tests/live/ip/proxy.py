#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Carries TCP by the proxy between two network namespaces that an audio cable joins.

The test checks:

1. curl by SOCKS5, with the address and with a name that only the far end knows.
2. The first connection by IP finds the proxy of the other station; later ones are intercepted, and
   no TCP goes over the air. A longer prefix that leads to another station is not intercepted.
3. Octets both ways at once, half close, and TLS pass unchanged; a refused port ends by a reset.
4. A server that is not allowed is not connected to. The resolver of the far end answers questions
   of this side by UDP and TCP, the second time from the cache.
5. SIGKILLs at random moments (8, or as many as S5066_KILLS says) of each s5066-ip and s5066d in turn
   during transfers: no octet is wrong, and no stream ends early as if it were complete.
6. 10,000 connections of clients that say nothing, nonsense or half a request to SOCKS5 leave no
   file descriptor behind and little memory, and others are served afterwards.
7. The rules of nftables are gone after the end.

It needs the right to make namespaces, /dev/net/tun and nft, and is skipped (status 77) without.

usage: proxy.py --build DIR [--seed N] [--keep]
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import world as two_stations
from world import SKIPPED, STATIONS, Failure, check, until

KILLS = int(os.environ.get("S5066_KILLS", 8))

# Serves octets of a generator: the request is one line "SEED OCTETS\n"; the answer is that many
# octets.
SERVER = """
import random, socketserver, ssl, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        line = self.rfile.readline().split()
        if len(line) != 2:
            return
        self.wfile.write(random.Random(int(line[0])).randbytes(int(line[1])))
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    def get_request(self):
        socket, address = super().get_request()
        if len(sys.argv) > 3:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(sys.argv[3], sys.argv[3])
            socket = context.wrap_socket(socket, server_side=True)
        return socket, address
Server((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""

# Fetches and compares. Ends with 0 if all octets came, 3 if the connection was reset, 1 if an octet
# was wrong or the end came early.
CLIENT = """
import random, socket, ssl, sys
host, port, seed, octets, tls = sys.argv[1], *map(int, sys.argv[2:6])
right = random.Random(seed).randbytes(octets)
got = b""
try:
    s = socket.create_connection((host, port), timeout=240)
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        s = context.wrap_socket(s)
    s.sendall(f"{seed} {octets}\\n".encode())
    if not tls:
        s.shutdown(socket.SHUT_WR)
    while piece := s.recv(65536):
        got += piece
except OSError as error:
    print("reset:", error)
    sys.exit(3 if right.startswith(got) else 1)
sys.exit(0 if got == right else 1)
"""


# Opens connections to SOCKS5 and holds many of them; each says something else.
HOSTILE = """
import collections, random, socket, struct, sys
rng = random.Random(int(sys.argv[1]))
GREETING = bytes([5, 1, 0])
NO_STATION = bytes([5, 1, 0, 1, 8, 8, 8, 8, 0, 80])
open_ones = collections.deque()
made = 0
for number in range(int(sys.argv[2])):
    one = socket.socket()
    one.settimeout(20)
    try:
        one.connect(("127.0.0.1", 1080))
        made += 1
        one.sendall(rng.choice([b"", b"GET / HTTP/1.0", rng.randbytes(rng.randrange(1, 2000)),
                                GREETING[:2], GREETING, bytes([5, 255]), GREETING + NO_STATION[:6],
                                GREETING + NO_STATION, bytes([4, 1, 0, 80, 10, 66, 0, 2, 0])]))
        if rng.random() < 0.3:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    open_ones.append(one)
    while len(open_ones) > 800:
        open_ones.popleft().close()
print(made)
"""


# Answers each question by TCP with the address 10.66.0.2, and writes a line for each.
RESOLVER = """
import socketserver, struct, sys
class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while len(head := self.rfile.read(2)) == 2:
            question = self.rfile.read(*struct.unpack(">H", head))
            end = question.index(b"\\0", 12) + 5
            answer = (question[:2] + bytes([0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]) + question[12:end] +
                      bytes([0xC0, 12, 0, 1, 0, 1, 0, 0, 1, 0, 0, 4, 10, 66, 0, 2]))
            self.wfile.write(struct.pack(">H", len(answer)) + answer)
            print(question, flush=True)
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server(("127.0.0.1", 5300), Handler).serve_forever()
"""


class World(two_stations.World):
    def configure(self, name):
        peer = 3 - STATIONS[name]
        dns = {"alpha": 'address: "127.0.0.1" port: 53',
               "bravo": 'answer: true resolver: "127.0.0.1" resolver_port: 5300'}[name]
        self.more["ip"] = (f'tcp_proxy {{ name_station: "1.2.0.{peer}" transparent: true '
                           f'dns {{ {dns} }} '
                           f'allow {{ prefix: "10.66.0.{STATIONS[name]}/32" }} }}\n'
                           f'routes {{ prefix: "10.88.0.0/16" station: "1.2.0.{peer}" }}\n'
                           f'routes {{ prefix: "10.88.128.0/17" station: "1.2.0.9" }}\n')
        super().configure(name)


def fetch(world, seed, octets, port=7000, tls=False):
    return world.run("alpha", sys.executable, "-c", CLIENT, "10.66.0.2", port, seed, octets,
                     int(tls))


def status(world):
    return json.loads(world.ask("status", "--json").stdout)


def by_socks(world):
    start = time.monotonic()
    done = world.run("alpha", "curl", "-s", "-m", "100", "--proxy", "socks5h://127.0.0.1:1080",
                     "-o", "got", "http://10.66.0.2:8080/page")
    check(done.returncode == 0, f"curl by SOCKS5 ended with {done.returncode}")
    check((world.folder / "got").read_bytes() == (world.folder / "page").read_bytes(),
          "the page by SOCKS5 is another")
    print(f"curl by SOCKS5, 3000 octets: {time.monotonic() - start:.2f} s")
    refused = world.run("alpha", "curl", "-s", "-m", "100", "--proxy", "socks5h://127.0.0.1:1080",
                        "http://localhost:5066/")
    check(refused.returncode != 0, "a server on the far loopback was connected to")
    until(lambda: "server_not_allowed" in world.log("bravo-ip"), "the refusal at Bravo")


def names(world):
    world.start_python("resolver", "bravo", RESOLVER)
    until(lambda: world.listens("bravo", 5300), "the resolver of Bravo")
    for transport in ("+notcp", "+tcp"):
        start = time.monotonic()
        done = world.run("alpha", "dig", "@127.0.0.1", "+short", "+tries=1", "+timeout=60",
                         transport, "Mail.example")
        check(done.stdout.split() == ["10.66.0.2"], f"dig {transport}: {done.stdout}")
        print(f"dig {transport}: {time.monotonic() - start:.2f} s")
    asked = world.log("resolver").count("mail")
    check(asked == 1, f"the resolver was asked {asked} times")
    nonsense = world.run("alpha", "dig", "@127.0.0.1", "+tries=1", "+timeout=60", "+notcp",
                         "mail.example", "ANY")
    check("NOTIMP" in nonsense.stdout, f"a question of the type ANY: {nonsense.stdout}")


def by_interception(world):
    until(lambda: status(world)["proxy"]["interception"] == "on", "the interception")
    rules = world.run("alpha", "nft", "list", "ruleset").stdout
    check("10.88.0.0/17" in rules and "10.88.128" not in rules and "10.88.0.0/16" not in rules,
          f"a prefix of a station without a proxy is intercepted: {rules}")
    before = json.loads(world.ask("flows", "--json").stdout).get("flows", [])
    start = time.monotonic()
    done = world.run("alpha", "curl", "-s", "-m", "100", "-o", "got", "http://10.66.0.2:8080/page")
    check(done.returncode == 0, f"curl through the interception ended with {done.returncode}")
    print(f"curl through the interception, 3000 octets: {time.monotonic() - start:.2f} s")
    after = json.loads(world.ask("flows", "--json").stdout).get("flows", [])
    tcp = [flow for flow in after if flow["flow"].startswith("tcp")]
    check(not tcp and len(after) == len(before), f"TCP went over the air: {tcp}")


def transfers(world):
    check(fetch(world, 1, 50_000).returncode == 0, "a transfer with a half close")
    tls = fetch(world, 2, 5000, port=7001, tls=True)
    check(tls.returncode == 0, f"a transfer by TLS: {tls.stdout}")
    start = time.monotonic()
    check(fetch(world, 3, 10, port=7999).returncode == 3, "a refused port was not a reset")
    print(f"a refused port: {time.monotonic() - start:.2f} s")


def kills(world, rng):
    ends = {0: 0, 3: 0}
    victims = ["alpha", "bravo", "alpha-ip", "bravo-ip"]
    for number in range(KILLS):
        clients = [subprocess.Popen(
            world.within("alpha", sys.executable, "-c", CLIENT, "10.66.0.2", "7000",
                         str(100 + 10 * number + i), str(rng.randrange(1000, 30_000)), "0"),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for i in range(3)]
        time.sleep(rng.uniform(0.05, 1.5))
        if number % len(victims) == 0:
            rng.shuffle(victims)
        victim = victims[number % len(victims)]
        world.processes[victim].kill()
        world.processes[victim].wait()
        name = victim.removesuffix("-ip")
        bound = world.bound(name)
        (world.start_node if victim == name else world.start_ip)(name)
        until(lambda: world.bound(name) > bound, f"the IP client of {name}")
        for client in clients:
            ended = client.wait(300)
            check(ended in ends, f"round {number}, {victim} killed: wrong or missing octets")
            ends[ended] += 1
    print(f"{KILLS} kills: {ends[0]} transfers complete, {ends[3]} reset, none wrong")
    until(lambda: fetch(world, 9, 3000).returncode == 0, "a transfer after all kills")


def hostile_clients(world, rng):
    process = pathlib.Path("/proc", str(world.processes["alpha-ip"].pid))
    name = (process / "comm").read_text().strip()  # `ip netns exec` has become the program
    check(name == "s5066-ip", f"{process} is {name}")

    def descriptors():
        return len(list((process / "fd").iterdir()))

    before, memory = descriptors(), highest_memory(process)
    start = time.monotonic()
    done = world.run("alpha", sys.executable, "-c", HOSTILE, rng.randrange(1 << 30), 10_000)
    check(done.returncode == 0 and int(done.stdout) > 9000, f"connections made: {done.stdout}")
    took = time.monotonic() - start
    until(lambda: descriptors() <= before, "the file descriptors of hostile clients")
    more = highest_memory(process) - memory
    check(more < 64 << 10, f"{more} KiB for hostile clients")
    by_socks(world)
    print(f"{done.stdout.strip()} hostile connections in {took:.1f} s, {more} KiB more memory")


def highest_memory(process):
    lines = (process / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def certificate(world):
    file = world.folder / "server.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", file,
                    "-out", world.folder / "cert.pem", "-days", "2", "-subj", "/CN=bravo"],
                   check=True, stderr=subprocess.DEVNULL)
    with open(file, "ab") as whole:
        whole.write((world.folder / "cert.pem").read_bytes())
    return file


def serve(world):
    (world.folder / "page").write_bytes(os.urandom(3000))
    world.start("http", world.within("bravo", sys.executable, "-m", "http.server", "8080",
                                     "--bind", "10.66.0.2"))
    for port, more in ((7000, []), (7001, [certificate(world)])):
        world.start_python(f"server-{port}", "bravo", SERVER, "10.66.0.2", port, *more)
    for port in (7000, 7001, 8080):
        until(lambda: world.listens("bravo", port), f"port {port}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "nft", "curl", "openssl", "dig"))):
        print("skipped: needs root, ip, nft, curl, openssl and dig")
        return SKIPPED
    world = World(given.build)
    result = 1
    try:
        if not world.make_spaces():
            print("skipped: cannot make namespaces")
            return SKIPPED
        world.start_stations()
        serve(world)
        by_socks(world)
        names(world)
        by_interception(world)
        transfers(world)
        hostile_clients(world, random.Random(given.seed))
        kills(world, random.Random(given.seed))
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
