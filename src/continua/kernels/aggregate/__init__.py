"""Aggregation: what a group keeps, how a value changes it, how results are read."""
