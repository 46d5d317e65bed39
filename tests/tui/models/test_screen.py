"""The models on their screen: what there is, downloads that pause and go on, switching without losing the
conversation, removal."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from textual.widgets import OptionList

from atlas_desktop.errors import size
from atlas_desktop.services.models import Model, ModelService
from atlas_desktop.settings.schema import Settings
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.models.screen import ModelsScreen
from models.errors import DownloadCancelled, DownloadFailed
from models.library.catalog import CatalogEntry, Machine, load_catalog
from models.library.files import Cancelled, Progress, Report, never, silent
from models.library.installed import InstalledModel, ModelLibrary
from tests.tui.desk import NamedModel, Stage, talk
from tests.tui.driving import assert_until, chat, on, say, settle, shown, type_text
from tests.unit.models.gguf_files import write_gguf

Make = Callable[..., Stage]
MACHINE = Machine(16_000_000_000, 12_000_000_000, 2, 4)


class SlowFetcher:
    """A download of two halves; the second comes once `gate` is open. Places a tiny file."""

    def __init__(self, library: ModelLibrary, folder: Path) -> None:
        self.library = library
        self.folder = folder
        self.gate = threading.Event()
        self.begun_at: list[int] = []
        self._have = 0
        self.fails = False

    def pull(
        self,
        ref: str | CatalogEntry,
        *,
        model_id: str | None = None,
        progress: Report = silent,
        cancelled: Cancelled = never,
    ) -> InstalledModel:
        if self.fails:
            raise DownloadFailed(f"hf:{ref}", "no connection")
        self.begun_at.append(self._have)
        self._have = 193
        progress(Progress("download", self._have, 386))
        while not self.gate.wait(0.005):
            if cancelled():
                raise DownloadCancelled(str(ref))
        part = self.folder / "part"
        write_gguf(part)
        return self.library.add_part(part, str(ref), digest="0" * 64, source="file", licence="Apache-2.0")


def shelf(place: Stage, *names: str) -> tuple[ModelService, SlowFetcher]:
    """A real model service on tiny files in the home of the test; nothing is found elsewhere."""
    home = place.desk.paths.home
    folder = home / "models"
    folder.mkdir(parents=True, exist_ok=True)
    library = ModelLibrary(folder, load_catalog())
    for name in names:
        part = home / "part"
        write_gguf(part)
        library.add_part(part, name, digest="0" * 64, source="file", licence="Apache-2.0")
    fetcher = SlowFetcher(library, home)
    fakes: Any = fetcher
    service = ModelService(
        library, load_catalog(), fakes, person=home / "nobody", environment={}, machine=lambda: MACHINE
    )
    place.desk.make_models = lambda: service
    return service, fetcher


def told(place: Stage) -> str:
    """What the program has remarked."""
    return " ".join(notification.message for notification in place.app._notifications)


async def test_a_download_is_paused_and_goes_on_whatever_is_shown(make: Make) -> None:
    place = make()
    service, fetcher = shelf(place, "first")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await pilot.press("f6")
        await assert_until(pilot, lambda: "Can be downloaded" in shown(place))
        listing = place.app.screen.query_one("#models", OptionList)
        listing.highlighted = listing.get_option_index("smollm2-360m-instruct")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: "downloading 193 bytes of 386 bytes" in shown(place))
        await pilot.press("p")
        await assert_until(pilot, lambda: "paused at 193 bytes of 386 bytes" in shown(place))
        await pilot.press("p")
        await assert_until(pilot, lambda: "downloading" in shown(place))
        await pilot.press("escape")
        assert on(place.app, ChatScreen)
        fetcher.gate.set()
        await assert_until(pilot, lambda: not place.app.model_jobs.busy)
        await pilot.press("f6")
        await assert_until(pilot, lambda: "smollm2-360m-instruct installed" in shown(place))
        assert "Press t to make it faster" in shown(place)
        listing = place.app.screen.query_one("#models", OptionList)
        listing.highlighted = listing.get_option_index("smollm2-360m-instruct")
        await pilot.press("t")
        await assert_until(pilot, lambda: "will be tuned in the background" in shown(place))
        assert place.desk.room is not None
        queued = [job for job in await place.desk.room.store.jobs.list() if job.kind == "tune"]
        assert [job.key for job in queued] == ["smollm2-360m-instruct"]
    assert fetcher.begun_at == [0, 193]
    assert {model.id for model in service.installed()} == {"first", "smollm2-360m-instruct"}


async def test_what_suits_this_computer_best_is_marked(make: Make) -> None:
    place = make()
    service, _ = shelf(place)
    async with place.app.run_test(size=(100, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f6")
        await assert_until(pilot, lambda: "Can be downloaded" in shown(place))
        (line,) = [one for one in shown(place).splitlines() if "recommended, fits" in one]
        assert service.recommend()[0].entry.name in line


async def test_a_download_begins_after_a_question_that_says_how_much_and_from_where(make: Make) -> None:
    place = make()
    _, fetcher = shelf(place, "first")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await pilot.press("f6")
        await assert_until(pilot, lambda: "Can be downloaded" in shown(place))
        assert "space Choose" in shown(place)
        listing = place.app.screen.query_one("#models", OptionList)
        listing.highlighted = listing.get_option_index("smollm2-1.7b-instruct")
        await assert_until(pilot, lambda: "space Download" in shown(place))
        await pilot.press("space")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        assert "Download 1.1 GB?" in shown(place)
        assert "huggingface.co" in shown(place)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ModelsScreen))
        await settle(pilot)
        assert not place.app.model_jobs.busy
        assert fetcher.begun_at == []
        listing.highlighted = listing.get_option_index("first")
        await assert_until(pilot, lambda: "space Choose" in shown(place))


async def test_why_a_download_failed_stands_under_its_own_row_until_the_screen_is_left(make: Make) -> None:
    place = make()
    _, fetcher = shelf(place, "first")
    failed = "The download did not finish"
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)

        async def fail() -> None:
            fetcher.fails = True
            await pilot.press("f6")
            await assert_until(pilot, lambda: "Can be downloaded" in shown(place))
            mark("smollm2-360m-instruct")
            await pilot.press("enter")
            await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
            await pilot.press("tab", "enter")
            await assert_until(pilot, lambda: failed in shown(place))

        def mark(name: str) -> None:
            listing = place.app.screen.query_one("#models", OptionList)
            listing.highlighted = listing.get_option_index(name)

        await fail()
        assert "command" not in shown(place).replace("Commands", "")
        mark("first")
        await assert_until(pilot, lambda: failed not in shown(place))
        mark("smollm2-360m-instruct")
        await assert_until(pilot, lambda: failed in shown(place))
        await pilot.press("escape", "f6")
        await assert_until(pilot, lambda: "Can be downloaded" in shown(place))
        mark("smollm2-360m-instruct")
        await settle(pilot)
        assert failed not in shown(place)
        await pilot.press("escape")

        await fail()
        fetcher.fails = False
        mark("qwen3-0.6b")
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: "downloading 193" in shown(place))
        mark("smollm2-360m-instruct")
        await settle(pilot, but="pull")
        assert failed not in shown(place)
        fetcher.gate.set()
        await assert_until(pilot, lambda: not place.app.model_jobs.busy)


async def test_another_model_takes_over_once_the_reply_has_ended_and_the_conversation_stays(
    make: Make,
) -> None:
    gate = asyncio.Event()
    place = make(model=NamedModel(["One answer."], gate=gate))
    service, _ = shelf(place, "first", "second")
    service.use("first")
    started: list[str] = []
    start = place.desk.start_model

    def started_with(settings: Settings, chosen: str | None) -> Model:
        started.append(chosen or service.default("chat").id)
        return start(settings, chosen)

    place.desk.start_model = started_with
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await say(pilot, "Hello")
        await assert_until(pilot, lambda: chat(place.app).current.busy)
        await type_text(pilot, "/model second")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "second takes over" in told(place))
        assert started == ["first"]
        gate.set()
        await assert_until(pilot, lambda: started == ["first", "second"])
        assert "One answer." in shown(place)
        await type_text(pilot, "/model nobody")
        await pilot.press("enter")
        await assert_until(pilot, lambda: "No model called nobody is installed" in told(place))


async def test_a_model_is_removed_after_a_question(make: Make) -> None:
    place = make()
    service, _ = shelf(place, "first", "second")
    service.use("first")
    await talk(place.store, "Something", [("a", "b")])
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await pilot.press("f6")
        await assert_until(pilot, lambda: "2 installed" in shown(place))
        listing = place.app.screen.query_one("#models", OptionList)
        listing.highlighted = listing.get_option_index("second")
        await pilot.press("delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ModelsScreen))
        assert len(service.installed()) == 2
        await pilot.press("delete")
        await assert_until(pilot, lambda: on(place.app, ConfirmScreen))
        await pilot.press("tab", "enter")
        await assert_until(pilot, lambda: "second removed" in shown(place))
    assert [model.id for model in service.installed()] == ["first"]


async def test_the_demo_removes_none_of_the_users_models(make: Make) -> None:
    place = make(demo_passphrase="salt rope lamp tide")
    service, _ = shelf(place, "first", "second")
    async with place.app.run_test(size=(100, 30)) as pilot:
        await settle(pilot)
        await pilot.press("f6")
        await assert_until(pilot, lambda: "2 installed" in shown(place))
        await pilot.press("delete")
        await assert_until(pilot, lambda: "does not remove any" in shown(place))
        assert on(place.app, ModelsScreen)
    assert len(service.installed()) == 2


async def test_what_the_words_about_fit_mean_is_said_of_the_marked_model(make: Make) -> None:
    place = make()
    shelf(place, "first")
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("f6")
        await assert_until(pilot, lambda: "1 installed" in shown(place))
        screen = place.app.screen
        assert isinstance(screen, ModelsScreen)
        said = {
            "fits": "leaves enough for other programs",
            "may be slow": "leaves little",
            "won't fit": "can provide",
        }

        def is_told(*words: str) -> bool:
            on_one_line = " ".join(shown(place).split())
            return all(one in on_one_line for one in words)

        seen = set()
        listing = screen.query_one("#models", OptionList)
        for one in [row.summary for row in screen._rows.values() if row.summary is not None]:
            listing.highlighted = listing.get_option_index(one.id)
            wanted = said[one.fit], size(one.memory_needed)
            await assert_until(pilot, partial(is_told, *wanted))
            seen.add(one.fit)
        assert len(seen) > 1
