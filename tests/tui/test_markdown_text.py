"""Markdown in previews and rows: shown as it is meant, never as raw signs."""

from atlas_desktop.tui.history.rows import marked
from atlas_desktop.tui.markdown_text import markdown_text, without_marks
from memory.search.entities import Snippet

REPLY = """## What to pack

Take **two warm layers** and *one* `tent`:

* wool socks
* a stove
  1. gas
  2. matches

| Thing | Weight |
|-------|-------:|
| **Tent** | 1.8 kg |
| Stove and pan | 400 g |

> Rain is **likely**.

```python
weight = 2**3
```
"""


def test_a_preview_has_no_raw_signs() -> None:
    told = markdown_text(REPLY)
    assert told.plain == (
        "What to pack\n\n"
        "Take two warm layers and one tent:\n\n"
        "• wool socks\n"
        "• a stove\n"
        "   1. gas\n"
        "   2. matches\n\n"
        "Thing         │ Weight\n"
        "──────────────┼───────\n"
        "Tent          │ 1.8 kg\n"
        "Stove and pan │ 400 g\n\n"
        "▌ Rain is likely.\n\n"
        "▏ weight = 2**3"
    )
    begin = told.plain.index("two warm layers")
    assert any(one.start == begin and "bold" in str(one.style) for one in told.spans)


def test_plain_text_stays_as_it_is() -> None:
    assert markdown_text("Just words.\nAnd more.").plain == "Just words.\nAnd more."
    assert markdown_text("").plain == ""


def test_a_row_shows_matches_without_signs() -> None:
    piece = Snippet("Take **two warm** layers and `socks`", ((11, 15),))
    shown = marked(piece, 60, "bold")
    assert shown.plain == "Take two warm layers and socks"
    assert [shown.plain[one.start : one.end] for one in shown.spans] == ["warm"]


def test_signs_within_words_stay() -> None:
    assert without_marks("2**10 and __init__.py") == ("2**10 and __init__.py", ())
    assert without_marks("cut **in the *middle* of f(*args)")[0] == "cut in the middle of f(*args)"
