-- SPDX-License-Identifier: Apache-2.0
-- The time of day when the gateway ran last, so that a clock that was put back meanwhile is noticed.
CREATE TABLE IF NOT EXISTS mail_clock (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  utc INTEGER NOT NULL
) STRICT;
