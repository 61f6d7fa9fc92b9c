-- To find what is too late without a look at all that waits.
CREATE INDEX mail_expiry ON mail (road, expiry_utc) WHERE state IN ('deferred', 'incoming');
