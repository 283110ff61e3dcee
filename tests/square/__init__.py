"""Random queries: the engine's answers equal those of the reference, whatever the epochs and partitions."""
