-- SPDX-License-Identifier: Apache-2.0
-- By which mark in `mail_seen` a recipient is known, and since when: so that the mark can go when the
-- message is parked or deleted before anybody had it. Not in `mail_target`, because a new column
-- reads all of a table.
CREATE TABLE mail_mark (
  mail INTEGER NOT NULL,
  number INTEGER NOT NULL,
  mark BLOB NOT NULL,
  seen_utc INTEGER NOT NULL,
  PRIMARY KEY (mail, number)
) STRICT, WITHOUT ROWID;
