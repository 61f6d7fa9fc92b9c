#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Judges the systemd units by `systemd-analyze security`.

usage: units.py UNIT...

Each unit may score at most 2.5 (0 is closed, 10 is open), watches its program, and gives up after a
mistake in the configuration. Those that drive a radio must reach its devices, also devices whose
driver is loaded later.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SCORE_MAX = 2.5
DEVICE_LIMITS = {"PrivateDevices", "DevicePolicy", "DeviceAllow", "ProtectClock", "PrivateUsers"}


def settings_of(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = [line.partition("=") for line in lines if re.match(r"[A-Z]\w*=", line)]
    return {key: value for key, _, value in pairs}


def lines_not_understood(path):
    """What systemd-analyze verify says about the unit, with a program that is there."""
    text = re.sub(r"^ExecStart=.*", "ExecStart=/bin/true", path.read_text(encoding="utf-8"), flags=re.M)
    text = re.sub(r"^EnvironmentFile=.*\n", "", text, flags=re.M)
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / path.name.replace("@", "@x")
        unit.write_text(text, encoding="utf-8")
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(unit)],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "SYSTEMD_UNIT_PATH": f"{folder}:"})
    return [line for line in done.stderr.splitlines() if unit.name in line]


def problems_of(path):
    yield from lines_not_understood(path)
    analysed = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", str(path)],
        capture_output=True, text=True, check=False)
    score = re.search(r"exposure level for \S+: ([0-9.]+)", analysed.stdout)
    if not score:
        yield f"systemd-analyze gives no score: {analysed.stderr}"
    elif float(score[1]) > SCORE_MAX:
        yield f"the score is {score[1]}, more than {SCORE_MAX}"
    settings = settings_of(path)
    for key, value in {"Type": "notify", "RestartPreventExitStatus": "2", "User": "s5066"}.items():
        if value not in settings.get(key, "").split():
            yield f"{key}={value} is missing"
    for key in ("WatchdogSec", "Documentation", "TimeoutStopSec"):
        if key not in settings:
            yield f"{key} is missing"
    if {"audio", "dialout"} & set(settings.get("SupplementaryGroups", "").split()):
        for key in sorted(DEVICE_LIMITS & settings.keys()):
            yield f"{key} keeps a sound card or a serial port away"


def main():
    problems = [f"{path}: {problem}" for path in sys.argv[1:]
                for problem in problems_of(pathlib.Path(path))]
    print("\n".join(problems) or f"{len(sys.argv) - 1} units are good")
    return 1 if problems or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
