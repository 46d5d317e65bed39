"""The insights screen."""
