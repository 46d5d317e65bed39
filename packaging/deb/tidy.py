"""Makes an environment built in one place fit for another: `tidy.py ROOT PREFIX`.

ROOT is the unpacked package, PREFIX the path of its environment once installed. Removes what serves only
development or other systems, and updates each distribution's list of files.
"""

import base64
import csv
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

KEPT_COMMANDS = {"atlas", "python", "python3"}


def main(root: Path, prefix: str) -> None:
    home = root / prefix.lstrip("/")
    (site,) = (home / "lib").glob("python3.*/site-packages")
    _commands(home, prefix)
    _configuration(home)
    _leave_out(home, site)
    _link_copies(site / "llama_cpp" / "lib")
    _strip(site)
    for record in site.glob("*.dist-info/RECORD"):
        _update(record, site, home)
    for path in home.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.parent == home / "bin" else 0o644)


def _commands(home: Path, prefix: str) -> None:
    """Keeps only `atlas` and the interpreter, with the paths they have once installed."""
    for path in (home / "bin").iterdir():
        if path.name not in KEPT_COMMANDS:
            path.unlink()
    for name, target in (("python3", "/usr/bin/python3"), ("python", "python3")):
        (home / "bin" / name).unlink()
        (home / "bin" / name).symlink_to(target)
    atlas = home / "bin" / "atlas"
    _, rest = atlas.read_text(encoding="utf-8").split("\n", 1)
    atlas.write_text(f"#!{prefix}/bin/python3\n{rest}", encoding="utf-8")


def _configuration(home: Path) -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    (home / "pyvenv.cfg").write_text(
        f"home = /usr/bin\ninclude-system-site-packages = false\nversion = {version}\n", encoding="utf-8"
    )


def _leave_out(home: Path, site: Path) -> None:
    folders = [
        home / "include",
        home / "share",
        site / "include",  # headers and a second copy of llama.cpp's libraries
        site / "lib",
        site / "_distutils_hack",
        *site.rglob("__pycache__"),
        *(site / "numpy").rglob("tests"),
    ]
    files = [
        site / "distutils-precedence.pth",
        *site.glob("*.dist-info/direct_url.json"),  # contains a path of the build machine
        *(site / "pip").rglob("*.exe"),
        *(site / "llama_cpp").rglob("*.a"),
    ]
    for folder in folders:
        if folder.is_dir():
            shutil.rmtree(folder)
    for file in files:
        file.unlink(missing_ok=True)


def _link_copies(folder: Path) -> None:
    """Replaces copies such as `libx.so` and `libx.so.0` by links to `libx.so.0.1.2`.

    A wheel cannot contain links, a package can.
    """
    by_digest: dict[str, Path] = {}
    for path in sorted(folder.iterdir(), key=lambda path: -len(path.name)):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest in by_digest:
            path.unlink()
            path.symlink_to(by_digest[digest].name)
        else:
            by_digest[digest] = path


def _strip(site: Path) -> None:
    """Strips llama.cpp's libraries, which are compiled here; other libraries stay as published."""
    for path in sorted((site / "llama_cpp").rglob("*.so*")):
        if not path.is_symlink():
            subprocess.run(["strip", "--strip-unneeded", "--remove-section=.comment", path], check=True)


def _update(record: Path, site: Path, home: Path) -> None:
    """Drops the files that were removed and updates those that changed (format: PEP 376)."""
    rows = []
    with record.open(encoding="utf-8", newline="") as file:
        for name, digest, size in csv.reader(file):
            path = Path(os.path.normpath(site / name))
            if not path.exists() or not path.is_relative_to(home):
                continue
            if digest:
                data = path.read_bytes()
                sum_ = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                rows.append((name, f"sha256={sum_}", str(len(data))))
            else:
                rows.append((name, "", size))
    with record.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(sorted(rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
