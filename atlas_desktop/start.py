"""The command `atlas`, as it is installed: from its first line on, Ctrl-C ends it with one line."""

from atlas_desktop.interrupts import as_program


def program() -> int:
    return as_program(_main)


def _main() -> int:
    from atlas_desktop.__main__ import main

    return main()
