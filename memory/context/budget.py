"""Pure functions that divide the tokens of a context among the tiers of a prompt."""

from collections.abc import Mapping
from dataclasses import dataclass

PRESETS = ((600_000_000, 2_560), (2_000_000_000, 6_144), (5_000_000_000, 12_288))
"""Pairs (parameters, tokens): a model of at most that many parameters has at most that working memory.

Reading one token costs one pass over the weights plus a little for every token in the context. With a small
model the tokens soon cost more than the weights. With these limits the first word of a reply in a long
session takes at most 1.5 times as long as in a new one.
"""

SHARES = {"pinned": 15, "profile": 10, "skill": 5, "summary": 35, "document": 15}
"""The largest share of a head's tier, in per cent of the target minus the system prompt."""

_LEAST_BESIDE_SYSTEM = 512


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that the user sets. Names and defaults are those of the settings."""

    max_tokens: int = 30_000
    summary_target: int = 20_000
    immediate_turns: int = 10
    recent_messages_min: int = 4
    summary_turns: int = 5
    max_summaries: int = 3
    max_archived_in_view: int = 50
    relevance_decay: float = 0.9
    recall: bool = True
    recall_tokens: int = 400
    date_and_time: bool = True


@dataclass(frozen=True, slots=True)
class Budget:
    """Sizes in tokens. No prompt is ever longer than `limit`; `limit + reply` is the whole context.

    Above `working` the next epoch is prepared; it begins with at most `target`, of which the system prompt
    takes `system`. `recall` is the most that is recalled for one turn.
    """

    limit: int
    reply: int
    working: int
    target: int
    system: int
    recall: int

    @property
    def free(self) -> int:
        """The target minus the system prompt."""
        return max(0, self.target - self.system)

    def most(self, tier: str) -> int:
        """Returns the most that a tier of the head may take (see `SHARES`)."""
        return self.free * SHARES[tier] // 100

    def divide(self, wanted: Mapping[str, int]) -> dict[str, int]:
        """Returns what each tier of the head gets of what it wants; `recent` gets the rest of the target."""
        given = {tier: min(want, self.most(tier)) for tier, want in wanted.items()}
        return {**given, "recent": self.free - sum(given.values())}


def preset(parameters: int) -> int | None:
    """Returns the working memory that suits a model of that size, or None when only its context bounds it.

    An unknown size (0) is bounded by the context alone.
    """
    return next((tokens for most, tokens in PRESETS if 0 < parameters <= most), None)


def allocate(limits: Limits, *, context_length: int, reply: int, system: int, parameters: int = 0) -> Budget:
    """Returns the budget of one session with one model; sizes in tokens.

    `reply` is the longest reply requested; it may claim at most half of the context. A long system prompt
    widens the working memory, as far as the context allows.
    """
    reserve = min(reply, context_length // 2)
    limit = context_length - reserve
    # A reply may claim half of the context. A sixteenth is reserved for the turns before the next epoch is
    # ready. This bound ignores the actual `reply`, so that every turn leads to the same epoch.
    most = context_length * 7 // 16
    working = min(limits.max_tokens, preset(parameters) or limits.max_tokens, most)
    working = max(working, min(system + _LEAST_BESIDE_SYSTEM, most))
    # With a target not below the working memory every turn would summarise; then two thirds are used.
    share = limits.summary_target if limits.summary_target < limits.max_tokens else limits.max_tokens * 2 // 3
    target = working * share // limits.max_tokens
    target = max(target, min(system + _LEAST_BESIDE_SYSTEM // 2, working))
    recall = min(limits.recall_tokens, working // 6) if limits.recall else 0
    return Budget(limit, reserve, working, target, min(system, limit), recall)
