"""What is loaded when: seen in a fresh interpreter, where nothing else has been imported yet."""

import ast
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import memory
import models

HEAVY = {
    "textual",
    "llama_cpp",
    "lancedb",
    "pyarrow",
    "numpy",
    "gguf",
    "huggingface_hub",
    "keyring",
    "tiktoken",
    "cryptography",
    "sqlcipher3",
    "zxcvbn",
}
# The worker's own packages load llama.cpp: nobody else may import them.
OF_THE_WORKER = "models.llamacpp"


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys; print(' '.join(sorted(m for m in sys.modules if '.' not in m)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def modules_of(package: object) -> list[str]:
    path = [str(p) for p in package.__path__]  # type: ignore[attr-defined]
    name = package.__name__  # type: ignore[attr-defined]
    found = [m.name for m in pkgutil.walk_packages(path, f"{name}.")]
    return [m for m in found if not m.startswith(OF_THE_WORKER)]


@pytest.mark.parametrize("package", [memory, models], ids=lambda p: str(p.__name__))
def test_the_packages_load_without_interface_model_and_index(package: object) -> None:
    names = modules_of(package)
    assert len(names) > 5
    loaded = loaded_by("\n".join(f"import {name}" for name in names))
    assert not {"textual", "llama_cpp", "lancedb", "atlas_desktop"} & loaded


def test_version_and_help_load_nothing_heavy() -> None:
    version = loaded_by("from atlas_desktop.__main__ import main; main(['--version'])")
    assert not HEAVY & version
    assert "msgspec" not in version
    assert not HEAVY & loaded_by(
        "from atlas_desktop.__main__ import build_parser; build_parser().format_help()"
    )


def test_textual_is_told_how_often_to_paint_before_it_is_loaded() -> None:
    assert "textual" not in loaded_by("import atlas_desktop.tui.launch")


def test_the_unlock_screen_needs_neither_model_nor_database() -> None:
    loaded = loaded_by("import atlas_desktop.tui.app, atlas_desktop.tui.setup.unlock")
    assert not (HEAVY - {"textual"}) & loaded


ROOT = Path(memory.__file__).parents[1]


def imported_by(tree: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """Yields (module, name) for every import, also within functions and under TYPE_CHECKING."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((module, alias.name) for alias in node.names)


def import_graph(root: Path) -> dict[str, set[str]]:
    """Maps each module of the product to those that it imports. Its own packages do not count."""
    files: dict[str, Path] = {}
    for package in ("atlas_desktop", "memory", "models"):
        for path in (root / package).rglob("*.py"):
            parts = path.relative_to(root).with_suffix("").parts
            files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        package = name if path.stem == "__init__" else name.rpartition(".")[0]
        imports = imported_by(ast.parse(path.read_text(encoding="utf-8")), package)
        found = {whole if (whole := f"{module}.{one}") in files else module for module, one in imports}
        graph[name] = {one for one in found & files.keys() if not f"{name}.".startswith(f"{one}.")}
    return graph


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """Returns the modules of one import circle, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = import_graph(ROOT)
    assert len(graph) > 100
    assert circle_in(graph) == []


@pytest.mark.parametrize(
    "back",
    [
        "from memory import one",
        "import memory.one",
        "def later():\n    from memory.one import x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .one import x",
    ],
)
def test_every_kind_of_import_can_close_a_circle(tmp_path: Path, back: str) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "one.py").write_text("from memory.two import y", encoding="utf-8")
    (folder / "two.py").write_text(back, encoding="utf-8")
    assert set(circle_in(import_graph(tmp_path))) == {"memory.one", "memory.two"}
