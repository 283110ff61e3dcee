"""Sinks: where the answers of a query go besides the screen, epoch by epoch and each exactly once."""
