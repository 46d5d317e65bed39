"""Docs against code: what is written must be so, and what is there must be written."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tables = load_tables()
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("packaging/*.md")])


@pytest.mark.parametrize("name", list(tables.TABLES))
def test_tables_are_as_the_code_says(name: str) -> None:
    file, make = tables.TABLES[name]
    text = (ROOT / file).read_text(encoding="utf-8")
    assert tables.with_table(text, name, make()) == text, "run: python -m docs.tables"


def test_every_command_has_help() -> None:
    assert all(text for _, _, text in tables.commands())


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_commands_that_docs_name_exist(path: Path) -> None:
    known = {name for name, _, _ in tables.commands()} | {"atlas"}
    text = path.read_text(encoding="utf-8")
    for line in re.findall(r"`(atlas [^`]*)`", text):
        words = [w for w in line.split() if re.fullmatch(r"[a-z][a-z-]*", w)]
        options = {w for w in line.split() if w.startswith("--")}
        names = {" ".join(words[:n]) for n in (1, 2, 3)}
        assert names & known - {"atlas"} or (len(words) == 1 and options), f"{path.name}: {line}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_make_targets_that_docs_name_exist(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(
        re.findall(r"`make ([a-z-]+)`|^    make ([a-z-]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert {a or b for a, b in named} <= targets


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.name)
def test_links_between_files_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


MODULES = [
    path.relative_to(ROOT).as_posix()
    for package in ("atlas_desktop", "memory", "models", "tests", "benchmarks", "docs", "packaging")
    for path in (ROOT / package).rglob("*.py")
]


@pytest.mark.parametrize("name", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_modules_and_names_in_them_exist(name: str) -> None:
    """`file.py:name` is a module of that (part of a) path in which the name is defined."""
    missing = []
    for file, names in re.findall(r"`([\w/]+\.py)(?::([\w.]+))?`", (ROOT / name).read_text(encoding="utf-8")):
        found = [module for module in MODULES if f"/{module}".endswith(f"/{file}")]
        texts = [(ROOT / module).read_text(encoding="utf-8") for module in found]
        words = names.split(".") if names else []
        if not any(all(re.search(rf"\b{word}\b", text) for word in words) for text in texts):
            missing.append(f"{file}:{names}")
    assert missing == []


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = project["project"]["dependencies"] + project["dependency-groups"]["dev"]
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    missing = [name for name in (re.split(r"[<>=]", d)[0] for d in wanted) if name not in text]
    assert missing == []


def test_the_environment_variables_named_in_docs_exist() -> None:
    from atlas_desktop.settings.file import describe

    known = {info.env for info in describe()} | {
        "ATLAS_HOME",
        "ATLAS_MODELS",
        "ATLAS_TEST_MODELS",
        "ATLAS_CLIENT_TOKEN",
    }
    for path in DOCUMENTS:
        named = set(re.findall(r"\bATLAS_[A-Z_]+\b", path.read_text(encoding="utf-8")))
        assert named <= known, path.name


def test_locks_carry_no_addresses() -> None:
    for name in ("requirements.lock", "requirements-dev.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "://" not in text
        assert "--index-url" not in text
        assert text.count("--hash=sha256:") > 100


def test_a_benchmark_without_the_development_packages_says_what_to_install() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; sys.modules['pexpect'] = None; import benchmarks.program"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr
    assert "pexpect" in ran.stderr
    assert "requirements-dev.lock" in ran.stderr
