"""Hiding units of the processor from llama.cpp that fault here. Linux only."""

from functools import cache

from models.confinement import (
    ALLOW,
    ARCHITECTURES,
    AT_ARCHITECTURE,
    AT_FIRST_ARGUMENT,
    AT_NUMBER,
    EQUALS,
    LOAD,
    REFUSE,
    RETURN,
    install_filter,
)
from models.tuning.kernels import can_hide_amx

_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023


@cache
def hide_amx() -> bool:
    """Lets every request of this thread, and of those it starts, to use AMX be refused; False if it cannot.

    A process must ask the kernel before it may use the tile registers (`arch_prctl` with
    `ARCH_REQ_XCOMP_PERM`). llama.cpp does so once, when it first loads weights, and does without AMX when it
    is refused. Everything else stays allowed. The filter cannot be taken back.
    """
    return can_hide_amx() and install_filter(
        [
            (LOAD, 0, 0, AT_ARCHITECTURE),
            (EQUALS, 0, 5, ARCHITECTURES["x86_64"]),
            (LOAD, 0, 0, AT_NUMBER),
            (EQUALS, 0, 3, _ARCH_PRCTL),
            (LOAD, 0, 0, AT_FIRST_ARGUMENT),
            (EQUALS, 0, 1, _ARCH_REQ_XCOMP_PERM),
            (RETURN, 0, 0, REFUSE),
            (RETURN, 0, 0, ALLOW),
        ]
    )
