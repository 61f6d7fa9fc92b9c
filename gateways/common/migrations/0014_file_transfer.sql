-- SPDX-License-Identifier: Apache-2.0
-- What the transfer service adds to a file that is handed over. Tables of their own, because a new
-- column of `outgoing` reads all of it.
CREATE TABLE IF NOT EXISTS outgoing_file (
  item INTEGER PRIMARY KEY,
  mtime INTEGER NOT NULL,
  mode INTEGER NOT NULL,
  request INTEGER NOT NULL
) STRICT;
-- The octets on the air of a file whose content does not go as it is.
CREATE TABLE IF NOT EXISTS outgoing_image (
  item INTEGER PRIMARY KEY,
  form INTEGER NOT NULL,
  base BLOB NOT NULL,
  content BLOB NOT NULL
) STRICT;
-- Files that another station has offered. `received` is the row of the file once it is whole.
CREATE TABLE IF NOT EXISTS transfer_in (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source INTEGER NOT NULL,
  number INTEGER NOT NULL,
  updu_id INTEGER NOT NULL,
  state TEXT NOT NULL,
  manifest BLOB NOT NULL,
  sha256 BLOB NOT NULL,
  image_octets INTEGER NOT NULL,
  failures INTEGER NOT NULL DEFAULT 0,
  received INTEGER NOT NULL DEFAULT 0,
  begun_utc INTEGER NOT NULL,
  changed_utc INTEGER NOT NULL,
  UNIQUE (source, number)
) STRICT;
CREATE INDEX IF NOT EXISTS transfer_open ON transfer_in (source) WHERE state = 'open';
CREATE INDEX IF NOT EXISTS received_by_content ON received (sha256);
CREATE INDEX IF NOT EXISTS outgoing_file_request ON outgoing_file (request) WHERE request <> 0;
CREATE TABLE IF NOT EXISTS transfer_block (
  transfer INTEGER NOT NULL,
  at INTEGER NOT NULL,
  content BLOB NOT NULL,
  PRIMARY KEY (transfer, at)
) STRICT;
