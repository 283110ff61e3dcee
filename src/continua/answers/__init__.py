"""Queries and their answers: by definition, from results, as columns, tables and texts."""
