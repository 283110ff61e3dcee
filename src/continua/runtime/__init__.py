"""What runs: sources, the state kept between rows, and the loop over instants."""
