"""Continua: continuous queries over streams and relations, exact at every instant."""

__version__ = "0.1.0"
