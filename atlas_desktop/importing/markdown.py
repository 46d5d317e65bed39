"""Reads transcripts in Markdown: the program's own export, and those of other programs."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from atlas_desktop.importing.entities import ImportedMessage, ImportedSession, Unreadable
from atlas_desktop.importing.sources import LONGEST, Note, Part, digest, moment, text, texts
from atlas_desktop.importing.tree import session_of
from atlas_desktop.locale import _
from memory.entities import MemoryMode, MessageStatus
from memory.transfer import TravellingSession
from models.messages import Role

_FIELD = re.compile(r"([A-Za-z_][\w -]{0,60}?)\s*:(?:\s+(.*))?")
_ITEM = re.compile(r"\s*-\s+(.*)")
_QUOTED = re.compile(r'\s*("(?:[^"\\]|\\.)*"|\'(?:[^\']|\'\')*\'|[^,\[\]]+)')
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
_LONGEST = 2000
"""Maximum lines of front matter."""


def front_matter(words: str) -> tuple[dict[str, Any], str]:
    """Returns the front matter's fields, with lower-case names, and the text after it."""
    if not words.startswith("---\n"):
        return {}, words
    lines = words.split("\n", _LONGEST)
    try:
        end = next(place for place, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "..."))
    except StopIteration:
        return {}, words
    fields: dict[str, Any] = {}
    name = ""
    for line in lines[1:end]:
        if name and (item := _ITEM.fullmatch(line)):
            known = fields[name]
            fields[name] = [*(known if isinstance(known, list) else []), _scalar(item[1])]
        elif found := _FIELD.fullmatch(line.rstrip()):
            name = found[1].lower().replace("-", "_").replace(" ", "_")
            fields[name] = _value((found[2] or "").strip())
    return fields, "\n".join(lines[end + 1 :])


def _value(given: str) -> Any:
    if given.startswith("[") and given.endswith("]"):
        return [one for part in _QUOTED.findall(given[1:-1]) if (one := _scalar(part)) not in ("", None)]
    return _scalar(given)


def _scalar(given: str) -> Any:
    words = given.strip()
    if words[:1] == '"' and words[-1:] == '"' and len(words) > 1:
        try:
            return json.loads(words, strict=False)
        except ValueError:
            return words[1:-1]
    if words[:1] == "'" and words[-1:] == "'" and len(words) > 1:
        return words[1:-1].replace("''", "'")
    return _WORDS.get(words.lower(), words)


_WHO = {
    **dict.fromkeys(("user", "you", "me", "human", "person", "question", "q", "prompt", "i"), Role.USER),
    **dict.fromkeys(
        ("assistant", "ai", "bot", "model", "answer", "a", "response", "chatgpt", "gpt", "claude", "gemini",
         "copilot", "llama", "mistral", "deepseek", "atlas", "chatbot"),
        Role.ASSISTANT,
    ),
    **dict.fromkeys(("system", "instructions"), Role.SYSTEM),
}  # fmt: skip
_NAME = r"(?P<who>[^\W\d_][^\n*:#·|]{0,60}?)"
_WHEN = r"(?:\s*[·|(\[—–-]+\s*(?P<when>\d{4}-\d\d-\d\d[^\n)\]·|]{0,40}))?"
_HEADING = re.compile(
    rf"(?P<level>#{{1,6}})\s+(?:\S\s+)?\**{_NAME}\**{_WHEN}[\])]?:?\**(?P<rest>\s*·[^\n]*)?\s*"
)
_BOLD = re.compile(rf"(?P<mark>\*\*|__){_NAME}{_WHEN}[\])]?\s*:?(?P=mark)\s*:?(?:\s(?P<said>.*))?")
_PLAIN = re.compile(rf"{_NAME}{_WHEN}[\])]?:(?:\s(?P<said>.*))?")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_RULE = re.compile(r" {0,3}(?:-{3,}|\*{3,}|_{3,})\s*")
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>#|~&$])")
_STYLES = (_HEADING, _BOLD, _PLAIN)
# What the program's own export of several conversations says below each title.
_ABOUT = re.compile(r"\*begun (\d{4}-\d\d-\d\d[^·*\n]{0,40}?)((?: · [^\n]{1,400})?)\*")
_FEWEST = 2


def is_transcript(words: str) -> bool:
    """Returns whether the beginning of a text shows a transcript with known speakers."""
    return _style_of(front_matter(words)[1].split("\n")) is not None


def read(parts: Sequence[Part], note: Note) -> Iterator[tuple[str, TravellingSession]]:
    """Yields sessions with their places. Raises `Unreadable`, `OSError`."""
    for part in parts:
        with part.open() as stream:
            data = stream.read(LONGEST + 1)
        if len(data) > LONGEST:
            note(part.where, _("longer than {bytes} bytes", bytes=LONGEST))
            continue
        try:
            words = data.decode(_encoding(data))
        except UnicodeDecodeError:
            note(part.where, _("not UTF-8"))
            continue
        title = PurePosixPath(part.name.replace("\\", "/")).stem
        for number, talk in enumerate(talks_of(words.replace("\r\n", "\n"), title), start=1):
            where = f"{part.where}:{number}"
            try:
                yield where, session_of(talk, otherwise=part.changed_at)
            except Unreadable as fault:
                note(where, fault.why)


def beginning(data: bytes) -> str:
    """Returns the text of a file's first bytes, which may end in the middle of a character."""
    return data.decode(_encoding(data), "replace")


def _encoding(data: bytes) -> str:
    """Returns the encoding; some Windows shells write UTF-16 with a byte order mark."""
    return "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"


def talks_of(words: str, title: str) -> Iterator[ImportedSession]:
    """Yields the conversations of a text; `title` is used for one without a title."""
    known, body = front_matter(words)
    lines = body.split("\n")
    style = _style_of(lines)
    if style is None:
        yield ImportedSession("", [])
        return
    for chapter in _chapters(lines, style):
        yield _talk(chapter, known, title)


@dataclass(slots=True)
class _Turn:
    who: str
    when: str | None
    marks: str
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Chapter:
    title: str
    turns: list[_Turn] = field(default_factory=list)
    begun: str = ""
    project: str = ""
    tags: list[str] = field(default_factory=list)

    def read_about(self, begun: str, facts: str) -> None:
        """Reads the line below the title: when it was begun, its project and its tags."""
        self.begun = begun
        for fact in facts.split(" · ")[1:]:
            if fact.startswith("project "):
                self.project = _ESCAPED.sub(r"\1", fact.removeprefix("project ")).strip()
            elif fact.startswith(r"\#"):
                self.tags.append(_ESCAPED.sub(r"\1", fact)[1:].strip())


def _style_of(lines: Sequence[str]) -> "re.Pattern[str] | None":
    """Returns the first style that names a known speaker, or None; plain `Name:` lines need two of them."""
    for style in _STYLES:
        named = [
            who for _unused, line in _outside_code(lines) if (found := style.fullmatch(line))
            and (who := _key(found["who"])) in _WHO
        ]  # fmt: skip
        if len(named) >= _FEWEST or (named and style is not _PLAIN):
            return style
    return None


def _outside_code(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    fence = ""
    for place, line in enumerate(lines):
        found = _FENCE.match(line)
        if fence:
            if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif found:
            fence = found[1]
        else:
            yield place, line


def _chapters(lines: Sequence[str], style: "re.Pattern[str]") -> Iterator[_Chapter]:
    """Yields the conversations; a first-level heading that names no speaker begins another one."""
    outside = dict(_outside_code(lines))
    level = _level(outside.values()) if style is _HEADING else 0
    chapter = _Chapter("")
    for place, line in enumerate(lines):
        plain = place in outside
        found = style.fullmatch(line) if plain else None
        if found and _speaks(found, style, level):
            chapter.turns.append(_turn(found, style))
        elif plain and line.startswith("# ") and (style is not _HEADING or level > 1):
            if chapter.turns:
                yield chapter
                chapter = _Chapter("")
            chapter.title = chapter.title or _ESCAPED.sub(r"\1", line[2:].strip().rstrip("#").rstrip())
        elif chapter.turns:
            chapter.turns[-1].lines.append(line)
        elif plain and chapter.title and (about := _ABOUT.fullmatch(line)):
            chapter.read_about(about[1], about[2])
    if chapter.turns:
        yield chapter


def _level(lines: Any) -> int:
    """Returns the shallowest level of headings that name a known speaker."""
    found = (_HEADING.fullmatch(line) for line in lines)
    return min(len(one["level"]) for one in found if one and _key(one["who"]) in _WHO)


def _speaks(found: "re.Match[str]", style: "re.Pattern[str]", level: int) -> bool:
    """Returns whether a line begins a message; unknown names count only in headings with a time."""
    if style is _HEADING:
        return len(found["level"]) == level and (_key(found["who"]) in _WHO or found["when"] is not None)
    return _key(found["who"]) in _WHO


def _turn(found: "re.Match[str]", style: "re.Pattern[str]") -> _Turn:
    groups = found.groupdict()
    turn = _Turn(found["who"].strip(), found["when"], groups.get("rest") or "")
    if style is not _HEADING and groups.get("said"):
        turn.lines.append(groups["said"])
    return turn


def _key(who: str) -> str:
    name = _ESCAPED.sub(r"\1", who).strip().lower()
    return name.removesuffix(" said").removesuffix(" says") if name.endswith((" said", " says")) else name


def _talk(chapter: _Chapter, known: dict[str, Any], otherwise: str) -> ImportedSession:
    said: list[ImportedMessage] = []
    for turn in chapter.turns:
        content = _content(turn.lines)
        if not content:
            continue
        parent = said[-1].id if said else None
        key = _key(turn.who)
        role = _WHO.get(key, Role.USER)
        name = "" if key in _WHO else _ESCAPED.sub(r"\1", turn.who)
        one = ImportedMessage(
            digest(parent or "", role, content), parent, role, content, moment(turn.when), name
        )
        one.important = "important" in turn.marks
        if role is Role.ASSISTANT and ("partial" in turn.marks or "stopped" in turn.marks):
            one.status = MessageStatus.PARTIAL
        said.append(one)
    title = text(known.get("title")) or chapter.title or otherwise
    begun = moment(known.get("created_at")) or moment(known.get("date")) or moment(known.get("created"))
    mode = text(known.get("memory_mode"))
    first = said[0].content if said else ""
    return ImportedSession(
        id=text(known.get("id")) or digest("markdown", title, str(begun or ""), first),
        messages=said,
        title=title,
        created_at=begun or moment(chapter.begun),
        updated_at=moment(known.get("updated_at")) or moment(known.get("updated")),
        project=text(known.get("project")) or chapter.project or None,
        tags=texts(known.get("tags")) or text(known.get("tags")).replace(",", " ").split() or chapter.tags,
        system_prompt=text(known.get("system_prompt")) or None,
        model=text(known.get("model")) or None,
        memory_mode=MemoryMode(mode) if mode in ("normal", "reads", "blank") else MemoryMode.NORMAL,
        starred=known.get("starred") is True,
        important=known.get("important") is True,
        meta={"imported_from": "markdown"},
    )


def _content(lines: list[str]) -> str:
    """Returns the text without empty lines and rules around it."""
    first, end = 0, len(lines)
    while first < end and _is_frame(lines[first]):
        first += 1
    while first < end and _is_frame(lines[end - 1]):
        end -= 1
    return "\n".join(lines[first:end]).rstrip()


def _is_frame(line: str) -> bool:
    return not line.strip() or _RULE.fullmatch(line) is not None
