"""Speculative decoding: guesses the next tokens of a reply, and how many guesses are worth checking.

The model evaluates guessed tokens in one batch with the token before them, which costs less than one after
another because the weights are read once. The reply's own sampler then chooses every token from the model's
own logits, and a guess counts only where it chose the same. So the reply is the same as without guesses,
token by token, with the same seed, grammar and penalties; only the time differs.

llama.cpp rounds differently in a batch than for a single token, as it does when it reads a prompt in batches
of another size. Where two tokens are almost equally likely, a reply may therefore continue with the other.
With flash attention on a processor, and weights stored as Q4_0, Q4_1 or Q8_0, both are equal to a bit.

Guesses come from the conversation itself: when the newest tokens occurred before, the tokens that followed
them may follow again. That is the case where a reply quotes a document, or repeats code with changes. Where
it does not, a small model of the same family may guess (a draft model), if one is installed.
"""

import statistics
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

# Tokens that must have occurred before, in this order, for a guess.
GRAM = 3
# Numbers of tokens evaluated together that are tried. llama.cpp evaluates rows in blocks of four.
BATCHES = (4, 8, 16)
# How a batch's time compares with one token's before it was measured: optimistic, so that it is measured.
_COST_OF_ANOTHER = 0.25
_MEASUREMENTS = 5
# A gain that is expected to be smaller is not worth the risk of a wrong estimate.
_LEAST_GAIN = 1.08
# Chance that a guess is right, by the number of tokens before it that agree, before the reply has shown its
# own; `_PRIOR_WEIGHT` is how many of its own count as much.
_LENGTHS = (3, 4, 6, 9, 14)
_PRIORS = (0.4, 0.55, 0.7, 0.8, 0.9)
_PRIOR_WEIGHT = 4.0
_FADING = 0.94
_LONGEST = _LENGTHS[-1]
# The same for the guesses of a draft model. What a reply shows fades more slowly: it is true of the models.
_DRAFT_PRIOR = 0.7
_DRAFT_FADING = 0.98
# After each reply, by how much of the way the chance returns to the prior: a draft model that was given up is
# tried again after some replies.
_RETURNING = 0.1
# How long a guess of a draft model takes before it was measured, as a multiple of the model's own token.
_DRAFT_COST = 0.12


class PromptLookup:
    """Finds where the newest tokens occurred before, and what followed there."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._tokens: list[int] = []
        self._ends: dict[tuple[int, int, int], int] = {}
        self._source = 0
        self.agreed = 0
        """How many of the newest tokens agree with those before the guess; 0 when there is none."""
        self._extend(tokens)
        self._find()

    def _extend(self, tokens: Sequence[int]) -> None:
        before = len(self._tokens)
        self._tokens.extend(tokens)
        # The newest place is not listed before another token follows it: it would find itself.
        start, end = max(GRAM, before), len(self._tokens)
        for at in range(start, end):
            self._ends[self._gram(at)] = at

    def _gram(self, end: int) -> tuple[int, int, int]:
        tokens = self._tokens
        return tokens[end - 3], tokens[end - 2], tokens[end - 1]

    def append(self, token: int) -> None:
        """Adds the next token of the reply."""
        follows = self.agreed > 0 and self._tokens[self._source] == token
        self._extend((token,))
        if follows:
            # A quotation usually continues at the same place.
            self._source += 1
            self.agreed += 1
        else:
            self._find()

    def _find(self) -> None:
        tokens, self.agreed = self._tokens, 0
        if len(tokens) <= GRAM:
            return
        source = self._ends.get(self._gram(len(tokens)))
        if source is None:
            return
        agreed, end = GRAM, len(tokens)
        while agreed < min(_LONGEST, source) and tokens[source - agreed - 1] == tokens[end - agreed - 1]:
            agreed += 1
        self._source, self.agreed = source, agreed

    def guess(self, most: int) -> list[int]:
        """At most `most` tokens that may come next."""
        return self._tokens[self._source : self._source + most] if self.agreed else []


@dataclass(slots=True)
class BatchCosts:
    """How long batches take, as multiples of the time of one token; measured while replies are written."""

    _one: deque[float] = field(default_factory=lambda: deque(maxlen=_MEASUREMENTS))
    _batches: dict[int, deque[float]] = field(default_factory=dict)

    def took(self, tokens: int, seconds: float) -> None:
        if tokens == 1:
            self._one.append(seconds)
        elif self._one:
            found = self._batches.setdefault(
                tokens, deque([1 + _COST_OF_ANOTHER * (tokens - 1)], maxlen=_MEASUREMENTS)
            )
            found.append(seconds / statistics.median_low(self._one))

    @property
    def seconds(self) -> float:
        """The time of one token; 0 if it was not measured yet."""
        return statistics.median_low(self._one) if self._one else 0.0

    def of(self, tokens: int) -> float:
        known = self._batches.get(tokens)
        return statistics.median_low(known) if known else 1 + _COST_OF_ANOTHER * (tokens - 1)


@dataclass(slots=True)
class DraftRecord:
    """How often the guesses of a draft model are right, and how long they take."""

    _right: float = _DRAFT_PRIOR * _PRIOR_WEIGHT
    _seen: float = _PRIOR_WEIGHT
    _seconds: deque[float] = field(default_factory=lambda: deque(maxlen=4 * _MEASUREMENTS))

    def begin(self) -> None:
        """Begins a reply."""
        self._right += _RETURNING * (_DRAFT_PRIOR * self._seen - self._right)

    def judged(self, *, right: bool) -> None:
        self._seen = self._seen * _DRAFT_FADING + 1
        self._right = self._right * _DRAFT_FADING + right

    def took(self, seconds: float) -> None:
        """Records how long one guess took."""
        self._seconds.append(seconds)

    def length(self, costs: BatchCosts, most: int) -> int:
        """How many guesses are worth making, at most `most`; 0 if they gain nothing."""
        one = costs.seconds
        each = statistics.median_low(self._seconds) / one if self._seconds and one else _DRAFT_COST
        best, length = _LEAST_GAIN, 0
        expected = chance = 1.0
        for extra in range(1, min(BATCHES[-1] - 1, most) + 1):
            chance *= self._right / self._seen
            expected += chance
            gain = expected / (costs.of(extra + 1) + extra * each)
            if extra + 1 in BATCHES and gain > best:
                best, length = gain, extra
        return length


class Speculation:
    """The guesses for one reply, which stop where they gain nothing.

    Whether a guess would have been right is known after the next token even when it was not checked. So the
    chances are learnt for free, and a reply that repeats nothing is written token by token.
    """

    def __init__(self, prompt: Sequence[int], costs: BatchCosts, drafts: DraftRecord | None = None) -> None:
        self._drafts = drafts
        self._pending: list[int] = []
        if drafts is not None:
            drafts.begin()
        self._lookup = PromptLookup(prompt)
        self._costs = costs
        self._right = [chance * _PRIOR_WEIGHT for chance in _PRIORS]
        self._seen = [_PRIOR_WEIGHT] * len(_PRIORS)
        self.drafted = 0
        """Guesses that were evaluated."""
        self.accepted = 0
        """Those of them that were right."""

    def said(self, token: int) -> None:
        """Learns from the next token of the reply."""
        lookup = self._lookup
        if self._pending and self._drafts is not None:
            right = self._pending.pop(0) == token
            self._drafts.judged(right=right)
            if not right:
                # What was guessed after a wrong token tells nothing.
                self._pending = []
        if lookup.agreed:
            at = _bucket(lookup.agreed)
            right = lookup.guess(1) == [token]
            self._seen[at] = self._seen[at] * _FADING + 1
            self._right[at] = self._right[at] * _FADING + right
        lookup.append(token)

    def guess(self, most: int) -> list[int]:
        """The next tokens, as many as are worth evaluating with the newest one, at most `most`."""
        best, length, agreed = _LEAST_GAIN, 0, self._lookup.agreed
        if not agreed or most < 1:
            return []
        expected = chance = 1.0
        for extra in range(1, min(BATCHES[-1] - 1, most) + 1):
            chance *= self._chance(agreed + extra - 1)
            expected += chance
            if extra + 1 in BATCHES and expected > best * self._costs.of(extra + 1):
                best, length = expected / self._costs.of(extra + 1), extra
        return self._lookup.guess(length)

    def wanted(self, most: int) -> int:
        """How many tokens a draft model should guess, at most `most`."""
        return self._drafts.length(self._costs, most) if self._drafts is not None else 0

    def guessed(self, tokens: Sequence[int]) -> None:
        """Takes the guesses of a draft model, to learn how many of them are right."""
        self._pending = list(tokens)

    def _chance(self, agreed: int) -> float:
        at = _bucket(agreed)
        return self._right[at] / self._seen[at]


def _bucket(agreed: int) -> int:
    return sum(agreed >= length for length in _LENGTHS) - 1
