"""Markdown export: front matter, a heading for each message, and its text.

A message keeps its own Markdown, but nothing in it can be mistaken for part of the document: its headings are
moved two levels down, tags and pictures are shown as text, and an unclosed code block is closed.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from rich.cells import cell_len

from atlas_desktop.exporting.document import (
    BaseWriter,
    MemoryRecord,
    attachments,
    citations,
    marks,
    memory_line,
    moment,
    remarks,
    speaker_of,
    title_of,
    told_branch,
)
from atlas_desktop.exporting.lines import dumps
from atlas_desktop.services.cleaning import clean, clean_line
from memory.transfer import TravellingMessage, TravellingSession

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Anything that could affect text beyond its own line. Most messages contain none of it.
_RISKY = re.compile(r"^[ \t]*(?:[#=]|-+[ \t]*$)|^[ \t>*+.)\d-]*(?:```|~~~)|<[A-Za-z/!?]|!\[", re.MULTILINE)
_FENCE = re.compile(r"^( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_NESTED_FENCE = re.compile(r"^(?:[ \t]+|[ \t>*+.)\d-]+)(?:```|~~~)", re.MULTILINE)
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*$")
# After one of these, a line of hyphens is a rule, never the underline of a heading.
_NO_PARAGRAPH = re.compile(r"^ {0,3}(?:>|[*+-][ \t]+\S|#{1,6}[ \t])")
# What a viewer might run or fetch: tags (but not addresses in angle brackets) and pictures. A preceding
# backslash already disarms them.
_ACTIVE = re.compile(
    r"\\.|(?P<tag><)(?=[A-Za-z/!?])(?![A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,2000}>)|(?P<picture>!\[)"
)
_TICKS = re.compile(r"`+")
_CODE = 4
"""Indentation in spaces from which a line may be code."""
LONGEST_PARSED = 200_000
"""Characters; longer text is not checked with a parser."""
_SIGNS = frozenset("#`~=-")
"""First characters of lines that need a closer look."""
_FENCES = re.compile(r"`{3,}|~{3,}")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$])")
_DEEPER = 2
_ACTIVE_TOKENS = ("html_inline", "image")
_OWN = ("h1", "h2")
"""Headings that belong to the document."""


class MarkdownWriter(BaseWriter):
    """Writes CommonMark with YAML front matter; several sessions follow one another."""

    def begin(self) -> None:
        if self.about.sessions != 1:
            written = _yaml(self.about.written_at.isoformat())
            self.write(f"---\nexported_at: {written}\nsessions: {self.about.sessions}\n---\n")

    def session(self, session: TravellingSession) -> None:
        alone = self.about.sessions == 1
        shown = told_branch(session)
        parts = [f"---\n{front_matter(session)}---\n"] if alone else []
        parts.append(f"\n# {escaped(title_of(session))}\n")
        if not alone:
            parts.append(f"\n*{_told(session)}*\n")
        if left := remarks(session):
            parts.append(f"\n*{left}*\n")
        parts.extend(map(_message, shown))
        self.write("".join(parts))

    def memories(self, memories: Sequence[MemoryRecord]) -> None:
        parts = ["\n# Memories\n"]
        parts.extend(
            f"\n## {escaped(memory_line(memory))}\n\n{contained(memory.text)}\n" for memory in memories
        )
        self.write("".join(parts))


def front_matter(session: TravellingSession) -> str:
    """Returns a session's metadata as lines of YAML, with all text quoted so that it stays text."""
    fields: list[tuple[str, str]] = [
        ("id", _yaml(session.id)),
        ("title", _yaml(title_of(session))),
        ("created_at", _yaml(session.created_at.isoformat())),
        ("updated_at", _yaml(session.updated_at.isoformat())),
        ("project", "null" if session.project is None else _yaml(session.project)),
        ("tags", "[" + ", ".join(map(_yaml, session.tags)) + "]"),
        ("messages", str(len(told_branch(session)))),
    ]
    if session.model:
        fields.append(("model", _yaml(session.model)))
    if session.memory_mode.value != "normal":
        fields.append(("memory_mode", _yaml(session.memory_mode.value)))
    if session.system_prompt:
        fields.append(("system_prompt", _yaml(session.system_prompt)))
    if files := attachments(session):
        fields.append(("attachments", "[" + ", ".join(map(_yaml, files)) + "]"))
    fields += [(name, "true") for name in ("starred", "important") if getattr(session, name)]
    return "".join(f"{name}: {value}\n" for name, value in fields)


def _yaml(text: str) -> str:
    """Returns a YAML double-quoted scalar: a JSON string with the line ends escaped that only YAML knows."""
    return dumps(clean(text))


def _told(session: TravellingSession) -> str:
    parts = [f"begun {moment(session.created_at)}"]
    if session.project:
        parts.append(f"project {escaped(clean_line(session.project))}")
    parts.extend(f"\\#{escaped(clean_line(tag))}" for tag in session.tags)
    parts.extend(f"attached: {escaped(name)}" for name in attachments(session))
    return " · ".join(parts)


def _message(message: TravellingMessage) -> str:
    said = "".join(f" · {mark}" for mark in marks(message))
    who = escaped(speaker_of(message))
    sources = "".join(f"- {escaped(line)}\n" for line in citations(message))
    return f"\n## {who} · {moment(message.created_at)}{said}\n\n{contained(message.content)}\n" + (
        f"\nSources:\n\n{sources}" if sources else ""
    )


def escaped(text: str) -> str:
    """Escapes a line of text so that Markdown shows it literally."""
    return _SPECIAL.sub(r"\\\1", text)


def contained(text: str) -> str:
    """Returns Markdown that does not affect what follows it after an empty line."""
    text = clean(text).rstrip()
    if _RISKY.search(text) is None:
        return text
    guarded, open_fence = _guarded(text)
    if open_fence:
        guarded += "\n" + open_fence
    # Code may contain tags, and text that looks like code may be the end of a list; only a parser can decide.
    unsure = _NESTED_FENCE.search(text) is not None or any(_active(guarded))
    if unsure and (len(guarded) > LONGEST_PARSED or not _stands_alone(guarded)):
        return fenced(text)
    return guarded


def fenced(text: str) -> str:
    """Returns the text unchanged in a code block whose fences are longer than any in it."""
    longest = max((len(found) for found in _FENCES.findall(text)), default=2)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}\n{text}\n{fence}"


def _guarded(text: str) -> tuple[str, str]:
    """Neutralises document-level syntax; returns the text and the fence that it leaves open."""
    lines: list[str] = []
    prose: list[bool] = []
    fence = ""
    before = ""
    for line in text.split("\n"):
        prose.append(not fence and bool(line.strip()) and _indent(line) < _CODE)
        if fence:
            stripped = line.strip()
            closes = stripped.startswith(fence) and not stripped.strip(fence[0]) and _indent(line) < 4
            fence = "" if closes else fence
            lines.append(line)
            before = ""
            continue
        if line.lstrip(" ")[:1] not in _SIGNS:
            lines.append(line)
            before = line
            continue
        if found := _FENCE.match(line):
            fence = found[2]
        elif found := _HEADING.match(line):
            line = f"{found[1]}{'#' * min(len(found[2]) + _DEEPER, 6)}{line[found.end() :]}"
        elif before.strip() and not _NO_PARAGRAPH.match(before) and _UNDERLINE.match(line):
            line = line.replace(line.lstrip()[0], "\\" + line.lstrip()[0], 1)
        lines.append(line)
        before = line
    said = (
        _disarmed("\n".join(line for line, _ in group)) if words else "\n".join(line for line, _ in group)
        for words, group in groupby(zip(lines, prose, strict=True), key=itemgetter(1))
    )
    return "\n".join(said), fence


def _active(text: str) -> Iterator[re.Match[str]]:
    """Yields tags and pictures, in code or not."""
    return (found for found in _ACTIVE.finditer(text) if found.lastgroup is not None)


def _disarmed(text: str) -> str:
    """Escapes tags and pictures in lines of prose, except in code between backticks."""
    spans = _code_spans(text)
    parts: list[str] = []
    at = place = 0
    for found in _active(text):
        while place < len(spans) and spans[place][1] <= found.start():
            place += 1
        if place < len(spans) and spans[place][0] < found.start():
            continue
        begin = found.start() + (found.lastgroup == "picture")
        parts += (text[at:begin], "\\")
        at = begin
    return "".join((*parts, text[at:]))


def _code_spans(text: str) -> list[tuple[int, int]]:
    """Returns the spans from each run of backticks to the next one of the same length."""
    runs = [found.span() for found in _TICKS.finditer(text)]
    later: dict[int, list[int]] = {}
    for begin, end in reversed(runs):
        later.setdefault(end - begin, []).append(begin)
    spans: list[tuple[int, int]] = []
    at = 0
    for begin, end in runs:
        same = later[end - begin]
        while same and same[-1] <= begin:
            same.pop()
        if begin >= at and same:
            at = same[-1] + end - begin
            spans.append((begin, at))
    return spans


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _stands_alone(text: str) -> bool:
    """Returns whether a parser reads a heading after the text as a heading.

    Also requires that nothing in the text is read as a heading of the document, as HTML or as a picture. Text
    that looks like a code block may be the end of a list.
    """
    *said, opens, words, closes = parser().parse(f"{text}\n\n## end\n")
    if [opens.type, words.type, closes.type] != ["heading_open", "inline", "heading_close"] or opens.level:
        return False
    return not any(
        one.type == "html_block"
        or (one.tag in _OWN and one.level == 0)
        or any(inner.type in _ACTIVE_TOKENS for inner in one.children or ())
        for one in said
    )


@cache
def parser() -> "MarkdownIt":
    """Returns the cached CommonMark parser, with tables, strikethrough and HTML."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


# --- reading Markdown, for formats that set it ------------------------------------------------------


@cache
def _inline_parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    # Text that looks like an entity was typed that way.
    return MarkdownIt("commonmark", {"html": False}).enable("strikethrough").disable("entity")


def inline_parts(line: str) -> list[tuple[str, str]]:
    """Returns the parts of a line without marks, each with its kind: `bold`, `code`, or nothing.

    A link becomes its text and, unless the text is the address, its address.
    """
    parts: list[tuple[str, str]] = []
    bold, href = 0, ""
    indent = line[: len(line) - len(line.lstrip())]
    for token in _inline_parser().parseInline(line.strip())[0].children or ():
        bold += {"strong_open": 1, "strong_close": -1}.get(token.type, 0)
        if token.type == "link_open":
            href = str(token.attrs.get("href", ""))
        elif token.type == "link_close":
            if href and not (parts and clean(href) == parts[-1][0]):
                parts.append((f" ({clean(href)})", ""))
        elif token.type == "image":
            parts.append((f"[{clean(token.content)}] ({clean(str(token.attrs.get('src', '')))})", ""))
        elif token.content:
            kind = "code" if token.type == "code_inline" else "bold" if bold else ""
            parts.append((clean(token.content), kind))
    return [(indent, ""), *parts] if indent else parts


def is_table(lines: Sequence[str]) -> bool:
    """Whether the first two of these lines begin a table: cells, and a line of dashes below them."""
    return len(lines) > 1 and "|" in lines[0] and "-" in lines[1] and set(lines[1].strip()) <= set("|-: ")


def table_lines(lines: Sequence[str]) -> list[str]:
    """Returns the lines of a table with aligned columns, without the marks in its cells."""
    rows = [[_cell(cell) for cell in _cells(line)] for at, line in enumerate(lines) if at != 1]
    columns = max(map(len, rows), default=0)
    rows = [[*row, *[""] * (columns - len(row))] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    drawn = [
        " │ ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    rule = ["─┼─".join("─" * width for width in widths)] if drawn else []
    return [line.rstrip() for line in (*drawn[:1], *rule, *drawn[1:])]


def _cells(line: str) -> list[str]:
    """Splits a row at bars that are not escaped."""
    kept = line.strip().replace("\\|", "\0")
    kept = kept.removeprefix("|").removesuffix("|")
    return [cell.strip().replace("\0", "|") for cell in kept.split("|")]


def _cell(text: str) -> str:
    return "".join(part for part, _kind in inline_parts(text))
