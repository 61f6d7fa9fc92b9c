-- SPDX-License-Identifier: Apache-2.0
-- When a station was heard last, so that operators see it after a restart as well.
CREATE TABLE IF NOT EXISTS mail_heard (
  station INTEGER PRIMARY KEY,
  utc INTEGER NOT NULL
) STRICT;
