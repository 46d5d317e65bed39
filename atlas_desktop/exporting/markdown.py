"""Markdown: front matter, a heading for each message, and what was said as it was said.

A message keeps its own Markdown, but nothing in it may pass for the document's: its headings go two levels
down, tags and pictures are shown as text, and a code block that it leaves open is closed.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from atlas_desktop.exporting.document import (
    BaseWriter,
    MemoryRecord,
    attachments,
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

# Anything that could reach beyond the lines it stands on. Most messages hold none of it.
_RISKY = re.compile(r"^[ \t]*(?:[#=]|-+[ \t]*$)|^[ \t>*+.)\d-]*(?:```|~~~)|<[A-Za-z/!?]|!\[", re.MULTILINE)
_FENCE = re.compile(r"^( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_NESTED_FENCE = re.compile(r"^(?:[ \t]+|[ \t>*+.)\d-]+)(?:```|~~~)", re.MULTILINE)
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*$")
# After one of these a line of hyphens is a rule, never the underline of a heading.
_NO_PARAGRAPH = re.compile(r"^ {0,3}(?:>|[*+-][ \t]+\S|#{1,6}[ \t])")
# What a viewer might run or fetch: a tag (an address in angle brackets is none), and a picture. A backslash
# before it has taken that away already.
_ACTIVE = re.compile(
    r"\\.|(?P<tag><)(?=[A-Za-z/!?])(?![A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]{0,2000}>)|(?P<picture>!\[)"
)
_TICKS = re.compile(r"`+")
_CODE = 4
"""Spaces in front of a line that may be code."""
LONGEST_PARSED = 200_000
"""Characters; of a longer message it is not known how a parser reads it."""
_SIGNS = frozenset("#`~=-")
"""What the lines begin with that are looked at more closely."""
_FENCES = re.compile(r"`{3,}|~{3,}")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$])")
_DEEPER = 2
_ACTIVE_TOKENS = ("html_inline", "image")
_OWN = ("h1", "h2")
"""Headings of the document."""


class MarkdownWriter(BaseWriter):
    """CommonMark with front matter that is YAML. Several sessions stand one after another."""

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
    """What is known of a session, as lines of YAML. Every text is in quotes, so none can be anything else."""
    fields: list[tuple[str, str]] = [
        ("id", _yaml(session.id)),
        ("title", _yaml(title_of(session))),
        ("created_at", _yaml(session.created_at.isoformat())),
        ("updated_at", _yaml(session.updated_at.isoformat())),
        ("project", "null" if session.project is None else _yaml(session.project)),
        ("tags", "[" + ", ".join(map(_yaml, session.tags)) + "]"),
        ("messages", str(len(session.messages))),
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
    """A YAML double-quoted scalar: JSON is one, but for the line ends that only YAML knows."""
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
    return f"\n## {who} · {moment(message.created_at)}{said}\n\n{contained(message.content)}\n"


def escaped(text: str) -> str:
    """A line of text that says in Markdown what it says."""
    return _SPECIAL.sub(r"\\\1", text)


def contained(text: str) -> str:
    """Markdown that ends where it ends: whatever follows it, after an empty line, is read on its own."""
    text = clean(text).rstrip()
    if _RISKY.search(text) is None:
        return text
    guarded, open_fence = _guarded(text)
    if open_fence:
        guarded += "\n" + open_fence
    # Code may hold tags, and what looks like code may be the end of a list: a parser knows.
    unsure = _NESTED_FENCE.search(text) is not None or any(_active(guarded))
    if unsure and (len(guarded) > LONGEST_PARSED or not _stands_alone(guarded)):
        return fenced(text)
    return guarded


def fenced(text: str) -> str:
    """The text word for word in a code block whose fences are longer than any in it."""
    longest = max((len(found) for found in _FENCES.findall(text)), default=2)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}\n{text}\n{fence}"


def _guarded(text: str) -> tuple[str, str]:
    """The text with what could be the document's own made harmless, and the fence that it leaves open."""
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
    """Tags and pictures, in code or not."""
    return (found for found in _ACTIVE.finditer(text) if found.lastgroup is not None)


def _disarmed(text: str) -> str:
    """Lines of prose in which tags and pictures are text, but for those in code between backticks."""
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
    """From each run of backticks to the next of the same length."""
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
    """Whether a heading after the text is read as one, by a parser, and nothing in it as a heading of the
    document, as HTML or as a picture: what looks like a code block may be the end of a list."""
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
    """CommonMark with tables, without HTML."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
