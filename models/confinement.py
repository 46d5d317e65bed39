"""Sandboxes the processes that Atlas starts: they may use only what they were given."""

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
# Number of file access rights in each version of Landlock.
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
_LATEST_RIGHTS = 16
_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS, _SIGNALS = 0b01, 0b10


def prctl(option: int, second: int, third: Any = 0) -> bool:
    """Calls `prctl(2)`; returns False where it is refused or does not exist."""
    if sys.platform != "linux":
        return False
    status: int = ctypes.CDLL(None).prctl(option, second, third, 0, 0)
    return status == 0


def no_new_privileges() -> bool:
    """Prevents programs that this process starts from gaining privileges; returns whether it could."""
    return prctl(_PR_SET_NO_NEW_PRIVS, 1)


def forbid_memory_dumps() -> bool:
    """Disables core dumps, and access to this process's memory by other processes of the same user.

    Returns False where the latter is not possible.
    """
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    return prctl(PR_SET_DUMPABLE, 0)


def threads() -> int:
    """Number of threads of this process, including libraries'; 0 where the system does not report it."""
    folder = Path("/proc/self/task")
    return len(list(folder.iterdir())) if folder.is_dir() else 0


def die_with_parent() -> None:
    """Makes the kernel kill this process when the thread that started it ends (Linux only).

    Call it first, while standard output is still the pipe that the parent reads. If the parent ended before
    the kernel was asked, that pipe has no reader and this process exits.
    """
    if sys.platform != "linux" or not prctl(PR_SET_PDEATHSIG, signal.SIGKILL):
        return
    answers = select.poll()
    answers.register(1, 0)
    if any(state & select.POLLERR for _, state in answers.poll(0)):
        os._exit(0)


def install_filter(program: Sequence[tuple[int, int, int, int]]) -> bool:
    """Installs a seccomp filter on all threads of this process; it cannot be removed.

    `program` lists BPF instructions as (code, jump if true, jump if false, value). Returns False when the
    kernel refuses.
    """
    if not no_new_privileges():
        return False
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    instructions = ctypes.create_string_buffer(code, len(code))
    header = _Program(len(program), ctypes.addressof(instructions))
    return _seccomp(_SET_MODE_FILTER, _ALL_THREADS, ctypes.byref(header))


def can_filter() -> bool:
    """Whether this kernel supports seccomp filters and lets this process ask for them."""
    return _seccomp(_GET_ACTION_AVAILABLE, 0, ctypes.byref(ctypes.c_uint32(_ERROR)))


def _seccomp(operation: int, flags: int, argument: Any) -> bool:
    number = _SECCOMP.get(platform.machine()) if sys.platform == "linux" else None
    return number is not None and _syscall(number, operation, flags, argument) == 0


@dataclass(frozen=True, slots=True)
class Refusal:
    """A system call that fails, by its number on each architecture (None where it does not exist).

    Without `argument` the call always fails. With `argument` (an index from 0; its lower 32 bits are
    compared) it fails if the argument is one of `values` or has one of `bits`; with `unless`, if neither is
    the case. `answer` is the filter's return value for a call that fails.
    """

    x86_64: int | None
    aarch64: int | None
    argument: int | None = None
    values: tuple[int, ...] = ()
    bits: int = 0
    unless: bool = False
    answer: int = REFUSE

    def program(self, machine: str) -> list[tuple[int, int, int, int]]:
        """BPF instructions that expect the call's number to be loaded and fall through for other numbers."""
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
    """Makes system calls fail for all threads of this process; returns False where that is not possible.

    Calls numbered `first_unknown` and above fail as on a kernel that does not have them. So do calls through
    x86-64's second interface, whose numbers are higher. Calls made for another architecture are refused.
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
    """Version of Landlock's interface (files from 1, TCP from 4), or 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, _syscall(_CREATE_RULESET, None, 0, _VERSION_ONLY))


def landlock(granted: Mapping[Path, int], *, local_sockets: bool = False) -> bool:
    """Denies access to all files but those at or below the paths in `granted`, with the rights given.

    Files that are already open stay open. Paths that do not exist are skipped. Where Landlock supports TCP,
    binding and connecting are denied. Where it supports scopes, signals to outside processes are denied, and
    so are outside abstract sockets unless `local_sockets`. Returns False where there is no Landlock. Raises
    OSError when the kernel offers Landlock but refuses it; then none of this takes effect.
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
    # An integer must fill its register; otherwise the bits above an int are undefined.
    return ctypes.c_long(argument) if isinstance(argument, int) else argument


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


_READ = READ_FILE | READ_DIR
_WRITE = _READ | WRITE_FILE | MAKE_REG | REMOVE_FILE | TRUNCATE
# System information that libraries read while they work: processors and memory. It is not user data.
_SYSTEM = tuple(
    map(Path, ("/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/sys/devices/system", "/dev/null"))
)
# A graphics driver loads more of itself when it is first used, and accesses its device.
_DRIVERS = tuple(map(Path, ("/usr", "/lib", "/lib64", "/opt", "/etc", "/proc", "/sys")))
_DEVICES = Path("/dev")

# System call numbers on x86-64 and ARM64, from the kernel's unistd.h. Later calls are answered as an older
# kernel would.
_FIRST_UNKNOWN = 470
_AF_UNIX = 1
_CLONE_THREAD = 0x10000
# O_WRONLY, O_RDWR, O_CREAT, O_TRUNC and O_TMPFILE
_FOR_WRITING = 0o20001103
_OWNER_OR_SIGNAL_OF_A_FILE = (8, 10, 15)  # F_SETOWN, F_SETSIG, F_SETOWN_EX
_PR_SET_PTRACER = 0x59616D61

_SOCKETS = {
    "socket": Refusal(41, 198),
    "socketpair": Refusal(53, 199),
}
_SOCKETS_BUT_LOCAL = {
    "socket": Refusal(41, 198, argument=0, values=(_AF_UNIX,), unless=True),
    "socketpair": Refusal(53, 199, argument=0, values=(_AF_UNIX,), unless=True),
}
_PROGRAMS = {
    "fork": Refusal(57, None),
    "vfork": Refusal(58, None),
    "clone": Refusal(56, 220, argument=0, bits=_CLONE_THREAD, unless=True),
    # The filter cannot see its flags. The C library falls back to `clone`.
    "clone3": Refusal(435, 435, answer=UNKNOWN),
    "execve": Refusal(59, 221),
    "execveat": Refusal(322, 281),
}
_OTHER_PROCESSES = {
    "tkill": Refusal(200, 130),
    "rt_sigqueueinfo": Refusal(129, 138),
    "rt_tgsigqueueinfo": Refusal(297, 240),
    "pidfd_send_signal": Refusal(424, 424),
    "pidfd_open": Refusal(434, 434),
    "pidfd_getfd": Refusal(438, 438),
    "ptrace": Refusal(101, 117),
    "process_vm_readv": Refusal(310, 270),
    "process_vm_writev": Refusal(311, 271),
    "process_madvise": Refusal(440, 440),
    "process_mrelease": Refusal(448, 448),
    "kcmp": Refusal(312, 272),
    "perf_event_open": Refusal(298, 241),
    "migrate_pages": Refusal(256, 238),
    "move_pages": Refusal(279, 239),
    "setpriority": Refusal(141, 140),
    "ioprio_set": Refusal(251, 30),
    "sched_setparam": Refusal(142, 118, argument=0, values=(0,), unless=True),
    "sched_setscheduler": Refusal(144, 119, argument=0, values=(0,), unless=True),
    "sched_setattr": Refusal(314, 274, argument=0, values=(0,), unless=True),
    "sched_setaffinity": Refusal(203, 122, argument=0, values=(0,), unless=True),
    "prlimit64": Refusal(302, 261, argument=0, values=(0,), unless=True),
    "fcntl": Refusal(72, 25, argument=1, values=_OWNER_OR_SIGNAL_OF_A_FILE),
    # The process must keep dying with its parent and keep its memory inaccessible to others.
    "prctl": Refusal(157, 167, argument=0, values=(PR_SET_PDEATHSIG, PR_SET_DUMPABLE, _PR_SET_PTRACER)),
}
_SHARED_WITH_OTHERS = {
    "shmget": Refusal(29, 194),
    "shmat": Refusal(30, 196),
    "shmctl": Refusal(31, 195),
    "semget": Refusal(64, 190),
    "semop": Refusal(65, 193),
    "semtimedop": Refusal(220, 192),
    "semctl": Refusal(66, 191),
    "msgget": Refusal(68, 186),
    "msgsnd": Refusal(69, 189),
    "msgrcv": Refusal(70, 188),
    "msgctl": Refusal(71, 187),
    "mq_open": Refusal(240, 180),
    "mq_unlink": Refusal(241, 181),
}
_ABOUT_FILES = {
    "chmod": Refusal(90, None),
    "fchmod": Refusal(91, 52),
    "fchmodat": Refusal(268, 53),
    "fchmodat2": Refusal(452, 452),
    "chown": Refusal(92, None),
    "fchown": Refusal(93, 55),
    "lchown": Refusal(94, None),
    "fchownat": Refusal(260, 54),
    "utime": Refusal(132, None),
    "utimes": Refusal(235, None),
    "futimesat": Refusal(261, None),
    "utimensat": Refusal(280, 88),
    "setxattr": Refusal(188, 5),
    "lsetxattr": Refusal(189, 6),
    "fsetxattr": Refusal(190, 7),
    "setxattrat": Refusal(463, 463),
    "removexattr": Refusal(197, 14),
    "lremovexattr": Refusal(198, 15),
    "fremovexattr": Refusal(199, 16),
    "removexattrat": Refusal(466, 466),
    "file_setattr": Refusal(469, 469),
    "inotify_init": Refusal(253, None),
    "inotify_init1": Refusal(294, 26),
    "fanotify_init": Refusal(300, 262),
    "name_to_handle_at": Refusal(303, 264),
    "open_by_handle_at": Refusal(304, 265),
}
_FOLDERS = {
    "mkdir": Refusal(83, None),
    "mkdirat": Refusal(258, 34),
    "rmdir": Refusal(84, None),
    "mknod": Refusal(133, None),
    "mknodat": Refusal(259, 33),
    "link": Refusal(86, None),
    "linkat": Refusal(265, 37),
    "symlink": Refusal(88, None),
    "symlinkat": Refusal(266, 36),
    "rename": Refusal(82, None),
    "renameat": Refusal(264, 38),
    "renameat2": Refusal(316, 276),
}
_KERNEL = {
    "add_key": Refusal(248, 217),
    "request_key": Refusal(249, 218),
    "keyctl": Refusal(250, 219),
    "bpf": Refusal(321, 280),
    "io_uring_setup": Refusal(425, 425),
    "userfaultfd": Refusal(323, 282),
    "unshare": Refusal(272, 97),
    "setns": Refusal(308, 268),
    "chroot": Refusal(161, 51),
    "pivot_root": Refusal(155, 41),
    "mount": Refusal(165, 40),
    "umount2": Refusal(166, 39),
    "move_mount": Refusal(429, 429),
    "open_tree": Refusal(428, 428),
    "open_tree_attr": Refusal(467, 467),
    "fsopen": Refusal(430, 430),
    "fsmount": Refusal(432, 432),
    "mount_setattr": Refusal(442, 442),
}
# Applied where nothing may be written and no graphics driver needs its devices.
_WRITING = {
    "open": Refusal(2, None, argument=1, bits=_FOR_WRITING),
    "openat": Refusal(257, 56, argument=2, bits=_FOR_WRITING),
    # The filter cannot see its flags.
    "openat2": Refusal(437, 437, answer=UNKNOWN),
    "creat": Refusal(85, None),
    "truncate": Refusal(76, 45),
    "unlink": Refusal(87, None),
    "unlinkat": Refusal(263, 35),
    "memfd_create": Refusal(319, 279),
    "memfd_secret": Refusal(447, 447),
}


def _refusals(*, writes: bool, local_sockets: bool) -> list[Refusal]:
    myself = {
        "kill": Refusal(62, 129, argument=0, values=(os.getpid(),), unless=True),
        "tgkill": Refusal(234, 131, argument=0, values=(os.getpid(),), unless=True),
    }
    groups = [_SOCKETS_BUT_LOCAL if local_sockets else _SOCKETS, _PROGRAMS, _OTHER_PROCESSES, myself]
    groups += [_SHARED_WITH_OTHERS, _ABOUT_FILES, _FOLDERS, _KERNEL, *([] if writes else [_WRITING])]
    return [refusal for group in groups for refusal in group.values()]


@dataclass(frozen=True, slots=True)
class Confinement:
    """The access that is denied: other `files` and TCP (`tcp`) by Landlock, `calls` by seccomp.

    `calls` covers sockets, other programs and processes, and changes to file metadata.
    """

    files: bool
    tcp: bool
    calls: bool

    @property
    def complete(self) -> bool:
        return self.files and self.calls


def available() -> Confinement:
    """What this system can deny; changes nothing."""
    version = landlock_version()
    return Confinement(files=version > 0, tcp=version >= _NETWORK_SINCE, calls=can_filter())


def begin_child() -> None:
    """Prepares a process that Atlas has started; call it first.

    On Linux the kernel kills the process when Atlas ends. A crash leaves no memory dump.
    """
    die_with_parent()
    forbid_memory_dumps()
    # Otherwise OpenBLAS, which NumPy uses, would start threads too early to be confined.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"


def child_environment(names: Sequence[str] = ()) -> dict[str, str]:
    """Environment variables for a process that Atlas starts.

    They are those for finding programs and temporary files, those for the language, and those in `names`.
    Python does not search the current folder for modules, and finds these packages.
    """
    usual = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
    given = {name: os.environ[name] for name in (*usual, *names) if name in os.environ}
    return {**given, "PYTHONSAFEPATH": "1", "PYTHONPATH": str(Path(__file__).parents[1])}


def confine(
    readable: Sequence[Path],
    *,
    writable: Sequence[Path] = (),
    graphics: bool = False,
    local_sockets: bool = False,
) -> Confinement:
    """Restricts this process to reading `readable` and creating files in `writable`; denies sockets.

    Paths include everything below them. Call it after all imports. `local_sockets` allows local sockets, and
    `graphics` what a graphics driver needs. What the system cannot deny stays allowed, as the returned value
    reports. Raises OSError when the kernel offers Landlock but refuses it. Landlock applies to the calling
    thread and those that it starts. RuntimeError is raised if there are others (of a library, say), unless
    `graphics` is set: they may belong to the driver.
    """
    granted = dict.fromkeys(_SYSTEM, _READ)
    if graphics:
        granted |= dict.fromkeys(_DRIVERS, _READ)
        granted[_DEVICES] = _READ | WRITE_FILE | IOCTL_DEV
    granted |= dict.fromkeys(map(Path.resolve, readable), _READ)
    granted |= dict.fromkeys(map(Path.resolve, writable), _WRITE)
    if not graphics and threads() > 1:
        raise RuntimeError("a thread that is already running would not be confined")
    files = landlock(granted, local_sockets=local_sockets)
    refusals = _refusals(writes=bool(writable) or graphics, local_sockets=local_sockets)
    return Confinement(
        files=files,
        tcp=files and landlock_version() >= _NETWORK_SINCE,
        calls=refuse_calls(refusals, _FIRST_UNKNOWN),
    )
