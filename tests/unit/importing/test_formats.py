"""A new format is a module and a row in one table: everything else follows from them."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import pytest

from atlas_desktop import phrases
from atlas_desktop.__main__ import build_parser
from atlas_desktop.error_table import explain
from atlas_desktop.errors import UnknownExport
from atlas_desktop.importing.entities import ImportedMessage, ImportedSession
from atlas_desktop.importing.formats import FORMATS, Format
from atlas_desktop.importing.importer import reader_of
from atlas_desktop.importing.sources import Note, Part, objects
from atlas_desktop.importing.tree import session_of
from atlas_desktop.tui.actions import ACTIONS
from memory.transfer import TravellingSession
from models.messages import Role
from tests.stores import InMemoryStore
from tests.unit.importing.exports import contents, take, taken

PIGEON = Format(
    "pigeon", "Pigeon Post", "pigeon", (".coo",), program=True, has_object=lambda fields: "coos" in fields
)
LETTER = {"coos": ["Where is the loft?", "Above the barn."]}


def read_pigeon(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    for part in parts:
        for where, one in objects(part, note):
            asked, answered = one["coos"]
            said = [
                ImportedMessage("1", None, Role.USER, asked),
                ImportedMessage("2", "1", Role.ASSISTANT, answered),
            ]
            talk = ImportedSession("p", said, meta={"imported_from": "pigeon"})
            yield where, session_of(talk, otherwise=datetime(2026, 1, 2, tzinfo=UTC))


@pytest.fixture(autouse=True)
def pigeon(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("atlas_desktop.importing.pigeon")
    module.read = read_pigeon  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(FORMATS, PIGEON.name, PIGEON)


def choices_of_the_command() -> list[str]:
    parser: Any = build_parser(["import"])
    commands = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    return next(list(one.choices) for one in commands.choices["import"]._actions if one.dest == "format")


async def test_its_files_are_recognised_and_read(tmp_path: Path) -> None:
    (session,), report = await taken(tmp_path / "letter.json", LETTER)
    assert contents(session) == LETTER["coos"]
    assert session.messages[1].model == "Pigeon Post"
    assert report.formats == {"letter.json": PIGEON}


async def test_its_endings_are_looked_at_in_archives_and_folders(tmp_path: Path) -> None:
    await taken(tmp_path / "letter.coo", LETTER)
    with ZipFile(tmp_path / "post.zip", "w") as archive:
        archive.write(tmp_path / "letter.coo", "letter.coo")
    folder = tmp_path / "loft"
    folder.mkdir()
    (tmp_path / "letter.coo").rename(folder / "letter.coo")
    for path in (tmp_path / "post.zip", folder):
        assert (await take(InMemoryStore(), path)).messages == 2


async def test_it_can_be_chosen_and_named(tmp_path: Path) -> None:
    assert choices_of_the_command() == ["auto", *FORMATS]
    assert "pigeon" in FORMATS
    _, report = await taken(tmp_path / "letter.json", LETTER, format=PIGEON)
    assert report.formats == {"letter.json": PIGEON}
    assert "Pigeon Post" in phrases.summary(report, dry_run=False)
    assert "Markdown and Pigeon Post. " in phrases.importable()
    _, report = await taken(tmp_path / "prose.json", "hello")
    with pytest.raises(UnknownExport) as caught:
        report.require_known()
    assert "llm or Pigeon Post, or Markdown" in explain(caught.value).next_step


def test_the_table_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(FORMATS, PIGEON.name)
    described = (Path(__file__).parents[3] / "docs" / "import.md").read_text()
    (action,) = (one for one in ACTIONS if one.id == "session.import")
    for name, one in FORMATS.items():
        assert one.name == name
        assert callable(reader_of(one))
        assert f"| {one.title} |" in described
        assert not one.program or one.title in action.help


def test_the_first_format_that_recognises_an_object_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from atlas_desktop.importing.formats import kind_of

    assert kind_of(LETTER) is PIGEON
    monkeypatch.setitem(FORMATS, "chatgpt", replace(FORMATS["chatgpt"], has_object=lambda _fields: True))
    assert kind_of(LETTER) is FORMATS["chatgpt"]
    assert kind_of(["coos"]) is FORMATS["chatgpt"]
