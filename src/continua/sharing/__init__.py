"""The global query graph: what queries that run together can share beyond equal operators."""
