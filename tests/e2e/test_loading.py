"""What is imported while somebody waits: next to nothing."""

import json
import subprocess
import sys

from tests.e2e.conftest import PASSPHRASE, Program

_DRIVER = """
import asyncio, json, os, sys
from pathlib import Path
from atlas_desktop.bootstrap import build_desk
from atlas_desktop.paths import Paths
from atlas_desktop.tui import app as preload
from atlas_desktop.tui.app import AtlasApp

async def until(app, name, selector):
    async with asyncio.timeout(60):
        while type(app.screen).__name__ != name or not app.screen.query(selector):
            await asyncio.sleep(0.005)

async def main():
    app = AtlasApp(build_desk(Paths(Path(sys.argv[1]))))
    async with app.run_test() as pilot:
        await until(app, "UnlockScreen", "#secret")
        first = set(sys.modules)
        await asyncio.to_thread(preload.load_conversation)
        known = set(sys.modules)
        app.screen.query_one("#secret").value = sys.argv[2]
        await pilot.press("enter")
        await until(app, "ChatScreen", "#prompt")
        then = set(sys.modules) - known
        print(json.dumps([sorted(first), sorted(known), sorted(then)]), flush=True)
        # Nothing was said that could be lost.
        os._exit(0)

asyncio.run(main())
"""


def test_between_passphrase_and_conversation_nothing_large_is_imported(program: Program) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DRIVER, str(program.paths.home), PASSPHRASE],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    first, known, then = map(set, json.loads(done.stdout.splitlines()[-1]))
    # Before the first screen: nothing of the values that conversations are made of.
    assert not first & {"memory.entities", "models.messages", "numpy", "sqlcipher3", "cryptography"}
    ours = {name for name in then if name.split(".")[0] in {"atlas_desktop", "memory", "models"}}
    assert ours == set(), "name them in atlas_desktop/tui/app.py"
    whole = {name.split(".")[0] for name in then} - {name.split(".")[0] for name in known}
    assert not whole & {"numpy", "cryptography", "argon2", "sqlcipher3"}
