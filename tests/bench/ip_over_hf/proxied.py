#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the TCP proxy does for a conversation, between two stations on one audio cable.

`exchange` is 200 octets to an echo server and back on a connection that stays open: on a link that
carries nothing else, or beside a bulk stream of random octets to the far end or from it. `mail` is
a mail of the size that bench_acp142_link sends, from the first packet of TCP until the server has
its last octet:

    fresh      a connection of its own, each command after the answer to the one before
    pipelined  a connection of its own; MAIL, RCPT and DATA go together (RFC 2920)
    further    the same, on a connection that has carried a mail
    chunked    as `further`, with the mail in the same piece (BDAT, RFC 3030)

Prints one JSON object for each kind. Times are real.

usage: proxied.py --build DIR --mode MODE exchange [--beside to|from] [--count N] [--every S]
       proxied.py --build DIR --mode MODE mail [--without-proxy] [--count N]
"""
import argparse
import json
import pathlib
import random
import socket
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "live" / "ip"))
from world import ADDRESSES, STATIONS, World, until  # noqa: E402

BRAVO = ADDRESSES["bravo"]
ECHO, SINK, SOURCE, SMTP = 7, 9, 19, 25
EXCHANGE_OCTETS = 200
PATIENCE_S = 600
MAIL = ("From: Operator <operator@shore.example>\r\nTo: operator@ship.example\r\n"
        "Subject: Position report\r\nDate: Fri, 15 Jan 2027 08:00:00 +0000\r\n"
        "Message-ID: <20270115080000.1A2B3C@mail.shore.example>\r\n\r\n").encode()

# Echo, sink, source and mail server. The mail server prints the time at which it has each mail, the
# sink how many octets it has at which time.
SERVERS = """
import random, socketserver, sys, threading, time
host = sys.argv[1]
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while piece := self.request.recv(65536):
            self.request.sendall(piece)
class Sink(socketserver.BaseRequestHandler):
    def handle(self):
        octets = 0
        while piece := self.request.recv(65536):
            octets += len(piece)
            print(time.time(), octets, flush=True)
class Source(socketserver.BaseRequestHandler):
    def handle(self):
        while True:
            self.request.sendall(random.randbytes(4096))
class Smtp(socketserver.StreamRequestHandler):
    def say(self, text):
        self.wfile.write(text.encode() + b"\\r\\n")
    def taken(self):
        print(time.time(), flush=True)
        self.say("250 2.0.0 Ok: queued")
    def handle(self):
        self.say("220 ship.example ESMTP")
        while line := self.rfile.readline():
            word = line.split()[0].upper()
            if word == b"EHLO":
                self.say("250-ship.example\\r\\n250-PIPELINING\\r\\n250-CHUNKING\\r\\n250 8BITMIME")
            elif word == b"DATA":
                self.say("354 End data with <CR><LF>.<CR><LF>")
                while self.rfile.readline() != b".\\r\\n":
                    pass
                self.taken()
            elif word == b"BDAT":
                self.rfile.read(int(line.split()[1]))
                self.taken()
            elif word == b"QUIT":
                return self.say("221 2.0.0 Bye")
            else:
                self.say("250 2.1.0 Ok")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
for port, handler in ((7, Echo), (9, Sink), (19, Source), (25, Smtp)):
    threading.Thread(target=Server((host, port), handler).serve_forever).start()
"""


def connect(port, by_proxy):
    """Opens a connection to a server at Bravo; runs in the namespace of Alpha."""
    if not by_proxy:
        return socket.create_connection((BRAVO, port), timeout=PATIENCE_S)
    s = socket.create_connection(("127.0.0.1", 1080), timeout=PATIENCE_S)
    s.sendall(bytes([5, 1, 0]))
    receive(s, 2)
    s.sendall(bytes([5, 1, 0, 1]) + socket.inet_aton(BRAVO) + port.to_bytes(2, "big"))
    receive(s, 10)
    return s


def receive(s, octets):
    got = b""
    while len(got) < octets:
        piece = s.recv(octets - len(got))
        if not piece:
            raise ConnectionError("the connection ended")
        got += piece
    return got


def start_bulk(way):
    """Starts a bulk stream; prints for one from the far end how many octets came at which time."""
    s = connect(SINK if way == "to" else SOURCE, True)
    s.settimeout(None)

    def send():
        while True:
            s.sendall(random.randbytes(4096))

    def take():
        octets = 0
        while piece := s.recv(65536):
            octets += len(piece)
            print("bulk", time.time(), octets, flush=True)

    threading.Thread(target=send if way == "to" else take, daemon=True).start()


def exchanges(given):
    echo = connect(ECHO, True)
    times = []

    def once():
        begin = time.monotonic()
        words = random.randbytes(EXCHANGE_OCTETS)
        echo.sendall(words)
        if receive(echo, EXCHANGE_OCTETS) != words:
            raise ValueError("the answer is another")
        return time.monotonic() - begin

    first = once()
    if given.beside:
        start_bulk(given.beside)
        time.sleep(given.settle)
    begin = time.time()
    for number in range(given.count):
        time.sleep(given.every * (0.5 + random.random()))
        times.append(once())
        print(f"exchange {number + 1} took {times[-1]:.1f} s", flush=True)
    times.sort()
    print(json.dumps(
        {"kind": "exchange", "mode": given.mode, "beside": given.beside or "nothing",
         "count": len(times), "first_s": round(first, 2),
         "median_s": round(statistics.median(times), 2),
         "p95_s": round(times[(len(times) - 1) * 95 // 100], 2), "longest_s": round(times[-1], 2),
         "begin": begin, "end": time.time()}), flush=True)


def exchange_row(client_log, server_log):
    row = next(json.loads(line) for line in client_log.splitlines() if line.startswith("{"))
    begin, end = row.pop("begin"), row.pop("end")
    counts = [line.split()[-2:] for line in (client_log + server_log).splitlines()
              if line.startswith("bulk") or line.count(" ") == 1]
    during = [int(octets) for at, octets in counts if begin <= float(at) <= end]
    if during:
        row["bulk_bps"] = round(8 * (during[-1] - during[0]) / (end - begin))
    return row


def answers(s, count, buffer):
    """Reads replies of SMTP; a reply ends with a line whose fourth character is a space."""
    while count > 0:
        while b"\r\n" not in buffer:
            buffer += s.recv(4096) or sys.exit("the mail server ended the connection")
        line, _, rest = bytes(buffer).partition(b"\r\n")
        buffer[:] = rest
        if line[:1] not in b"23":
            sys.exit(f"the mail server refused: {line}")
        count -= line[3:4] == b" "


class MailClient:
    HELLO = b"EHLO shore.example\r\n"
    ENVELOPE = (b"MAIL FROM:<operator@shore.example>\r\n", b"RCPT TO:<operator@ship.example>\r\n")

    def __init__(self, by_proxy):
        self.s = connect(SMTP, by_proxy)
        self.buffer = bytearray()
        answers(self.s, 1, self.buffer)
        self.ask(self.HELLO)

    def ask(self, *commands):
        self.s.sendall(b"".join(commands))
        answers(self.s, len(commands), self.buffer)

    def slow(self, body):
        for command in (*self.ENVELOPE, b"DATA\r\n"):
            self.ask(command)
        self.ask(body + b".\r\n")

    def pipelined(self, body):
        self.ask(*self.ENVELOPE, b"DATA\r\n")
        self.ask(body + b".\r\n")

    def chunked(self, body):
        self.ask(*self.ENVELOPE, b"BDAT %d LAST\r\n" % len(body) + body)


def mails(given):
    """Prints when each mail began; the server prints when it had it."""
    rng = random.Random(1)
    by_proxy = not given.without_proxy

    def body():  # 200 octets of words that no other mail has
        letters = "".join(rng.choice("etaoin shrdlu") for _ in range(198))
        return MAIL + letters.encode() + b"\r\n"

    for _ in range(given.count):
        for kind in ("fresh", "pipelined"):
            time.sleep(given.every)
            begin = time.time()
            client = MailClient(by_proxy)
            (client.slow if kind == "fresh" else client.pipelined)(body())
            print(kind, begin, flush=True)
        for kind, send in (("further", client.pipelined), ("chunked", client.chunked)):
            time.sleep(given.every)
            mail, begin = body(), time.time()
            send(mail)
            print(kind, begin, flush=True)
        client.s.close()


class ProxiedWorld(World):
    def configure(self, name):
        self.more["ip"] = ("tcp_proxy { allow { prefix: \"10.66.0.%d/32\" } }\n" % STATIONS[name])
        super().configure(name)


def mail_rows(begins, ends, given):
    kinds = {}
    for line, end in zip(begins, ends):
        kind, begin = line.split()
        kinds.setdefault(kind, []).append(float(end) - float(begin))
    for kind, times in kinds.items():
        print(json.dumps({"kind": "mail", "mode": given.mode, "way": kind,
                          "proxy": not given.without_proxy, "times_s": [round(t, 1) for t in times],
                          "median_s": round(statistics.median(times), 1)}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--mode", required=True)
    parser.add_argument("what", choices=("exchange", "mail"))
    parser.add_argument("--beside", choices=("to", "from"))
    parser.add_argument("--without-proxy", action="store_true")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--every", type=float, default=20)
    parser.add_argument("--settle", type=float, default=180)
    parser.add_argument("--within", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.within:
        return exchanges(given) if given.what == "exchange" else mails(given)
    kind = World if given.without_proxy else ProxiedWorld
    world = kind(given.build, mode=given.mode, pace="real")
    try:
        if not world.make_spaces():
            sys.exit("needs root and /dev/net/tun")
        world.start_stations()
        world.start_python("servers", "bravo", SERVERS, BRAVO)
        until(lambda: world.listens("bravo", SMTP), "the servers")
        time.sleep(5)
        client = world.start("client", world.within(
            "alpha", sys.executable, pathlib.Path(__file__).resolve(), *sys.argv[1:], "--within"))
        status = client.wait()
        if status == 0 and given.what == "exchange":
            print(json.dumps(exchange_row(world.log("client"), world.log("servers"))), flush=True)
        elif status == 0:
            lines = [line for line in world.log("client").splitlines() if line.count(" ") == 1]
            mail_rows(lines, world.log("servers").split(), given)
        if status != 0:
            sys.exit(world.log("client") + world.log("alpha-ip"))
    finally:
        world.stop()


if __name__ == "__main__":
    main()
