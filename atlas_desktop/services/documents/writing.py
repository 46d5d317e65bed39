"""Makes documents out of conversations, and stores edits of them.

Such a document has no file. Nothing is learned from it.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from atlas_desktop.locale import N_, _, formats
from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.documents.files import FileContent
from atlas_desktop.services.documents.reading import Incoming, parsed
from memory.context.entities import SummaryState
from memory.documents.entities import Document, FileFacts
from memory.entities import Message, Session
from memory.errors import DocumentHasFile, NothingToWrite
from memory.learning.learner import heard_in
from memory.learning.reader import read
from memory.memories.entities import MemoryKind
from memory.storage.store import Store
from models.messages import Role

_SECTIONS = (
    (N_("Decisions"), (MemoryKind.DECISION,)),
    (N_("Facts"), (MemoryKind.FACT, MemoryKind.PREFERENCE, MemoryKind.EVENT)),
    (N_("How-to"), (MemoryKind.PROCEDURE,)),
    (N_("Open questions"), (MemoryKind.QUESTION,)),
)
_NAME = "document.md"


class ConversationDocuments:
    """The documents of one room that were written in Atlas."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def from_session(self, session_id: str, parser: DocumentParser) -> Document:
        """Stores a document with what a conversation decided, stated, showed as code and left open.

        Each item links to the message that it comes from. Raises `SessionNotFound`, `NothingToWrite` if the
        conversation has none of these.
        """
        session = await self._store.get_session(session_id)
        branch = await self._store.branch(session.id)
        summaries = await self._store.context.summaries(session.id)
        text = written(session, branch, [one.text for one in summaries if one.state is SummaryState.CURRENT])
        return await self._stored(text, session.project, None, parser)

    async def edit(self, document_id: str, text: str, parser: DocumentParser) -> Document:
        """Replaces the text of a document. Raises `DocumentNotFound`, `DocumentHasFile`."""
        known = await self._store.documents.get(document_id)
        if known.path:
            raise DocumentHasFile(known.id)
        return await self._stored(text, known.project, known.id, parser)

    async def _stored(
        self, text: str, project: str | None, document_id: str | None, parser: DocumentParser
    ) -> Document:
        data = clean(text).encode()
        facts = FileFacts("", len(data), 0)
        content = FileContent(data, facts, hashlib.sha256(data).hexdigest())
        incoming = Incoming("", Path(_NAME), document=document_id, project=project)
        new = await parsed(incoming, content, parser)
        (stored,) = await self._store.documents.put([new])
        return await self._store.documents.get(stored)


def written(session: Session, branch: Sequence[Message], summaries: Sequence[str]) -> str:
    """Returns the document of a conversation as Markdown. Raises `NothingToWrite`."""
    found: dict[MemoryKind, list[str]] = {}
    code: list[str] = []
    for at, message in enumerate(branch):
        link = f"([{_('message {number}', number=at + 1)}](atlas://message/{message.id}))"
        code += [f"{link}\n\n{block}" for block in _code(message.content)]
        if message.role is Role.USER and message.content:
            before = branch[at - 1] if at else None
            for one in read(heard_in(message, before)):
                if not one.only_ends:
                    found.setdefault(one.kind, []).append(f"- {clean_line(one.text)} {link}")
    parts = [
        f"## {_(title)}\n\n" + "\n".join(lines)
        for title, kinds in _SECTIONS
        if (lines := list(dict.fromkeys(line for kind in kinds for line in found.get(kind, ()))))
    ]
    if code:
        parts.append(f"## {_('Code')}\n\n" + "\n\n".join(code))
    if not parts and not summaries:
        raise NothingToWrite(session.id)
    if summaries:
        parts.insert(0, f"## {_('Summary')}\n\n" + "\n\n".join(summaries))
    day = formats().date(session.created_at)
    origin = _("From the conversation of {day}.", day=day)
    top = f"# {session.title or _('Untitled')}\n\n[{origin}](atlas://session/{session.id})"
    return "\n\n".join([top, *parts]) + "\n"


def _code(text: str) -> Iterator[str]:
    """Yields the code blocks of a message, with their fences."""
    from markdown_it import MarkdownIt

    lines = text.splitlines()
    for token in MarkdownIt("commonmark", {"html": False}).parse(text):
        if token.type == "fence" and token.map is not None and token.content.strip():
            yield "\n".join(lines[token.map[0] : token.map[1]]).rstrip()
