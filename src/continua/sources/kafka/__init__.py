"""Topics of Kafka: each partition is to the rest of the engine a file that grows, whose places are offsets."""
