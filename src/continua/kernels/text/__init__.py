"""Text as files hold it: records, fields, and the values they stand for."""
