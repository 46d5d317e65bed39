"""The interface can be translated: its texts are marked, and every catalogue has all of them."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.catalog import Message as Entry

from atlas_desktop import locale, phrases
from atlas_desktop.locale import N_, _, ngettext, plural
from atlas_desktop.settings.file import describe
from docs.translations import LANGUAGES, ROOT, catalogue, missing, mo_bytes, po_bytes, po_path, updated
from memory.storage.queries.text_matches import _PLACES

PACKAGE = ROOT / "atlas_desktop"
SHOWN = sorted(
    [
        PACKAGE / "__main__.py",
        *(PACKAGE / "tui").rglob("*.py"),
        *(PACKAGE / "cli").rglob("*.py"),
        PACKAGE / "phrases.py",
    ]
)
SAID_BY_SERVICES = sorted((PACKAGE / "importing").glob("*.py")) + [
    PACKAGE / folder / f"{name}.py"
    for folder, names in {
        "": "error_table errors",
        "settings": "file",
        "services": "doctor events forgetting_in_rooms memories personas tuning turns",
        "exporting": "formats service",
    }.items()
    for name in names.split()
]
# What stands in JSON: the names of a check, of a kind of value, of a file that is measured. What an import
# writes into the messages that are stored, and how a library's own faults begin.
NAMES_IN_SERVICES = {
    "model process",
    "list of str",
    "int or nothing",
    "as downloaded",
    "Expected",
    "Object missing",
}
# Names of programs, in imported replies.
NAMES_IN_SERVICES |= {"Claude", "Open WebUI", "LM Studio", "Jan"}
NAMES_IN_SERVICES |= {"nothing to forget was specified", "About the person:", "How to answer:"}
# Names of duties in the log of jobs, what a model is told, and parts of other programs' conversations.
NAMES_IN_SERVICES |= {"promote memories", "collect faded memories", "consolidate memories"}
NAMES_IN_SERVICES |= {". Only answer OK, the rest follows.\n\n", ", the last one. Answer now.\n\n"}
NAMES_IN_SERVICES |= {
    "Artifact",
    "Artifact changed",
    "Attached",
    "Error",
    "Image made",
    "Source",
    "Voice",
    "Voice and video",
}
NAMES_IN_SERVICES |= {"Asked", "Document", "Image", "Project", "Result"}

# The keys of a keyboard are called so everywhere; what a database or a script is given stays English.
NAMES = {
    "actions.py": {"Esc", "Del", "Enter"},
    "models.py": {"may be slow"},
    "onboarding.py": {"may be slow"},
    "screen.py": {"may be slow"},
    "phrases.py": {"may be slow"},
}
# Languages are called by their own names.
NAMES["screen.py"] |= {"English", "Deutsch"}
# A value of JSON, a command to type, and names of duties in the log of jobs.
# Patterns of file names.
NAMES["actions.py"] |= {"*.md, papers/**"}
NAMES["models.py"] = NAMES.get("models.py", set()) | {"atlas models tune --undo "}
NAMES["jobs.py"] = {
    "digests of important sessions",
    "drafts of skills",
    "categories and tags",
    "improve summaries",
} | NAMES_IN_SERVICES

# What only the other end of the socket sees.
NAMES["handing_over.py"] = {"not a command of this program"}

_STYLE = re.compile(r"^(?:(?:bold|italic|dim|not|none|on|underline|reverse|\$[\w-]+|\d+%|words|quiet)\s*)+$")
_NAME = "Atlas"
_WORDS = re.compile(
    r"[A-Za-z]{2,} [a-z] [A-Za-z]{2,}|[A-Za-z]{2,}[,:.]? [A-Za-z]{2,}|^[A-Z][a-z]+$|[a-z]{2,}…|[A-Z][a-z]+ · "
)
_NOT_WORDS = {"DEFAULT_CSS", "CSS", "_CSS", "_BOX", "TITLE", "FIT_STYLES", "_FIT_STYLES"}
_NOT_SAID = {"cast", "query_one", "query", "log", "getattr", "hasattr", "tr", "RuntimeError"}
_NOT_SAID |= {"_", "N_", "ngettext", "plural"}


def _set_aside(node: ast.AST) -> Iterator[ast.AST]:
    """What of a node holds no words for people: docstrings, styles, types, what is raised or looked up."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield from (one.value for one in node.body if isinstance(one, ast.Expr))
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if {getattr(target, "id", "") for target in targets} & _NOT_WORDS:
            yield from ast.walk(node)
    if isinstance(node, ast.Raise | ast.Assert):
        yield from ast.walk(node)
    if isinstance(node, ast.Subscript):
        yield from ast.walk(node.slice)
    for name in ("returns", "annotation"):
        if isinstance(found := getattr(node, name, None), ast.AST):
            yield from ast.walk(found)
    if isinstance(node, ast.Call):
        called = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if called in _NOT_SAID:
            yield from (inner for one in node.args for inner in ast.walk(one))


def literal_words(path: Path, *, raised: bool = False) -> list[str]:
    """The texts in a module that look like words for people; also what is `raised`, where people see that."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    aside = {
        id(one) for node in nodes if not (raised and isinstance(node, ast.Raise)) for one in _set_aside(node)
    }
    texts = [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside
    ]
    return [
        text for text in texts if _WORDS.search(text) and text != _NAME and not _STYLE.match(text.strip())
    ]


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_text_of_the_interface_escapes_translation(path: Path) -> None:
    found = [text for text in literal_words(path, raised=True) if text not in NAMES.get(path.name, set())]
    assert not found, "put these texts into _()"


def is_sql(text: str) -> bool:
    return any(word in text for word in ("SELECT ", "PRAGMA ", " AS TEXT", " ON ", " FROM ", "ORDER BY"))


@pytest.mark.parametrize("path", SAID_BY_SERVICES, ids=lambda path: path.stem)
def test_no_text_of_a_service_escapes_translation(path: Path) -> None:
    texts = literal_words(path, raised=True)
    found = [text for text in texts if text not in NAMES_IN_SERVICES and not is_sql(text)]
    assert not found, "put these texts into _()"


def test_all_that_can_be_forgotten_has_a_name() -> None:
    names = {name.replace(" ", "_") for name, _table, _column in _PLACES if name}
    assert names <= set(phrases._PLACE_COUNTS)


def test_every_setting_has_a_name_and_a_description() -> None:
    assert all(info.name and info.description.endswith((".", ")")) for info in describe())
    assert all(info.wanted.startswith("expected ") for info in describe())


@pytest.fixture(scope="module", params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def catalog(language: str) -> Catalog:
    return catalogue(language)


def test_a_catalogue_has_every_text_of_the_program_and_no_other(language: str, catalog: Catalog) -> None:
    assert po_path(language).read_bytes() == po_bytes(updated(language)), "run `make translations`"
    assert missing(catalog) == []
    assert not any(entry.fuzzy for entry in catalog if entry.id)


def test_the_compiled_catalogue_is_that_of_the_texts(language: str, catalog: Catalog) -> None:
    assert po_path(language).with_suffix(".mo").read_bytes() == mo_bytes(catalog), "run `make translations`"


def _fields(text: str) -> set[tuple[str, str | None, str | None]]:
    return {
        (name, spec, how) for _text, name, spec, how in string.Formatter().parse(text) if name is not None
    }


def _pairs(entry: Entry) -> Iterator[tuple[str, str]]:
    """Each translated form with the English text of its number."""
    if isinstance(entry.id, str):
        yield entry.id, str(entry.string)
    else:
        for number, form in enumerate(entry.string or ()):
            yield entry.id[min(number, 1)], form


def test_translations_have_the_values_of_the_english_text(catalog: Catalog) -> None:
    count = {("count", "", None)}
    for entry in catalog:
        for english, form in _pairs(entry) if entry.id else ():
            wanted, given = _fields(english), _fields(form)
            # The singular may do with its number or without it.
            singular = not isinstance(entry.id, str) and english == entry.id[0]
            assert (given - count == wanted - count) if singular else given == wanted, form


def test_translations_keep_commands_as_they_are(catalog: Catalog) -> None:
    commands = re.compile(r"`(atlas [a-z-]+(?: [a-z-]+)?|/[a-z]+)")
    for entry in catalog:
        for english, form in _pairs(entry) if entry.id else ():
            assert sorted(commands.findall(english)) == sorted(commands.findall(form)), form


def test_texts_and_numbers_are_in_the_chosen_language() -> None:
    memories, cancel = plural("1 memory", "{count} memories"), N_("Cancel")
    try:
        locale.use("de_DE")
        assert (_(cancel), ngettext(*memories, 12345)) == ("Abbrechen", "12.345 Erinnerungen")
        locale.use("es")
        assert (_(cancel), ngettext(*memories, 12345)) == ("Cancelar", "12.345 recuerdos")
        locale.use("xx_YY")
        assert (_(cancel), ngettext(*memories, 12345)) == ("Cancel", "12,345 memories")
    finally:
        locale.use("")
    assert ngettext(*memories, 1) == "1 memory"
