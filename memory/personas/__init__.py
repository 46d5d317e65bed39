"""What is at hand while talking: ways for the model to be, and prompts to fill in."""
