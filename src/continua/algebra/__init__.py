"""The logical algebra: frozen, typed operators that derive their schema and know their properties."""
