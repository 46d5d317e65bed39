"""A search for what must not be found: canaries, in every form in which they might lie in a file.

A form is what one would have to look for: the words in another encoding, in hexadecimal, in base64 from any
of its three beginnings, a vector in full or in half precision. Forms shorter than `SHORTEST` bytes prove
nothing and are refused.
"""

import base64
import json
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SHORTEST = 8
PIECE = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Needle:
    """One form of one canary. `what` names both and holds nothing of the canary itself."""

    what: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a needle was found: a file's name too can give something away, then `offset` is -1."""

    path: Path
    offset: int
    what: str

    def __str__(self) -> str:
        return f"{self.what} in {self.path} at {self.offset}"


def text_needles(name: str, text: str) -> list[Needle]:
    """Forms of words."""
    plain = text.encode()
    wide = [(code, text.encode(code)) for code in ("utf-16-le", "utf-16-be")]
    escaped = json.dumps(text)[1:-1].encode()
    found = [*bytes_needles(name, plain), *(Needle(f"{name} as {code}", data) for code, data in wide)]
    if escaped != plain:
        found.append(Needle(f"{name} escaped as in JSON", escaped))
    return found


def bytes_needles(name: str, data: bytes) -> list[Needle]:
    """Forms of bytes, such as a key."""
    _long_enough(name, data)
    digits = data.hex()
    found = [
        Needle(f"{name} as it is", data),
        Needle(f"{name} in hexadecimal", digits.encode()),
        Needle(f"{name} in capital hexadecimal", digits.upper().encode()),
        Needle(f"{name} in reverse", data[::-1]),
    ]
    for before in range(3):
        for kind, alphabet in (("base64", None), ("urlsafe base64", b"-_")):
            encoded = base64.b64encode(b"\0" * before + data, alphabet)
            # Only the characters that depend on nothing but the data.
            inner = encoded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
            found.append(Needle(f"{name} in {kind}, {before} bytes in", inner))
    return list({needle.data: needle for needle in found}.values())


def vector_needles(name: str, vector: Sequence[float], *, numbers: int = 6) -> list[Needle]:
    """Forms of a vector: runs of its numbers in four precisions, in hexadecimal and base64 too.

    Several runs, so that a piece of it is found as well as the whole.
    """
    found: list[Needle] = []
    for at in range(0, max(1, len(vector) - numbers + 1), numbers * 2):
        run = vector[at : at + numbers]
        for kind in "efd":
            # A run of zeros is in every file.
            if sum(value != 0 for value in run) * 2 > len(run):
                data = struct.pack(f"<{len(run)}{kind}", *run)
                found += bytes_needles(f"{name} [{at}:] as {kind}", data)
    if not found:
        raise ValueError(f"{name} has too many zeros to be told from others")
    return found


def find(data: bytes, needles: Iterable[Needle]) -> Iterator[tuple[int, str]]:
    """The first place of each needle that is in `data`."""
    for needle in needles:
        at = data.find(needle.data)
        if at >= 0:
            yield at, needle.what


def scan_file(path: Path, needles: Sequence[Needle]) -> Iterator[Hit]:
    """Hits in a file's name and in its content. A file that is gone by now has none."""
    name = str(path).encode("utf-8", "surrogateescape")
    for _, what in find(name, needles):
        yield Hit(path, -1, what)
    try:
        with path.open("rb") as file:
            yield from _in_pieces(path, file, needles)
    except FileNotFoundError:
        return


def _in_pieces(path: Path, file: IO[bytes], needles: Sequence[Needle]) -> Iterator[Hit]:
    """Reads rather than maps: a mapped file that others cut short meanwhile would end this process."""
    overlap = max((len(needle.data) for needle in needles), default=1) - 1
    found: set[str] = set()
    at, kept = 0, b""
    while piece := file.read(PIECE):
        data = kept + piece
        for offset, what in find(data, needles):
            if what not in found:
                found.add(what)
                yield Hit(path, at - len(kept) + offset, what)
        at += len(piece)
        kept = data[-overlap:] if overlap else b""


@dataclass(slots=True)
class Scan:
    """What was looked at, and what was found."""

    files: int = 0
    bytes: int = 0
    hits: tuple[Hit, ...] = ()

    def __add__(self, other: "Scan") -> "Scan":
        return Scan(self.files + other.files, self.bytes + other.bytes, (*self.hits, *other.hits))


def scan(
    roots: Iterable[Path], needles: Sequence[Needle], *, since: float = 0, but: Iterable[Path] = ()
) -> Scan:
    """Searches every regular file below `roots`; links are looked at by name and not followed.

    `since` leaves out files that were last changed before that time (seconds since the epoch); `but` are
    files and folders that are meant to hold the canaries, such as the attacker's own notes.
    """
    spared = {path.resolve() for path in but}
    done = Scan()
    for path in _files(roots, spared):
        try:
            status = path.lstat()
        except FileNotFoundError:
            continue
        if status.st_mtime >= since:
            done += Scan(1, status.st_size, tuple(scan_file(path, needles)))
    return done


def scan_written(path: Path, needles: Sequence[Needle]) -> Scan:
    """Searches what was ever written of a large file, such as the image of a disk: not its holes."""
    done = Scan(files=1)
    with path.open("rb") as file:
        at, end = 0, path.stat().st_size
        while at < end:
            try:
                begin = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # nothing but a hole is left
                break
            at = os.lseek(file.fileno(), begin, os.SEEK_HOLE)
            file.seek(begin)
            data = file.read(at - begin)
            hits = tuple(Hit(path, begin + offset, what) for offset, what in find(data, needles))
            done += Scan(0, len(data), hits)
    return done


def _files(roots: Iterable[Path], spared: set[Path]) -> Iterator[Path]:
    for root in roots:
        if not root.exists() or root.resolve() in spared:
            continue
        if not root.is_dir():
            yield root
            continue
        try:
            inside = sorted(root.iterdir())
        except (PermissionError, FileNotFoundError):
            continue
        for path in inside:
            if path.is_symlink() or path.resolve() in spared:
                continue
            if path.is_dir():
                yield from _files([path], spared)
            elif path.is_file():
                yield path


def _long_enough(name: str, data: bytes) -> None:
    if len(data) < SHORTEST:
        raise ValueError(f"{name} is too short to prove anything")


def needles_of(texts: Mapping[str, str], keys: Mapping[str, bytes] | None = None) -> list[Needle]:
    """Forms of several canaries, by their names."""
    found = [needle for name, text in texts.items() for needle in text_needles(name, text)]
    return found + [n for name, data in (keys or {}).items() for n in bytes_needles(name, data)]
