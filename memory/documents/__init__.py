"""Documents: the text of files, with the place of each piece; search in it, and citations of it."""
