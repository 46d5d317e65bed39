"""A temporary home with a year of sample conversations, to try the program without personal data."""
