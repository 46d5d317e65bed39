"""The screens before the conversation: a new vault, unlocking, the recovery key, the first model."""
