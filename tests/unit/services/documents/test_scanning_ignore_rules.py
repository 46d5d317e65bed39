"""Ignore rules: what git's documentation promises, and that random trees come out as in git itself."""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_desktop.services.documents.scanning import FolderRules, IgnoreRules, is_pattern, scan


def rules(text: str, folder: str = "") -> IgnoreRules:
    made, unusable = IgnoreRules().within(folder, text)
    assert unusable == ()
    return made


@pytest.mark.parametrize(
    ("text", "path", "ignored"),
    [
        ("*.log", "a.log", True),
        ("*.log", "deep/er/a.log", True),
        ("/a.log", "deep/a.log", False),
        ("deep/a.log", "deep/a.log", True),
        ("deep/a.log", "x/deep/a.log", False),
        ("**/deep/a.log", "x/deep/a.log", True),
        ("build/", "build", False),
        ("build\n!build/", "deep/build/a.log", False),
        ("*.log\n!keep.log", "keep.log", False),
        ("!keep.log\n*.log", "keep.log", True),
        ("# *.log\n\n   \n/", "a.log", False),
        ("\\#a\n\\!b", "#a", True),
        ("\\#a\n\\!b", "!b", True),
        ("a.log   ", "a.log", True),
        ("a\\ ", "a ", True),
        ("*.log\r\n*.tmp\r\n", "a.log", True),
        ("\ufeff*.log", "a.log", True),
        ("a?c", "abc", True),
        ("a[bx]c", "axc", True),
    ],
)
def test_files(text: str, path: str, ignored: bool) -> None:
    assert rules(text).ignore_file(path) is ignored


@pytest.mark.parametrize(
    ("text", "path", "ignored"),
    [
        ("build/", "build", True),
        ("build/", "deep/build", True),
        ("/build/", "deep/build", False),
        ("build", "build", True),
        ("*\n!*/\n!*.md", "docs", False),
        ("deep/**", "deep", False),
        ("deep/**", "deep/er", True),
        ("**/", "any", True),
    ],
)
def test_folders(text: str, path: str, ignored: bool) -> None:
    assert rules(text).ignore_folder(path) is ignored


def test_a_list_of_what_is_wanted_works() -> None:
    wanted = rules("*\n!*/\n!*.md")
    assert not wanted.ignore_folder("docs")
    assert not wanted.ignore_file("docs/a.md")
    assert wanted.ignore_file("docs/a.txt")


def test_rules_of_a_deeper_folder_override_and_reach_no_other_folder() -> None:
    above = rules("*.log")
    inner, _ = above.within("a [1]", "!keep.log\n/own.md")
    assert not inner.ignore_file("a [1]/keep.log")
    assert not inner.ignore_file("a [1]/deep/keep.log")
    assert inner.ignore_file("a [1]/other.log")
    assert inner.ignore_file("a [1]/own.md")
    assert not inner.ignore_file("a [1]/deep/own.md")
    assert not inner.ignore_file("own.md")
    assert inner.ignore_file("keep.log")
    assert above.ignore_file("a [1]/keep.log")


@pytest.mark.parametrize(
    "pattern", ["a\\", "!", "*a*b*c*d", "**/a/**/b/**/c/**", "[[:alpha:]]", "x" * 501, "[z-a]"]
)
def test_an_unusable_pattern_is_named_and_the_others_apply(pattern: str) -> None:
    assert not is_pattern(pattern)
    made, unusable = IgnoreRules().within("", f"{pattern}\n*.log")
    assert unusable == (pattern,)
    assert made.ignore_file("a.log")


@pytest.mark.alone
def test_the_worst_pattern_that_is_allowed_is_fast() -> None:
    slow = rules("**/*a*a*b/**/*a*a*b/**")
    start = time.process_time()
    assert not slow.ignore_file("/".join(["a" * 60] * 6))
    assert time.process_time() - start < 1


@given(st.text(max_size=60), st.text(alphabet="ab*?[]!/\\.# ", max_size=20))
def test_no_text_makes_it_fail(text: str, pattern: str) -> None:
    for line in (text, pattern):
        made, _ = IgnoreRules().within("", line)
        assert made.ignore_file("a/b.md") in {True, False}
        assert is_pattern(line) in {True, False}


_NAMES = ["a", "b", "keep", "x.log", "y.md", "build", "z z"]
_PATTERN = st.builds(
    lambda start, parts, end: start + "/".join(parts) + end,
    st.sampled_from(["", "", "/", "!", "!/"]),
    st.lists(
        st.sampled_from([*_NAMES, "*", "*.log", "**", "a*", "?", "[ab]", "k*p"]), min_size=1, max_size=3
    ),
    st.sampled_from(["", "", "/"]),
)
_PATH = st.lists(st.sampled_from(_NAMES), min_size=1, max_size=3).map("/".join)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=30, deadline=None)
@given(
    st.lists(_PATH, min_size=5, max_size=25),
    st.lists(st.tuples(_PATH, st.lists(_PATTERN, min_size=1, max_size=4)), max_size=4),
    st.lists(_PATTERN, min_size=1, max_size=4),
)
def test_random_trees_come_out_as_in_git(
    paths: list[str], nested: list[tuple[str, list[str]]], top: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        subprocess.run(["git", "init", "-q", name], check=True)
        for path in paths:
            if not any(parent.is_file() for parent in (root / path).parents) and not (root / path).exists():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text("x")
        for folder, patterns in [("", top), *nested]:
            if (root / folder).is_dir():
                (root / folder / ".gitignore").write_text("\n".join(patterns))
        listing = subprocess.run(
            ["git", "-C", name, "ls-files", "--others", "--exclude-standard", "-z"],
            capture_output=True,
            check=True,
            env=os.environ | {"GIT_CONFIG_GLOBAL": os.devnull},
        )
        by_git = {path for path in listing.stdout.decode().split("\0") if path and ".gitignore" not in path}
        found = scan(root, FolderRules(lambda _name: True))
        assert {file.relative for file in found.files} == by_git
