"""Spark: how it starts, and the Python workers that it forks."""
