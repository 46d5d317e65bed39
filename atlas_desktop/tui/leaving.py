"""How the program ends: when the person quits, when it locks, when its terminal goes away."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from textual import events

from atlas_desktop.process.hardening import remove_private_temporary_folder
from atlas_desktop.process.interrupts import stop
from atlas_desktop.tui.actions import BY_ID
from atlas_desktop.tui.failures import noted
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.tui.reading_keys import give_back
from atlas_desktop.tui.reporting import Reporting
from atlas_desktop.tui.sweeping import Sweeper
from atlas_desktop.tui.vigil import Vigil
from atlas_desktop.tui.watchdog import Asked, Watchdog, silence
from atlas_desktop.words.catalogue import tr
from memory.kinds import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.tui.arrivals import Arrivals
    from atlas_desktop.tui.drafts import Drafts
    from atlas_desktop.tui.screens.chat import ChatScreen
    from atlas_desktop.tui.turns import Turns

FORCED_CLOSE_S = 2.0
# What a lock waits for: everything that was said is stored already, and what is cut short is taken up again.
LOCK_CLOSE_S = 0.8
DRAFTS_S = 3.0
WATCH_EVERY_S = 2.0
CLEARED = "\x1b[2J"
# Groups of work that a person starts and then waits for: turns, and models that are fetched.
AWAITED = frozenset({"turns", "pull"})
_STATUS = {
    Asked.LOCK: 1,
    Asked.QUIT: 1,
    Asked.TERMINATED: 128 + signal.SIGTERM,
    Asked.HUNG_UP: 129,
}
_SIGNS_OF_LIFE = (events.Key, events.MouseEvent, events.Paste)


def terminal_here() -> bool:
    """Whether the terminal that this program was started in is still there."""
    stdin = sys.__stdin__
    return stdin is not None and not stdin.closed and os.isatty(stdin.fileno())


def _nowhere(data: str) -> None:
    """Takes what would have been written."""


Relaunch = Callable[[], NoReturn]
"""Puts a locked program in this one's place; called when the terminal is as it was."""


class Leaving(Reporting):
    """Ends and locks. Locking ends this process too: only a new one is sure to hold nothing of the old."""

    arrivals: "Arrivals"
    locking = False
    _forced = False
    _on_terminal = False
    _relaunch: Relaunch | None = None
    _demo: Relaunch | None = None
    _turns: "Turns | None" = None
    _vigil: Vigil | None = None
    _sweeper: Sweeper | None = None
    _watchdog: Watchdog | None = None

    if TYPE_CHECKING:

        @property
        def chat(self) -> "ChatScreen | None": ...

        def private_seen(self) -> None: ...

        @property
        def drafts(self) -> "Drafts": ...

    # --- quitting --------------------------------------------------------------------------------

    async def action_quit(self) -> None:
        """Leaves once everything is stored and closed; asked for twice, without waiting for that."""
        from atlas_desktop.tui.screens.confirm import ConfirmScreen

        if self.leaving:
            self._forced = True
            self.exit()
        elif isinstance(self.screen, ConfirmScreen):
            self.screen.agree()
        else:
            self.attempt(self._quit, group="leave", exclusive=True)

    async def _quit(self) -> None:
        if not await self._may_go(tr("program.quit"), tr("program.quit_anyway")):
            return
        self.leaving = True
        self._gather()
        await self._leave()

    async def _leave(self, status: int = 0) -> None:
        try:
            await self._close_all()
        finally:
            self.exit(return_code=status)

    async def _close_all(self) -> None:
        if self.desk.room is not None:
            await self.drafts.keep_all()
        if self._turns is not None:
            await self._turns.stop_all()
        await self.arrivals.stop()
        await self.desk.close()

    def _gather(self) -> None:
        """Takes what is typed from the screen, which is about to go."""
        if (chat := self.chat) is not None:
            chat.keep_typed(edited=True)
        if self._turns is not None:
            for conversation in self._turns.active:
                self.drafts.changed(conversation)

    async def _may_go(self, title: str, agree: str) -> bool:
        """Asks when there is something that no room will have kept."""
        from atlas_desktop.tui.screens.confirm import ConfirmScreen

        off = [room.store for room in self.desk.open_rooms if room.store.room is RoomKind.OFF_RECORD]
        if not any([await store.list_sessions(limit=1) for store in off]):
            return True
        text = tr("program.off_record_ends")
        question = ConfirmScreen(title, text, agree=agree, refuse=tr("program.stay"))
        agreed: bool = await self.push_screen_wait(question)
        return agreed

    # --- locking ---------------------------------------------------------------------------------

    @property
    def can_lock(self) -> bool:
        """Whether there is something to lock, and a way to."""
        from atlas_desktop.tui.screens.recovery import RecoveryScreen

        open_now = self.desk.room is not None or isinstance(self.screen, RecoveryScreen)
        return self._relaunch is not None and open_now and not self.leaving

    @property
    def can_demo(self) -> bool:
        """Whether sample conversations can take the place of what is shown, which is locked meanwhile."""
        return self._demo is not None and self.can_lock

    def action_demo(self) -> None:
        if self.can_demo:
            self.attempt(self._lock_if_wanted(self._demo), group="leave", exclusive=True)

    def action_lock(self) -> None:
        if self.can_lock:
            self.attempt(self._lock_if_wanted, group="leave", exclusive=True)

    async def _lock_if_wanted(self, then: Relaunch | None = None) -> None:
        """`then` puts another program in this one's place than the locked door."""
        if await self._may_go(tr("program.lock"), tr("program.lock_anyway")):
            self._relaunch = then or self._relaunch
            await self.lock()

    async def lock(self) -> None:
        """Covers the screen, closes everything, and ends; `relaunch` then puts the locked door here.

        What does not close in time is cut short by the end of the process: nothing that was acknowledged is
        lost by that.
        """
        if self.leaving:
            return
        self.leaving = self.locking = True
        try:
            await self._cover_and_close()
        except TimeoutError:
            self.log("closing was cut short")
        except Exception as error:  # noqa: BLE001 - whatever fails must not keep the door open
            noted(error, self.desk.paths.logs)
        finally:
            self.exit()

    async def _cover_and_close(self) -> None:
        from atlas_desktop.tui.screens.confirm import Curtain

        self._gather()
        shown = self.chat
        self.push_screen(Curtain())
        if shown is not None and self.desk.room is not None:
            # The only words that are not stored yet: they have the time they need.
            async with asyncio.timeout(DRAFTS_S):
                await self.drafts.leave_open(shown.current)
                await self.drafts.keep_all()
        async with asyncio.timeout(LOCK_CLOSE_S):
            await self._close_all()

    def keep_watch(self) -> None:
        """Locks from now on when nobody is there, and tidies up when nobody types."""
        self._vigil, self._sweeper = self._new_vigil(), Sweeper()
        self.set_interval(WATCH_EVERY_S, self.look_around)

    def watch_anew(self) -> None:
        """Follows changed settings, if it was keeping watch."""
        if self._vigil is not None:
            self._vigil = self._new_vigil()

    def _new_vigil(self) -> Vigil:
        privacy = self.desk.settings.privacy
        return Vigil(privacy.lock_after_minutes * 60.0, privacy.lock_after_sleep)

    async def look_around(self) -> None:
        """Locks if it is time to. Who waits for a reply, or for a model to arrive, is there."""
        if self._watchdog is not None:
            self._watchdog.beat()
        if self._terminal_gone and not self.leaving:
            # Nobody has told: without an end, Textual would read its empty input for ever.
            self._hung_up()
            return
        awaited = any(worker.group in AWAITED and worker.is_running for worker in self.workers)
        if self._sweeper is not None:
            self._sweeper.sweep(at_rest=self.screen is self.chat and not awaited)
        if self._vigil is None:
            return
        if awaited:
            self._vigil.seen()
        if self._vigil.due() is not None and self.can_lock:
            self.attempt(self.lock, group="leave", exclusive=True)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, _SIGNS_OF_LIFE):
            if self._vigil is not None:
                self._vigil.seen()
            if self._sweeper is not None:
                self._sweeper.touched()
            self.private_seen()
        await super().on_event(event)

    # --- the end ---------------------------------------------------------------------------------

    def on_exit_app(self) -> None:
        """Empties the screen: a terminal that has been made larger meanwhile may show some of it afterwards,
        beside what stood there before."""
        if self._driver is not None:
            self._driver.write(CLEARED)

    def _terminated(self, number: int = signal.SIGTERM) -> None:
        """The system asks for the end."""
        if self._terminal_gone:
            self._hung_up()
        elif not self.leaving:
            self.leaving = True
            self._gather()
            self.attempt(self._leave(128 + number), group="leave", exclusive=True)

    def _interrupted(self) -> None:
        """Ctrl-C from outside: at the keyboard it is a key once the terminal is Textual's."""
        if self._driver is None:
            stop()
        self._terminated(signal.SIGINT)

    @property
    def _terminal_gone(self) -> bool:
        return self._on_terminal and not terminal_here()

    def _hung_up(self) -> None:
        """The terminal has gone away: nothing can be shown or given back any more, only kept."""
        self.leaving = True
        if self._driver is not None:
            # Who writes to a terminal that is gone waits for ever.
            self._driver.write = _nowhere  # type: ignore[method-assign]
        self._gather()
        self.attempt(self._vanish, group="leave", exclusive=True)

    async def _vanish(self) -> None:
        try:
            async with asyncio.timeout(FORCED_CLOSE_S):
                await self._close_all()
        except TimeoutError:
            self.log("closing was cut short")
        except Exception as error:  # noqa: BLE001 - there is nobody to tell
            noted(error, self.desk.paths.logs)
        finally:
            remove_private_temporary_folder(self.desk.paths)
            os._exit(128 + signal.SIGHUP)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        if sys.platform == "win32":
            yield
            return
        self._on_terminal = terminal_here()
        loop = asyncio.get_running_loop()
        if self._on_terminal and threading.current_thread() is threading.main_thread():
            self._watchdog = Watchdog(loop, self._end_at_once)

        def hear(what: Asked, then: Callable[[], None]) -> Callable[..., None]:
            def heard(*_: object) -> None:
                self.asked(what)
                loop.call_soon_threadsafe(then)

            return heard

        # Not the loop's own handlers: what it is told of is heard only where it runs.
        before = {
            signal.SIGHUP: signal.signal(signal.SIGHUP, hear(Asked.HUNG_UP, self._hung_up)),
            signal.SIGTERM: signal.signal(signal.SIGTERM, hear(Asked.TERMINATED, self._terminated)),
        }
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            # While rooms are closed it changes nothing; the handler goes with the loop.
            loop.add_signal_handler(signal.SIGINT, lambda: None)
            if self._watchdog is not None:
                self._watchdog.close()

    # --- a loop that is stuck ----------------------------------------------------------------------

    def asked(self, what: Asked) -> None:
        """Has the program end although its loop does not answer. Called in any thread."""
        if self._watchdog is not None:
            self._watchdog.asked(what)

    def key_read(self, key: str) -> None:
        """Called in the thread that reads keys, before the loop hears of it."""
        for action, what in (("app.lock", Asked.LOCK), ("app.quit", Asked.QUIT)):
            if key in keys_of(BY_ID[action], self.keys).split(","):
                self.asked(what)

    def _end_at_once(self, what: Asked) -> None:
        """The end of a program whose loop is stuck: all that was acknowledged is stored. In a thread."""
        silence()
        if what is not Asked.HUNG_UP and self._driver is not None:
            give_back(self._driver)
        remove_private_temporary_folder(self.desk.paths)
        if what is Asked.LOCK and self._relaunch is not None and self.desk.room is not None:
            self._relaunch()
        os._exit(_STATUS[what])

    async def run_async(self, **options: Any) -> Any:
        """Runs until the person leaves; whatever happens, the room and the model's process are closed."""
        try:
            with self._listening():
                return await super().run_async(**options)
        finally:
            # Who asked twice to leave, or locks, does not wait for what does not end.
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience):
                    await self.desk.close()
            if self.locking and self._relaunch is not None:
                self._relaunch()

    @property
    def _patience(self) -> float | None:
        if self.locking:
            return 0.1
        return FORCED_CLOSE_S if self._forced else None
