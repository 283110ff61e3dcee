"""The language: text to typed statements. The only place that touches sqlglot's parser."""
