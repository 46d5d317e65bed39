"""Full-screen and modal screens."""
