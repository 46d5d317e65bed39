"""Documents: adds files and folders to a room, and searches, cites and summarises them."""
