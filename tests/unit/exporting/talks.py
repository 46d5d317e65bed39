"""Sessions to be exported, and one written in a format."""

import io
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from atlas_desktop.exporting.document import About, MemoryRecord
from atlas_desktop.exporting.formats import FORMATS
from memory.transfer import TravellingMessage, TravellingSession
from models.messages import Role

THEN = datetime(2024, 2, 3, 4, 5, 6, tzinfo=UTC)

# What could pass for the structure around it, in pieces that meet in every order.
PIECES = (
    "# a", "## You", "###### deep", "a\n===", "a\n---", "---", "```", "~~~~", "```python", "````",
    "    ```", "   ```", "1. x\n   ```", "- ```", "> ```", "> a\n~~~", "<!--", "-->", "<script>",
    "<details>", "<pre>", "<?php", "<![CDATA[", "</body>", "[a]: http://x", "| a | b |\n|---|---|",
    "\t# tab", "\\", "`", "* * *", "- a\n\n  b\n---", "==", "&amp;", "=1+1", "@SUM", "\x1b]52;c;x\x07",
    "\u202eevil", "שלום עולם", "😀👩‍👩‍👧", "漢字かな", "e\u0301", "\u2028", "plain words", "",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=7).map("\n".join)


def said(*texts: str, title: str = "A trip", **fields: object) -> TravellingSession:
    """A session in which these were said, in turn."""
    messages = tuple(
        TravellingMessage(
            f"m{at}",
            f"m{at - 1}" if at else None,
            Role.ASSISTANT if at % 2 else Role.USER,
            "",
            text,
            THEN + timedelta(minutes=at),
        )
        for at, text in enumerate(texts)
    )
    return TravellingSession("s1", title, THEN, THEN, messages, **fields)  # type: ignore[arg-type]


def written(format_name: str, *sessions: TravellingSession, memories: Sequence[MemoryRecord] = ()) -> bytes:
    """These sessions as one file."""
    out = io.BytesIO()
    writer = FORMATS[format_name].open(out, About(THEN, len(sessions)))
    writer.begin()
    for session in sessions:
        writer.session(session)
    if memories:
        writer.memories(memories)
    writer.end()
    return out.getvalue()


MEMORY = MemoryRecord(
    "i1", "fact", "kept", "Likes *tea*\n# and rain", "drink", 0.5, 1.0, False, THEN, THEN, "Home"
)
