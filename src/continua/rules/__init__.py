"""Rewrite rules: one a file, each a law of the papers with its conditions; the driver that applies them."""
