"""What became of everything that recall found for a turn."""

from datetime import UTC, datetime

from memory.context.entities import Outcome, considered, unrepeated
from memory.recall.entities import Hit, Source

WHEN = datetime(2024, 5, 1, tzinfo=UTC)


def found(name: str, kind: str = "message", *sources: str) -> Hit:
    text = f"{name} is green"
    return Hit(name, kind, text, text, 0.5, {}, Source(None, None, None, None, WHEN, ""), sources=sources)


def test_a_memory_does_not_repeat_the_words_it_was_learned_from() -> None:
    message, repeats = found("a"), found("m", "memory", "x", "a")
    shown, new = found("n", "memory", "s"), found("o", "memory", "y")
    assert unrepeated([repeats, shown, message, new], {"s", message.id}) == [message, new]


def test_everything_that_was_found_has_a_fate() -> None:
    told, crowded, far, repeats = found("a"), found("b"), found("c"), found("m", "memory", "a")
    echo = found("d")
    everything = [told, crowded, far, echo, repeats]
    fates = considered(everything, [told, crowded, far, repeats], everything[:4], [told, crowded], [told])
    assert [(one.id, one.outcome) for one in fates] == [
        ("a", Outcome.TOLD),
        ("b", Outcome.NO_ROOM),
        ("c", Outcome.TOO_FAR),
        ("d", Outcome.ECHO),
        ("m", Outcome.REPEATS),
    ]
