"""Everything that is said to people. What goes wrong: `errors`, one module for each part of the program."""
