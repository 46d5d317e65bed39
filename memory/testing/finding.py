"""Finding words in texts, without stems: what the in-memory store searches with."""

from memory.storage.words import beginnings


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
