-- SPDX-License-Identifier: Apache-2.0
-- When the sender is to be told that his message is late: 0 where he need not be, or has been.
ALTER TABLE mail ADD COLUMN delay_utc INTEGER NOT NULL DEFAULT 0;
CREATE INDEX mail_delay ON mail (delay_utc) WHERE delay_utc > 0;
