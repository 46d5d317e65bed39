"""OpenAI-compatible servers that can answer in place of the own worker."""
