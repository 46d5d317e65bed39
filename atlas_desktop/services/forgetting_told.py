"""What would be forgotten, and what was, as a person reads it."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from atlas_desktop.services.forgetting import Receipt
    from memory.entities import Erased
    from memory.lifecycle.forgetting import Affected

_NAMES = {
    "messages": ("message", "messages"),
    "summaries": ("summary", "summaries"),
    "memories": ("memory", "memories"),
    "vectors": ("vector", "vectors"),
    "fulltext": ("full-text entry", "full-text entries"),
    "snapshots": ("state of the model", "states of the model"),
    "jobs": ("waiting job", "waiting jobs"),
}

_PLURAL = {"category": "categories", "saved search": "saved searches", "instructions": "instructions"}


def counts(erased: "Erased", snapshots: int = 0) -> dict[str, int]:
    """How much went, by kind."""
    return {
        "messages": erased.messages,
        "summaries": erased.summaries,
        "memories": erased.memories,
        "vectors": erased.vectors,
        "fulltext": erased.full_text,
        "snapshots": snapshots,
        "jobs": erased.jobs,
    }


def places(erased: "Erased") -> dict[str, int]:
    """What else held the words, by kind."""
    return dict(sorted(Counter(erased.places).items()))


def preview_text(affected: "Affected", *, shown: int = 8, ids: bool = True) -> str:
    """The counts, and of each kind the first `shown` ones, with their `ids` or without."""
    went = _counted(counts(affected.erased))
    besides = _places(affected.erased)
    if besides and not went:
        return f"The words would go from: {besides}."
    if not went:
        return "Nothing fits: nothing would be forgotten."
    rows = [f"This would be forgotten: {went}."]
    for name, found, total in (
        ("Conversations", affected.sessions, affected.whole_sessions),
        ("Messages", affected.messages, len(affected.messages)),
        ("Memories", affected.memories, affected.erased.memories),
    ):
        if found:
            rows.append(f"{name}:")
            rows += [f"  {f'{one.id}  ' if ids else ''}{clean_line(one.text)}" for one in found[:shown]]
            more = total - min(len(found), shown)
            rows += [f"  … and {more} more"] if more > 0 else []
    if affected.erased.stale:
        rows.append(f"Summaries that are made anew without it: {len(affected.erased.stale)}.")
    if besides:
        rows.append(f"The words would go from these, too: {besides}.")
    return "\n".join(rows)


def receipt_text(value: "Receipt") -> str:
    """What went, and whether anything was left: one line."""
    went = _counted(counts(value.erased, value.snapshots))
    besides = _places(value.erased)
    told = f"Forgotten: {went}." if went or besides else "There was nothing to forget."
    if besides:
        told = f"{told if went else ''} The words went from: {besides}.".strip()
    anew = f" Summaries made anew without it: {value.rewritten}." if value.rewritten else ""
    checked = "Nothing of it is left." if value.verified else "Something of it was still found afterwards."
    return f"{told}{anew} {checked}"


def _places(erased: "Erased") -> str:
    return ", ".join(
        f"{count} {name if count == 1 else _PLURAL.get(name, f'{name}s')}"
        for name, count in places(erased).items()
    )


def _counted(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {_NAMES[name][n != 1]}" for name, n in numbers.items() if n)
