#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Acts as the two mail programs at the ends of `run --mail`.

mail.py serve FOLDER           runs a mailbox: accepts mail by SMTP, writes one file per message to
                               FOLDER, and writes its port to FOLDER/port
mail.py send PORT FILE         sends a message with FILE attached, from op@alpha.example to
                               op@bravo.example
mail.py attachment FOLDER OUT  writes the attachment of the one message in FOLDER to OUT; fails if
                               there is none
"""
import email
import email.policy
import os
import pathlib
import smtplib
import socketserver
import sys
from email.message import EmailMessage


class Session(socketserver.StreamRequestHandler):
    def say(self, text):
        self.wfile.write(text.encode() + b"\r\n")

    def handle(self):
        self.say("220 mailbox")
        for line in self.rfile:
            verb = line.split()[0].upper() if line.split() else b""
            if verb == b"EHLO":
                self.say("250-mailbox\r\n250-PIPELINING\r\n250 8BITMIME")
            elif verb == b"DATA":
                self.say("354 go on")
                self.keep()
            elif verb == b"QUIT":
                self.say("221 bye")
                return
            else:
                self.say("250 ok")

    def keep(self):
        lines = []
        for line in self.rfile:
            if line == b".\r\n":
                break
            lines.append(line[1:] if line.startswith(b".") else line)
        folder = self.server.folder
        number = len(list(folder.glob("*.eml"))) + 1
        part = folder / f"{number}.part"
        part.write_bytes(b"".join(lines))
        part.rename(folder / f"{number}.eml")
        self.say("250 kept")


def serve(folder):
    with socketserver.TCPServer(("127.0.0.1", 0), Session) as server:
        server.folder = pathlib.Path(folder)
        part = server.folder / "port.part"
        part.write_text(str(server.server_address[1]))
        os.rename(part, server.folder / "port")
        server.serve_forever()


def send(port, path):
    message = EmailMessage()
    message["From"] = "op@alpha.example"
    message["To"] = "op@bravo.example"
    message["Subject"] = "A file from Alpha"
    message["Message-ID"] = "<back-to-back@alpha.example>"
    message.set_content("The file is attached.\n")
    message.add_attachment(pathlib.Path(path).read_bytes(), maintype="application",
                           subtype="octet-stream", filename=os.path.basename(path))
    with smtplib.SMTP("127.0.0.1", int(port)) as server:
        server.send_message(message)


def attachment(folder, out):
    files = list(pathlib.Path(folder).glob("*.eml"))
    if len(files) != 1:
        sys.exit(f"mail.py: {len(files)} messages in the mailbox")
    message = email.message_from_bytes(files[0].read_bytes(), policy=email.policy.SMTP)
    parts = list(message.iter_attachments())
    if len(parts) != 1:
        sys.exit("mail.py: no attachment")
    pathlib.Path(out).write_bytes(parts[0].get_content())


if __name__ == "__main__":
    known = {"serve": serve, "send": send, "attachment": attachment}
    known[sys.argv[1]](*sys.argv[2:])
