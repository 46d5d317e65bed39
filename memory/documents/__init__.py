"""Documents: the text of files, where each piece of it comes from, and how it is found and cited."""
