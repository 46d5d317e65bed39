"""Several memories that agree, said in one sentence by a model, if that loses and adds nothing."""

from collections.abc import Sequence

from memory.knowledge.consolidation import content, negated
from memory.lifecycle.evidence import Evidence
from memory.lifecycle.gates import tidied
from models.messages import ChatMessage, Completion, GenerationParams, Lane, Role, StopReason
from models.ports import ChatModel

MOST_TOKENS = 120
LEAST_KEPT = 0.9
"""The share of the words that name something which must be found again."""

_ASK = (
    "These notes say nearly the same. Write one short note that says everything they say and nothing else. "
    "Use their own words; keep every name and number.\n\n{notes}\n\nThe one note:"
)


def faithful(text: str, notes: Sequence[str]) -> bool:
    """Whether `text` may stand for `notes`: all names and numbers of each, no others, hardly a word lost, no
    word of its own, the same polarity, and not longer than they are together."""
    whole = "\n".join(notes)
    source, told = Evidence(whole), Evidence(text)
    if not text.strip() or len(text) > len(whole) or any(negated(note) != negated(text) for note in notes):
        return False
    if source.unknown_numbers(text) or source.unknown_names(text):
        return False
    if told.unknown_numbers(whole) or told.unknown_names(whole):
        return False
    said, kept = content(whole), content(text)
    return kept <= said and len(kept) >= LEAST_KEPT * len(said)


class Rewording:
    """Asks a chat model in the task lane, greedily and once. Raises what the model raises."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    async def __call__(self, notes: Sequence[str]) -> str | None:
        """The one note, or None when what the model wrote does not pass."""
        asked = ChatMessage(Role.USER, _ASK.format(notes="\n".join(f"- {note}" for note in notes)))
        params = GenerationParams(max_tokens=MOST_TOKENS, temperature=0.0, seed=1)
        generation = self._chat.generate((asked,), params, Lane.TASK)
        try:
            async for event in generation:
                if isinstance(event, Completion):
                    text = tidied(event.text).removeprefix("- ").strip()
                    ended = event.stop_reason is StopReason.STOP
                    return text if ended and faithful(text, notes) else None
        except BaseException:
            generation.cancel()
            raise
        return None
