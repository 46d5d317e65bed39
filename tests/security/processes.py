"""The memory of processes, searched as their owner or root may read it (Linux)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil

from tests.security.scanner import Needle, find

_MOST = 64 * 1024 * 1024
_UNREADABLE = ("[vvar]", "[vsyscall]", "[vvar_vclock]")


def memory_of(pid: int) -> Iterator[bytes]:
    """Every readable region in pieces. Files of models are left out: they are looked at on the disk."""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            span, rights, *_ = line.split()
            if "r" not in rights or line.endswith((*_UNREADABLE, ".gguf")):
                continue
            begin, end = (int(part, 16) for part in span.split("-"))
            for at in range(begin, end, _MOST):
                try:
                    memory.seek(at)
                    # Pieces overlap, so that nothing is cut in two.
                    yield memory.read(min(_MOST + 4096, end - at))
                except OSError:
                    continue  # a page that is behind a device, or went meanwhile


def memory_hits(pid: int, needles: Sequence[Needle]) -> tuple[int, set[str]]:
    """How many bytes were looked at, and the forms that were found."""
    size, found = 0, set[str]()
    for piece in memory_of(pid):
        size += len(piece)
        found |= {what for _, what in find(piece, [n for n in needles if n.what not in found])}
    return size, found


def told_hits(needles: Sequence[Needle]) -> tuple[int, set[str]]:
    """What every process of the computer was started with: arguments and environment."""
    size, found = 0, set[str]()
    for process in psutil.process_iter():
        for name in ("cmdline", "environ"):
            try:
                data = Path(f"/proc/{process.pid}/{name}").read_bytes()
            except OSError:
                continue
            size += len(data)
            found |= {what for _, what in find(data, needles)}
    return size, found


def memory_needles(name: str, data: bytes | str) -> list[Needle]:
    """The forms in which an interpreter holds words or bytes."""
    if isinstance(data, bytes):
        return [
            Needle(f"{name} as it is", data),
            Needle(f"{name} in hexadecimal", data.hex().encode()),
        ]
    codes = ("utf-8", "utf-16-le", "utf-32-le")
    return [Needle(f"{name} as {code}", data.encode(code)) for code in codes]
