"""How answers are written: one encoder for each format, whatever way the answers go.

``values.py`` says how a single value is written, ``columns.py`` writes many of them at a time with the same result,
and ``lines.py`` puts columns together to JSON objects and CSV records.
"""
