"""What the kernel is asked to refuse this process, before llama.cpp is loaded. Linux only."""

import ctypes
import struct
import sys
from functools import cache
from typing import Any

from models.kernels import can_hide_amx

_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_EPERM = 1

# Classic BPF, see linux/filter.h and linux/seccomp.h: load a word, compare and jump, return.
_LOAD, _EQUALS, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_AT_NUMBER, _AT_ARCHITECTURE, _AT_FIRST_ARGUMENT = 0, 4, 16
_X86_64 = 0xC000003E
_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023


def no_new_privileges() -> bool:
    """Programs that this process starts cannot gain rights any more; False where that is not known."""
    return sys.platform == "linux" and _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0)


@cache
def hide_amx() -> bool:
    """Lets every request of this thread, and of those it starts, to use AMX be refused; False if it cannot.

    A process must ask the kernel before it may use the tile registers (`arch_prctl` with
    `ARCH_REQ_XCOMP_PERM`). llama.cpp does so once, when it first loads weights, and does without AMX when it
    is refused. Everything else stays allowed. The filter cannot be taken back.
    """
    if not (can_hide_amx() and no_new_privileges()):
        return False
    program = b"".join(
        struct.pack("HBBI", code, if_equal, if_not, value)
        for code, if_equal, if_not, value in (
            (_LOAD, 0, 0, _AT_ARCHITECTURE),
            (_EQUALS, 0, 5, _X86_64),
            (_LOAD, 0, 0, _AT_NUMBER),
            (_EQUALS, 0, 3, _ARCH_PRCTL),
            (_LOAD, 0, 0, _AT_FIRST_ARGUMENT),
            (_EQUALS, 0, 1, _ARCH_REQ_XCOMP_PERM),
            (_RETURN, 0, 0, _ERROR | _EPERM),
            (_RETURN, 0, 0, _ALLOW),
        )
    )
    filters = ctypes.create_string_buffer(program, len(program))
    header = _Program(len(program) // 8, ctypes.addressof(filters))
    return _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header))


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("filters", ctypes.c_void_p))


def _prctl(option: int, second: int, third: Any) -> bool:
    status: int = ctypes.CDLL(None).prctl(option, second, third, 0, 0)
    return status == 0
