"""PostgreSQL's protocol, version 3, so that its clients read what queries and views hold."""
