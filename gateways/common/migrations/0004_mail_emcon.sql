-- SPDX-License-Identifier: Apache-2.0
-- Who is silent (EMCON), as an operator or a station itself has said; station 0 is this one. Who is
-- not here is as the configuration says.
CREATE TABLE mail_emcon (
  station INTEGER PRIMARY KEY,
  silent INTEGER NOT NULL
) STRICT;
