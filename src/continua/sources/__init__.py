"""Sources: what can be read, as splits that tasks read by themselves, and rows with their place in time."""
