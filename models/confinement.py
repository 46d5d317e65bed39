"""What the processes that Atlas starts may do: work on what they were given, and nothing else.

A model file or a document comes from outside and is read by large libraries. Should it ever take one of them
over, it finds itself in a process without a key, without other files, without a network, that can start
nothing, change nothing, and touch no other process.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models import linux
from models.linux import UNKNOWN, Refusal

_NETWORK_SINCE = 4
_READ = linux.READ_FILE | linux.READ_DIR
_WRITE = _READ | linux.WRITE_FILE | linux.MAKE_REG | linux.REMOVE_FILE | linux.TRUNCATE
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
    "prctl": Refusal(
        157, 167, argument=0, values=(linux.PR_SET_PDEATHSIG, linux.PR_SET_DUMPABLE, _PR_SET_PTRACER)
    ),
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
    version = linux.landlock_version()
    return Confinement(files=version > 0, tcp=version >= _NETWORK_SINCE, calls=linux.can_filter())


def begin_child() -> None:
    """What a process that Atlas starts does first: on Linux it ends when Atlas does, whatever it is doing
    then, and a crash of it leaves no picture of memory."""
    linux.die_with_parent()
    linux.forbid_memory_dumps()
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
        granted[_DEVICES] = _READ | linux.WRITE_FILE | linux.IOCTL_DEV
    granted |= dict.fromkeys(map(Path.resolve, readable), _READ)
    granted |= dict.fromkeys(map(Path.resolve, writable), _WRITE)
    if not graphics and linux.threads() > 1:
        raise RuntimeError("a thread that runs already would stay free")
    files = linux.landlock(granted, local_sockets=local_sockets)
    refusals = _refusals(writes=bool(writable) or graphics, local_sockets=local_sockets)
    return Confinement(
        files=files,
        tcp=files and linux.landlock_version() >= _NETWORK_SINCE,
        calls=linux.refuse_calls(refusals, _FIRST_UNKNOWN),
    )
