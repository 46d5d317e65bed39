"""The real worker, the real small model, the installed program."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from atlas_desktop.paths import Paths
from memory.entities import RoomKind
from memory.vault.keys import KdfParams
from memory.vault.vault import Vault
from models.host import ModelHost
from models.tuning.kernels import KernelsNote
from models.worker.client import HostSpec

PASSPHRASE = "crimson kettle oblong fiddle"
QUICK = KdfParams(memory_kib=64 * 1024, iterations=1)
THREADS = 1 if int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")) > 1 else 0
"""Of a model. Where tests run beside each other, more would wait for a processor that another test has."""


@pytest.fixture(autouse=True)
def share_of_the_processors(no_home_of_a_person: None, monkeypatch: pytest.MonkeyPatch) -> None:
    if THREADS:
        monkeypatch.setenv("ATLAS_MODELS_THREADS", str(THREADS))


@pytest.fixture(scope="session")
def spec(chat_model: Path, embed_model: Path) -> HostSpec:
    return HostSpec(
        chat=lambda: ("small", chat_model),
        embed=lambda: ("embed", embed_model),
        context_length=2048,
        threads=THREADS,
        load_timeout_s=120,
        kernels=KernelsNote.beside(chat_model.parent).read(),
    )


@pytest.fixture
async def host(spec: HostSpec) -> AsyncIterator[ModelHost]:
    made = ModelHost(spec)
    yield made
    await made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lasting_host(spec: HostSpec) -> AsyncIterator[ModelHost]:
    """One process for all tests of a module that takes it."""
    made = ModelHost(spec)
    yield made
    await made.close()


@dataclass(frozen=True)
class Program:
    """The installed `atlas`, with a home and a passphrase of its own."""

    paths: Paths
    passphrase_file: Path

    @property
    def executable(self) -> Path:
        return Path(sys.executable).with_name("atlas")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "ATLAS_HOME": str(self.paths.home)}

    def command(self, *args: str) -> list[str]:
        return [str(self.executable), *args, "--passphrase-file", str(self.passphrase_file)]

    def run(self, *args: str, input: str | None = None) -> subprocess.CompletedProcess[str]:  # noqa: A002
        return subprocess.run(
            self.command(*args),
            env=self.environment,
            input=input,
            stdin=None if input is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def json(self, *args: str) -> Any:
        done = self.run(*args, "--json")
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def empty_program(home: Paths, tmp_path: Path) -> Program:
    """No vault and no models."""
    return Program(home, written(tmp_path / "passphrase"))


@pytest.fixture(scope="session")
def made_rooms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of rooms of a new vault, whose passphrase takes a tenth of the usual time to try.

    The program makes it once; what a passphrase costs by default is the subject of other tests.
    """
    base = tmp_path_factory.mktemp("vault")
    paths = Paths(base / "home")
    paths.ensure()
    maker = Program(paths, written(base / "passphrase"))
    assert maker.json("vault", "create")["created"] is True
    for kind in (RoomKind.OPEN, RoomKind.PRIVATE):
        vault = Vault(paths.rooms, kind, QUICK)
        if vault.exists():
            vault.change_passphrase(vault.unlock(PASSPHRASE), PASSPHRASE)
    return paths.rooms


def written(secret: Path) -> Path:
    secret.write_text(PASSPHRASE + "\n")
    secret.chmod(0o600)
    return secret


@pytest.fixture
def vault(empty_program: Program, made_rooms: Path) -> Program:
    """A vault and no models."""
    shutil.copytree(made_rooms, empty_program.paths.rooms, dirs_exist_ok=True)
    return empty_program


@pytest.fixture
def program(vault: Program, home_with_models: Paths) -> Program:
    """A vault and the real models."""
    assert vault.paths == home_with_models
    return vault
