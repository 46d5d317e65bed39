"""Copies the wheel of llama-cpp-python without headers and the second copy of llama.cpp's libraries.

    slim.py WHEEL FOLDER

What stays away contains paths of the machine that built it.
"""

import sys
import zipfile
from pathlib import Path

LEFT_OUT = ("include/", "lib/")


def slim(wheel: Path, folder: Path) -> None:
    """Writes the copy into the folder, under the same name."""
    slimmer = folder / wheel.name
    with zipfile.ZipFile(wheel) as whole, zipfile.ZipFile(slimmer, "w", zipfile.ZIP_DEFLATED) as copy:
        for entry in whole.infolist():
            if entry.filename.startswith(LEFT_OUT):
                continue
            data = whole.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                lines = data.decode().splitlines(keepends=True)
                data = "".join(line for line in lines if not line.startswith(LEFT_OUT)).encode()
            copy.writestr(entry, data)


if __name__ == "__main__":
    slim(Path(sys.argv[1]), Path(sys.argv[2]))
