"""OpenAI-compatible servers that can answer in place of Atlas's own worker."""
