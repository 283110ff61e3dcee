"""The laws: each file has one rewrite rule, or a few that belong together.

:mod:`continua.rules.order` lists them in the order in which they are tried; :class:`continua.rules.rule.Rule` says how
the code cites the conditions of a law.
"""
