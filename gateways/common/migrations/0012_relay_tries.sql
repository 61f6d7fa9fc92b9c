-- SPDX-License-Identifier: Apache-2.0
-- The order in which the files of the relay were tried first, and for a file that is over the number
-- of the last one tried before its end: from that it is known how many files a station has
-- acknowledged since. Tables of their own, because a new column of `outgoing` reads all of it.
CREATE TABLE IF NOT EXISTS outgoing_try (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  item INTEGER NOT NULL UNIQUE,
  last INTEGER NOT NULL DEFAULT 0
) STRICT;
-- Files that were handed over with a priority of their own.
CREATE TABLE IF NOT EXISTS outgoing_priority (
  item INTEGER PRIMARY KEY,
  priority INTEGER NOT NULL
) STRICT;
