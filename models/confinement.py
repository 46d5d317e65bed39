"""What the processes that run models may reach: the files they were given, and nothing else.

A model file comes from outside and is read by a large library in C. Should one ever take that over, it finds
itself in a process without a key, without other files, and without a network.
"""

import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models import linux

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

# socket, ptrace, process_vm_readv, process_vm_writev, add_key, request_key, keyctl, bpf, io_uring_setup
_REFUSED = {
    "x86_64": (41, 101, 310, 311, 248, 249, 250, 321, 425),
    "aarch64": (198, 117, 270, 271, 217, 218, 219, 280, 425),
}


@dataclass(frozen=True, slots=True)
class Confinement:
    """What is denied: other `files`; TCP by Landlock (`tcp`); every kind of socket by seccomp (`sockets`)."""

    files: bool
    tcp: bool
    sockets: bool

    @property
    def complete(self) -> bool:
        return self.files and (self.tcp or self.sockets)


def available() -> Confinement:
    """What this system offers to deny. Looks only."""
    version = linux.landlock_version()
    filters = sys.platform == "linux" and platform.machine() in _REFUSED
    return Confinement(files=version > 0, tcp=version >= _NETWORK_SINCE, sockets=filters)


def confine(
    readable: Sequence[Path], *, writable: Sequence[Path] = (), graphics: bool = False
) -> Confinement:
    """From now on this thread, and those it starts, may open for reading what is at or below `readable`,
    make files in `writable`, and open no socket. Call it after everything is imported.

    `graphics` adds what the driver of a graphics card needs. What the system cannot deny stays allowed, as
    the answer says; a kernel that offers Landlock and refuses it raises OSError.
    """
    granted = dict.fromkeys(_SYSTEM, _READ)
    if graphics:
        granted |= dict.fromkeys(_DRIVERS, _READ)
        granted[_DEVICES] = _READ | linux.WRITE_FILE | linux.IOCTL_DEV
    granted |= dict.fromkeys(map(Path.resolve, readable), _READ)
    granted |= dict.fromkeys(map(Path.resolve, writable), _WRITE)
    files = linux.landlock(granted)
    return Confinement(
        files=files,
        tcp=files and linux.landlock_version() >= _NETWORK_SINCE,
        sockets=linux.refuse_calls(_REFUSED),
    )
