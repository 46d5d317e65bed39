"""How the tokens of a context are divided among the tiers of a prompt, as pure functions."""

from collections.abc import Mapping
from dataclasses import dataclass

PRESETS = ((600_000_000, 2_560), (2_000_000_000, 6_144), (5_000_000_000, 12_288))
"""(parameters, tokens): a model of at most so many parameters has at most so much working memory.

Reading one token costs the weights once and every held token a little; with a small model the held tokens
soon cost more than the weights. With these lengths the first word of a long conversation comes no more than
half as late again as that of a young one.
"""

SHARES = {"pinned": 15, "profile": 10, "summary": 35, "document": 15}
"""Per cent of what the system prompt leaves of the target that a tier of the head may take at most."""

_LEAST_BESIDE_SYSTEM = 512


@dataclass(frozen=True, slots=True)
class Limits:
    """What the person allows. Names and defaults are those of the settings."""

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
    """Tokens. No prompt is ever longer than `limit`; `limit + reply` is the whole context.

    Beyond `working` the next epoch is prepared; it begins with at most `target`. `system` is what the system
    prompt takes of it, `recall` the most that is recalled for one turn.
    """

    limit: int
    reply: int
    working: int
    target: int
    system: int
    recall: int

    @property
    def free(self) -> int:
        """What the system prompt leaves of the target."""
        return max(0, self.target - self.system)

    def most(self, tier: str) -> int:
        """The most that a tier of the head may take (see `SHARES`)."""
        return self.free * SHARES[tier] // 100

    def divide(self, wanted: Mapping[str, int]) -> dict[str, int]:
        """What each tier of the head gets of what it wants, and `recent` all the rest of the target."""
        given = {tier: min(want, self.most(tier)) for tier, want in wanted.items()}
        return {**given, "recent": self.free - sum(given.values())}


def preset(parameters: int) -> int | None:
    """Working memory that suits a model of that size, or None when only its context bounds it.

    An unknown size (0) is bounded by the context alone.
    """
    return next((tokens for most, tokens in PRESETS if 0 < parameters <= most), None)


def allocate(limits: Limits, *, context_length: int, reply: int, system: int, parameters: int = 0) -> Budget:
    """The budget of one conversation with one model; sizes in tokens.

    `reply` is the longest reply that is asked for; it may not claim more than half of the context. A long
    system prompt widens the working memory, as far as the context goes.
    """
    reserve = min(reply, context_length // 2)
    limit = context_length - reserve
    # Half of the context is the most that a reply may claim; a sixteenth stays for the turns that come before
    # the next epoch is ready. It does not depend on the reply, so that every turn means the same epoch.
    most = context_length * 7 // 16
    working = min(limits.max_tokens, preset(parameters) or limits.max_tokens, most)
    working = max(working, min(system + _LEAST_BESIDE_SYSTEM, most))
    # A target that does not lie below the working memory would have every turn summarise; two thirds do.
    share = limits.summary_target if limits.summary_target < limits.max_tokens else limits.max_tokens * 2 // 3
    target = working * share // limits.max_tokens
    target = max(target, min(system + _LEAST_BESIDE_SYSTEM // 2, working))
    recall = min(limits.recall_tokens, working // 6) if limits.recall else 0
    return Budget(limit, reserve, working, target, min(system, limit), recall)
