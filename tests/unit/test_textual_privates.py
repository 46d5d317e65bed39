"""Only one module of the interface uses private parts of Textual: names that begin with one underscore."""

import ast
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import atlas_desktop.tui

MODULES = sorted(
    info.name
    for info in pkgutil.walk_packages(atlas_desktop.tui.__path__, "atlas_desktop.tui.")
    if info.name != "atlas_desktop.tui.textual_workarounds"
)


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def of_textual(module: str) -> bool:
    return module.partition(".")[0] == "textual"


@cache
def private_names(cls: type) -> frozenset[str]:
    """Returns the private names that a class defines, or sets on its objects."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    set_on_objects = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and type(node.ctx) is ast.Store
    }
    return frozenset(filter(private, {*vars(cls), *set_on_objects}))


def names_of_textual(cls: type) -> set[str]:
    """Returns the private names that a class inherits from classes of Textual."""
    return {name for base in cls.__mro__ if of_textual(base.__module__) for name in private_names(base)}


def used(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields (line, name) for each private name that is defined, or read from `self`, `cls` or `super()`."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if private(name):
                yield node.lineno, name
            case ast.Attribute(
                attr=name, value=ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super"))
            ) if private(name):
                yield node.lineno, name


def imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yields (line, name) for each import of a private module or name of Textual."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and of_textual(node.module or ""):
            names = [f"{node.module}.{one.name}" for one in node.names]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names if of_textual(one.name)]
        else:
            continue
        yield from ((node.lineno, name) for name in names if any(map(private, name.split("."))))


def uses(source: str, classes: dict[str, type]) -> list[tuple[int, str]]:
    """Returns (line, name) for each use of a private part of Textual in a module with these classes."""
    tree = ast.parse(source)
    found = [*imported(tree)]
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names = names_of_textual(classes[node.name])
            found += [(line, name) for line, name in used(node) if name in names]
    # Ruff reports private parts of other objects, unless it is told not to.
    found += [(at, "SLF001") for at, line in enumerate(source.splitlines(), 1) if "SLF001" in line]
    return sorted(found)


@pytest.mark.parametrize("name", MODULES)
def test_private_parts_of_textual_are_used_in_one_module(name: str) -> None:
    module = importlib.import_module(name)
    source = Path(inspect.getfile(module)).read_text(encoding="utf-8")
    assert uses(source, vars(module)) == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("class A(App):\n    def _fatal_error(self): ...", "_fatal_error"),
        ("class A(App):\n    def end(self): return self._driver", "_driver"),
        ("class A(App):\n    async def end(self): await super()._shutdown()", "_shutdown"),
        ("from textual._compositor import Compositor", "textual._compositor.Compositor"),
        ("def later():\n    from textual.message_pump import _MessagePumpMeta", "_MessagePumpMeta"),
        ("def name(widget): return widget._name  # noqa: SLF001", "SLF001"),
    ],
)
def test_every_kind_of_use_is_found(source: str, name: str) -> None:
    from textual.app import App

    ((_, found),) = uses(source, {"A": App})
    assert found.endswith(name)
