"""Checkpoints: everything that outlives a process, by way of a store."""
