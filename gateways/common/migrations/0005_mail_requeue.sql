-- SPDX-License-Identifier: Apache-2.0
-- How long a message may take, and after how long its sender is told that it is late (0: never): each
-- time that it is queued anew.
ALTER TABLE mail ADD COLUMN lifetime_s INTEGER NOT NULL DEFAULT 0;
ALTER TABLE mail ADD COLUMN delay_s INTEGER NOT NULL DEFAULT 0;
UPDATE mail SET lifetime_s = expiry_utc - created_utc;
UPDATE mail SET delay_s = max(1, delay_utc - created_utc) WHERE delay_utc > 0;
