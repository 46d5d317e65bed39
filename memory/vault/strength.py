"""How long a passphrase would hold, estimated by zxcvbn (Wheeler, USENIX Security 2016)."""

from dataclasses import dataclass

# zxcvbn's time grows steeply with length, and what is strong at 72 characters is strong.
_LONGEST = 72
_SLOW_HASH = "offline_slow_hashing_1e4_per_second"


@dataclass(frozen=True, slots=True)
class Strength:
    """`score` runs from 0 (guessed at once) to 4 (strong).

    The time is that of someone who copied the files and tries ten thousand guesses a second, which Argon2id's
    cost makes generous.
    """

    score: int
    crack_time_text: str
    warning: str
    suggestions: tuple[str, ...]


def estimate(passphrase: str) -> Strength:
    """Takes milliseconds; the passphrase is looked at in this process only."""
    from zxcvbn import zxcvbn

    if not passphrase:
        return Strength(0, "instantly", "", ())
    result = zxcvbn(passphrase[:_LONGEST])
    feedback = result["feedback"]
    return Strength(
        score=int(result["score"]),
        crack_time_text=str(result["crack_times_display"][_SLOW_HASH]),
        warning=str(feedback["warning"] or ""),
        suggestions=tuple(str(line) for line in feedback["suggestions"]),
    )
