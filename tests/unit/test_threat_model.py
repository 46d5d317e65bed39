"""The threat model names tests: they are there, and none stands for nothing."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "threat-model.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", TEXT)))


def test_every_claim_has_a_test() -> None:
    table = TEXT.partition("| what holds | how | shown by |")[2].partition("\n\n")[0]
    rows = [line for line in table.splitlines()[2:] if not re.fullmatch(r"\| \*\*[^|]+\*\* \| \| \|", line)]
    assert len(rows) > 30
    assert [row for row in rows if "::test_" not in row] == []


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda part: str(part).rpartition("/")[2])
def test_a_named_test_exists(file: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
