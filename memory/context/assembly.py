"""Puts a prompt together from the head of an epoch and the messages that follow it verbatim."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.context.entities import TierUse
from memory.context.head import Head
from memory.entities import Message, MessageStatus
from models.messages import ChatMessage, ModelInfo, Role
from models.ports import TokenCounter

_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is given, and the tiers it is made of; their tokens sum up to `tokens` exactly."""

    messages: tuple[ChatMessage, ...]
    tiers: tuple[TierUse, ...]
    tokens: int


class TokenSizes:
    """Sizes of messages in tokens, counted once each.

    A text is remembered by its message's id and its lengths, so a reply that still grows is counted anew.
    """

    def __init__(self, counter: TokenCounter, info: ModelInfo) -> None:
        self.counter = counter
        self.info = info
        self._known: dict[tuple[str, int, int], int] = {}

    async def of(self, messages: Sequence[Message]) -> list[int]:
        """Tokens of each message with its preface and what the template adds."""
        unknown = [m for m in messages if not self.exact(m) and _key(m) not in self._known]
        for some in batched(unknown, _AT_ONCE):
            counts = await self.counter.count([sent_text(m) for m in some])
            self._known.update({_key(m): n for m, n in zip(some, counts, strict=True)})
            # A long session takes a while; keys are answered in between.
            await asyncio.sleep(0)
        overhead = self.info.shape.overhead
        return [(len(self.exact(m)) or self._known[_key(m)]) + overhead[m.role] for m in messages]

    def exact(self, message: Message) -> tuple[int, ...]:
        """The tokens this model produced for the message, or nothing when another one did."""
        return message.tokens if message.token_model == self.info.fingerprint else ()


def batched(messages: Sequence[Message], size: int) -> Iterator[Sequence[Message]]:
    for at in range(0, len(messages), size):
        yield messages[at : at + size]


def _key(message: Message) -> tuple[str, int, int]:
    return message.id, len(message.content), len(message.preface)


def sent_text(message: Message) -> str:
    """What the model reads of a message: its preface, then its words."""
    return message.preface + message.content


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


def to_send(head: str, messages: Sequence[Message], sizes: TokenSizes) -> tuple[ChatMessage, ...]:
    """The messages of a prompt: the head, then what is sendable of `messages`, sides alternating."""
    opening = [ChatMessage(Role.SYSTEM, head)] if head else []
    said = [ChatMessage(m.role, sent_text(m), sizes.exact(m)) for m in sendable(messages)]
    return (*opening, *alternating(said))


@dataclass(frozen=True, slots=True)
class Read:
    """Tokens of attachments in the newest preface, and in earlier ones; their ids."""

    new: int = 0
    standing: int = 0
    ids: tuple[str, ...] = ()


NOTHING_READ = Read()


async def assemble(
    head: Head,
    messages: Sequence[Message],
    sizes: TokenSizes,
    recalled: Sequence[str] = (),
    read: Read = NOTHING_READ,
) -> Prompt:
    """The prompt that ends with the person's newest message, which is the last of `messages`.

    Its preface counts as the tier `recall`, with the ids of what is `recalled` in it, but for what is `read`
    of attachments: that counts as the tier `document`, wherever it stands. Nothing is left out here: the
    engine knows what to do when it is too long.
    """
    kept = sendable(messages)
    each = await sizes.of(kept)
    newest = kept[-1]
    preface = (await sizes.counter.count([newest.preface]))[0] if newest.preface else 0
    earlier = sum(each[:-1])
    new, standing = min(read.new, preface), min(read.standing, earlier)
    tiers = [*head.parts]
    if read.ids:
        in_head = next((part for part in tiers if part.tier == "document"), TierUse("document", 0))
        tiers = [part for part in tiers if part is not in_head]
        ids = tuple(dict.fromkeys([*in_head.ids, *read.ids]))
        tiers.append(TierUse("document", in_head.tokens + new + standing, ids))
    if len(kept) > 1:
        tiers.append(TierUse("recent", earlier - standing, tuple(m.id for m in kept[:-1])))
    if preface > new:
        tiers.append(TierUse("recall", preface - new, tuple(recalled)))
    tiers.append(TierUse("user", each[-1] - preface, (newest.id,)))
    return Prompt(to_send(head.text, messages, sizes), tuple(tiers), head.tokens + sum(each))
