"""The Linux kernel's own means of taking rights from a process, as the C interfaces have them.

Every function says whether the kernel did it; elsewhere, and on kernels that are too old, it did not. What is
taken is taken from the calling thread and from those it starts: call these before there are others.
Sources: linux/prctl.h, linux/seccomp.h, linux/filter.h, linux/landlock.h.
"""

import ctypes
import errno
import os
import platform
import select
import signal
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER, _GET_ACTION_AVAILABLE = 1, 2
_ALL_THREADS = 1

# Classic BPF: load a word, compare and jump, return.
LOAD, EQUALS, AT_LEAST, HAS_BITS, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, _ERROR = 0x7FFF0000, 0x00050000
REFUSE, UNKNOWN = _ERROR | errno.EPERM, _ERROR | errno.ENOSYS
AT_NUMBER, AT_ARCHITECTURE, AT_FIRST_ARGUMENT = 0, 4, 16
_ARGUMENT = 8
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

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
_ABSTRACT_SOCKETS, _SIGNALS = 0b01, 0b10


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


def threads() -> int:
    """How many threads this process has, those of libraries too; 0 where the system does not tell."""
    folder = Path("/proc/self/task")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def die_with_parent() -> None:
    """The kernel ends this process when the thread that started it ends, whatever it is doing then.

    Call it first, while standard output is still the pipe on which the parent reads: a parent that was gone
    before the kernel knew is recognised by that.
    """
    if sys.platform != "linux" or not prctl(PR_SET_PDEATHSIG, signal.SIGKILL):
        return
    answers = select.poll()
    answers.register(1, 0)
    if any(state & select.POLLERR for _, state in answers.poll(0)):
        os._exit(0)


def install_filter(program: Sequence[tuple[int, int, int, int]]) -> bool:
    """A seccomp filter of BPF instructions (code, jump if so, if not, value) for all threads of the process;
    it cannot be taken back."""
    if not no_new_privileges():
        return False
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    instructions = ctypes.create_string_buffer(code, len(code))
    header = _Program(len(program), ctypes.addressof(instructions))
    return _seccomp(_SET_MODE_FILTER, _ALL_THREADS, ctypes.byref(header))


def can_filter() -> bool:
    """Whether this kernel filters system calls and lets this process ask for it."""
    return _seccomp(_GET_ACTION_AVAILABLE, 0, ctypes.byref(ctypes.c_uint32(_ERROR)))


def _seccomp(operation: int, flags: int, argument: Any) -> bool:
    number = _SECCOMP.get(platform.machine()) if sys.platform == "linux" else None
    return number is not None and _syscall(number, operation, flags, argument) == 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """A system call that fails, by its number on each kind of processor (None: there it does not exist).

    With `argument` it depends on that argument (counted from 0; its lower 32 bits are compared): the call
    fails if it is one of `values` or has one of `bits`; with `unless`, if it is and has not.
    """

    x86_64: int | None
    aarch64: int | None
    argument: int | None = None
    values: tuple[int, ...] = ()
    bits: int = 0
    unless: bool = False
    answer: int = REFUSE

    def program(self, machine: str) -> list[tuple[int, int, int, int]]:
        """Instructions that expect the number of the call, and leave it to the next ones if it is another."""
        number = self.x86_64 if machine == "x86_64" else self.aarch64
        if number is None:
            return []
        if self.argument is None:
            return [(EQUALS, 0, 1, number), (RETURN, 0, 0, self.answer)]
        tests = [(EQUALS, value) for value in self.values]
        tests += [(HAS_BITS, self.bits)] if self.bits else []
        if_so, if_not = (ALLOW, self.answer) if self.unless else (self.answer, ALLOW)
        found = [
            (LOAD, 0, 0, AT_FIRST_ARGUMENT + _ARGUMENT * self.argument),
            *((code, len(tests) - n, 0, value) for n, (code, value) in enumerate(tests)),
            (RETURN, 0, 0, if_not),
            (RETURN, 0, 0, if_so),
        ]
        return [(EQUALS, 0, len(found), number), *found]


def refuse_calls(refusals: Sequence[Refusal], first_unknown: int) -> bool:
    """Lets system calls fail for all threads of this process.

    Calls from `first_unknown` on fail as on a kernel that does not have them, and so do x86-64's second
    interface to the same calls (its numbers are higher) and calls in the manner of another processor.
    """
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        return False
    return install_filter(
        [
            (LOAD, 0, 0, AT_ARCHITECTURE),
            (EQUALS, 1, 0, ARCHITECTURES[machine]),
            (RETURN, 0, 0, REFUSE),
            (LOAD, 0, 0, AT_NUMBER),
            (AT_LEAST, 0, 1, first_unknown),
            (RETURN, 0, 0, UNKNOWN),
            *(instruction for refusal in refusals for instruction in refusal.program(machine)),
            (RETURN, 0, 0, ALLOW),
        ]
    )


def landlock_version() -> int:
    """The version of Landlock's interface: 1 and above know files, 4 and above TCP; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, _syscall(_CREATE_RULESET, None, 0, _VERSION_ONLY))


def landlock(granted: Mapping[Path, int], *, local_sockets: bool = False) -> bool:
    """Leaves of all files only `granted`, each with what is at it or below it and the rights to that.

    Files that are open stay open. Where Landlock knows TCP nothing can be connected to or listened on, and
    where it knows scopes nothing outside can be signalled or, unless `local_sockets`, reached by a socket
    without a file. What does not exist cannot be granted and is left
    out. Raises OSError when the kernel refuses although it offers Landlock: nothing is half granted.
    """
    version = landlock_version()
    if not version or not no_new_privileges():
        return False
    handled = (1 << _RIGHTS.get(version, _LATEST_RIGHTS)) - 1
    attributes = [
        handled,
        *([_BIND_AND_CONNECT_TCP] if version >= _NETWORK_SINCE else []),
        *([_SIGNALS | (0 if local_sockets else _ABSTRACT_SOCKETS)] if version >= _SCOPES_SINCE else []),
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
