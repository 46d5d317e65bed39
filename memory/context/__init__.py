"""How stored messages become a prompt that fits."""
