"""Numbers, bytes and strings of a GGUF file, read within its bounds."""

import os
import struct
from pathlib import Path
from typing import BinaryIO, Final

from models.errors import DamagedGguf, TruncatedGguf

U32: Final = struct.Struct("<I")
U64: Final = struct.Struct("<Q")
# No model file is this long; a length beyond it is damage, not a file that was cut.
ABSURD: Final = 1 << 44
_WINDOW: Final = 1 << 20


class GgufWindow:
    """Walks through a file with a window of it in memory. Raises `DamagedGguf`, `TruncatedGguf`."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._base = 0
        self._window = b""
        self._position = 0

    def _damaged(self, detail: str) -> DamagedGguf:
        return DamagedGguf(self._path, detail)

    def _require(self, end: int) -> None:
        if end > ABSURD:
            raise self._damaged("a length is beyond all bounds")
        if end > self._size:
            raise TruncatedGguf(self._path, end, self._size)

    def _ahead(self, count: int) -> int:
        """Makes the next `count` bytes available; returns their offset in the window."""
        start = self._position - self._base
        if start < 0 or start + count > len(self._window):
            self._require(self._position + count)
            self._file.seek(self._position)
            self._window = self._file.read(max(count, _WINDOW))
            self._base = self._position
            start = 0
            if len(self._window) < count:  # the file was cut while it was being read
                raise TruncatedGguf(self._path, self._position + count, self._base + len(self._window))
        return start

    def _bytes(self, count: int) -> bytes:
        start = self._ahead(count)
        self._position += count
        return self._window[start : start + count]

    def _skip(self, count: int) -> None:
        self._require(self._position + count)
        self._position += count

    def _u32(self) -> int:
        start = self._ahead(4)
        self._position += 4
        value: int = U32.unpack_from(self._window, start)[0]
        return value

    def _u64(self) -> int:
        start = self._ahead(8)
        self._position += 8
        value: int = U64.unpack_from(self._window, start)[0]
        return value

    def _count(self, limit: int, what: str) -> int:
        count = self._u64()
        if count > limit:
            raise self._damaged(f"{count} {what}, at most {limit} are accepted")
        return count

    def _string(self, limit: int, what: str) -> str:
        length = self._u64()
        if length > limit:
            self._require(self._position + length)
            raise self._damaged(f"{what} of {length} bytes")
        try:
            return self._bytes(length).decode()
        except UnicodeDecodeError as error:
            raise self._damaged(f"{what} is not UTF-8") from error
