-- SPDX-License-Identifier: Apache-2.0
-- Files that go by P_MUL. Rows with the same `first` are one message to several stations; the number
-- after `message_id` is that of a second message, with what follows a reliable head.
CREATE TABLE IF NOT EXISTS outgoing_p_mul (
  item INTEGER PRIMARY KEY,
  first INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  grade INTEGER NOT NULL,
  strength INTEGER NOT NULL,
  head INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS outgoing_p_mul_message ON outgoing_p_mul (message_id);
-- Open rows of `transfer_in` that came by P_MUL: until when the rest is waited for, and whether the
-- file is then stored with holes. A file with holes may come in two messages: `awaits_head` is 1
-- until the acknowledged one is there, and `rest_over` from the end of the other.
CREATE TABLE IF NOT EXISTS transfer_p_mul (
  transfer INTEGER PRIMARY KEY,
  until_utc INTEGER NOT NULL,
  holes INTEGER NOT NULL,
  awaits_head INTEGER NOT NULL,
  rest_over INTEGER NOT NULL DEFAULT 0
) STRICT;
-- Messages from the air, to be acknowledged again until they expire.
CREATE TABLE IF NOT EXISTS p_mul_received (
  source INTEGER NOT NULL,
  message_id INTEGER NOT NULL,
  expiry_utc INTEGER NOT NULL,
  PRIMARY KEY (source, message_id)
) STRICT, WITHOUT ROWID;
