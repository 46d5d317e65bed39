"""What was typed and not yet sent, and which session was shown when the program was locked."""

UNBEGUN = ""
"""The place of what is typed into a session that has not begun."""
