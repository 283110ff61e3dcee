"""Relations over time: events in order, multiplicities, changes, the first rows, views of tagged streams."""
