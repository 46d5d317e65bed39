"""Model files on this computer: known by name, fetched, checked, installed and watched."""
