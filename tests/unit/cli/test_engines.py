"""`atlas engines` in a home of the test's own, against a server of the test."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.cli import engines as command
from atlas_desktop.cli import models
from atlas_desktop.cli.context import Context
from atlas_desktop.errors import UsageError
from atlas_desktop.paths import Paths
from models.errors import BadEngine, EngineNotAllowed, EngineUnreachable, UnknownEngine, UnknownModel
from tests.fakes.engines import FakeEngine, reply, running


class Cli:
    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.paths = Paths(root / "home")
        self._capsys = capsys
        self._parser = argparse.ArgumentParser()
        common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
        common.add_argument("--json", action="store_true")
        common.add_argument("--yes", action="store_true")
        groups = self._parser.add_subparsers()
        command.register(groups, common)
        models.register(groups, common)

    async def run(self, *words: str) -> str:
        args = self._parser.parse_args(words)
        context = Context(self.paths, json=getattr(args, "json", False), yes=getattr(args, "yes", False))
        self._capsys.readouterr()
        try:
            assert await args.handler(context, args) == 0
        finally:
            await context.close()
        return self._capsys.readouterr().out

    async def json(self, *words: str) -> Any:
        return json.loads(await self.run(*words, "--json"))


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, capsys)


async def test_an_engine_from_its_address_to_its_removal(cli: Cli) -> None:
    assert "No engines yet" in await cli.run("engines", "list")
    async with running(FakeEngine(lambda asked: reply(asked, "Hi"), models=("one", "two"))) as server:
        told = await cli.json("engines", "add", "box", "--url", server.url)
        assert told == {
            "name": "box",
            "url": server.url,
            "local": True,
            "server": None,
            "models": ["one", "two"],
            "supports": {
                "stream": True,
                "json_schema": False,
                "embeddings": False,
                "context": None,
                "exact_tokens": False,
            },
        }
        assert await cli.json("engines", "probe", "box") == told
        text = await cli.run("engines", "probe", "box", "--model", "two")
        assert "streams replies · does not follow JSON schemas" in text
        assert "atlas models use box:two" in text
        assert server.bodies()[-1]["model"] == "two"
    used = await cli.json("models", "use", "box:one")
    assert used == {"id": "box:one", "chosen_for": ["chat"]}
    await cli.run("models", "use", "box:two", "--for", "embed")
    listed = await cli.json("engines", "list")
    assert listed == [
        {
            "name": "box",
            "url": told["url"],
            "local": True,
            "allowed": True,
            "key": None,
            "used_for": ["chat", "embed"],
        }
    ]
    assert "chat: one · search by meaning: two" in await cli.run("engines", "list")
    assert await cli.json("engines", "remove", "box", "--yes") == {"removed": "box"}
    assert await cli.json("engines", "list") == []


async def test_what_is_refused(cli: Cli, tmp_path: Path) -> None:
    for words, error in (
        (("engines", "probe", "box"), UnknownEngine),
        (("engines", "remove", "box", "--yes"), UnknownEngine),
        (("engines", "add", "a:b", "--url", "http://127.0.0.1:1"), BadEngine),
        (("engines", "add", "box", "--url", "http://127.0.0.1:1"), EngineUnreachable),
        (("engines", "add", "box", "--url", "127.0.0.1:1", "--key-file", str(tmp_path / "no")), UsageError),
        # It cannot ask without a terminal.
        (("engines", "add", "far", "--url", "https://box.example"), UsageError),
        (("models", "use", "box:one"), UnknownEngine),
        (("models", "use", "one"), UnknownModel),
    ):
        with pytest.raises(error):
            await cli.run(*words)
    assert not cli.paths.config.exists()


async def test_an_address_that_nobody_agreed_to(cli: Cli) -> None:
    cli.paths.ensure()
    cli.paths.config.write_text('[engines.far]\nurl = "https://box.example"\n')
    assert "not agreed to yet" in await cli.run("engines", "list")
    for words in (("engines", "probe", "far"), ("models", "use", "far:big")):
        with pytest.raises(EngineNotAllowed):
            await cli.run(*words)
