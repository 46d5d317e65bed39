"""Markdown as one styled text, for previews that are a `Static`, and text without its marks for rows."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from textual.content import Content, Span

from atlas_desktop.exporting.markdown import table_lines
from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.chat.markdown import CODE, RULE, TAB, TABLE, Row, parser, rows_of

_STYLES = {".em": "italic", ".strong": "bold", ".s": "strike", ".code_inline": "$accent"}
_MARKS = {"bullet": "$primary", "quote": "$quiet"}
_RULE = "─" * 20
_EMPHASIS = re.compile(r"(?<!\S)(?:\*{1,2}|~~)(?=[^\s*])|(?<=\S)(?:\*{1,2}|~~)(?![\w*])|`")


def markdown_text(text: str) -> Content:
    """Returns Markdown with bold, lists, quotations, aligned tables and code, and without its marks."""
    source = clean(text).strip()
    rows = rows_of(parser().parse(source), source.splitlines(keepends=True))
    lines: list[Content] = []
    at = 0
    while at < len(rows):
        row = rows[at]
        if row.kind == TABLE:
            end = next((n for n in range(at, len(rows)) if rows[n].kind != TABLE), len(rows))
            lines += _table(rows[at:end])
            at = end
            continue
        lines += _lines(row)
        at += 1
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return Content("\n").join(lines)


def _lines(row: Row) -> list[Content]:
    if row.kind == RULE:
        body = [Content.styled(_RULE, "$quiet")]
    elif row.kind == CODE:
        shown = row.content.plain.expandtabs(TAB).split("\n")
        body = [Content.assemble(("▏ ", "$quiet"), (line, "$accent")) for line in shown]
    else:
        spans = [
            Span(one.start, one.end, _STYLES.get(str(one.style), one.style)) for one in row.content.spans
        ]
        content = Content(row.content.plain, spans=spans)
        body = content.split("\n", allow_blank=True) if content.plain else [content]
        body = [one.stylize("bold $accent") for one in body] if row.kind.startswith("h") else list(body)
    return [Content.assemble(*_edge(row.rest if at else row.first), line) for at, line in enumerate(body)]


def _edge(marks: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(text, _MARKS[style]) for text, style in marks]


def _table(rows: Sequence[Row]) -> list[Content]:
    edge = _edge(rows[0].rest)
    lines = table_lines([row.content.plain for row in rows])
    return [
        Content.assemble(*edge, (line, "bold" if at == 0 else "$quiet" if at == 1 else ""))
        for at, line in enumerate(lines)
    ]


def without_marks(
    text: str, marks: Sequence[tuple[int, int]] = ()
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Returns a line without signs of bold, strikethrough and code, and where its `marks` then are."""
    removed: list[int] = []
    parts: list[str] = []
    at = 0
    for found in _EMPHASIS.finditer(text):
        parts.append(text[at : found.start()])
        removed += range(*found.span())
        at = found.end()
    if not removed:
        return text, tuple(marks)
    parts.append(text[at:])
    moved = ((a - bisect_left(removed, a), b - bisect_left(removed, b)) for a, b in marks)
    return "".join(parts), tuple((a, b) for a, b in moved if a < b)
