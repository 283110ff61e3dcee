"""NEXMark's queries on Continua beside Flink SQL and Spark Structured Streaming, over the same files."""
