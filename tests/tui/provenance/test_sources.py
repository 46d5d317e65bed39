"""What "Why?" lists: where memories and replies come from."""

import pytest

from atlas_desktop.tui.provenance.sources import excerpt


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**Leave the primer.** It is *epoxy*.", "Leave the primer. It is epoxy."),
        ("Missing:\n\n| for | about |\n|---|---:|\n| seams | 22 € |", "Missing: for · about · seams · 22 €"),
        ("1. Sand\n2. Oil\n\n```\ntwice()\n```", "Sand Oil twice()"),
        ("a_b * c", "a_b * c"),
        ("word " * 300, "word " * 47 + "word…"),
        ("", ""),
    ],
)
def test_an_excerpt_is_one_line_without_marks(text: str, shown: str) -> None:
    assert excerpt(text) == shown
