"""What is in a session's context, for people: a meter by tier, and the exact next prompt."""

from collections.abc import Sequence

from memory.context.entities import TierUse
from memory.context.prepared import ContextView

_WIDTH = 24
_COUNTED = {
    "profile": ("memory", "memories"),
    "pinned": ("message", "messages"),
    "summary": ("summary", "summaries"),
    "document": ("file", "files"),
    "recent": ("message", "messages"),
    "recall": ("passage", "passages"),
}
_NAMES = {
    "system": "instructions",
    "profile": "profile",
    "pinned": "kept word for word",
    "summary": "summaries",
    "document": "documents",
    "recent": "recent, verbatim",
    "recall": "recalled",
    "user": "newest message",
}


def meter(view: ContextView) -> str:
    """One line in all and one for each tier, with bars that share one scale."""
    limit = view.budget.limit
    share = view.tokens / limit if limit else 0.0
    marks = f"older turns are summarised beyond {view.budget.working:,}, down to {view.budget.target:,}"
    lines = [f"{view.tokens:,} of {limit:,} tokens ({share:.0%}); {marks}"]
    most = max((tier.tokens for tier in view.tiers), default=1) or 1
    lines += [tier_line(tier, most) for tier in view.tiers if tier.tokens]
    return "\n".join(lines)


def tier_name(tier: TierUse) -> str:
    """A tier as people call it."""
    if tier.tier == "recall" and not tier.ids:
        # What is told with a turn stands in one place with the day and the hour.
        return "date and time"
    return _NAMES.get(tier.tier, tier.tier)


def tier_line(tier: TierUse, most: int) -> str:
    """A tier's tokens, its bar (as long as its part of `most`), and how many things are in it."""
    filled = max(1, round(_WIDTH * tier.tokens / most))
    one, several = _COUNTED.get(tier.tier, ("", ""))
    number = len(tier.ids)
    count = f"  {number:,} {one if number == 1 else several}" if number and one else ""
    return f"{tier_name(tier):<19}{tier.tokens:>8,}  {'█' * filled}{count}"


def next_prompt(view: ContextView) -> str:
    """The exact messages that the model is given before the person's next words."""
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in view.messages)


def compact(tiers: Sequence[TierUse]) -> str:
    """All tiers in one line: `system 38 · summary 410 · recent 1,204`."""
    return " · ".join(f"{tier.tier} {tier.tokens:,}" for tier in tiers if tier.tokens)
