"""Changing the model, without a screen."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.errors import Explained
from atlas_desktop.tui.models.switcher import ModelSwitcher
from models.errors import ModelFileMissing, NoModel, UnknownEngine, UnknownModel, WorkerCrashed


class App:
    """What the switcher asks of the application; `replying` and `answers` are for the test to set."""

    def __init__(self) -> None:
        self.replying = self.leaving = False
        self.background = self.model_id = self.model_name = ""
        self.context_length = 0
        self.tokens_estimated = True
        self.switched = 0
        self.said: list[str] = []
        self.keys: dict[str, str] = {}
        self.backgrounds: list[str] = []
        self.work: list[asyncio.Task[None]] = []
        self.answers: object = SimpleNamespace(id="small", context_length=4096, estimated=False)
        self.room = SimpleNamespace(recall=SimpleNamespace(start=lambda _failed: None))
        self.desk = SimpleNamespace(
            use_model=self._use,
            check_model=lambda ref: ref,
            chosen_model="other",
            switch_model=self._switch,
            model=SimpleNamespace(chat=SimpleNamespace(info=self._info)),
        )

    def explain(self, error: BaseException) -> Explained:
        return explain(error)

    def _use(self, ref: str, role: str | None) -> object:
        if ref == "unknown":
            raise UnknownModel(ref)
        return SimpleNamespace(id=ref, roles=("embed",) if ref == "meaning" else ("chat",))

    async def _switch(self) -> None:
        self.switched += 1

    async def _info(self) -> object:
        self.backgrounds.append(self.background)
        if isinstance(self.answers, Exception):
            raise self.answers
        return self.answers

    def attempt(self, work: Any, **_: object) -> None:
        coroutine: Coroutine[Any, Any, None] = work() if callable(work) else work
        self.work.append(asyncio.ensure_future(coroutine))

    def say(self, text: str) -> None:
        self.said.append(text)

    def tell_chat(self) -> None: ...

    def background_failed(self, error: BaseException) -> None: ...

    async def settle(self) -> None:
        for one in self.work:
            await one


def switcher_of(app: App, chosen: list[object] | None = None) -> ModelSwitcher:
    async def choose(because: object) -> None:
        if chosen is not None:
            chosen.append(because)

    return ModelSwitcher(cast("Any", app), choose)


async def test_a_model_is_used_at_once_when_no_reply_is_under_way() -> None:
    app = App()
    await switcher_of(app).use("small")
    await app.settle()
    assert (app.switched, app.model_id, app.context_length) == (1, "small", 4096)
    assert app.desk.chosen_model is None
    assert app.backgrounds != [""]
    assert app.background == ""


async def test_a_reply_under_way_is_not_cut() -> None:
    app = App()
    switcher = switcher_of(app)
    app.replying = True
    await switcher.use("small")
    switcher.work_ended()
    await app.settle()
    assert app.switched == 0
    app.replying = False
    switcher.work_ended()
    switcher.work_ended()
    await app.settle()
    assert app.switched == 1


async def test_an_embedding_model_changes_nothing_that_runs() -> None:
    app = App()
    await switcher_of(app).use("meaning")
    assert (app.switched, app.desk.chosen_model, app.work) == (0, "other", [])


async def test_a_model_for_now_leaves_the_settings() -> None:
    app = App()
    said = await switcher_of(app).use_for_now("box:small")
    await app.settle()
    assert "box:small" in said
    assert (app.switched, app.desk.chosen_model) == (1, "box:small")


async def test_an_engine_that_cannot_be_used_is_said() -> None:
    app = App()
    app.desk.use_model = _refusing
    await switcher_of(app).use_named("box:small")
    assert len(app.said) == 1
    assert "box" in app.said[0]


def _refusing(ref: str, role: str | None) -> object:
    raise UnknownEngine(ref.partition(":")[0])


async def test_an_unknown_name_is_said() -> None:
    app = App()
    await switcher_of(app).use_named("unknown")
    assert len(app.said) == 1
    assert "unknown" in app.said[0]


@pytest.mark.parametrize("replying", [True, False])
async def test_a_model_that_dies_while_starting_is_told_once(replying: bool) -> None:
    app = App()
    app.replying, app.answers = replying, WorkerCrashed(None)
    switcher_of(app).start()
    ended = (await asyncio.gather(*app.work, return_exceptions=True))[0]
    assert isinstance(ended, WorkerCrashed) is not replying
    assert (app.background, app.model_id) == ("", "")


@pytest.mark.parametrize(
    ("error", "times"), [(NoModel("chat"), 1), (ModelFileMissing(Path("small.gguf")), 1), (OSError(), 0)]
)
async def test_the_choice_is_shown_when_a_model_is_missing(error: Exception, times: int) -> None:
    app, chosen = App(), list[object]()
    switcher_of(app, chosen).needed(error)
    await app.settle()
    assert len(chosen) == times
