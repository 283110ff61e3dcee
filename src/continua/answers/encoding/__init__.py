"""How answers are written: one encoder for each format, whatever way the answers go.

``value_texts.py`` says how a single value is written, ``column_texts.py`` writes many of them at a time with the same
result, and ``record_texts.py`` puts columns together to JSON objects and CSV records.
"""
