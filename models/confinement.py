"""What the processes that Atlas starts may do: work on what they were given, and nothing else."""

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


_READ = READ_FILE | READ_DIR
_WRITE = _READ | WRITE_FILE | MAKE_REG | REMOVE_FILE | TRUNCATE
# What libraries ask of the system while they work: how many processors, how much memory. No one's data.
_SYSTEM = tuple(
    map(Path, ("/proc/meminfo", "/proc/cpuinfo", "/proc/stat", "/sys/devices/system", "/dev/null"))
)
# A graphics card's driver loads the rest of itself when it is first used, and talks to its device.
_DRIVERS = tuple(map(Path, ("/usr", "/lib", "/lib64", "/opt", "/etc", "/proc", "/sys")))
_DEVICES = Path("/dev")

# Each call's number on x86-64 and on ARM64, from the kernel's unistd.h. Calls that came after these are
# answered as an older kernel would.
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
    # Its flags are out of sight; the C library then falls back to `clone`.
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
    # The process shall go on dying with its parent and showing its memory to nobody.
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
# Where nothing is to be written at all, and no driver of a graphics card wants its devices.
_WRITING = {
    "open": Refusal(2, None, argument=1, bits=_FOR_WRITING),
    "openat": Refusal(257, 56, argument=2, bits=_FOR_WRITING),
    # Its flags are out of sight.
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
    """What is denied: other `files` and TCP (`tcp`) by Landlock; by seccomp (`calls`) every kind of socket,
    other programs and processes, and changes to what is known of files."""

    files: bool
    tcp: bool
    calls: bool

    @property
    def complete(self) -> bool:
        return self.files and self.calls


def available() -> Confinement:
    """What this system offers to deny. Looks only."""
    version = landlock_version()
    return Confinement(files=version > 0, tcp=version >= _NETWORK_SINCE, calls=can_filter())


def begin_child() -> None:
    """What a process that Atlas starts does first: on Linux it ends when Atlas does, whatever it is doing
    then, and a crash of it leaves no picture of memory."""
    die_with_parent()
    forbid_memory_dumps()
    # NumPy's library for matrices would start threads of its own, too early to be confined.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"


def child_environment(names: Sequence[str] = ()) -> dict[str, str]:
    """What a process that Atlas starts is told of the environment: how to find programs and temporary files,
    which language is spoken, and what `names` names.

    The current folder is not searched for modules, and these packages are found.
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
    """From now on this process may open for reading what is at or below `readable`, make files in `writable`,
    and open no socket, except local ones if `local_sockets`. Call it after everything is imported.

    `graphics` adds what the driver of a graphics card needs. What the system cannot deny stays allowed, as
    the answer says; a kernel that offers Landlock and refuses it raises OSError. Landlock holds for the
    calling thread and those that it starts: if there are others (of a library, say) this raises RuntimeError,
    unless they may be those of a driver.
    """
    granted = dict.fromkeys(_SYSTEM, _READ)
    if graphics:
        granted |= dict.fromkeys(_DRIVERS, _READ)
        granted[_DEVICES] = _READ | WRITE_FILE | IOCTL_DEV
    granted |= dict.fromkeys(map(Path.resolve, readable), _READ)
    granted |= dict.fromkeys(map(Path.resolve, writable), _WRITE)
    if not graphics and threads() > 1:
        raise RuntimeError("a thread that runs already would stay free")
    files = landlock(granted, local_sockets=local_sockets)
    refusals = _refusals(writes=bool(writable) or graphics, local_sockets=local_sockets)
    return Confinement(
        files=files,
        tcp=files and landlock_version() >= _NETWORK_SINCE,
        calls=refuse_calls(refusals, _FIRST_UNKNOWN),
    )
