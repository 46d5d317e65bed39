"""The way of one message, as docs/architecture.md tells it: every step exists, and they come in order."""

import re
import sys
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from tests.tui.chat.test_conversation import Make
from tests.tui.desk import NamedModel
from tests.tui.driving import assert_until, say, settle, shown

ROOT = Path(__file__).resolve().parents[3]
MOST = 25


def steps() -> list[list[tuple[str, str]]]:
    """(file, function) of each step; a step may name several."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("## One message")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if re.match(r"\d+\. ", line)]
    return [re.findall(r"`([\w/]+\.py):([\w.]+)`", line) for line in lines]


def test_every_step_names_something_that_is_there() -> None:
    found = steps()
    assert 10 < len(found) <= MOST
    for file, name in (one for step in found for one in step):
        owner: Any = import_module(file.removesuffix(".py").replace("/", "."))
        for part in name.split("."):
            owner = getattr(owner, part)
        assert callable(owner)


async def test_the_steps_come_in_that_order(make: Make) -> None:
    place = make(model=NamedModel(["The moon.", "Sun and moon."]))
    called: dict[tuple[str, str], int] = {}

    def note(frame: FrameType, event: str, _arg: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)):
            file = Path(code.co_filename).relative_to(ROOT).as_posix()
            called.setdefault((file, code.co_qualname), len(called))

    async with place.app.run_test() as pilot:
        await settle(pilot)
        await say(pilot, "What pulls the tides?")
        await assert_until(pilot, lambda: "The moon." in shown(place))
        await settle(pilot)
        sys.setprofile(note)
        try:
            await say(pilot, "Only that?")
            await assert_until(pilot, lambda: "Sun and moon." in shown(place))
            await settle(pilot)
        finally:
            sys.setprofile(None)
    # A scripted model answers: what lies behind the pipe is not called here.
    own = [step[0] for step in steps() if not step[0][0].startswith("models/")]
    missing = [one for one in own if one not in called]
    assert not missing
    assert own == sorted(own, key=called.__getitem__)
