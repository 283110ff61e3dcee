"""Runs of queries: over bounded inputs, and live."""
