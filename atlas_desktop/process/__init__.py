"""The process: hardening, one instance per home, interrupts and relaunch."""
