"""Finding words in texts, without stems: what the in-memory store searches with."""

from collections.abc import Iterable

from memory.entities import Message, MessageStatus, SearchHit
from memory.storage.words import beginnings, is_unspaced, terms


def words_of(text: str) -> list[str]:
    return [word.casefold() for word in beginnings(text)]


def occurrences(words: list[str], phrase: list[str], *, prefix: bool) -> int:
    """How often `phrase` occurs in `words`; with `prefix` its last word may be a beginning."""
    width = len(phrase)
    return sum(
        words[at : at + width - 1] == phrase[:-1]
        and (words[at + width - 1].startswith(phrase[-1]) if prefix else words[at + width - 1] == phrase[-1])
        for at in range(len(words) - width + 1)
    )


def hits(query: str, messages: Iterable[tuple[Message, str]]) -> list[SearchHit]:
    """The finished ones of these messages, each with its session's title, that hold the words; best first.

    Raises `BadQuery`.
    """
    wanted = terms(query)
    found = []
    for message, title in messages:
        words = words_of(message.content)
        counts = [occurrences(words, words_of(term.text), prefix=term.prefix) for term in wanted]
        if message.status is not MessageStatus.STREAMING and all(counts):
            found.append(SearchHit(message, title, sum(counts) / len(words), message.content[:160]))
    return sorted(found, key=lambda hit: hit.score, reverse=True)


def contains(title: str, messages: Iterable[Message], text: str) -> bool:
    """Whether the title, or one finished message, holds every word of `text` or a beginning of it."""
    if all(piece in title.casefold() for piece in text.casefold().split()):
        return True
    wanted = [words_of(word) for word in beginnings(text)]
    return bool(wanted) and any(
        all(occurrences(words_of(message.content), word, prefix=True) for word in wanted)
        for message in messages
        if message.status is not MessageStatus.STREAMING
    )


def holds_beginnings(text: str, wanted: str) -> bool:
    """Whether every word of `wanted` begins a word of `text`; without spaces it may stand anywhere."""
    words = words_of(text)
    beginning = words_of(wanted)
    return bool(beginning) and all(
        word in text.casefold() if is_unspaced(word) else any(one.startswith(word) for one in words)
        for word in beginning
    )
