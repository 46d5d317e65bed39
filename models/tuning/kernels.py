"""Which processor units llama.cpp may use on this computer, and the note that records it."""

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

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
from models.library.files import write_atomically

# Exit statuses of a process that ran an instruction which its processor lacks, or faulted in one: SIGILL,
# SIGBUS and SIGSEGV, and their equivalents on Windows. Being killed (for its memory, say) is none of these.
FAULTS = {-4, -7, -10, -11, 0xC000001D, 0xC0000005}


class Kernels(StrEnum):
    """Sets of kernels, from the fastest to the one that always works.

    `ALL` is whatever llama.cpp chooses. `WITHOUT_AMX` is the same with AMX hidden from it. `PLAIN` re-packs
    no weights at all.
    """

    ALL = "all"
    WITHOUT_AMX = "without-amx"
    PLAIN = "plain"

    @property
    def weaker(self) -> "Kernels | None":
        """The kernels to try when these fault; None when nothing is left."""
        if self is Kernels.PLAIN:
            return None
        return Kernels.WITHOUT_AMX if self is Kernels.ALL and can_hide_amx() else Kernels.PLAIN


def can_hide_amx() -> bool:
    """Whether processes must ask this system's kernel for AMX, which can then be refused."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


@dataclass(frozen=True, slots=True)
class KernelsNote:
    """Records the fastest kernels that run on this machine.

    The note is stored in the models folder. It names the processor and the build, so that it is ignored on
    another machine or after an update.
    """

    path: Path
    machine: Callable[[], str]

    @classmethod
    def beside(cls, models: Path) -> "KernelsNote":
        """The note for a models folder."""
        return cls(models / "plain-kernels", this_processor)

    def read(self) -> Kernels:
        """The kernels to begin with: `ALL` where nothing is recorded for this machine and build."""
        try:
            machine, _, level = self.path.read_text(encoding="utf-8").strip().partition("\n")
        except (OSError, UnicodeDecodeError):
            return Kernels.ALL
        if machine != self.machine():
            return Kernels.ALL
        if level in tuple(Kernels):
            return Kernels(level)
        # A note from before there were levels shows only that not everything runs.
        return Kernels.ALL.weaker or Kernels.PLAIN

    def write(self, kernels: Kernels) -> None:
        write_atomically(self.path, f"{self.machine()}\n{kernels}\n")


def real_cores() -> int:
    """Number of physical cores, or of logical ones where that is unknown."""
    import psutil

    return psutil.cpu_count(logical=False) or os.cpu_count() or 1


def this_processor() -> str:
    """Name of the processor and version of llama-cpp-python."""
    from importlib.metadata import version

    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        processor = next((line for line in lines if line.startswith("model name")), processor)
    return (
        f"{processor.partition(':')[2].strip() or processor}, llama-cpp-python {version('llama-cpp-python')}"
    )


_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023


@cache
def hide_amx() -> bool:
    """Makes the kernel refuse AMX to all threads of this process; returns False if it cannot.

    A process must ask the kernel before it may use the tile registers (`arch_prctl` with
    `ARCH_REQ_XCOMP_PERM`). llama.cpp does so once, when it first loads weights, and works without AMX when
    refused. Everything else stays allowed. The filter cannot be removed.
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
