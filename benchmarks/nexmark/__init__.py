"""NEXMark: its events, its queries as Continua's scripts, and how fast ``continua run`` answers them."""
