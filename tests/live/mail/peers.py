#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mail between two stations on the audio cable by CFTP or HMTP instead of P_MUL.

Alpha and Bravo have an s5066d and a mail gateway each; each gateway is for the other a station of
another make. Messages of several sizes go both ways, some of them while Bravo's gateway is killed
and started again. Each must arrive once and whole, and the counters must show that it went by the
protocol.

Usage: peers.py --build DIR --by CFTP|HMTP [--keep]
"""
import argparse
import email.policy
import json
import pathlib
import shutil
import smtplib
import sys
from email.message import EmailMessage

from absent_station import Failure, World, check

STATIONS = ["alpha", "bravo"]
SENT = {"CFTP": "cftp_files_acknowledged", "HMTP": "hmtp_sessions_answered"}
BODIES = {
    "short": "One line of text.\n",
    "dots": ".\n..\n.one dot in front\n\n.\n",
    "long": "".join(f"line {n} {n * n * 7919 % 10007}\n" for n in range(1500)),
    "utf8": "Grüße von Bord\n" * 3,
}


def message(at, to, subject, body):
    made = EmailMessage(policy=email.policy.SMTP)
    made["From"] = f"op@{at}.example"
    made["To"] = ", ".join(to)
    made["Subject"] = subject
    made["Message-ID"] = f"<{subject}@{at}.example>"
    made.set_content(body, cte="8bit")
    return made


def send(world, at, to, subject, body):
    port = json.loads(world.mail(at, "status").stdout)["smtp_port"]
    with smtplib.SMTP("127.0.0.1", int(port)) as server:
        server.send_message(message(at, to, subject, body), from_addr=f"op@{at}.example",
                            to_addrs=to, mail_options=["BODY=8BITMIME"])


def counter(world, at, name):
    rows = json.loads(world.mail(at, "counters").stdout)["counters"]
    return sum(int(row.get("value", 0)) for row in rows if row["name"] == name)


def whole(world, at, subject, body):
    """True if the message arrived once with this body."""
    found = [one for one in world.box(at) if one["Subject"] == subject]
    return len(found) == 1 and found[0].get_content().replace("\r\n", "\n") == body


def run(world, by):
    world.start_cable()
    for name in STATIONS:
        world.start_station(name)
    for subject, body in BODIES.items():
        send(world, "alpha", ["one@bravo.example", "two@bravo.example"], subject, body)
    send(world, "bravo", ["op@alpha.example"], "answer", BODIES["short"])
    world.wait_for("mail at Bravo", lambda: len(world.subjects("bravo")) >= len(BODIES))
    world.wait_for("mail at Alpha", lambda: world.subjects("alpha") == ["answer"])

    send(world, "alpha", ["one@bravo.example"], "killed", BODIES["long"])
    world.processes["bravo-mail"].kill()
    world.processes["bravo-mail"].wait(30)
    world.start("bravo-mail", world.program("s5066-acp142"), "run", "--config",
                "bravo-mail.textproto")
    world.wait_for("mail after the kill", lambda: "killed" in world.subjects("bravo"))
    sent = {**BODIES, "killed": BODIES["long"]}
    check(world.subjects("bravo") == sorted(sent), f"Bravo has {world.subjects('bravo')}")
    for subject, body in sent.items():
        check(whole(world, "bravo", subject, body), f"{subject} is not what was sent")
    world.wait_for("end of all messages at Alpha", lambda: not json.loads(
        world.mail("alpha", "queue").stdout).get("mails"))
    # HMTP puts several messages into one dialogue, CFTP each into a file.
    least = len(sent) if by == "CFTP" else 1
    check(counter(world, "alpha", SENT[by]) >= least, "the mail went another way")
    check(not [one for one in world.box("alpha") if one["Subject"] != "answer"],
          "a message that arrived was reported as failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="folder of the programs")
    parser.add_argument("--by", choices=sorted(SENT), required=True)
    parser.add_argument("--keep", action="store_true", help="leave the logs also after success")
    given = parser.parse_args()
    world = World(pathlib.Path(given.build).resolve(), STATIONS, f"by: {given.by}",
                  "peer_mail { answer_wait_s: 60 }")
    good = False
    try:
        run(world, given.by)
        good = True
    except Failure as problem:
        print(f"peers.py: {problem}", file=sys.stderr)
    finally:
        world.stop()
    if good and not given.keep:
        shutil.rmtree(world.folder)
    else:
        print(f"logs stay in {world.folder}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
