"""Expressions as SQL text, and what DuckDB needs to evaluate it."""
