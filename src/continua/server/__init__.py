"""Continua as a service: a session that others reach through the network, and a catalog that outlives it."""
