"""The frozen beginning of a prompt: instructions, what is known, what was said before the verbatim part."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.context.entities import Summary, TierUse, WholeDocument
from memory.entities import Message
from memory.knowledge.profile import Profile
from models.messages import PromptShape, Role
from models.ports import TokenCounter

_ABOUT = "What you know about the person you are talking with:"
_EARLIER = "Earlier in this conversation:"
_KEPT = "Said earlier, word for word:"
_READ = "Files that they have attached:"
_HEADINGS = (_ABOUT, _EARLIER, _KEPT, _READ)
_BREAK = "\n\n"
NOTHING_KNOWN = Profile()


@dataclass(frozen=True, slots=True)
class Head:
    """The system message of an epoch (empty: there is none), and the tiers it is made of, in tokens."""

    text: str
    parts: tuple[TierUse, ...]

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts)


def section(heading: str, lines: Sequence[str]) -> str:
    return heading + "\n" + "\n".join(lines) if lines else ""


def quoted(message: Message) -> str:
    """A message as one line of the kept words."""
    who = message.speaker or ("They" if message.role is Role.USER else "You")
    return f"- {who}: {' '.join(message.content.split())}"


def sections(
    profile: Profile,
    summaries: Sequence[Summary],
    pinned: Sequence[Message],
    documents: Sequence[WholeDocument] = (),
) -> dict[str, str]:
    """The texts that follow the system prompt, by tier."""
    return {
        "profile": section(_ABOUT, profile.lines),
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
    counter: TokenCounter,
    shape: PromptShape,
) -> Head:
    """Puts a head together and counts it exactly: the parts' tokens sum up to what it costs in a prompt.

    The tokens of the template itself, once for the prompt and once for this message, count as `system`.
    """
    found = {tier: text for tier, text in sections(profile, summaries, pinned, documents).items() if text}
    text = _BREAK.join(part for part in (system, *found.values()) if part)
    ids = {
        "profile": tuple(m.id for m in profile.memories),
        "summary": tuple(s.id for s in summaries),
        "pinned": tuple(m.id for m in pinned),
        "document": tuple(d.id for d in documents),
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
    """Whether a head was made with this system prompt: an epoch ends when the prompt is changed."""
    if not system:
        return not head or head.startswith(_HEADINGS)
    rest = head.removeprefix(system)
    return head.startswith(system) and (not rest or rest.startswith(tuple(_BREAK + one for one in _HEADINGS)))
