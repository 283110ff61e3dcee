"""Windows: descriptions of window sequences and the validity functions that follow from them."""
