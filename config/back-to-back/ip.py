#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends echo requests to a host and prints how long each answer takes.

usage: ip.py ping ADDRESS COUNT
"""
import socket
import struct
import sys
import time

PATIENCE_S = 300
ECHO_REQUEST, ECHO_REPLY = 8, 0
IDENTIFIER = 5066


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ping(address, number):
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as link:
        link.settimeout(PATIENCE_S)
        rest = struct.pack("!HH", IDENTIFIER, number) + bytes(56)
        head = struct.pack("!BBH", ECHO_REQUEST, 0, 0)
        head = struct.pack("!BBH", ECHO_REQUEST, 0, checksum(head + rest))
        start = time.monotonic()
        link.sendto(head + rest, (address, 0))
        while True:
            answer = link.recv(2000)[20:]
            if answer[0] == ECHO_REPLY and struct.unpack("!HH", answer[4:8]) == (IDENTIFIER, number):
                return time.monotonic() - start


def main():
    if len(sys.argv) != 4 or sys.argv[1] != "ping":
        print(__doc__, file=sys.stderr)
        return 2
    for number in range(int(sys.argv[3])):
        try:
            print(f"  ping {number + 1}           {ping(sys.argv[2], number):.1f} s", flush=True)
        except TimeoutError:
            print(f"no answer from {sys.argv[2]} in {PATIENCE_S} s", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
