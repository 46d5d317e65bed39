"""Assembles a prompt: the frozen head of an epoch, the messages after it, and the preface of the newest."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.context.entities import Summary, TierUse, WholeDocument
from memory.entities import Message, MessageStatus
from memory.memories.profile import Profile
from memory.vectors.entities import PASSAGE_CHARS
from models.messages import ChatMessage, ModelInfo, PromptShape, Role
from models.ports import TokenCounter

_ABOUT = "What you know about the person you are talking with:"
_EARLIER = "Earlier in this conversation:"
_KEPT = "Said earlier, word for word:"
_READ = "Files that they have attached:"
_SKILLS = "Instructions that come with the messages that need them:"
_HEADINGS = (_ABOUT, _SKILLS, _EARLIER, _KEPT, _READ)
_BREAK = "\n\n"
NOTHING_KNOWN = Profile()


@dataclass(frozen=True, slots=True)
class Head:
    """The system message of an epoch (empty: none), and its tiers in tokens."""

    text: str
    parts: tuple[TierUse, ...]

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts)


def section(heading: str, lines: Sequence[str]) -> str:
    return heading + "\n" + "\n".join(lines) if lines else ""


def quoted(message: Message) -> str:
    """Returns a message as one line of the pinned section."""
    who = message.speaker or ("They" if message.role is Role.USER else "You")
    return f"- {who}: {' '.join(message.content.split())}"


def sections(
    profile: Profile,
    summaries: Sequence[Summary],
    pinned: Sequence[Message],
    documents: Sequence[WholeDocument] = (),
    skills: Sequence[WholeDocument] = (),
) -> dict[str, str]:
    """Returns the texts that follow the system prompt, by tier."""
    return {
        "profile": section(_ABOUT, profile.lines),
        "skill": section(_SKILLS, [skill.block for skill in skills]),
        "summary": section(_EARLIER, [f"- {' '.join(summary.text.split())}" for summary in summaries]),
        "pinned": section(_KEPT, [quoted(message) for message in pinned]),
        "document": section(_READ, [document.block for document in documents]),
    }


async def make_head(
    system: str,
    *,
    profile: Profile = NOTHING_KNOWN,
    summaries: Sequence[Summary] = (),
    pinned: Sequence[Message] = (),
    documents: Sequence[WholeDocument] = (),
    skills: Sequence[WholeDocument] = (),
    counter: TokenCounter,
    shape: PromptShape,
) -> Head:
    """Builds a head and counts it exactly: the parts' tokens sum up to its cost in a prompt.

    The tokens of the template itself, once for the prompt and once for this message, count as `system`.
    """
    every = sections(profile, summaries, pinned, documents, skills)
    found = {tier: text for tier, text in every.items() if text}
    text = _BREAK.join(part for part in (system, *found.values()) if part)
    ids = {
        "profile": tuple(m.id for m in profile.memories),
        "summary": tuple(s.id for s in summaries),
        "pinned": tuple(m.id for m in pinned),
        "document": tuple(d.id for d in documents),
        "skill": tuple(s.id for s in skills),
    }
    if not text:
        return Head("", (TierUse("system", shape.base),))
    whole, *each = await counter.count([text, *(_BREAK + part for part in found.values())])
    parts = tuple(
        TierUse(tier, tokens, ids[tier]) for (tier, _), tokens in zip(found.items(), each, strict=True)
    )
    total = shape.base + shape.overhead[Role.SYSTEM] + whole
    return Head(text, (TierUse("system", total - sum(part.tokens for part in parts)), *parts))


def made_for(head: str, system: str) -> bool:
    """Whether a head was made with this system prompt: an epoch ends when the prompt changes."""
    if not system:
        return not head or head.startswith(_HEADINGS)
    rest = head.removeprefix(system)
    return head.startswith(system) and (not rest or rest.startswith(tuple(_BREAK + one for one in _HEADINGS)))


FRESH = timedelta(minutes=30)
"""How long the time in the prompt stays current before it is sent again."""


def time_line(now: datetime, told: datetime | None) -> str:
    """Returns the date and time as text, or "" while the model's last known time is current."""
    if told is not None and now - told < FRESH and now.date() == told.date():
        return ""
    return f"[{now:%A}, {now.day} {now:%B} {now:%Y}, {now:%H:%M}]"


def preface(time: str, recalled: Sequence[str]) -> str:
    """Returns the text before the user's message; "" when there is nothing to send."""
    lines = [time] if time else []
    if recalled:
        lines += ["(From memory, if it helps:", *(f"- {line}" for line in recalled)]
        lines[-1] += ")"
    return "\n".join(lines) + "\n\n" if lines else ""


def recall_line(text: str, speaker: str, when: datetime, *, longest: int = PASSAGE_CHARS) -> str:
    """Returns a recalled passage as one line, cut at a word if longer than `longest` characters."""
    line = " ".join(text.split())
    if len(line) > longest:
        line = line[:longest].rpartition(" ")[0] + " …"
    who = f"{speaker}, " if speaker else ""
    return f"{who}{when.day} {when:%b} {when:%Y}: {line}"


_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Prompt:
    """The messages a model receives, and their tiers, whose tokens sum up to exactly `tokens`."""

    messages: tuple[ChatMessage, ...]
    tiers: tuple[TierUse, ...]
    tokens: int


class TokenSizes:
    """Token sizes of messages, each counted once.

    A size is cached by the message's id and text lengths, so a reply that is still growing is counted again.
    """

    def __init__(self, counter: TokenCounter, info: ModelInfo) -> None:
        self.counter = counter
        self.info = info
        self._known: dict[tuple[str, int, int], int] = {}

    async def of(self, messages: Sequence[Message]) -> list[int]:
        """Returns the tokens of each message with its preface and the template's overhead."""
        unknown = [m for m in messages if not self.exact(m) and _key(m) not in self._known]
        for some in batched(unknown, _AT_ONCE):
            counts = await self.counter.count([sent_text(m) for m in some])
            self._known.update({_key(m): n for m, n in zip(some, counts, strict=True)})
            # A long session takes a while; key presses are handled in between.
            await asyncio.sleep(0)
        overhead = self.info.shape.overhead
        return [(len(self.exact(m)) or self._known[_key(m)]) + overhead[m.role] for m in messages]

    def exact(self, message: Message) -> tuple[int, ...]:
        """Returns the tokens this model produced for the message, or () when another model did."""
        return message.tokens if message.token_model == self.info.fingerprint else ()


def batched(messages: Sequence[Message], size: int) -> Iterator[Sequence[Message]]:
    for at in range(0, len(messages), size):
        yield messages[at : at + size]


def _key(message: Message) -> tuple[str, int, int]:
    return message.id, len(message.content), len(message.preface)


def sent_text(message: Message) -> str:
    """Returns the text of a message that the model reads: its preface, then its content."""
    return message.preface + message.content


def sendable(branch: Sequence[Message]) -> list[Message]:
    """Drops what a model must not receive as its own messages: empty, failed and unfinished replies."""
    return [
        m
        for m in branch
        if m.status is not MessageStatus.FAILED
        and (m.role is not Role.ASSISTANT or (m.content and m.status is not MessageStatus.STREAMING))
    ]


def alternating(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Joins neighbours of the same role: many chat templates reject two consecutive turns of one role."""
    joined: list[ChatMessage] = []
    for message in messages:
        if joined and joined[-1].role is message.role:
            before = joined.pop()
            joined.append(ChatMessage(message.role, f"{before.content}\n\n{message.content}"))
        else:
            joined.append(message)
    return joined


def to_send(head: str, messages: Sequence[Message], sizes: TokenSizes) -> tuple[ChatMessage, ...]:
    """Returns the messages of a prompt: the head, then the sendable `messages`, with alternating roles."""
    opening = [ChatMessage(Role.SYSTEM, head)] if head else []
    said = [ChatMessage(m.role, sent_text(m), sizes.exact(m)) for m in sendable(messages)]
    return (*opening, *alternating(said))


@dataclass(frozen=True, slots=True)
class Read:
    """Tokens of attachments or skills in the newest preface and in earlier ones, and their ids."""

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
    skills: Read = NOTHING_READ,
) -> Prompt:
    """Returns the prompt that ends with the user's newest message, the last of `messages`.

    Its preface counts as the tier `recall`, with the ids of what is `recalled` in it. What is `read` of
    attachments counts as the tier `document` instead, wherever it is, and `skills` as the tier `skill`.
    Nothing is dropped here: the engine handles a prompt that is too long.
    """
    kept = sendable(messages)
    each = await sizes.of(kept)
    newest = kept[-1]
    preface = (await sizes.counter.count([newest.preface]))[0] if newest.preface else 0
    earlier = sum(each[:-1])
    recall, recent = preface, earlier
    tiers = [*head.parts]
    for tier, held in (("document", read), ("skill", skills)):
        if not held.ids:
            continue
        new, standing = min(held.new, recall), min(held.standing, recent)
        recall, recent = recall - new, recent - standing
        in_head = next((part for part in tiers if part.tier == tier), TierUse(tier, 0))
        tiers = [part for part in tiers if part is not in_head]
        ids = tuple(dict.fromkeys([*in_head.ids, *held.ids]))
        tiers.append(TierUse(tier, in_head.tokens + new + standing, ids))
    if len(kept) > 1:
        tiers.append(TierUse("recent", recent, tuple(m.id for m in kept[:-1])))
    if recall:
        tiers.append(TierUse("recall", recall, tuple(recalled)))
    tiers.append(TierUse("user", each[-1] - preface, (newest.id,)))
    return Prompt(to_send(head.text, messages, sizes), tuple(tiers), head.tokens + sum(each))
