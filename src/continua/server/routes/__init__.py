"""What can be asked of a server, a module for each kind of thing."""
