"""Takes the pictures of the docs from the running program: `python docs/pictures.py`.

The program is the real one, with the real small model, in the home of `atlas demo`.
"""

import asyncio
import re
import sys
from collections.abc import Callable
from pathlib import Path

from atlas_desktop.cli.context import Context
from atlas_desktop.cli.demo import throw_away_home
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.tui.app import AtlasApp

FOLDER = Path(__file__).resolve().parent / "pictures"
NAMES = {" ": "space", ".": "full_stop", "?": "question_mark", ",": "comma"}
ASK = "Explain in two sentences why the sea is salty."


async def until(happened: Callable[[], bool]) -> None:
    for _ in range(600):
        await asyncio.sleep(0.1)
        if happened():
            return
    raise TimeoutError("the picture's moment did not come")


def save(app: AtlasApp, name: str) -> None:
    svg = app.export_screenshot(title="Atlas")
    # The fonts would be fetched from somewhere else by whoever looks at the picture.
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")


async def take(app: AtlasApp) -> None:
    async with app.run_test(size=(120, 36)) as pilot:
        await until(lambda: app.context_length > 0)
        await pilot.pause()
        await pilot.press(*(NAMES.get(letter, letter) for letter in ASK), "enter")
        await until(lambda: any(True for _ in app.turns.active))
        await until(lambda: not any(True for _ in app.turns.active) and not app.background)
        await pilot.pause(0.5)
        save(app, "chat")


def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    context = Context(Paths(find_home()))
    with throw_away_home(context) as (inner, key):
        asyncio.run(take(AtlasApp(inner.desk, key=key)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
