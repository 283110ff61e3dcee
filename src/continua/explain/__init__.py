"""What is told of definitions, queries and their plans."""
