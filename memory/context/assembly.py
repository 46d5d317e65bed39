"""Puts a prompt together from a branch of messages, within a budget of tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.context.entities import TierUse
from memory.context.window import window_start
from memory.entities import Message, MessageStatus
from memory.errors import ContextTooSmall
from models.messages import ChatMessage, ModelInfo, Role
from models.ports import TokenCounter


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that fits, and the tiers it is made of. `left_out` older messages were not sent."""

    messages: tuple[ChatMessage, ...]
    tiers: tuple[TierUse, ...]
    tokens: int
    left_out: int


class TokenSizes:
    """Sizes of messages in tokens, counted once each.

    Only whole, finished texts are cached (by message id and length), so a reply that still grows is counted
    anew.
    """

    def __init__(self, counter: TokenCounter, info: ModelInfo) -> None:
        self._counter = counter
        self._info = info
        self._known: dict[tuple[str, int], int] = {}

    async def of(self, messages: Sequence[Message]) -> list[int]:
        unknown = [m for m in messages if not self._stored(m) and (m.id, len(m.content)) not in self._known]
        if unknown:
            counts = await self._counter.count([m.content for m in unknown])
            self._known.update({(m.id, len(m.content)): n for m, n in zip(unknown, counts, strict=True)})
        overhead = self._info.shape.overhead
        return [
            (len(m.tokens) if self._stored(m) else self._known[m.id, len(m.content)]) + overhead[m.role]
            for m in messages
        ]

    async def of_text(self, role: Role, text: str) -> int:
        return (await self._counter.count([text]))[0] + self._info.shape.overhead[role]

    def _stored(self, message: Message) -> bool:
        return bool(message.tokens) and message.token_model == self._info.fingerprint

    def exact(self, message: Message) -> tuple[int, ...]:
        """The tokens this model produced for the message, or nothing when another one did."""
        return message.tokens if self._stored(message) else ()


def sendable(branch: Sequence[Message]) -> list[Message]:
    """Leaves out what a model must not be given as its own words: empty, failed and unfinished replies."""
    return [
        m
        for m in branch
        if m.status is not MessageStatus.FAILED
        and (m.role is not Role.ASSISTANT or (m.content and m.status is not MessageStatus.STREAMING))
    ]


def alternating(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Joins neighbours of the same role: many chat templates refuse two turns of one side in a row."""
    joined: list[ChatMessage] = []
    for message in messages:
        if joined and joined[-1].role is message.role:
            before = joined.pop()
            joined.append(ChatMessage(message.role, f"{before.content}\n\n{message.content}"))
        else:
            joined.append(message)
    return joined


async def assemble(
    branch: Sequence[Message], *, system: str, sizes: TokenSizes, info: ModelInfo, reserve: int
) -> Prompt:
    """The prompt for a branch that ends with the person's newest message.

    `reserve` tokens are left free for the reply. Raises `ContextTooSmall` when the newest message alone does
    not fit: nothing is ever cut in silence.
    """
    kept = sendable(branch)
    each = await sizes.of(kept)
    head = info.shape.base + (await sizes.of_text(Role.SYSTEM, system) if system else 0)
    budget = info.context_length - reserve - head
    if each[-1] > budget:
        raise ContextTooSmall(each[-1] + head + reserve, info.context_length)
    start = window_start(each, budget)
    # A window opens with the person's words: templates expect it, and a lone answer is no use.
    while start < len(kept) - 1 and kept[start].role is not Role.USER:
        start += 1
    sent = kept[start:]
    messages = [ChatMessage(Role.SYSTEM, system)] if system else []
    # Joined last: a message that was too long for the model must not drag later ones out with it.
    messages += alternating([ChatMessage(m.role, m.content, sizes.exact(m)) for m in sent])
    recent = TierUse("recent", sum(each[start:-1]), tuple(m.id for m in sent[:-1]))
    tiers = (TierUse("system", head), recent, TierUse("user", each[-1], (sent[-1].id,)))
    return Prompt(tuple(messages), tiers, head + sum(each[start:]), start)
