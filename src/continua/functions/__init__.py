"""The built-in functions: each is declared in one place, with all that the other layers have to know of it."""
