-- SPDX-License-Identifier: Apache-2.0
-- The spool of a store-and-forward gateway: what waits to be sent, and what has arrived.

CREATE TABLE outgoing (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  destination TEXT NOT NULL,
  name BLOB NOT NULL,
  size INTEGER NOT NULL,
  sha256 BLOB NOT NULL,
  updu_id INTEGER NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  created_utc INTEGER NOT NULL,
  next_try_utc INTEGER NOT NULL,
  finished_utc INTEGER NOT NULL DEFAULT 0,
  reason TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX outgoing_by_state ON outgoing (state, id);
CREATE INDEX outgoing_by_destination ON outgoing (destination, updu_id);

CREATE TABLE outgoing_content (
  id INTEGER PRIMARY KEY REFERENCES outgoing (id),
  content BLOB NOT NULL
) STRICT;

-- A row is 'incoming' from the moment the file is safe under its temporary name until it is known
-- to stand in the inbox, then 'delivered'. It outlives the file: a repeat is recognised by it.
CREATE TABLE received (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,
  source_sap INTEGER NOT NULL,
  updu_id INTEGER NOT NULL,
  name BLOB NOT NULL,
  size INTEGER NOT NULL,
  sha256 BLOB NOT NULL,
  state TEXT NOT NULL,
  temporary_name TEXT NOT NULL,
  inbox_name BLOB NOT NULL,
  received_utc INTEGER NOT NULL
) STRICT;
CREATE INDEX received_by_source ON received (source, updu_id);

-- One row: the U_PDU_ID that the next accepted file starts to look from.
CREATE TABLE updu_counter (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  next INTEGER NOT NULL
) STRICT;
