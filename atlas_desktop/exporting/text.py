"""Plain text."""

from collections.abc import Sequence

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
from atlas_desktop.services.cleaning import clean, clean_line
from memory.transfer.entities import TravellingSession


class TextWriter(BaseWriter):
    """What was said stands indented below who said it, so that no message can look like another's."""

    _any = False

    def session(self, session: TravellingSession) -> None:
        title = title_of(session)
        shown = told_branch(session)
        parts = [title, "=" * min(len(title), 80), f"begun {moment(session.created_at)}"]
        if session.project:
            parts.append(f"project {clean_line(session.project)}")
        if session.tags:
            parts.append("tags " + ", ".join(map(clean_line, session.tags)))
        if files := attachments(session):
            parts.append("attached " + ", ".join(files))
        if left := remarks(session):
            parts.append(left)
        for message in shown:
            said = "".join(f", {mark}" for mark in marks(message))
            parts.append(f"\n[{moment(message.created_at)}] {speaker_of(message)}{said}:")
            parts.append(_indented(message.content))
        self._put(parts)

    def memories(self, memories: Sequence[MemoryRecord]) -> None:
        parts = ["Memories", "========"]
        for memory in memories:
            parts.append(f"\n[{memory_line(memory)}]")
            parts.append(_indented(memory.text))
        self._put(parts)

    def _put(self, parts: Sequence[str]) -> None:
        self.write(("\n\n\n" if self._any else "") + "\n".join(parts) + "\n")
        self._any = True


def _indented(text: str) -> str:
    lines = (f"    {line}".rstrip() for line in clean(text).split("\n"))
    return "\n".join(lines)
