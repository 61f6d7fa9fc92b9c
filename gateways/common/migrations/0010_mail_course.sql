-- SPDX-License-Identifier: Apache-2.0
-- Where a message came from and what belongs to it, so that its course can be followed. It is no part
-- of `mail`, because a new column reads all of a table.
CREATE TABLE IF NOT EXISTS mail_course (
  mail INTEGER PRIMARY KEY,
  first INTEGER NOT NULL, -- of the messages that were made of one, itself if it is the only one
  about INTEGER NOT NULL, -- the message that this delivery report is about, 0 if it is none
  node INTEGER NOT NULL, -- that it came from over the air, 0 if it did not
  message_id INTEGER NOT NULL, -- that it had there
  came TEXT NOT NULL -- from which client by SMTP
) STRICT;
