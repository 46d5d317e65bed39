"""Notes: writes, links, imports and exports them."""
