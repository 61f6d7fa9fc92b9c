# SPDX-License-Identifier: Apache-2.0
"""Two network namespaces, each with an s5066d and an s5066-ip, joined by an audio cable."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

STATIONS = {"alpha": 1, "bravo": 2}
ADDRESSES = {name: f"10.66.0.{number}" for name, number in STATIONS.items()}
PATIENCE_S = 120  # for each step; far more than a slow machine takes
SKIPPED = 77      # the exit status of a test that cannot run here
PLACES = {"s5066d": "s5066d", "hfmodem": "modem/tools", "s5066-ip": "gateways/ip_client",
          "s5066-traffic": "gateways/traffic"}


class Failure(Exception):
    pass


def check(truth, what):
    if not truth:
        raise Failure(what)


def until(condition, what, patience_s=PATIENCE_S):
    end = time.monotonic() + patience_s
    while not condition():
        check(time.monotonic() < end, f"in vain: {what}")
        time.sleep(0.05)


class World:
    """`ip` are further lines of its configuration; `proxy` is what tcp_proxy has.

    All bursts go in `mode`, unless the stations adapt.
    """

    def __init__(self, build, mode="110a-2400-short", pace="max", adapts=False, ip="", mtu=1500,
                 proxy="enabled: false"):
        self.build = pathlib.Path(build).resolve()
        self.mode, self.pace, self.mtu = mode, pace, mtu
        self.adapts = "true" if adapts else "false"
        self.more = {"ip": f"{ip}tcp_proxy {{ {proxy} }}\n"}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="s5066-ip-"))
        self.spaces = {name: f"s5066-{os.getpid()}-{name}" for name in STATIONS}
        self.processes = {}

    def program(self, name):
        return str(self.build / PLACES[name] / name)

    def within(self, name, *command):
        return ["ip", "netns", "exec", self.spaces[name], *[str(word) for word in command]]

    def run(self, name, *command, patience_s=PATIENCE_S, **options):
        return subprocess.run(self.within(name, *command), cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=patience_s,
                              **options)

    def start(self, log, command):
        with open(self.folder / f"{log}.log", "ab") as out:
            self.processes[log] = subprocess.Popen(command, cwd=self.folder, stdout=out,
                                                   stdin=subprocess.DEVNULL, stderr=out)
        return self.processes[log]

    def start_python(self, log, name, script, *arguments):
        return self.start(log, self.within(name, sys.executable, "-c", script, *arguments))

    def log(self, name):
        path = self.folder / f"{name}.log"
        return path.read_text() if path.exists() else ""

    def make_spaces(self):
        for space in self.spaces.values():
            for command in (["netns", "add", space], ["-n", space, "link", "set", "lo", "up"]):
                done = subprocess.run(["ip", *command], stderr=subprocess.DEVNULL, check=False)
                if done.returncode != 0:
                    return False
        return pathlib.Path("/dev/net/tun").exists()

    def configure(self, name):
        number = STATIONS[name]
        peer = 3 - number
        (self.folder / f"{name}-node.textproto").write_text(
            f'address: "1.2.0.{number}"\n'
            f'modem {{ mode: "{self.mode}"\n'
            f'  cable {{ socket: "cable.sock" station: {number - 1} }} }}\n'
            f'sis {{ port: 5066 }}\ncontrol {{ socket: "{name}.control" }}\n'
            f'data_transfer {{ adaptation {{ enabled: {self.adapts} }} }}\n')
        (self.folder / f"{name}-ip.textproto").write_text(
            f'control {{ socket: "{name}-ip.control" }}\n'
            f'interface {{ addresses: "10.66.0.{number}/24" mtu: {self.mtu} }}\n'
            f'routes {{ prefix: "10.66.0.{peer}/32" station: "1.2.0.{peer}" }}\n'
            f'routes {{ prefix: "10.77.0.0/16" station: "1.2.0.9" }}\n{self.more["ip"]}')

    def start_cable(self):
        self.start("cable", [self.program("hfmodem"), "cable", "--socket", "cable.sock", "--pace",
                             self.pace])
        until(lambda: (self.folder / "cable.sock").exists(), "the cable")

    def start_node(self, name, *options):
        self.start(name, self.within(name, self.program("s5066d"), "--config",
                                     f"{name}-node.textproto", *options))

    def start_ip(self, name):
        self.start(f"{name}-ip", self.within(name, self.program("s5066-ip"), "run", "--config",
                                             f"{name}-ip.textproto"))

    def bound(self, name):
        return self.log(f"{name}-ip").count(" bound ")

    def start_stations(self, capture=False):
        self.start_cable()
        for name in STATIONS:
            self.configure(name)
            self.start_node(name, *(["--capture", f"{name}.pcap"] if capture else []))
        for name in STATIONS:
            until((self.folder / f"{name}.control").exists, f"the node of {name}")
        if capture:
            self.start("dumpcap", self.within("alpha", "dumpcap", "-q", "-i", "lo", "-f",
                                              "tcp port 5066", "-w", self.folder / "sis.pcap"))
            until((self.folder / "sis.pcap").exists, "dumpcap")
        for name in STATIONS:
            self.start_ip(name)
        for name in STATIONS:
            until(lambda: self.bound(name) > 0, f"the IP client of {name}")

    def ask(self, *request):
        return self.run("alpha", self.program("s5066-ip"), *request, "--config",
                        "alpha-ip.textproto")

    def listens(self, name, port, kind="t"):
        return f":{port} " in self.run(name, "ss", f"-ln{kind}").stdout

    def stop(self, keep=False):
        for process in reversed(list(self.processes.values())):
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
        for space in self.spaces.values():
            subprocess.run(["ip", "netns", "delete", space], stderr=subprocess.DEVNULL, check=False)
        if keep:
            print(f"logs stay in {self.folder}")
        else:
            shutil.rmtree(self.folder)
