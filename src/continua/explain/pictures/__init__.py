"""Plans and windows as pictures: for a terminal, as SVG, and for Graphviz."""
