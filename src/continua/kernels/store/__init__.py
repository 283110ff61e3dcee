"""What kernels keep between epochs: arrays in arenas, and the tables, rings and queues in them."""
