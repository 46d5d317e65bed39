"""What has been learned: memories, where they came from, and what becomes of them."""
