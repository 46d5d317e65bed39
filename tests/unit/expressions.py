"""Every regular expression in the program, found in its source, and how the source uses each."""

import ast
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGES = ("memory", "atlas_desktop", "models")
_MAKES = frozenset({"compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "subn", "split"})
_ANCHORED = frozenset({"match", "fullmatch"})


@dataclass(frozen=True, slots=True)
class Expression:
    """A place in the source where an expression is made: a name of the module, or a function that makes or
    uses one. `uses` are the methods that its module calls on it."""

    module: str
    name: str
    uses: frozenset[str]

    @property
    def key(self) -> str:
        return f"{self.module}:{self.name}"

    def patterns(self) -> "list[re.Pattern[Any]]":
        """What stands under the name; nothing for a function."""
        return list(_patterns(getattr(import_module(self.module), self.name.partition(".")[0], None)))


def expressions() -> dict[str, Expression]:
    """By `module:name`."""
    found: dict[str, Expression] = {}
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            source = path.read_text("utf-8")
            # Most modules have none, and need not be parsed.
            if any(f"re.{name}" in source for name in _MAKES):
                module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
                found.update((one.key, one) for one in _in_module(module, ast.parse(source)))
    return found


def _in_module(module: str, tree: ast.Module) -> Iterator[Expression]:
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses.setdefault(node.value.id, set()).add(node.attr)
    for statement in tree.body:
        for name, part in _named(statement):
            if any(map(_makes, ast.walk(part))):
                yield Expression(module, name, frozenset(uses.get(name, set())) & _MAKES)


def _named(statement: ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(statement, ast.ClassDef):
        for inner in statement.body:
            yield from ((f"{statement.name}.{name}", part) for name, part in _named(inner))
    elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        yield statement.name, statement
    elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        yield statement.targets[0].id, statement
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id, statement
    else:
        yield f"line {statement.lineno}", statement


def _makes(node: ast.AST) -> bool:
    """Whether it is a call such as `re.compile(…)`."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in _MAKES
    )


def _patterns(value: Any) -> "Iterator[re.Pattern[Any]]":
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _patterns(one)
    elif isinstance(value, list | tuple | frozenset):
        for one in value:
            yield from _patterns(one)


def use(pattern: "re.Pattern[Any]", uses: frozenset[str]) -> Callable[[str], object]:
    """Goes through a text with the pattern as its module does; where that is not known, as a search does."""
    binary = isinstance(pattern.pattern, bytes)
    known = uses - {"compile"}
    if known and known <= _ANCHORED:
        method = pattern.fullmatch if known == {"fullmatch"} else pattern.match
        return lambda text: method(text.encode() if binary else text)
    return lambda text: sum(1 for _ in pattern.finditer(text.encode() if binary else text))


def seconds(work: Callable[[str], object], text: str) -> float:
    """The processor's time of this thread: what other programs do does not lengthen it."""
    began = time.thread_time()
    work(text)
    return time.thread_time() - began
