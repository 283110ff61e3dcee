"""Rows as 64-bit words: from Arrow and back, batches of them, and which partition they belong to."""
