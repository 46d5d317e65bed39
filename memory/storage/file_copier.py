"""The process that copies files: `python -m memory.storage.file_copier FROM TO [FROM TO…]`.

SQLite's locks belong to a process: one that opens a database's file by itself, and closes it again, loses
the locks that its connections hold on it. So files of a room that may be open are copied by another process.

A file that is not there is left out. What the system refuses is told on standard output, as its error number.
"""

import os
import shutil
import sys
from pathlib import Path

_STEP = 4 * 1024 * 1024


def copy(source: Path, target: Path) -> None:
    """Copies a file's bytes to a new file of mode 0600; they are on the disk when this returns."""
    try:
        reader = source.open("rb")
    except FileNotFoundError:
        return
    with reader:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as writer:
            shutil.copyfileobj(reader, writer, _STEP)
            writer.flush()
            os.fsync(writer.fileno())


def main(arguments: list[str]) -> int:
    try:
        for source, target in zip(arguments[::2], arguments[1::2], strict=True):
            copy(Path(source), Path(target))
    except OSError as error:
        sys.stdout.write(str(error.errno or 0))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
