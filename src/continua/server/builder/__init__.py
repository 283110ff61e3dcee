"""Plans as graphs of operators that are drawn: to SQL and back, what is wrong with them, and what they do to rows."""
