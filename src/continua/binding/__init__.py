"""Binding: statements and the catalog to algebra. Names, types, stars, views, defaults, subqueries."""
