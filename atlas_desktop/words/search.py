"""What is said of queries that cannot be understood."""

from typing import Any

from atlas_desktop.explain import Exit, Explained, Words
from memory import errors as memory
from memory.search.entities import Trouble

_WHAT = {
    Trouble.NO_WORD: "There is no word in it to look for",
    Trouble.NO_QUESTION: "A question is missing after ~",
    Trouble.NOTHING_BESIDE_OR: "OR joins what stands on its two sides; one of them is missing",
    Trouble.NOTHING_AFTER_NOT: "NOT leaves out what follows it, and nothing follows",
    Trouble.UNKNOWN_FIELD: "There is no such condition",
    Trouble.UNKNOWN_VALUE: "This condition does not know that word",
    Trouble.NO_VALUE: "Something is missing after the colon",
    Trouble.NOT_A_DATE: "That is not a date",
    Trouble.TOO_LONG: "It is too long",
    Trouble.TOO_MANY: "It has too many parts",
    Trouble.TOO_DEEP: "It has too many brackets within each other",
}
_LITERALLY = "To look for a word with a colon, put it in double quotes."
_PARTS = 'A search is made of words, "phrases", -word, OR, and conditions such as tag:work.'


def unclear(fault: memory.QueryUnclear) -> str:
    """What is wrong with a query and what would be understood, in one line."""
    what = _WHAT[Trouble(fault.trouble)]
    return f"{what}. Try: {', '.join(fault.options)}." if fault.options else f"{what}."


def _unclear(fault: Any) -> Explained:
    where = f"Character {fault.at + 1}" + (f" to {fault.until}" if fault.until > fault.at + 1 else "")
    named = Trouble(fault.trouble) in {Trouble.UNKNOWN_FIELD, Trouble.NO_VALUE, Trouble.UNKNOWN_VALUE}
    return Explained(
        "bad_query",
        "That search cannot be understood",
        f"{where}: {unclear(fault)}",
        _LITERALLY if named else _PARTS,
        Exit.USAGE,
    )


WORDS: Words = {
    memory.QueryUnclear: _unclear,
    memory.SavedSearchNotFound: lambda fault: Explained(
        "saved_search_not_found",
        "There is no saved search of that name",
        f"Nothing is saved here under {fault.ref}.",
        "`atlas sessions searches` lists the names; `atlas sessions searches add NAME QUERY` saves one.",
    ),
}
