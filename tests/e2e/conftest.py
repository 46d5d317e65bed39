"""The real worker, the real small model, the installed program."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.paths import Paths
from models.host import HostSpec, ModelHost
from models.kernels import KernelsNote

PASSPHRASE = "correct horse battery staple"


@pytest.fixture
def spec(chat_model: Path, embed_model: Path) -> HostSpec:
    return HostSpec(
        chat=lambda: ("small", chat_model),
        embed=lambda: ("embed", embed_model),
        context_length=2048,
        load_timeout_s=120,
        kernels=KernelsNote.beside(chat_model.parent).read(),
    )


@pytest.fixture
async def host(spec: HostSpec) -> AsyncIterator[ModelHost]:
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
    secret = tmp_path / "passphrase"
    secret.write_text(PASSPHRASE + "\n")
    secret.chmod(0o600)
    return Program(home, secret)


@pytest.fixture
def program(empty_program: Program, home_with_models: Paths) -> Program:
    """A vault and the real models."""
    assert empty_program.paths == home_with_models
    assert empty_program.json("vault", "create")["created"] is True
    return empty_program
