"""The laws: one rewrite rule, or a family of rules, a file. Their order is in :mod:`continua.rules.order`."""
