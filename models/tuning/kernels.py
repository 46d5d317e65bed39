"""How much of the processor llama.cpp may use, and the note that remembers what this machine can run.

Re-packed weights use special units of the processor, and some virtual machines announce units (AMX) that
fault when they are used. What a machine cannot run is found out by trying (see `models.worker.client`).
"""

import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from models.library.files import write_atomically

# How a process ends that ran an instruction which its processor does not have, or faulted in one: SIGILL,
# SIGBUS and SIGSEGV, and their like on Windows. Being killed (for its memory, say) is none of these.
FAULTS = {-4, -7, -10, -11, 0xC000001D, 0xC0000005}


class Kernels(StrEnum):
    """From the fastest to the one that always works.

    `ALL` is whatever llama.cpp chooses; `WITHOUT_AMX` the same with AMX hidden from it; `PLAIN` re-packs no
    weights at all.
    """

    ALL = "all"
    WITHOUT_AMX = "without-amx"
    PLAIN = "plain"

    @property
    def weaker(self) -> "Kernels | None":
        """What to try when this faults here; None when nothing is left."""
        if self is Kernels.PLAIN:
            return None
        return Kernels.WITHOUT_AMX if self is Kernels.ALL and can_hide_amx() else Kernels.PLAIN


def can_hide_amx() -> bool:
    """Whether this system asks the kernel for AMX, and so can be told that there is none."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


@dataclass(frozen=True, slots=True)
class KernelsNote:
    """Remembers the fastest kernels that run on this machine.

    The note lies beside the models and names the processor and the build, so that it means nothing on another
    machine or after an update.
    """

    path: Path
    machine: Callable[[], str]

    @classmethod
    def beside(cls, models: Path) -> "KernelsNote":
        """The note of a models folder."""
        return cls(models / "plain-kernels", this_processor)

    def read(self) -> Kernels:
        """What to begin with: `ALL` where nothing is noted for this machine and build."""
        try:
            machine, _, level = self.path.read_text(encoding="utf-8").strip().partition("\n")
        except (OSError, UnicodeDecodeError):
            return Kernels.ALL
        if machine != self.machine():
            return Kernels.ALL
        if level in tuple(Kernels):
            return Kernels(level)
        # A note from before there were levels tells only that not everything runs.
        return Kernels.ALL.weaker or Kernels.PLAIN

    def write(self, kernels: Kernels) -> None:
        write_atomically(self.path, f"{self.machine()}\n{kernels}\n")


def real_cores() -> int:
    """Cores, not counting those that are halves of one."""
    import psutil

    return psutil.cpu_count(logical=False) or os.cpu_count() or 1


def this_processor() -> str:
    """Names the processor and the build of llama.cpp."""
    from importlib.metadata import version

    processor = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = info.read_text(encoding="utf-8", errors="replace").splitlines()
        processor = next((line for line in lines if line.startswith("model name")), processor)
    return (
        f"{processor.partition(':')[2].strip() or processor}, llama-cpp-python {version('llama-cpp-python')}"
    )
