"""What a model may word: only what neither loses nor adds anything."""

import pytest

from memory.memories.upkeep import Rewording, faithful
from tests.fakes.models import ScriptedChatModel

NOTES = ("I like hiking with Anna", "I like hiking at 7 on Sundays")


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("I like hiking with Anna at 7 on Sundays", True),
        ("I like hiking at 7 on Sundays", False),
        ("I like hiking with Anna at 8 on Sundays", False),
        ("I like hiking with Bert and Anna at 7 on Sundays", False),
        ("I like hiking and swimming with Anna at 7 on Sundays", False),
        ("I do not like hiking with Anna at 7 on Sundays", False),
        ("", False),
        ("I like hiking with Anna at 7 on Sundays" * 2, False),
    ],
)
def test_what_is_faithful(text: str, passes: bool) -> None:
    assert faithful(text, NOTES) is passes


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ("I like hiking with Anna at 7 on Sundays", "I like hiking with Anna at 7 on Sundays"),
        ("- I like hiking with Anna at 7 on Sundays", "I like hiking with Anna at 7 on Sundays"),
        ("You like long walks.", None),
    ],
)
async def test_the_model_is_asked_once_and_checked(said: str, made: str | None) -> None:
    model = ScriptedChatModel([said])
    assert await Rewording(model)(NOTES) == made
    assert len(model.prompts) == 1
    assert NOTES[0] in model.prompts[0][0].content


async def test_a_note_that_was_cut_off_is_not_taken() -> None:
    model = ScriptedChatModel(["I like hiking with Anna at 7 on Sundays " + "again " * 200])
    assert await Rewording(model)(NOTES) is None
