"""What is installed is locked: versions, hashes, also of what builds."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-build.lock")
SCRIPTS = (ROOT / "Makefile", *(ROOT / "packaging").glob("*/*.sh"))


def locked(name: str) -> dict[str, str]:
    """The version of each package, where all its lines are."""
    entries = re.split(r"\n(?=[a-z])", (ROOT / name).read_text(encoding="utf-8"))
    return {match[1]: entry for entry in entries if (match := re.match(r"([a-z0-9-]+)==", entry))}


def version(entry: str) -> str:
    return entry.partition("==")[2].split()[0]


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_has_a_version_and_hashes_and_no_address(name: str) -> None:
    packages = locked(name)
    assert len(packages) > 5
    assert [package for package, entry in packages.items() if "--hash=sha256:" not in entry] == []
    text = (ROOT / name).read_text(encoding="utf-8")
    assert "://" not in text
    assert "--index" not in text


def test_the_locks_agree() -> None:
    first, *others = map(locked, LOCKS)
    for other in others:
        assert {
            package: (version(entry), version(first[package]))
            for package, entry in other.items()
            if package in first and version(entry) != version(first[package])
        } == {}


def test_this_project_is_built_with_what_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    built_with = locked("requirements-build.lock")
    for requirement in project["build-system"]["requires"]:
        name, _, pinned = requirement.partition("==")
        assert version(built_with[name]) == pinned


def test_nothing_is_installed_or_built_unlocked() -> None:
    """Every call of pip checks hashes or takes only what is here, and fetches nothing to build with."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in SCRIPTS).replace("\\\n", " ")
    calls = re.findall(r"^.*(?:-m pip|\$\(PIP\)) (?:install|wheel|download) .*$", text, re.MULTILINE)
    assert len(calls) > 8
    for call in calls:
        assert "--require-hashes" in call or "--no-deps" in call
        assert re.search("--no-build-isolation|--only-binary=:all:|--no-index", call)
