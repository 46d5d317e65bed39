"""Models that are put into the folder of models while the program runs."""

import threading
from collections.abc import Callable
from pathlib import Path

from atlas_desktop.bootstrap import build_desk
from atlas_desktop.paths import Paths
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.setup.first_model import ModelScreen
from tests.tui.desk import FakeShelf, Stage
from tests.tui.driving import assert_until, on, settle, shown
from tests.unit.models.gguf_files import write_gguf

Make = Callable[..., Stage]


class FakeWatch:
    """Watches nothing; a test says what arrives."""

    def __init__(self) -> None:
        self.arrived: Callable[[Path], None] | None = None
        self.started = 0
        self.threads: set[int] = set()

    def __call__(self, arrived: Callable[[Path], None]) -> Callable[[], None]:
        self.arrived = arrived
        self.started += 1
        self.threads.add(threading.get_ident())
        return self.end

    def end(self) -> None:
        self.arrived = None

    def bring(self, name: str) -> None:
        """Tells of a file in another thread, as the real watch does."""
        assert self.arrived is not None
        telling = threading.Thread(target=self.arrived, args=(Path("/models") / name,))
        telling.start()
        telling.join()


async def test_a_new_model_is_told_of(make: Make) -> None:
    watch = FakeWatch()
    place = make(watch=watch)
    async with place.app.run_test(notifications=True) as pilot:
        await assert_until(pilot, lambda: watch.arrived)
        assert threading.get_ident() not in watch.threads
        watch.bring("fresh-1b.gguf")
        await assert_until(pilot, lambda: "New model: fresh-1b" in shown(place))
        assert on(place.app, ChatScreen)


async def test_nothing_is_watched_before_unlocking_and_after_leaving(make: Make) -> None:
    watch = FakeWatch()
    place = make(watch=watch, unlocked=False)
    async with place.app.run_test(notifications=True) as pilot:
        await settle(pilot)
        assert watch.started == 0
        await place.app.enter(place.vault.key)
        await assert_until(pilot, lambda: watch.arrived)
        await pilot.press("ctrl+q")
        await assert_until(pilot, lambda: watch.arrived is None)
    assert watch.started == 1


async def test_the_first_model_leads_on_to_the_conversation(make: Make) -> None:
    watch = FakeWatch()
    shelf = FakeShelf(chosen=None)
    place = make(watch=watch, shelf=shelf)
    async with place.app.run_test(notifications=True) as pilot:
        await assert_until(pilot, lambda: on(place.app, ModelScreen) and watch.arrived)
        watch.bring("embedder.gguf")
        await assert_until(pilot, lambda: "New model: embedder" in shown(place))
        assert on(place.app, ModelScreen)
        shelf.chosen = "fresh-1b"
        watch.bring("fresh-1b.gguf")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        await settle(pilot)


async def test_a_model_that_is_being_fetched_is_no_news(make: Make) -> None:
    watch = FakeWatch()
    place = make(watch=watch, shelf=FakeShelf(chosen=None))
    async with place.app.run_test(notifications=True) as pilot:
        await assert_until(pilot, lambda: "SmolLM2" in shown(place) and watch.arrived)
        await pilot.press("enter")
        await assert_until(pilot, lambda: on(place.app, ChatScreen))
        assert watch.started == 2


async def test_a_system_without_watches_does_not_matter(make: Make) -> None:
    def refuse(_arrived: Callable[[Path], None]) -> Callable[[], None]:
        raise OSError("inotify watch limit reached")

    place = make(watch=refuse)
    async with place.app.run_test(notifications=True) as pilot:
        await settle(pilot)
        await place.app.workers.wait_for_complete()
        assert on(place.app, ChatScreen)


async def test_a_file_in_the_folder_of_models_is_noticed(make: Make, tmp_path: Path) -> None:
    before = set(threading.enumerate())
    paths = Paths(tmp_path / "home")
    place = make(watch=build_desk(paths).watch_models)
    ready = write_gguf(tmp_path / "dropped.gguf")
    async with place.app.run_test(notifications=True) as pilot:
        await place.app.model_folder.start()
        ready.rename(paths.models / "dropped.gguf")
        await assert_until(pilot, lambda: "New model: dropped" in shown(place))
        await place.app.model_folder.stop()
        assert not [t for t in set(threading.enumerate()) - before if "Inotify" in type(t).__name__]
