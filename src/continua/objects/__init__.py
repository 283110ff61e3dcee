"""Object stores: their URLs, and what is asked of them."""
