"""What the command line is told wrongly is said in words and with a way on."""

import json
import sys
from pathlib import Path

import pytest

from atlas_desktop.__main__ import main


@pytest.mark.parametrize(
    "args",
    [
        ("ask", "x", "--max-tokens", "0"),
        ("ask", "  "),
        ("ask", "x", "--memory", "off", "--session", "last"),
        ("ask", "x", "--attach", "/nonexistent/file"),
        ("config", "set", "chat.max_tokens", "0"),
        ("config", "get", "chat.nothing"),
        ("memory", "recall"),
        ("memory", "recall", "x", "--stdin"),
        ("memory", "recall", "x", "-k", "0"),
        ("memory", "recall", "x", "--kinds", "dream"),
        ("export",),
        ("export", "--all", "last"),
        ("import", "/nowhere/at/all.jsonl"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_two_with_words(
    args: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("atlas_desktop.process.harden", lambda: None)
    given = [*args, "--json", "--home", str(tmp_path / "home")]
    monkeypatch.setattr(sys, "argv", ["atlas", *given])
    try:
        status = main(given)
    except SystemExit as end:
        status = int(str(end.code))
    assert status == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert set(error) == {"code", "title", "message", "next_step"}
    assert all(error.values())
