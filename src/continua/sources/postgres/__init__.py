"""Tables of PostgreSQL: read as they are, read again and again, or followed by logical replication."""
