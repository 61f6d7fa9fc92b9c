-- SPDX-License-Identifier: Apache-2.0
-- Of the content, without compression: a source may use a number anew when the message that had it
-- is over. Empty where it is not known; then the number alone decides.
ALTER TABLE mail_received ADD COLUMN sha256 BLOB NOT NULL DEFAULT x'';
