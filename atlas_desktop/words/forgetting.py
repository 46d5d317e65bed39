"""The preview and the receipt of forgetting, in words."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from atlas_desktop.services.forgetting import Receipt
    from memory.entities import Copy, Erased
    from memory.forgetting import Affected


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
        return tr("forgetting.would_go_from", places=besides)
    if not went:
        return tr("forgetting.nothing_fits")
    rows = [tr("forgetting.would_go", what=went)]
    for name, found, total in (
        ("sessions", affected.sessions, affected.whole_sessions),
        ("messages", affected.messages, len(affected.messages)),
        ("memories", affected.memories, affected.erased.memories),
    ):
        if found:
            rows.append(tr(f"forgetting.{name}"))
            rows += [f"  {f'{one.id}  ' if ids else ''}{clean_line(one.text)}" for one in found[:shown]]
            more = total - min(len(found), shown)
            rows += [f"  {tr('forgetting.more', count=more)}"] if more > 0 else []
    if affected.erased.stale:
        rows.append(tr("forgetting.would_be_anew", count=len(affected.erased.stale)))
    if besides:
        rows.append(tr("forgetting.would_go_from_too", places=besides))
    if affected.erased.copies:
        rows.append(tr("forgetting.would_stand", where=where(affected.erased.copies)))
    return "\n".join(rows)


def receipt_text(value: "Receipt") -> str:
    """What went, and whether anything was left: one line."""
    went = _counted(counts(value.erased, value.snapshots))
    besides = _places(value.erased)
    told = [tr("forgetting.gone", what=went)] if went else []
    told += [tr("forgetting.gone_from", places=besides)] if besides else []
    told = told or [tr("forgetting.nothing")]
    told += [tr("forgetting.anew", count=value.rewritten)] if value.rewritten else []
    told.append(left_text(value))
    return " ".join(told)


def left_text(value: "Receipt") -> str:
    """Whether anything is left, here or in the same words elsewhere."""
    if not value.verified:
        return tr("forgetting.something_left")
    if not value.erased.copies:
        return tr("forgetting.nothing_left")
    return tr("forgetting.still_stands", where=where(value.erased.copies))


def where(copies: "Sequence[Copy]") -> str:
    """The titles of the first two, and how many others there are."""
    one, *others = map(_title, copies[:2])
    if not others:
        return one
    if len(copies) == 2:
        return tr("forgetting.copy.two", one=one, other=others[0])
    return tr("forgetting.copy.more", count=len(copies) - 2, one=one, other=others[0])


def _title(copy: "Copy") -> str:
    title = clean_line(copy.title)
    if not title:
        return tr("forgetting.copy.untitled")
    return tr("forgetting.copy.bin" if copy.binned else "forgetting.copy", title=title)


def copies(erased: "Erased") -> list[dict[str, object]]:
    """Where else the same words stand, for programs."""
    return [{"session": one.session_id, "title": one.title, "binned": one.binned} for one in erased.copies]


def _places(erased: "Erased") -> str:
    told = {name.replace(" ", "_"): count for name, count in places(erased).items()}
    return ", ".join(tr(f"forgetting.place.{name}", count=count) for name, count in told.items())


def _counted(numbers: Mapping[str, int]) -> str:
    return ", ".join(tr(f"forgetting.kind.{name}", count=n) for name, n in numbers.items() if n)
