#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs three mail gateways by UDP multicast on the loopback interface, one of which is switched off
for as long as mail for it lives.

Mail of every precedence for the gateway that is on arrives meanwhile, mail for both arrives at that
gateway, every expired message is reported, and the operator gets answers. When the third gateway is
on again and sends something, the mail that still waits for it arrives. The lifetimes of the
messages are short, so that the test takes minutes and not a day.
"""

import smtplib
import sys

from udp import NAMES, run, subjects, until

PRIORITIES = [-4, -2, 0, 2, 4]
EACH = 40  # messages of each priority to the station that is off
LIFETIME = 30
ROUTES = ''.join(
    f'routes {{ pattern: "{name}.example" stations: "{name}" }}\n' for name in NAMES[1:])


class Sender:
    def __init__(self, station):
        self.client = smtplib.SMTP("127.0.0.1", station.port())
        self.number = 0

    def send(self, to, *options, sender="a@alpha.example"):
        self.number += 1
        self.client.sendmail(
            sender, [to],
            f"Subject: {self.number}\r\nMessage-ID: <{self.number}@t>\r\n\r\nhello\r\n",
            mail_options=list(options))
        return str(self.number).encode()


def reports(station):
    return [mail for mail in station.sink.mails if b"multipart/report" in mail]


def play(alpha, bravo, charlie):
    charlie.kill()
    sender = Sender(alpha)
    late = 0
    for _ in range(EACH):
        for priority in PRIORITIES:
            # Half of the senders have no route at this gateway; their reports go to the mail
            # server.
            late += 1
            sender.send("x@charlie.example", f"MT-PRIORITY={priority}", f"BY={LIFETIME};R",
                        sender="a@elsewhere.example" if late % 2 else "a@alpha.example")
    both = [sender.send("x@from-alpha.example") for _ in range(10)]
    direct = [sender.send("x@bravo.example", f"MT-PRIORITY={one}") for one in PRIORITIES]
    until(lambda: set(both + direct) <= set(subjects(bravo)), alpha, bravo)
    if reports(alpha):
        sys.exit("mail for the station that is on came only after some had expired")
    for words in (["queue"], ["stations"], ["status"]):
        if alpha.ask(*words)["version"] != 1:
            sys.exit(f"no answer to {words}")
    until(lambda: len(reports(alpha)) >= late, alpha)
    if len(reports(alpha)) != late:
        sys.exit(f"{len(reports(alpha))} reports of {late} messages")
    if any(b"bravo.example" in mail for mail in reports(alpha)):
        sys.exit("what was delivered is reported as failed")
    never_sent = [mail for mail in reports(alpha) if b"did not answer" not in mail]
    if not never_sent or len(never_sent) == late:
        sys.exit("the reports do not tell what was sent from what was not")
    waits = sender.send("x@charlie.example")
    until(lambda: "station_dead" in alpha.log.read_text(), alpha)
    charlie.start()
    with smtplib.SMTP("127.0.0.1", charlie.port()) as own:
        own.sendmail("c@charlie.example", ["x@alpha.example"], "Subject: 9999\r\n\r\nup\r\n")
    until(lambda: set(both + [waits]) <= set(subjects(charlie)), alpha, charlie)
    if len(subjects(charlie)) != len(both) + 1:
        sys.exit(f"charlie has {subjects(charlie)}")


if __name__ == "__main__":
    run(play, ROUTES)
