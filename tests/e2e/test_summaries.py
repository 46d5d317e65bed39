"""Summaries by the real small model, which often fails the checks: then the source speaks for itself."""

from datetime import UTC, datetime, timedelta

import pytest

from memory.summaries.evidence import Evidence, Rule, flaws, longest
from memory.summaries.planning import SourceMessage
from memory.summaries.summarise import Summariser
from models.host import ModelHost
from models.messages import Role

pytestmark = pytest.mark.real_model

START = datetime(2026, 11, 3, 9, tzinfo=UTC)
TALK = (
    ("We want a week in the Lofoten islands in June, without a car.", "Buses reach most villages there."),
    ("How long does the ferry from Bodø take?", "The ferry from Bodø to Moskenes takes about 3.5 hours."),
    ("My sister Dana comes too, and she cannot walk more than an hour.", "Then Reine is the better base."),
    ("How many steps are there up to Reinebringen?", "There are 1,560 steps, so keep it for another day."),
    ("ok thanks", "You're welcome!"),
    ("Let's go with Reine. The budget is 1,200 euros for both of us.", "Good. It is wise to book early."),
    ("Remember that I am allergic to shellfish.", "Noted. Most places have other food, too."),
    ("What should we wear in the evening?", "A warm jacket and a hat, since the wind comes from the sea."),
    ("The sun does not set then, does it?", "No, so bring a mask for your eyes."),
    ("We arrive on 14 June at 18:30.", "Then the last bus to Reine leaves soon after you land."),
)


async def test_ten_turns_are_told_by_the_model_or_by_themselves(host: ModelHost) -> None:
    said = [text for turn in TALK for text in turn]
    roles = (Role.USER, Role.ASSISTANT)
    source = [
        SourceMessage(str(n), roles[n % 2], "", text, START + timedelta(minutes=n))
        for n, text in enumerate(said)
    ]
    draft = await Summariser(host, host, host).summarise(source)
    whole = [f"{message.label}: {message.text}" for message in source]
    total = sum(await host.count(whole))
    (size,) = await host.count([draft.text])
    assert size <= longest(total) < total
    assert draft.model == (await host.info()).fingerprint
    evidence = Evidence("\n".join(whole))
    body = "\n".join(line for line in draft.text.splitlines() if not line.startswith("20 messages, 3 Nov"))
    assert evidence.unknown_numbers(body) == []
    # The most important words stay in sight, whoever told of them.
    assert "allergic to shellfish" in draft.text
    assert "Reine" in draft.text
    if draft.fallback:
        assert draft.text.startswith("20 messages, 3 Nov")
    else:
        told = draft.text.split("\nUser: ")[0]
        assert flaws(told, size, Rule("\n".join(whole), ("User", "Assistant"), longest(total))) == []
