"""The child process that copies files: `python -m memory.storage.file_copier FROM TO [FROM TO…]`.

SQLite's locks belong to a process: one that opens and closes a database's file itself loses the locks that
its connections have on it. So files of a room that may be open are copied by another process, which can
access only their folders and ends with the program.

A missing file is left out. An error of the system is reported on standard output, as its error number.
"""

import os
import shutil
import sys
from pathlib import Path

from models.confinement import begin_child, confine

_STEP = 4 * 1024 * 1024


def copy(source: Path, target: Path) -> None:
    """Copies a file's bytes to a new file of mode 0600; durable when this returns."""
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
    begin_child()
    paths = [Path(argument) for argument in arguments]
    pairs = list(zip(paths[::2], paths[1::2], strict=True))
    try:
        # A log may be created meanwhile, so its folder may be read.
        confine([source.parent for source, _ in pairs], writable=[target.parent for _, target in pairs])
        for source, target in pairs:
            copy(source, target)
    except OSError as error:
        sys.stdout.write(str(error.errno or 0))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
