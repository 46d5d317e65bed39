"""The Linux kernel's own means of taking rights from a process, as the C interfaces have them.

Every function says whether the kernel did it; elsewhere, and on kernels that are too old, it did not. What is
taken is taken from the calling thread and from those it starts: call these before there are others.
Sources: linux/prctl.h, linux/seccomp.h, linux/filter.h, linux/landlock.h.
"""

import ctypes
import os
import platform
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PR_SET_DUMPABLE = 4
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_EPERM = 1

# Classic BPF: load a word, compare and jump, return.
LOAD, EQUALS, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | _EPERM
AT_NUMBER, AT_ARCHITECTURE, AT_FIRST_ARGUMENT = 0, 4, 16
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# Numbers from here on are x86-64's second interface to the same calls.
_X32 = 0x40000000

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_ONLY = 1
_PATH_BENEATH = 1
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << n for n in range(6))
MAKE_REG, REFER, TRUNCATE, IOCTL_DEV = 1 << 8, 1 << 13, 1 << 14, 1 << 15
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
# How many rights over files each version of Landlock knows.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_LATEST_RIGHTS = 16
_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11


def prctl(option: int, second: int, third: Any = 0) -> bool:
    """`prctl(2)`; False where it is refused or there is none."""
    if sys.platform != "linux":
        return False
    status: int = ctypes.CDLL(None).prctl(option, second, third, 0, 0)
    return status == 0


def no_new_privileges() -> bool:
    """Programs that this process starts cannot gain rights any more."""
    return prctl(_PR_SET_NO_NEW_PRIVS, 1)


def forbid_memory_dumps() -> bool:
    """A crash leaves no picture of memory, and other processes of the same person cannot read it."""
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return prctl(PR_SET_DUMPABLE, 0)


def install_filter(program: Sequence[tuple[int, int, int, int]]) -> bool:
    """A seccomp filter of BPF instructions (code, jump if so, if not, value); it cannot be taken back."""
    if not no_new_privileges():
        return False
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    instructions = ctypes.create_string_buffer(code, len(code))
    header = _Program(len(program), ctypes.addressof(instructions))
    return prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header))


def refuse_calls(numbers: Mapping[str, Sequence[int]]) -> bool:
    """Lets system calls fail with EPERM, by their numbers on each kind of processor.

    Calls in the manner of another kind of processor, which have other numbers, fail all of them.
    """
    machine = platform.machine()
    if sys.platform != "linux" or machine not in ARCHITECTURES or machine not in numbers:
        return False
    refused = numbers[machine]
    tests = [(EQUALS, len(refused) - n, 0, number) for n, number in enumerate(refused)]
    return install_filter(
        [
            (LOAD, 0, 0, AT_ARCHITECTURE),
            (EQUALS, 0, len(refused) + 3, ARCHITECTURES[machine]),
            (LOAD, 0, 0, AT_NUMBER),
            (AT_LEAST, len(refused) + 1, 0, _X32),
            *tests,
            (RETURN, 0, 0, ALLOW),
            (RETURN, 0, 0, REFUSE),
        ]
    )


def landlock_version() -> int:
    """The version of Landlock's interface: 1 and above know files, 4 and above TCP; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, _syscall(_CREATE_RULESET, None, 0, _VERSION_ONLY))


def landlock(granted: Mapping[Path, int]) -> bool:
    """Leaves of all files only `granted`, each with what is at it or below it and the rights to that.

    Files that are open stay open. Where Landlock knows TCP nothing can be connected to or listened on, and
    where it knows scopes nothing outside can be signalled. What does not exist cannot be granted and is left
    out. Raises OSError when the kernel refuses although it offers Landlock: nothing is half granted.
    """
    version = landlock_version()
    if not version or not no_new_privileges():
        return False
    handled = (1 << _RIGHTS.get(version, _LATEST_RIGHTS)) - 1
    attributes = [
        handled,
        *([_BIND_AND_CONNECT_TCP] if version >= _NETWORK_SINCE else []),
        *([_ABSTRACT_SOCKETS_AND_SIGNALS] if version >= _SCOPES_SINCE else []),
    ]
    packed = struct.pack(f"{len(attributes)}Q", *attributes)
    ruleset = _checked(_syscall(_CREATE_RULESET, packed, len(packed), 0))
    try:
        for path, rights in granted.items():
            _grant(ruleset, path, rights & handled)
        _checked(_syscall(_RESTRICT_SELF, ruleset, 0))
    finally:
        os.close(ruleset)
    return True


def _grant(ruleset: int, path: Path, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not path.is_dir():
            rights &= OF_FILES
        rule = struct.pack("=Qi", rights, place)
        _checked(_syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
    finally:
        os.close(place)


class _Program(ctypes.Structure):
    """`struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("filters", ctypes.c_void_p))


def _syscall(number: int, *arguments: Any) -> int:
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return int(call(ctypes.c_long(number), *(_wide(each) for each in arguments)))


def _wide(argument: Any) -> Any:
    # A number must fill its register: what is above an int is otherwise left to chance.
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result
