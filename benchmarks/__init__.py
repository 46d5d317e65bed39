"""Where the figures come from: each module runs as `python -m benchmarks.NAME`."""
