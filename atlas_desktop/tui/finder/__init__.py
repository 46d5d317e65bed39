"""The finder: everything by one text, over whatever is shown."""
