"""Titles of sessions: the person's first words at once, a model's better idea when there is time."""

import re

from atlas_desktop.services.cleaning import clean_line
from memory.entities import Message, SessionPatch, TitleSource
from memory.ports import SessionStore
from models.messages import ChatMessage, Completion, GenerationParams, Lane, Role
from models.ports import ChatModel

MAX_LENGTH = 60
_SHOWN = 600
_TITLE_TOKENS = 16
_ASK = (
    "Name the topic of this message in two to six words. Answer with the words only, no quotes.\n\n"
    "Message: {text}\n\nTopic:"
)


def first_words(text: str) -> str:
    """A title made from the beginning of a text, cut at a word, at most 60 characters."""
    line = clean_line(text)
    if len(line) <= MAX_LENGTH:
        return line or "New conversation"
    cut = line[: MAX_LENGTH - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > MAX_LENGTH // 2 else cut).rstrip(" ,.;:") + "…"


def tidy(answer: str) -> str | None:
    """A usable title from a model's answer, or None when there is none in it."""
    lines = [clean_line(line) for line in answer.splitlines()]
    line = next((line for line in lines if line), "")
    line = re.sub(r"^(title|topic|subject)\s*:\s*", "", line, flags=re.IGNORECASE)
    line = line.strip(" \"'“”‘’*_#`.").strip()
    words = line.split()
    if not 1 <= len(words) <= 10 or len(line) > MAX_LENGTH or not any(c.isalpha() for c in line):
        return None
    return line[0].upper() + line[1:]


class Titler:
    """Improves the titles of sessions that still are called by their first words."""

    def __init__(self, store: SessionStore, model: ChatModel) -> None:
        self._store = store
        self._model = model
        self._given_up: set[str] = set()

    async def run(self, *, limit: int = 3) -> list[str]:
        """Names up to `limit` sessions and returns their ids. Runs below chat in priority."""
        named: list[str] = []
        for session_id in await self._store.sessions_to_title(limit=limit + len(self._given_up)):
            if session_id in self._given_up or len(named) >= limit:
                continue
            if await self._name(session_id):
                named.append(session_id)
            else:
                # A small model often has no usable idea; the first words stay, and it is not asked again.
                self._given_up.add(session_id)
        return named

    async def _name(self, session_id: str) -> bool:
        branch = await self._store.branch(session_id)
        first = next((m for m in branch if m.role is Role.USER), None)
        title = tidy(await self._ask(first)) if first else None
        if title is None:
            return False
        session = await self._store.get_session(session_id)
        if session.title_source is not TitleSource.FIRST_WORDS:
            return False
        await self._store.update_session(
            session_id, SessionPatch(title=title, title_source=TitleSource.MODEL)
        )
        return True

    async def _ask(self, first: Message) -> str:
        ask = _ASK.format(text=first.content[:_SHOWN])
        params = GenerationParams(max_tokens=_TITLE_TOKENS, temperature=0.0, seed=1)
        async for event in self._model.generate([ChatMessage(Role.USER, ask)], params, Lane.TASK):
            if isinstance(event, Completion):
                return event.text
        return ""
