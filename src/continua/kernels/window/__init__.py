"""Windows over positions: which elements are in them, and from when to when."""
