"""Words as expressions of the full-text index. Nothing that is typed can reach its syntax."""

from memory.search.entities import All, AnyOf, Condition, Not, Words
from memory.search.words import is_unspaced
from memory.storage.values import storable

_ENDINGS = (
    "able", "al", "ally", "ance", "ation", "ations", "ed", "ence", "er", "ers", "es", "ful", "ible", "ic",
    "ied", "ies", "ing", "ings", "ion", "ions", "ism", "ist", "ities", "ity", "ive", "ized", "izing", "ly",
    "ment", "ments", "ness", "ous", "tion", "tional",
)  # fmt: skip
_LEAST_ROOT = 3


def only_words(part: Condition) -> bool:
    """Whether it is about words with spaces between them alone, so that one expression can stand for it."""
    match part:
        case All(parts) | AnyOf(parts):
            return all(only_words(one) for one in parts)
        case Words(text):
            return not is_unspaced(text)
        case _:
            return False


def only_texts(part: Condition) -> bool:
    """Whether a text alone tells if it fits, whatever its script and whatever it must not hold."""
    match part:
        case All(parts) | AnyOf(parts):
            return all(only_texts(one) for one in parts)
        case Not(inner):
            return only_texts(inner)
        case _:
            return isinstance(part, Words)


def expression(part: Condition) -> str:
    """Of a condition that is `only_words`."""
    match part:
        case All(parts):
            return f"({' AND '.join(expression(one) for one in parts)})"
        case AnyOf(parts):
            return f"({' OR '.join(expression(one) for one in parts)})"
        case Words(text, prefix):
            term = f'"{storable(text)}"'
            if not prefix:
                return term
            wholes = "".join(f' OR "{whole}"' for whole in _completed(storable(text)))
            return f"({term}*{wholes})"
        case Not():
            raise TypeError("what is excluded stands beside an expression, not in it")
    raise TypeError(f"{type(part).__name__} is not about words")


def _completed(text: str) -> list[str]:
    """What a beginning may become when its ending is half typed.

    The index holds stems: running is under run, which does not begin with runni.
    """
    word = text.rsplit(" ", 1)[-1].lower()
    found = {
        text + ending[typed:]
        for ending in _ENDINGS
        for typed in range(1, len(ending))
        if word.endswith(ending[:typed]) and len(word) - typed >= _LEAST_ROOT
    }
    return sorted(found)
