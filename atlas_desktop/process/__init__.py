"""The process: hardened, alone in its home, interrupted and relaunched cleanly."""
