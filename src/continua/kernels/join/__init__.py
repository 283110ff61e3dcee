"""Joins: pairs of rows, and rows that pass while a partner is there."""
