"""Where model files come from: wheels of the package registry, and the Hugging Face hub."""
