"""The words of the interface are in its tables: every key is there, every text is used, and the code that
draws holds no words of its own."""

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from atlas_desktop.settings.descriptions import describe
from atlas_desktop.tui.actions import ACTIONS, Where
from atlas_desktop.words.catalogue import texts, tr
from atlas_desktop.words.en import PLACES
from atlas_desktop.words.formats import use
from memory.storage.queries.text_matches import _PLACES

ROOT = Path(__file__).resolve().parents[2]
TUI = ROOT / "atlas_desktop" / "tui"
SAID_OF_ERRORS = sorted((ROOT / "atlas_desktop" / "words").glob("*.py"))
SAID_BY_SERVICES = [
    ROOT / "atlas_desktop" / folder / f"{name}.py"
    for folder, names in {
        "": "error_table errors",
        "settings": "descriptions file",
        "services": "doctor events lending memories personas tuning turns",
        "exporting": "formats targets",
        "importing": "chatgpt claude detecting entities importer jan lines lmstudio markdown "
        "memories openwebui json_reading sources tree",
    }.items()
    for name in names.split()
]
# What stands in JSON: the names of a check, of a kind of value, of a file that is measured. What an import
# writes into the messages that are stored, and how a library's own faults begin.
NAMES_IN_SERVICES = {"model process", "list of str", "as downloaded", "Expected", "Object missing"}
NAMES_IN_SERVICES |= {"About the person:", "How to answer:"}
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
TABLES = sorted(PLACES)

# The keys of a keyboard are called so everywhere.
NAMES_OF_KEYS = "actions.py"

_STYLE = re.compile(r"^(?:(?:bold|italic|dim|not|none|on|underline|reverse|\$[\w-]+|\d+%|words|quiet)\s*)+$")
_NAME = "Atlas"
_WORDS = re.compile(r"[A-Za-z]{2,}[,:.]? [A-Za-z]{2,}|^[A-Z][a-z]+$|[a-z]{2,}…|[A-Z][a-z]+ · ")
_NOT_WORDS = {"DEFAULT_CSS", "CSS", "_CSS", "_BOX", "TITLE", "FIT_STYLES", "_FIT_STYLES"}
_NOT_SAID = {"cast", "query_one", "query", "log", "getattr", "hasattr", "tr", "RuntimeError"}


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


def test_no_words_are_added_to_the_code_that_draws() -> None:
    found = {}
    for path in sorted(TUI.rglob("*.py")):
        if path.name != NAMES_OF_KEYS and (words := literal_words(path, raised=True)):
            found[path.relative_to(TUI).as_posix()] = words
    assert not found, "put these words into atlas_desktop/words/en"


@pytest.mark.parametrize("path", SAID_OF_ERRORS, ids=lambda path: path.stem)
def test_no_words_are_added_to_what_explains_errors(path: Path) -> None:
    assert not literal_words(path), "put these words into atlas_desktop/words/en"


@pytest.mark.parametrize("path", SAID_BY_SERVICES, ids=lambda path: path.stem)
def test_no_words_are_added_to_services_that_tell_people(path: Path) -> None:
    found = [text for text in literal_words(path, raised=True) if text not in NAMES_IN_SERVICES]
    assert not found, "put these words into atlas_desktop/words/en"


def test_all_that_can_be_forgotten_has_words() -> None:
    names = {name for name, _, _ in _PLACES if name}
    told = {f"place.{name.replace(' ', '_')}" for name in names}
    assert told <= {key.removesuffix(".one").removesuffix(".other") for key in texts("forgetting")}


def _calls() -> Iterator[tuple[str, set[str], bool]]:
    """Key, names of the facts, and whether there is a count, of every `tr` with a literal key, and of what
    is told of an error by its code."""
    for path in (ROOT / "atlas_desktop").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if not isinstance(node, ast.Call) or called not in ("tr", "told", "named"):
                continue
            names = {keyword.arg for keyword in node.keywords if keyword.arg}
            key = node.args[0] if node.args else None
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                continue
            if called == "tr":
                yield key.value, names - {"count"}, "count" in names
                continue
            parts = {"title": "title", "what": "what", "next_step": "next"}
            for part in (part for given, part in parts.items() if given not in names):
                yield f"errors.{key.value}.{part}", names - set(parts), False


def test_every_key_is_in_a_table_with_the_facts_it_is_given() -> None:
    for key, facts, counted in _calls():
        screen, _, name = key.partition(".")
        table = texts(screen)
        forms = [form for form in (name, f"{name}.one", f"{name}.other") if form in table]
        assert forms, key
        for form in forms:
            wanted = {field for _, field, _, _ in string.Formatter().parse(table[form]) if field is not None}
            assert wanted <= facts | ({"count"} if counted else set()), key


def _used(screen: str, name: str, code: str) -> bool:
    """Whether a text is asked for by its key, by the beginning of its key, or by the code of an error."""
    key = f"{screen}.{name}"
    if f'"{key}"' in code or f"'{key}'" in code:
        return True
    if screen == "errors":
        if name.endswith((".title", ".what", ".next")) and f'"{name.rpartition(".")[0]}"' in code:
            return True
        begins = {f"{screen}.{name.partition('.')[0]}.{{"}
    else:
        ends = [at + 1 for at, letter in enumerate(name) if letter in "._"]
        begins = {f"{screen}.{name[:end]}{{" for end in (0, *ends)}
        begins.add(f'texts("{screen}").get(f"{name.partition(".")[0]}.{{')
    return any(begin in code for begin in begins)


@pytest.fixture(scope="module")
def code() -> str:
    tables = ROOT / "atlas_desktop" / "words" / "en"
    paths = [path for path in (ROOT / "atlas_desktop").rglob("*.py") if tables not in path.parents]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("screen", TABLES)
def test_every_text_of_a_table_is_used(screen: str, code: str) -> None:
    for key in texts(screen):
        name = key.removesuffix(".one").removesuffix(".other")
        assert _used(screen, name, code), f"{screen}.{key}"


def test_every_action_has_words_and_all_words_have_an_action() -> None:
    wanted = {f"{action.id}.{part}" for action in ACTIONS for part in ("name", "help")}
    wanted |= {f"where.{where}" for where in Where}
    there = {key for key in texts("actions") if not key.endswith(".label")}
    assert there == wanted
    labels = {key.removesuffix(".label") for key in texts("actions") if key.endswith(".label")}
    assert labels <= {action.id for action in ACTIONS}
    assert all(action.label == "" for action in ACTIONS if action.id not in labels)


def test_every_setting_has_words_and_all_words_have_a_setting() -> None:
    wanted = {f"{info.key}.{part}" for info in describe() for part in ("name", "about")}
    general = {key for key in texts("setting") if key.partition(".")[0] in ("bounds", "wanted")}
    assert set(texts("setting")) - general == wanted
    assert all(info.wanted.startswith("expected ") for info in describe())


def test_numbers_in_texts_are_the_persons() -> None:
    try:
        use("de_DE")
        assert tr("memory.title", count=12345) == "What Atlas remembers · 12.345 memories in use"
    finally:
        use("")
    assert tr("memory.title", count=1) == "What Atlas remembers · 1 memory in use"
