#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends mail between real Postfix servers at every station, over the modems on the audio cable.

Each station has a network namespace of its own with a private Postfix, an s5066-acp142 and an
s5066d; only the audio cable, a local socket, joins them. Messages go from Postfix at Alpha to
mailboxes at the others. In the end each recipient has each message once, or Alpha's mailbox has a
report of it. With --kills, processes are killed with SIGKILL meanwhile, and started again. With
--relay, the first and the last station route mail to each other by the second one only.

All processes are in a PID namespace that ends with this process, however it ends. If a process ends
that the test has not killed, the run ends at once with the reason.

Needs root and the package postfix; no service of the system is touched.
"""
import argparse
import collections
import ctypes
import email
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

NAMES = ["alpha", "bravo", "charlie", "delta"]
DAEMONS = "/usr/lib/postfix/sbin"

MASTER_CF = """
smtp      inet  n - n - -   smtpd
pickup    unix  n - n 60 1  pickup
cleanup   unix  n - n - 0   cleanup
qmgr      unix  n - n 300 1 qmgr
rewrite   unix  - - n - -   trivial-rewrite
bounce    unix  - - n - 0   bounce
defer     unix  - - n - 0   bounce
trace     unix  - - n - 0   bounce
verify    unix  - - n - 1   verify
flush     unix  n - n 1000? 0 flush
proxymap  unix  - - n - -   proxymap
smtp      unix  - - n - -   smtp
error     unix  - - n - -   error
retry     unix  - - n - -   error
discard   unix  - - n - -   discard
virtual   unix  - n n - -   virtual
anvil     unix  - - n - 1   anvil
scache    unix  - - n - 1   scache
postlog   unix-dgram n - n - 1 postlogd
"""

MAIN_CF = """
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
command_directory = /usr/sbin
daemon_directory = {daemons}
mail_owner = postfix
setgid_group = postdrop
maillog_file = {folder}/maillog
maillog_file_prefixes = {folder}
myhostname = mx.{name}.example
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtp_host_lookup = native
disable_dns_lookups = yes
smtpd_peername_lookup = no
alias_maps =
alias_database =
virtual_mailbox_domains = {name}.example
virtual_mailbox_base = {folder}/mailboxes
virtual_mailbox_maps = static:op/
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
virtual_minimum_uid = 100
relay_domains = {others}
transport_maps = inline:{{ {transports} }}
message_size_limit = 20000000
queue_run_delay = 2s
minimal_backoff_time = 2s
maximal_backoff_time = 5s
"""

NODE = """
address: "1.2.0.{number}"
modem {{
  mode: "{mode}"
  cable {{ socket: "{root}/cable.sock" station: {index} }}
}}
sis {{ port: 5066 }}
data_transfer {{ adaptation {{ enabled: false }} }}
subnet_access {{ groups: "16.1.2.0" }}
control {{ socket: "{folder}/node.control" }}
"""

GATEWAY = """
sis {{ port: 5066 }}
spool_directory: "{folder}/spool"
control {{ socket: "{folder}/gateway.control" }}
node_id: "10.1.1.{number}"
hostname: "gw.{name}.example"
smtp {{ port: 2525 }}
mail_server {{ port: 25 }}
retry_delay_min_s: 2
retry_delay_max_s: 5
ack_wait_s: {ack_wait}
line_rate_bps: {rate}
routes {{ pattern: "{name}.example" own: true }}
"""


def children(pid):
    """Returns the children of a process, and their descendants."""
    found = []
    for task in os.listdir("/proc"):
        if not task.isdigit():
            continue
        try:
            parent = int(open(f"/proc/{task}/stat").read().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            found += [int(task)] + children(int(task))
    return found


def fail_if_ended(what, process, log):
    status = process.poll()
    if status is None:
        return
    with open(log, errors="replace") as file:
        last = "".join(collections.deque(file, 5))
    raise SystemExit(f"{what} has ended by itself with {status}; the last of {log}:\n{last}")


class Frames:
    """Counts the D_PDUs sent and received by a station, over all runs of its s5066d."""

    NAMES = {"dpdus_sent": "sent", "dpdus_received": "heard", "dpdus_bad_segment_crc": "wrong"}

    def __init__(self):
        self.earlier = collections.Counter()
        self.now = collections.Counter()

    def seen(self, listed):
        """Takes the output of `s5066d --counters --json`."""
        for counter in json.loads(listed or "{}").get("counters", []):
            if counter["name"] in self.NAMES:
                self.now[self.NAMES[counter["name"]]] = int(counter.get("value", 0))

    def died(self):
        self.earlier += self.now
        self.now.clear()

    def all(self):
        return self.earlier + self.now


class Station:
    def __init__(self, world, index):
        self.world, self.index, self.name = world, index, NAMES[index]
        self.folder = f"{world.folder}/{self.name}"
        self.processes = {}
        self.frames = Frames()
        os.makedirs(f"{self.folder}/spool")
        self.holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "ip link set lo up && echo up && exec sleep infinity"],
            stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        others = [n for n in NAMES[:world.stations] if n != self.name]
        values = dict(name=self.name, folder=self.folder, root=world.folder, index=index,
                      number=index + 1, mode=world.options.mode, daemons=DAEMONS,
                      rate=world.options.mode.split("-")[1],
                      ack_wait=world.options.ack_wait,
                      others=" ".join(f"{n}.example" for n in others),
                      transports=", ".join(
                          f"{{ {n}.example = smtp:[127.0.0.1]:2525 }}" for n in others))
        self.write("node.textproto", NODE.format(**values))
        text = GATEWAY.format(**values)
        for i, name in enumerate(NAMES[:world.stations]):
            if name == self.name:
                continue
            far = world.options.relay and {i, index} == {0, world.stations - 1}
            relays = "relay: true" if world.options.relay and index == 1 else ""
            text += (f'stations {{ name: "{name}" node_id: "10.1.1.{i + 1}" '
                     f'address: "1.2.0.{i + 1}" }}\n'
                     f'routes {{ pattern: "{name}.example" {relays} '
                     f'stations: "{NAMES[1] if far else name}" }}\n')
        if world.options.group:
            text += 'groups {{ name: "fleet" address: "16.1.2.0" {} }}\n'.format(
                " ".join(f'stations: "{name}"' for name in others))
        self.write("gateway.textproto", text)
        postfix = f"{self.folder}/postfix"
        for part in ["queue", "data", "mailboxes/op"]:
            os.makedirs(f"{postfix}/{part}")
        shutil.chown(f"{postfix}/data", "postfix")
        for part in ["mailboxes", "mailboxes/op"]:
            os.chown(f"{postfix}/{part}", 65534, 65534)
        values["folder"] = postfix
        self.write("postfix/main.cf", MAIN_CF.format(**values))
        self.write("postfix/master.cf", MASTER_CF)

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w") as file:
            file.write(text)

    def inside(self, command):
        return ["nsenter", "-t", str(self.holder.pid), "-n"] + command

    def start(self, what):
        commands = {
            "node": [self.world.program("s5066d/s5066d"), "--config",
                     f"{self.folder}/node.textproto"],
            "gateway": [self.world.program("gateways/acp142/s5066-acp142"), "run", "--config",
                        f"{self.folder}/gateway.textproto"],
            # All processes of Postfix end with the first process of its PID namespace.
            "postfix": ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=KILL",
                        "/usr/sbin/postfix", "-c", f"{self.folder}/postfix", "start-fg"],
        }
        log = open(f"{self.folder}/{what}.log", "ab")
        self.processes[what] = subprocess.Popen(self.inside(commands[what]), stdout=log,
                                                stderr=log, stdin=subprocess.DEVNULL,
                                                start_new_session=True)

    def kill(self, what):
        if what == "node":
            self.count_frames()
            self.frames.died()
        process = self.processes.pop(what)
        # Postfix clears its parent death signal, so the test kills its first process and not the
        # parent, which waits for it.
        first = children(process.pid)[:1] if what == "postfix" else []
        try:
            os.kill(first[0] if first else process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()

    def check(self):
        for what, process in list(self.processes.items()):
            if process.poll() is not None and self.processes.get(what) is process:
                fail_if_ended(f"{what} of {self.name}", process, f"{self.folder}/{what}.log")

    def listens(self, port):
        with open(f"/proc/{self.holder.pid}/net/tcp") as table:
            rows = [line.split() for line in table]
        return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows[1:])

    def mails(self):
        """Returns the messages in the mailbox, parsed."""
        folder = f"{self.folder}/postfix/mailboxes/op/new"
        if not os.path.isdir(folder):
            return []
        found = []
        for name in sorted(os.listdir(folder)):
            with open(f"{folder}/{name}", "rb") as file:
                found.append(email.message_from_binary_file(file))
        return found

    def submit(self, sender, recipients, text):
        """Submits a mail by SMTP to the Postfix of this station."""
        script = ("import smtplib,sys\n"
                  "s = smtplib.SMTP('127.0.0.1', 25, timeout=60)\n"
                  "refused = s.sendmail(sys.argv[1], sys.argv[2:], sys.stdin.buffer.read())\n"
                  "s.quit()\n"
                  "sys.exit(1 if refused else 0)\n")
        return subprocess.run(self.inside([sys.executable, "-c", script, sender] + recipients),
                              input=text, stderr=subprocess.DEVNULL).returncode == 0

    def ask(self, command):
        """Returns the answer of the gateway; an empty one if it does not run."""
        said = subprocess.run([self.world.program("gateways/acp142/s5066-acp142"), command,
                               "--json", "--config", f"{self.folder}/gateway.textproto"],
                              capture_output=True, text=True).stdout
        return json.loads(said or "{}")

    def count_frames(self):
        self.frames.seen(subprocess.run(
            [self.world.program("s5066d/s5066d"), "--control", f"{self.folder}/node.control",
             "--counters", "--json"], capture_output=True, text=True).stdout)

    def queue_is_empty(self):
        spools = [f"{self.folder}/postfix/queue/{part}"
                  for part in ["maildrop", "incoming", "active", "deferred"]]
        if any(files for spool in spools for _, _, files in os.walk(spool)):
            return False
        return self.ask("queue").get("mails") == []


class World:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.stations = options.stations
        self.random = random.Random(options.seed)
        cable = [self.program("modem/tools/hfmodem"), "cable", "--socket", f"{folder}/cable.sock",
                 "--stations", str(self.stations), "--pace", "max"]
        if options.channel != "clean":
            cable += ["--channel", options.channel, "--snr-db", str(options.snr_db)]
        log = open(f"{folder}/cable.log", "wb")
        self.cable = subprocess.Popen(cable, stdout=log, stderr=log, start_new_session=True)
        self.until("the cable", lambda: os.path.exists(f"{folder}/cable.sock"))
        self.all = [Station(self, i) for i in range(self.stations)]
        for what in ["node", "postfix", "gateway"]:
            for station in self.all:
                station.start(what)
        self.check()
        for station in self.all:
            self.until(f"the gateway of {station.name}",
                       lambda s=station: s.ask("status").get("bound"))
            self.until(f"Postfix of {station.name}", lambda s=station: s.listens(25))

    def program(self, path):
        return f"{self.options.build}/{path}"

    def check(self):
        """Ends the run if a process has ended that should be running."""
        fail_if_ended("the cable", self.cable, f"{self.folder}/cable.log")
        for station in getattr(self, "all", []):
            station.check()

    def until(self, what, condition, patience=120):
        end = time.monotonic() + patience
        while not condition():
            self.check()
            if time.monotonic() > end:
                raise SystemExit(f"waited in vain for {what}; see {self.folder}")
            time.sleep(0.2)


def message(rng, number, octets):
    """Returns a text that compresses like ordinary mail, with its name in the subject."""
    words = ["antenna", "weather", "request", "supply", "position", "course", "the", "and", "of",
             "report", "engine", "harbour", "wind", "signal", "to", "at"]
    text = []
    size = 0
    while size < octets:
        line = " ".join(rng.choice(words) + (str(rng.randrange(1000)) if rng.random() < 0.3 else "")
                        for _ in range(10))
        text.append(line)
        size += len(line) + 2
    body = "\r\n".join(text)[:octets]
    made = (f"From: <op@alpha.example>\r\nTo: <op@fleet.example>\r\nSubject: number {number}\r\n"
            f"Message-ID: <{number}@alpha.example>\r\n\r\n{body}\r\n")
    return made.encode(), hashlib.sha256(body.encode()).hexdigest()


def killer(world, over, count):
    """Kills one process after the other until `over` is set or `count` is reached."""
    rng = random.Random(world.options.seed + 1)
    # The test never kills the Postfix at Alpha, from which the messages come.
    receivers = world.all[1:]
    stations_of = {"gateway": world.all, "node": world.all, "postfix": receivers}
    victims = [(station, what) for what in world.options.victims for station in stations_of[what]
               if station.name in world.options.victims_at]
    killed = collections.Counter()
    while sum(killed.values()) < count and not over.wait(
            rng.uniform(0.2, 2) * world.options.kill_every):
        station, what = rng.choice(victims)
        station.kill(what)
        killed[station.name, what] += 1
        # The wait lets the kernel close the files of the killed process.
        time.sleep(rng.uniform(0, 1))
        station.start(what)
    return killed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="folder of the build")
    parser.add_argument("--messages", type=int, default=20)
    parser.add_argument("--octets-max", type=int, default=20000)
    parser.add_argument("--stations", type=int, default=4)
    parser.add_argument("--mode", default="110a-2400-short", help="of the modems")
    parser.add_argument("--group", action="store_true",
                        help="one transmission for all stations of a message")
    parser.add_argument("--relay", action="store_true",
                        help="the second station relays between the first and the last")
    parser.add_argument("--ack-wait", type=int, default=3)
    parser.add_argument("--channel", default="clean")
    parser.add_argument("--snr-db", type=float, default=20)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--victims", type=lambda text: text.split(","),
                        default=["gateway", "node", "postfix"], help="of these, by commas")
    parser.add_argument("--victims-at", type=lambda text: text.split(","), default=NAMES,
                        help="of these stations, by commas")
    parser.add_argument("--kill-every", type=float, default=3, help="seconds, on the average")
    parser.add_argument("--patience", type=int, default=600, help="seconds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="the folder of the run")
    parser.add_argument("--folder", help=argparse.SUPPRESS)  # of the run, inside the namespace
    options = parser.parse_args()
    if options.folder:
        # All others end with this process, the first of its PID namespace.
        return 0 if run(World(options, options.folder)) else 1
    if subprocess.run(["unshare", "--net", "--pid", "--fork", "true"],
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("no namespaces can be made here: this needs root")
        return 77
    folder = tempfile.mkdtemp(prefix="s5066-postfix-")
    os.chmod(folder, 0o755)
    status = 1
    try:
        status = in_namespace(sys.argv + ["--folder", folder])
    finally:
        if status == 0 and not options.keep:
            shutil.rmtree(folder)
        else:
            print(f"the logs are in {folder}", flush=True)
    return status


def in_namespace(arguments):
    """Runs this program in a namespace; all its processes end when this function ends."""
    set_subreaper, set_parent_death_signal = 36, 1  # of prctl(2)
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(set_subreaper, 1)
    me = os.getpid()

    def end_with_parent():
        prctl(set_parent_death_signal, signal.SIGKILL)
        if os.getppid() != me:
            os._exit(1)

    def end(number, _):
        raise SystemExit(128 + number)

    for number in [signal.SIGTERM, signal.SIGINT, signal.SIGHUP]:
        signal.signal(number, end)
    holder = subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=KILL",
                               sys.executable] + arguments, preexec_fn=end_with_parent)
    try:
        status = holder.wait()
        return status if status >= 0 else 128 - status
    finally:
        holder.kill()
        holder.wait()
        # The first process of the namespace is our child then, and has ended when all of the others
        # have.
        while True:
            try:
                os.wait()
            except ChildProcessError:
                break


def run(world):
    over = threading.Event()
    killed = collections.Counter()
    errors = []

    def hunt():
        try:
            killed.update(killer(world, over, world.options.kills))
        except Exception as error:
            errors.append(error)

    hunter = threading.Thread(target=hunt)
    hunter.start()
    try:
        return deliver(world, hunter, over, killed, errors)
    finally:
        over.set()
        hunter.join()


def deliver(world, hunter, over, killed, errors):
    options, rng = world.options, world.random
    begun = time.monotonic()
    sent = {}  # (number, station): hash
    octets = 0
    for number in range(options.messages):
        world.check()
        size = int(200 * (options.octets_max / 200) ** rng.random())
        octets += size
        to = rng.sample(range(1, world.stations), rng.randint(1, world.stations - 1))
        text, digest = message(rng, number, size)
        if not world.all[0].submit("op@alpha.example",
                                   [f"op@{NAMES[i]}.example" for i in to], text):
            raise SystemExit(f"Postfix did not take message {number}")
        for i in to:
            sent[number, i] = digest
    while options.kills and hunter.is_alive():
        world.check()
        hunter.join(1)
    over.set()
    hunter.join()
    if errors:
        raise errors[0]

    def settled():
        return all(station.queue_is_empty() for station in world.all)

    end = time.monotonic() + options.patience
    while not settled() and time.monotonic() < end:
        world.check()
        time.sleep(1)
    if not settled():
        for station in world.all:
            print(station.name, station.ask("queue"))
    copies = collections.Counter()
    altered = 0
    strayed = 0  # delivered by another route than configured
    for i, station in enumerate(world.all[1:], 1):
        for mail in station.mails():
            number = int(re.fullmatch(r"number (\d+)", mail["Subject"]).group(1))
            body = mail.get_payload(decode=True).decode()
            body = body.replace("\r\n", "\n").rstrip("\n").replace("\n", "\r\n")
            copies[number, i] += 1
            ways = [way for n in range(1, world.stations + 1)
                    for way in mail.get_all("Received", []) if f"(MULE 10.1.1.{n})" in way]
            relayed = options.relay and i == world.stations - 1
            strayed += len(ways) != (2 if relayed else 1) or "MULE-Next-Hop" in mail
            altered += hashlib.sha256(body.encode()).hexdigest() != sent.get((number, i))
    reported = set()
    for mail in world.all[0].mails():
        text = mail.as_string()
        for number in re.findall(r"Message-ID: <(\d+)@alpha.example>", text, re.I):
            for i, name in enumerate(NAMES):
                if f"op@{name}.example" in text:
                    reported.add((int(number), i))
    for station in world.all:
        station.count_frames()
    frames = [station.frames.all() for station in world.all]
    could = sum(f["sent"] for f in frames) * (world.stations - 1)
    unheard = could - sum(f["heard"] for f in frames)
    wrong = sum(f["wrong"] for f in frames)
    missing = [one for one in sent if copies[one] == 0 and one not in reported]
    twice = [one for one, count in copies.items() if count > 1]
    unexpected = [one for one in copies if one not in sent]
    print(f"messages={options.messages} octets={octets} deliveries={len(sent)} "
          f"delivered={sum(1 for one in sent if copies[one])} reported={len(reported)} "
          f"missing={len(missing)} twice={len(twice)} altered={altered} "
          f"unexpected={len(unexpected)} strayed={strayed} "
          f"kills={ {' '.join(victim): count for victim, count in killed.items()} } "
          # The share counts each frame at each other station, those that a killed s5066d missed
          # included.
          f"frames={could} unheard={unheard} wrong={wrong} "
          f"failed={(unheard + wrong) / max(1, could):.3f} "
          f"seconds={time.monotonic() - begun:.0f}")
    if missing or twice:
        print("missing", missing, "twice", twice)
    # SMTP itself repeats a message if the server dies between its commit and its reply.
    dead = {i: killed[name, "postfix"] + killed[name, "gateway"]
            for i, name in enumerate(NAMES[:world.stations])}
    too_often = any(sum(1 for _, i in twice if i == at) > deaths for at, deaths in dead.items())
    return not (missing or altered or unexpected or strayed or too_often)


if __name__ == "__main__":
    sys.exit(main())
