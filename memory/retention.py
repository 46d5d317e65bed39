"""How long sessions are kept, and which have expired."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Days since the last use after which a session is deleted; 0 keeps it forever.

    `projects` overrides `days`, by the project's name. `bin_days` applies to what is in the bin.
    """

    days: int = 0
    bin_days: int = 30
    projects: Mapping[str, int] = field(default_factory=dict)

    def days_for(self, project: str | None) -> int:
        return self.days if project is None else self.projects.get(project, self.days)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A session as the policy sees it.

    `exempt`: it is starred or important, contains a message that is, or a pinned memory is based on it.
    """

    session_id: str
    title: str
    project: str | None
    messages: int
    used_at: datetime
    binned_at: datetime | None
    exempt: bool


class ExpiryReason(StrEnum):
    """unused: not used for the policy's days; bin: in the bin for the policy's days."""

    UNUSED = "unused"
    BIN = "bin"


@dataclass(frozen=True, slots=True)
class Expired:
    """A session that the policy removes, and since when it is due."""

    candidate: Candidate
    why: ExpiryReason
    since: datetime


def expired(candidates: Iterable[Candidate], policy: RetentionPolicy, now: datetime) -> list[Expired]:
    """Returns what the policy removes now, longest due first. Exemptions do not apply in the bin."""
    found = []
    for one in candidates:
        if one.binned_at is not None:
            why, begun, days = ExpiryReason.BIN, one.binned_at, policy.bin_days
        else:
            why, begun, days = (
                ExpiryReason.UNUSED,
                one.used_at,
                0 if one.exempt else policy.days_for(one.project),
            )
        since = begun + timedelta(days=days)
        if days and since <= now:
            found.append(Expired(one, why, since))
    return sorted(found, key=lambda one: (one.since, one.candidate.session_id))
