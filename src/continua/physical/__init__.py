"""Physical operators over intervals, and how plans become them."""
