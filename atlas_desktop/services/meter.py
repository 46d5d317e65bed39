"""What is in a session's context, for people: a meter by tier, and the exact next prompt."""

from collections.abc import Sequence

from atlas_desktop.words.catalogue import texts, tr
from atlas_desktop.words.formats import formats
from memory.context.entities import TierUse
from memory.context.prepared import ContextView

_WIDTH = 24


def meter(view: ContextView) -> str:
    """One line in all and one for each tier, with bars that share one scale."""
    number, limit = formats().number, view.budget.limit
    in_all = tr(
        "meter.in_all",
        tokens=number(view.tokens),
        limit=number(limit),
        share=view.tokens / limit if limit else 0.0,
        reply=number(view.budget.reply),
        working=number(view.budget.working),
        target=number(view.budget.target),
    )
    most = max((tier.tokens for tier in view.tiers), default=1) or 1
    return "\n".join([in_all, *(tier_line(tier, most) for tier in view.tiers if tier.tokens)])


def tier_name(tier: TierUse) -> str:
    """A tier as people call it."""
    if tier.tier == "recall" and not tier.ids:
        # What is told with a turn stands in one place with the day and the hour.
        return tr("meter.time")
    return tr(f"meter.{tier.tier}") if tier.tier in texts("meter") else tier.tier


def tier_line(tier: TierUse, most: int) -> str:
    """A tier's tokens, its bar (as long as its part of `most`), and how many things are in it."""
    filled = max(1, round(_WIDTH * tier.tokens / most))
    counted = tier.ids and f"{tier.tier}.count.one" in texts("meter")
    count = f"  {tr(f'meter.{tier.tier}.count', count=len(tier.ids))}" if counted else ""
    return f"{tier_name(tier):<19}{formats().number(tier.tokens):>8}  {'█' * filled}{count}"


def next_prompt(view: ContextView) -> str:
    """The exact messages that the model is given before the person's next words."""
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in view.messages)


def compact(tiers: Sequence[TierUse]) -> str:
    """All tiers in one line: `system 38 · summary 410 · recent 1,204`."""
    return " · ".join(f"{tier.tier} {tier.tokens:,}" for tier in tiers if tier.tokens)
