"""Backups, restores, new keys, repairs and what goes by itself."""
