-- SPDX-License-Identifier: Apache-2.0
-- Mail between SMTP and P_MUL. A row of `mail` goes one way: by air to stations, or by SMTP to the
-- mail server of this station; its targets are the recipients, one row for each station.

CREATE TABLE mail (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  road TEXT NOT NULL,
  state TEXT NOT NULL,
  priority INTEGER NOT NULL,
  reverse_path TEXT NOT NULL,
  label TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 BLOB NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  created_utc INTEGER NOT NULL,
  expiry_utc INTEGER NOT NULL,
  next_try_utc INTEGER NOT NULL,
  finished_utc INTEGER NOT NULL DEFAULT 0,
  message_id INTEGER NOT NULL DEFAULT 0,
  block_octets INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX mail_due ON mail (road, state, priority, next_try_utc);
CREATE INDEX mail_open ON mail (state, size);

CREATE TABLE mail_target (
  mail INTEGER NOT NULL REFERENCES mail (id),
  number INTEGER NOT NULL,
  recipient TEXT NOT NULL,
  station INTEGER NOT NULL,
  sequence INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (mail, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE mail_content (
  id INTEGER PRIMARY KEY REFERENCES mail (id),
  content BLOB NOT NULL
) STRICT;

-- What was taken already: a repeat within the configured time is not taken again.
CREATE TABLE mail_seen (
  mark BLOB PRIMARY KEY,
  seen_utc INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mail_seen_by_age ON mail_seen (seen_utc);

-- Messages from the air, to be acknowledged again until they expire.
CREATE TABLE mail_received (
  source INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  expiry_utc INTEGER NOT NULL,
  PRIMARY KEY (source, message_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE mail_station (
  station INTEGER PRIMARY KEY,
  sequence INTEGER NOT NULL DEFAULT 0,
  failures INTEGER NOT NULL DEFAULT 0,
  dead_until_utc INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE mail_counter (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  message_id INTEGER NOT NULL
) STRICT;
INSERT INTO mail_counter VALUES (1, 0);
