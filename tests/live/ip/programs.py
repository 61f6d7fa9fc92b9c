#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs programs that people use over two stations that an audio cable joins.

ping, dig, curl, ssh, scp, git fetch, rsync and an IMAP fetch go from Alpha to servers at Bravo, and
what arrives is compared with what was there. A program that is not installed is named and left out.
With --proxy the proxies of both stations carry TCP, and no segment may go over the air beside them.
The test needs the right to make namespaces, /dev/net/tun and with --proxy nft, and is skipped
(status 77) without.

usage: programs.py --build DIR [--adaptive] [--proxy] [--keep]
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

from world import ADDRESSES, SKIPPED, Failure, World, check, until

BRAVO = ADDRESSES["bravo"]
PATIENCE_S = 300  # for each program; TCP repeats at growing intervals
NAME_ADDRESS = "192.0.2.66"
ACCOUNT = ("operator", "words")
PROXY = 'transparent: true allow { prefix: "10.66.0.0/24" }'
MAIL = b"From: alpha@example.org\r\nSubject: weather\r\n\r\n" + b"wind 12 knots\r\n" * 100

# Answers every question of type A with one address (RFC 1035).
DNS = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 53))
while True:
    data, sender = s.recvfrom(512)
    end = data.index(b"\\0", 12) + 5
    answer = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4" + socket.inet_aton(sys.argv[2])
    s.sendto(data[:2] + b"\\x81\\x80\\0\\1\\0\\1\\0\\0\\0\\0" + data[12:end] + answer, sender)
"""

# Serves a mailbox with one message: the part of IMAP (RFC 3501) that imaplib uses to fetch it.
IMAP = """
import socketserver, sys
mail = open(sys.argv[2], "rb").read()
class Session(socketserver.StreamRequestHandler):
    def handle(self):
        def say(text):
            self.wfile.write(text.encode() + b"\\r\\n")
        say("* OK ready")
        for line in self.rfile:
            tag, verb = line.decode().split()[:2]
            if verb == "CAPABILITY":
                say("* CAPABILITY IMAP4rev1")
            elif verb == "SELECT":
                say("* 1 EXISTS")
            elif verb == "FETCH":
                self.wfile.write(b"* 1 FETCH (RFC822 {%d}\\r\\n" % len(mail) + mail + b")\\r\\n")
            say(f"{tag} OK done")
            if verb == "LOGOUT":
                return
socketserver.ThreadingTCPServer((sys.argv[1], 143), Session).serve_forever()
"""

# Fetches the message as a mail program does.
FETCH_MAIL = """
import imaplib, sys
with imaplib.IMAP4(sys.argv[1], timeout=300) as box:
    box.login(sys.argv[2], sys.argv[3])
    box.select()
    sys.stdout.buffer.write(box.fetch("1", "(RFC822)")[1][0][1])
"""


class Servers:
    """The files and servers at Bravo, and the keys with which ssh at Alpha may log in."""

    def __init__(self, world):
        self.world = world
        self.folder = world.folder
        self.started = set()
        self.file = self.folder / "served" / "file"
        self.file.parent.mkdir()
        self.file.write_bytes(os.urandom(3000))

    def start(self, what):
        self.started.add(what)
        getattr(self, what)()

    def web(self):
        self.world.start("web", self.world.within(
            "bravo", sys.executable, "-m", "http.server", "80", "--bind", BRAVO, "--directory",
            self.file.parent))
        until(lambda: self.world.listens("bravo", 80), "the web server")

    def dns(self):
        self.world.start_python("dns", "bravo", DNS, BRAVO, NAME_ADDRESS)
        until(lambda: self.world.listens("bravo", 53, "u"), "the name server")

    def imap(self):
        (self.folder / "mail").write_bytes(MAIL)
        self.world.start_python("imap", "bravo", IMAP, BRAVO, self.folder / "mail")
        until(lambda: self.world.listens("bravo", 143), "the IMAP server")

    def ssh(self):
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / key],
                           check=True)
        os.makedirs("/run/sshd", exist_ok=True)
        (self.folder / "sshd_config").write_text(
            f"ListenAddress {BRAVO}\nHostKey {self.folder}/host\nPidFile none\nUsePAM no\n"
            f"AuthorizedKeysFile {self.folder}/user.pub\nStrictModes no\nPermitRootLogin yes\n"
            "LoginGraceTime 0\nSubsystem sftp internal-sftp\n")
        self.world.start("sshd", self.world.within("bravo", shutil.which("sshd"), "-D", "-e", "-f",
                                                   self.folder / "sshd_config"))
        until(lambda: self.world.listens("bravo", 22), "sshd")

    def git(self):
        work = self.folder / "repository"
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", "init", "-q", "-b", "main", work], check=True)
        (work / "file").write_bytes(self.file.read_bytes())
        subprocess.run(["git", "-C", work, "add", "file"], check=True)
        subprocess.run(["git", "-C", work, *identity, "commit", "-q", "-m", "a file"], check=True)
        self.world.start("git", self.world.within(
            "bravo", "git", "daemon", "--export-all", f"--base-path={self.folder}",
            f"--listen={BRAVO}", "--reuseaddr", self.folder))
        until(lambda: self.world.listens("bravo", 9418), "the git daemon")

    def rsync(self):
        (self.folder / "rsyncd.conf").write_text(
            f"use chroot = no\n[served]\npath = {self.file.parent}\nread only = yes\n"
            f"uid = {os.getuid()}\ngid = {os.getgid()}\n")
        self.world.start("rsyncd", self.world.within(
            "bravo", "rsync", "--daemon", "--no-detach", f"--address={BRAVO}",
            f"--config={self.folder}/rsyncd.conf"))
        until(lambda: self.world.listens("bravo", 873), "the rsync daemon")


class Programs:
    """One method for each program; each raises Failure if the result is not the right one."""

    def __init__(self, world, servers):
        self.world = world
        self.servers = servers
        self.got = world.folder / "got"
        self.got.mkdir()

    def run(self, *command):
        done = self.world.run("alpha", *command, patience_s=PATIENCE_S)
        check(done.returncode == 0, f"{command[0]} ended with {done.returncode}: {done.stdout}")
        return done.stdout

    def ssh_options(self):
        return ["-q", "-i", self.world.folder / "user", "-o", "StrictHostKeyChecking=no", "-o",
                "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes", "-F", "none"]

    def compare(self, name, file):
        check(file.read_bytes() == self.servers.file.read_bytes(), f"{name}: the file is another")

    def ping(self):
        out = self.run("ping", "-c", "3", "-i", "2", "-W", "100", BRAVO)
        check(" 3 received" in out, out)

    def dig(self):
        out = self.run("dig", f"@{BRAVO}", "+short", "+timeout=60", "+tries=3", "ship.example")
        check(out.strip() == NAME_ADDRESS, out)

    def curl(self):
        self.run("curl", "-s", "-o", self.got / "page", f"http://{BRAVO}/file")
        self.compare("curl", self.got / "page")

    def ssh(self):
        out = self.run("ssh", *self.ssh_options(), f"root@{BRAVO}", "echo $((17 * 3))")
        check(out.strip().endswith("51"), out)

    def scp(self):
        self.run("scp", *self.ssh_options(), f"root@{BRAVO}:{self.servers.file}", self.got / "scp")
        self.compare("scp", self.got / "scp")

    def git(self):
        clone = self.got / "clone"
        self.run("git", "init", "-q", clone)
        self.run("git", "-C", clone, "fetch", "-q", f"git://{BRAVO}/repository", "main")
        self.run("git", "-C", clone, "checkout", "-q", "FETCH_HEAD")
        self.compare("git", clone / "file")

    def rsync(self):
        self.run("rsync", "-a", f"rsync://{BRAVO}/served/file", self.got / "rsync")
        self.compare("rsync", self.got / "rsync")

    def imap(self):
        fetched = subprocess.run(
            self.world.within("alpha", sys.executable, "-c", FETCH_MAIL, BRAVO, *ACCOUNT),
            stdout=subprocess.PIPE, check=True, timeout=PATIENCE_S).stdout
        check(fetched == MAIL, "IMAP: the message is another")


# The program, its server, and what must be installed.
ALL = (("ping", None, ("ping",)), ("dig", "dns", ("dig",)), ("curl", "web", ("curl",)),
       ("ssh", "ssh", ("ssh", "sshd", "ssh-keygen")), ("scp", "ssh", ("scp", "sshd", "ssh-keygen")),
       ("git", "git", ("git",)), ("rsync", "rsync", ("rsync",)), ("imap", "imap", ()))


def tcp_on_the_air(world):
    flows = json.loads(world.ask("flows", "--json").stdout).get("flows", [])
    return sum(flow["datagrams_sent"] for flow in flows if flow["flow"].startswith("tcp"))


def find_proxy(world, servers, programs):
    """The first connection goes by IP and finds the proxy of the other station."""
    servers.start("web")
    programs.curl()
    until(lambda: json.loads(world.ask("status", "--json").stdout)["proxy"]["interception"] == "on",
          "the interception")


def run_all(world, proxied):
    servers = Servers(world)
    programs = Programs(world, servers)
    if proxied:
        find_proxy(world, servers, programs)
        before = tcp_on_the_air(world)
    for name, server, needed in ALL:
        missing = [program for program in needed if not shutil.which(program)]
        if missing:
            print(f"{name}: left out, {' and '.join(missing)} not installed")
            continue
        if server and server not in servers.started:
            servers.start(server)
        begin = time.monotonic()
        getattr(programs, name)()
        print(f"{name}: {time.monotonic() - begin:.1f} s", flush=True)
    if proxied:
        check(tcp_on_the_air(world) == before, "TCP went over the air beside the proxy")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--adaptive", action="store_true")
    parser.add_argument("--proxy", action="store_true")
    parser.add_argument("--keep", action="store_true")
    given = parser.parse_args()
    needed = ("ip", "nft", "curl") if given.proxy else ("ip",)
    if os.geteuid() != 0 or not all(map(shutil.which, needed)):
        print(f"skipped: needs root and {', '.join(needed)}")
        return SKIPPED
    # Daemons are not always in the PATH of a user.
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    proxy = PROXY if given.proxy else "enabled: false"
    world = World(given.build, adapts=given.adaptive, proxy=proxy)
    status = 1
    try:
        if not world.make_spaces():
            print("skipped: cannot make namespaces")
            return SKIPPED
        world.start_stations()
        run_all(world, given.proxy)
        status = 0
    except (Failure, subprocess.SubprocessError) as failure:
        print(f"FAILED: {failure}")
        print(world.log("alpha-ip"), world.log("bravo-ip"))
    finally:
        world.stop(keep=status != 0 or given.keep)
    return status


if __name__ == "__main__":
    sys.exit(main())
