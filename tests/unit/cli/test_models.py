import argparse
import asyncio
import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import pytest

from atlas_desktop.cli import models as command
from atlas_desktop.cli.context import Context
from atlas_desktop.cli.models import WIDTH
from atlas_desktop.errors import UsageError
from atlas_desktop.paths import Paths
from atlas_desktop.services.models import ModelService
from models.errors import NoModel, UnknownModel, WrongChecksum
from models.library.catalog import GIB, Catalog, CatalogEntry, Machine, ModelRole, WheelSource, load_catalog
from models.library.download import ModelFetcher
from models.library.installed import InstalledModel, ModelLibrary
from tests.unit.models.gguf_files import write_gguf
from tests.unit.models.library.test_download_wheel import MEMBER, build_wheel


class Cli:
    """Runs `atlas models …` in a home of the test's own; pip is a script that copies a prepared wheel."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.paths = Paths(root / "home")
        self._capsys = capsys
        self._parser = argparse.ArgumentParser()
        common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
        common.add_argument("--json", action="store_true")
        common.add_argument("--yes", action="store_true")
        command.register(self._parser.add_subparsers(), common)

    def service(self, _paths: Paths) -> ModelService:
        content = write_gguf(self.root / "made" / "tiny.gguf").read_bytes()
        wheel = build_wheel(self.root / "index", content)
        pip = self.root / "pip.py"
        pip.write_text(
            f"import shutil, sys\nshutil.copy({str(wheel)!r}, sys.argv[sys.argv.index('--dest') + 1])\n"
        )
        digest = sha256(content).hexdigest()
        tiny = CatalogEntry(
            id="tiny",
            name="Tiny",
            family="Tiny",
            parameters=8,
            quantization="F16",
            bytes=len(content),
            licence="Tiny Community Licence",
            licence_open=False,
            context_length=2048,
            roles=(ModelRole.CHAT,),
            prefix_stable=True,
            verified=True,
            sha256=digest,
            wheel=(WheelSource("tiny-model", "1.0", MEMBER, digest, 1000),),
        )
        catalog = Catalog((tiny, *load_catalog().entries))
        library = ModelLibrary(self.paths.models, catalog)
        return ModelService(
            library,
            catalog,
            ModelFetcher(library, catalog, self.paths.cache, pip=(sys.executable, str(pip))),
            person=self.root / "person",
            environment={},
            machine=lambda: Machine(8 * GIB, 6 * GIB, 4, 8),
        )

    def run(self, *words: str) -> tuple[int, str, str]:
        args = self._parser.parse_args(["models", *words])
        context = Context(self.paths, json=getattr(args, "json", False), yes=getattr(args, "yes", False))
        self._capsys.readouterr()
        code = asyncio.run(args.handler(context, args))
        out, err = self._capsys.readouterr()
        return code, out, err

    def json(self, *words: str) -> Any:
        code, out, _ = self.run(*words, "--json")
        assert code == 0
        return json.loads(out)


class TriedModel:
    """Stands for the process in which a fetched model is tried."""

    tried: ClassVar[list[str]] = []

    def __init__(self, model: InstalledModel) -> None:
        self._id = model.id

    async def info(self) -> None:
        self.tried.append(self._id)

    async def close(self) -> None:
        self.tried.append("closed")


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    found = Cli(tmp_path, capsys)
    monkeypatch.setattr("atlas_desktop.bootstrap.build_models", found.service)
    monkeypatch.setattr(command, "_host_factory", lambda _ctx: TriedModel)
    monkeypatch.setattr(TriedModel, "tried", [])
    return found


def test_pull_shows_the_licence_and_installs(cli: Cli) -> None:
    code, out, err = cli.run("pull", "tiny")
    assert (code, out) == (0, "")
    assert "Tiny Community Licence (not an open-source licence" in err
    assert "tiny is ready" in err
    (model,) = cli.json("list")
    assert (model["id"], model["used_for"], model["verified"]) == ("tiny", ["chat"], True)
    again = cli.json("pull", "tiny")
    assert again["source"] == "wheel:tiny-model==1.0"
    assert Path(again["path"]).parent == cli.paths.models
    assert TriedModel.tried == ["tiny", "closed"]


def test_pull_needs_something_to_pull(cli: Cli) -> None:
    with pytest.raises(UsageError):
        cli.run("pull")
    with pytest.raises(UsageError):
        cli.run("pull", "tiny", "bge-m3", "--name", "both")
    with pytest.raises(UnknownModel):
        cli.run("pull", "no-such-model")


def test_import_use_info_verify_remove(cli: Cli) -> None:
    chat = write_gguf(cli.root / "Mine.gguf", fill=5)
    embed = write_gguf(cli.root / "vectors.gguf", pooling=1)
    assert cli.json("import", str(chat), "--link")["linked"] is True
    assert cli.run("import", str(embed))[0] == 0
    assert cli.json("use", "mine", "--for", "chat")["chosen_for"] == ["chat"]
    with pytest.raises(UsageError, match="made for embed, not for chat"):
        cli.run("use", "vectors", "--for", "chat")
    details = cli.json("info", "mine")
    assert (details["linked"], details["used_for"], details["architecture"]) == (True, ["chat"], "llama")
    assert details["sha256"] == sha256(chat.read_bytes()).hexdigest()
    assert [one["sound"] for one in cli.json("verify")] == [True, True]
    assert cli.json("remove", "mine", "--yes") == {"removed": "mine", "file_deleted": False}
    assert chat.exists()
    assert cli.json("remove", "vectors", "--yes")["file_deleted"] is True
    assert cli.json("list") == []


def test_remove_asks_first(cli: Cli) -> None:
    cli.run("import", str(write_gguf(cli.root / "mine.gguf", fill=5)))
    with pytest.raises(UsageError):
        cli.run("remove", "mine")
    assert [one["id"] for one in cli.json("list")] == ["mine"]


def test_verify_goes_on_after_a_damaged_file_and_fails(cli: Cli) -> None:
    for name in ("a", "b"):
        cli.run("import", str(write_gguf(cli.root / f"{name}.gguf", fill=ord(name))))
    with (cli.paths.models / "a.gguf").open("r+b") as file:
        file.seek(-40, 2)
        file.write(b"X")
    with pytest.raises(WrongChecksum):
        cli.run("verify")
    assert cli.json("verify", "b")[0]["sound"] is True


def test_verify_without_a_model(cli: Cli) -> None:
    with pytest.raises(NoModel):
        cli.run("verify")


def test_recommend_names_the_machine_and_the_labels(cli: Cli) -> None:
    found = cli.json("recommend")
    assert found["machine"]["total_ram"] == 8 * GIB
    assert {one["fit"] for one in found["models"]} == {"fits", "may be slow", "won't fit"}
    assert cli.json("recommend", "--for", "embed")["models"][0]["fit"] == "fits"


def test_discover(cli: Cli) -> None:
    assert cli.json("discover") == []
    path = write_gguf(cli.root / "person/.lmstudio/models/one.gguf")
    assert cli.json("discover")[0]["path"] == str(path)
    assert "LM Studio: one" in cli.run("discover")[1]


def test_only_the_embedding_model_in_use_is_measured(cli: Cli) -> None:
    for name in ("a", "b"):
        cli.run("import", str(write_gguf(cli.root / f"{name}.gguf", pooling=1, fill=ord(name))))
    with pytest.raises(UsageError, match="not the embedding model in use"):
        cli.run("bench", "b")
    with pytest.raises(NoModel):
        cli.run("bench")


@pytest.mark.parametrize(
    "words",
    [
        ("list",),
        ("list", "--all"),
        ("recommend",),
        ("recommend", "--for", "embed"),
        ("discover",),
        ("info", "tiny"),
        ("info", "gemma-3-4b-it"),
        ("info", "mine"),
    ],
    ids=" ".join,
)
def test_text_fits_eighty_columns(cli: Cli, words: tuple[str, ...]) -> None:
    cli.run("pull", "tiny")
    cli.run("import", str(write_gguf(cli.root / "mine.gguf", fill=5)))
    code, out, _ = cli.run(*words)
    assert code == 0
    assert out.strip()
    paths = (str(cli.root), "hf:")
    too_long = [line for line in out.splitlines() if len(line) > WIDTH and not any(p in line for p in paths)]
    assert too_long == []
