"""The meaning: what every query answers, by definition, instant by instant."""
