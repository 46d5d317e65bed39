"""Markdown: front matter, a heading for each message, and what was said as it was said.

A message keeps its own Markdown, but nothing in it may pass for the document's: its headings go two levels
down, blocks of HTML are shown as text, and a code block that it leaves open is closed.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.exporting.document import (
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
from atlas_desktop.services.exporting.lines import dumps
from memory.transfer.entities import TravellingMessage, TravellingSession

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

# Anything that could reach beyond the lines it stands on. Most messages hold none of it.
_RISKY = re.compile(r"^[ \t]*(?:[#<=]|-+[ \t]*$)|^[ \t>*+.)\d-]*(?:```|~~~)", re.MULTILINE)
_FENCE = re.compile(r"^( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_NESTED_FENCE = re.compile(r"^(?:[ \t]+|[ \t>*+.)\d-]+)(?:```|~~~)", re.MULTILINE)
_HEADING = re.compile(r"^( {0,3})(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r"^ {0,3}(?:=+|-+)[ \t]*$")
# After one of these a line of hyphens is a rule, never the underline of a heading.
_NO_PARAGRAPH = re.compile(r"^ {0,3}(?:>|[*+-][ \t]+\S|#{1,6}[ \t])")
_HTML = re.compile(r"^( {0,3})<(?=[A-Za-z/!?])(?![A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>)")
_SIGNS = frozenset("#<`~=-")
"""What the lines begin with that are looked at more closely."""
_FENCES = re.compile(r"`{3,}|~{3,}")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&$])")
_DEEPER = 2
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
    if _NESTED_FENCE.search(text) is not None and not _stands_alone(guarded):
        return fenced(text)
    return guarded


def fenced(text: str) -> str:
    """The text word for word in a code block whose fences are longer than any in it."""
    longest = max((len(found) for found in _FENCES.findall(text)), default=2)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}\n{text}\n{fence}"


def _guarded(text: str) -> tuple[str, str]:
    """The text with what could be the document's own made harmless, and the fence that it leaves open."""
    lines = []
    fence = ""
    before = ""
    for line in text.split("\n"):
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
        elif _HTML.match(line) is not None:
            line = _HTML.sub(r"\1\\<", line)
        elif before.strip() and not _NO_PARAGRAPH.match(before) and _UNDERLINE.match(line):
            line = line.replace(line.lstrip()[0], "\\" + line.lstrip()[0], 1)
        lines.append(line)
        before = line
    return "\n".join(lines), fence


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _stands_alone(text: str) -> bool:
    """Whether a heading after the text is read as one, by a parser, and nothing in it as a heading of the
    document or as HTML: what looks like a code block may be the end of a list."""
    *said, opens, words, closes = parser().parse(f"{text}\n\n## end\n")
    if [opens.type, words.type, closes.type] != ["heading_open", "inline", "heading_close"] or opens.level:
        return False
    passing = (one for one in said if one.type == "html_block" or (one.tag in _OWN and one.level == 0))
    return next(passing, None) is None


@cache
def parser() -> "MarkdownIt":
    """CommonMark with tables, without HTML."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
