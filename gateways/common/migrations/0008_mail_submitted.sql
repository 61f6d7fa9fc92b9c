-- SPDX-License-Identifier: Apache-2.0
-- In which form a message was made into the octets of its number. Who is not here has the form from
-- before this step, which is another where there is more than one station. No column of `mail`:
-- adding one reads all of it, which not every spool lets itself be.
CREATE TABLE mail_submitted (
  mail INTEGER PRIMARY KEY,
  form INTEGER NOT NULL
) STRICT;
