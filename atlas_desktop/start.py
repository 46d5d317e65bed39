"""Entry point of the installed command `atlas`: handles Ctrl-C and too little memory before any imports."""

import os
import sys

from atlas_desktop.interrupts import as_program

LEAST_ADDRESS_SPACE = 1024 * 1024 * 1024
"""Bytes. With half as much, libraries end the process with their own message, or with none."""
NO_MEMORY = (
    "Not enough memory: The system gave Atlas no more memory. Everything saved earlier is safe.\n"
    "Close other programs, or raise the memory limit that Atlas was started with (`ulimit -v`). "
    "Then try again.\n"
)


def program() -> int:
    return as_program(_main)


def _main() -> int:
    if _address_space() < LEAST_ADDRESS_SPACE:
        os.write(2, NO_MEMORY.encode())
        return 1
    from atlas_desktop.__main__ import main

    return main()


def _address_space() -> int:
    """Returns the limit of the process's address space in bytes."""
    if sys.platform == "win32":
        return sys.maxsize
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit
