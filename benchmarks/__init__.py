"""Benchmarks that produce the project's figures; each module runs as `python -m benchmarks.NAME`."""
