"""What is said of queries that cannot be understood."""

from typing import Any

from atlas_desktop.explain import Exit, Explained, Words, told
from atlas_desktop.words.catalogue import tr
from memory import errors as memory
from memory.search.entities import Trouble

_OF_A_COLON = {Trouble.UNKNOWN_FIELD, Trouble.NO_VALUE, Trouble.UNKNOWN_VALUE}


def unclear(fault: memory.QueryUnclear) -> str:
    """What is wrong with a query and what would be understood, in one line."""
    what = tr(f"errors.query.{Trouble(fault.trouble).value}")
    if fault.options:
        return tr("errors.query.try", what=what, options=", ".join(fault.options))
    return tr("errors.query", what=what)


def _unclear(fault: Any) -> Explained:
    at, what = fault.at + 1, unclear(fault)
    far = fault.until > at
    return told(
        "bad_query",
        Exit.USAGE,
        what=tr("errors.bad_query.from", at=at, until=fault.until, what=what)
        if far
        else tr("errors.bad_query.at", at=at, what=what),
        next_step=tr("errors.bad_query.literally")
        if Trouble(fault.trouble) in _OF_A_COLON
        else tr("errors.bad_query.parts"),
    )


WORDS: Words = {
    memory.QueryUnclear: _unclear,
    memory.SavedSearchNotFound: lambda fault: told("saved_search_not_found", ref=fault.ref),
}
