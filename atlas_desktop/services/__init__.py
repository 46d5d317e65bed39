"""What the program does, without interface and without SQL."""
