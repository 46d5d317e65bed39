"""How the program ends or locks: by the user, after idle time, or with its terminal."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum, StrEnum, auto
from typing import TYPE_CHECKING, Any, NoReturn

from atlas_desktop.interrupts import stop
from atlas_desktop.locale import _, quoted
from atlas_desktop.process import remove_private_temporary_folder
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.actions import BY_ID
from atlas_desktop.tui.base import noted
from atlas_desktop.tui.keymap import how_to, keys_of
from atlas_desktop.tui.terminal import give_back
from atlas_desktop.tui.textual_workarounds import Sweeper
from memory.kinds import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.models.switcher import ModelFolderWatcher
    from atlas_desktop.tui.sync.keeping import SyncKeeper


ANSWER_S = 2.0
"""Seconds that the loop has to answer."""
ROUND_S = 1.0
ROUNDS = 30
"""Times that the loop is asked: ending takes seconds, and the user may have chosen to stay."""
STUCK_S = 5.0
BREATH_S = 0.25
PAUSE_S = 0.01
STOPPED_S = 1.0
"""Seconds that the stuck thread has to notice the alarm."""


class Asked(Enum):
    """The request that the program received."""

    LOCK = auto()
    QUIT = auto()
    TERMINATED = auto()
    HUNG_UP = auto()


class Watchdog:
    """A thread that waits for the loop to respond; if it does not, the thread calls `end` with the request.

    A single C call that holds the GIL, such as a regular expression search, stops other threads too, but not
    signal handlers. So an alarm, which a running loop keeps postponing, gives the threads a turn. Before the
    call of `end`, the stuck thread is stopped for good: a turn is too short for what there is left to do.
    Only for the main thread of a program on a terminal; not on Windows.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, end: Callable[[Asked], NoReturn]) -> None:
        self._loop = loop
        self._end = end
        self._closed = False
        self._ending = False
        self._stopped = threading.Event()
        self._before: Any = signal.signal(signal.SIGALRM, self._alarmed)
        self.beat()

    def beat(self) -> None:
        """Reports that the loop is running. Call it every few seconds."""
        signal.setitimer(signal.ITIMER_REAL, STUCK_S, BREATH_S)

    def asked(self, what: Asked) -> None:
        """Reports a request. Callable from any thread and from signal handlers."""
        answered = threading.Event()

        def answer() -> None:
            answered.set()
            self.beat()

        def wait() -> None:
            # The loop may also get stuck on its way to the end.
            for _round in range(ROUNDS):
                answered.clear()
                try:
                    self._loop.call_soon_threadsafe(answer)
                except RuntimeError:
                    return  # the loop has ended, and the program with it
                if not answered.wait(ANSWER_S) and not self._closed:
                    self._ending = True
                    # A call that heeds no signals holds no lock either, or this thread would not run.
                    self._stopped.wait(STOPPED_S)
                    self._end(what)
                time.sleep(ROUND_S)

        threading.Thread(target=wait, name="watchdog", daemon=True).start()
        signal.setitimer(signal.ITIMER_REAL, ANSWER_S + PAUSE_S, BREATH_S)

    def close(self) -> None:
        """Stops watching: no more alarms, and no more calls of `end`."""
        self._closed = True
        silence()
        signal.signal(signal.SIGALRM, self._before)

    def _alarmed(self, *_: object) -> None:
        if not self._ending:
            time.sleep(PAUSE_S)
            return
        silence()
        self._stopped.set()
        while True:
            time.sleep(STUCK_S)


def silence() -> None:
    """Stops the alarm, which would end the program that replaces this one."""
    signal.setitimer(signal.ITIMER_REAL, 0)


# Longer than the jumps caused by a busy computer or a clock correction.
SLEPT_S = 30.0


class Reason(StrEnum):
    IDLE = "idle"
    SLEPT = "slept"


def awake() -> float:
    """Returns seconds on a clock that stops while the computer sleeps."""
    return time.monotonic()


def passed() -> float:
    """Returns seconds on a clock that runs while the computer sleeps."""
    # Unlike the time of day, this clock is never corrected. Not every system has it.
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.time() if clock is None else time.clock_gettime(clock)


@dataclass(slots=True)
class IdleMonitor:
    """Decides when to lock. Call `seen` for every key press and mouse event; `due` says whether to lock.

    `idle_s` is how long the user may be idle, in seconds (0: without limit). Idle time includes sleep.
    `sleep_counts` makes sleep alone a reason.
    """

    idle_s: float
    sleep_counts: bool
    awake: Callable[[], float] = awake
    passed: Callable[[], float] = passed
    _seen: float = field(init=False)
    _offset: float = field(init=False)

    def __post_init__(self) -> None:
        self._seen = self.passed()
        self._offset = self._seen - self.awake()

    def seen(self) -> None:
        self._seen = self.passed()

    def due(self) -> Reason | None:
        """Returns the reason to lock, if any. Call it every few seconds; a sleep is reported once."""
        offset = self.passed() - self.awake()
        slept, self._offset = offset - self._offset > SLEPT_S, offset
        if slept and self.sleep_counts:
            return Reason.SLEPT
        if self.idle_s and self.passed() - self._seen >= self.idle_s:
            return Reason.IDLE
        return None


FORCED_CLOSE_S = 2.0
# How long a lock waits: every message is stored already, and interrupted work is resumed later.
LOCK_CLOSE_S = 0.8
DRAFTS_S = 3.0
WATCH_EVERY_S = 2.0
# Groups of work that a user starts and then waits for: turns, and downloads of models.
AWAITED = frozenset({"turns", "pull"})
_STATUS = {
    Asked.LOCK: 1,
    Asked.QUIT: 1,
    Asked.TERMINATED: 128 + signal.SIGTERM,
    Asked.HUNG_UP: 129,
}


def terminal_here() -> bool:
    """Whether the terminal that the program was started in still exists."""
    stdin = sys.__stdin__
    return stdin is not None and not stdin.closed and os.isatty(stdin.fileno())


def _nowhere(data: str) -> None:
    """Discards output."""


Relaunch = Callable[[], NoReturn]
"""Replaces this process with a locked program; called after the terminal has been restored."""


class Shutdown:
    """Quits and locks the program. Locking also ends this process: only a new one is sure to contain no
    secrets.

    `relaunch` replaces this program with a locked one, `demo` with one that shows sample conversations.
    `close_doors` ends the requests of other programs.
    """

    def __init__(
        self,
        app: "BaseApp",
        model_folder: "ModelFolderWatcher",
        sync: "SyncKeeper",
        *,
        relaunch: Relaunch | None,
        demo: Relaunch | None,
        close_doors: Callable[[], Awaitable[None]],
    ) -> None:
        self._app = app
        self._close_doors = close_doors
        self._model_folder = model_folder
        self._sync = sync
        self.relaunch, self.demo = relaunch, demo
        self.locking = False
        self._forced = False
        self.on_terminal = False
        self.monitor: IdleMonitor | None = None
        self.sweeper: Sweeper | None = None
        self._watchdog: Watchdog | None = None

    # --- quitting --------------------------------------------------------------------------------

    async def quit(self) -> None:
        """Quits once everything is stored and closed. If asked twice, quits without waiting."""
        from atlas_desktop.tui.dialogs.questions import ConfirmScreen

        if self._app.leaving:
            self._forced = True
            self._app.exit()
        elif isinstance(self._app.screen, ConfirmScreen):
            self._app.screen.agree()
        else:
            self._app.attempt(self._quit, group="leave", exclusive=True)

    async def _quit(self) -> None:
        if not await self._may_quit():
            return
        self._app.leaving = True
        self.gather()
        await self._leave()

    async def _leave(self, status: int = 0) -> None:
        try:
            await self._close_all()
        finally:
            self._app.exit(return_code=status)

    async def _close_all(self) -> None:
        await self._close_doors()
        if self._app.desk.room is not None:
            await self._app.notes.keep_all()
            await self._app.drafts.keep_all()
        await self._app.stop_turns()
        await self._sync.stop()
        await self._model_folder.stop()
        await self._app.desk.close()

    def gather(self) -> None:
        """Keeps what is typed on the screen, which is about to close."""
        if (chat := self._app.chat) is not None:
            chat.keep_typed(edited=True)
        for conversation in self._app.active_conversations:
            self._app.drafts.changed(conversation)
        self._app.notes.gather()

    async def _may_quit(self) -> bool:
        """Returns whether to continue; asks for confirmation if something is not kept in any room."""
        from atlas_desktop.tui.dialogs.questions import ConfirmScreen

        lost = await self._off_record()
        if not lost:
            return True
        if len(lost) > 1:
            names = "\n".join(quoted(name) for name in lost)
            text = _("These conversations are off the record. They are not saved and will be lost:")
            text = f"{text}\n{names}"
        else:
            text = _("“{title}” is off the record. It is not saved and will be lost.", title=lost[0])
        question = ConfirmScreen(_("Quit"), text, agree=_("Quit and discard"), refuse=_("Stay"))
        agreed: bool = await self._app.push_screen_wait(question)
        return agreed

    async def _off_record(self) -> list[str]:
        """Returns the titles of the conversations that are lost when the program ends."""
        rooms = [one for one in self._app.desk.open_rooms if one.store.room is RoomKind.OFF_RECORD]
        each = [await room.store.list_sessions(limit=100, archived=None) for room in rooms]
        return [clean_line(one.title) or _("Untitled") for sessions in each for one in sessions]

    # --- locking ---------------------------------------------------------------------------------

    @property
    def can_lock(self) -> bool:
        """Whether there is something to lock, and a way to lock it."""
        from atlas_desktop.tui.setup.welcome import RecoveryScreen

        open_now = self._app.desk.room is not None or isinstance(self._app.screen, RecoveryScreen)
        return self.relaunch is not None and open_now and not self._app.leaving

    @property
    def can_demo(self) -> bool:
        """Whether sample conversations can be shown instead, while the home is locked or before there is
        one."""
        from atlas_desktop.tui.setup.welcome import WelcomeScreen

        if self.demo is None or self._app.leaving:
            return False
        return self.can_lock or isinstance(self._app.screen, WelcomeScreen)

    def start_demo(self) -> None:
        if self.can_demo:
            self._app.attempt(self._start_demo(), group="leave", exclusive=True)

    async def _start_demo(self) -> None:
        """Asks before it locks an open home; what is off the record is asked about anyway."""
        from atlas_desktop.tui.dialogs.questions import ConfirmScreen

        if self.can_lock and not await self._off_record():
            question = ConfirmScreen(
                _("Show the sample conversations?"),
                _(
                    "Your data is locked meanwhile. When you quit the sample conversations, you return to "
                    "the lock screen. Preparing them takes some seconds."
                ),
                agree=_("Lock and show"),
                refuse=_("Stay"),
            )
            if not await self._app.push_screen_wait(question):
                return
        await self._lock_if_wanted(self.demo)

    def lock_if_wanted(self) -> None:
        from atlas_desktop.tui.dialogs.questions import LockScreen

        if isinstance(self._app.screen, LockScreen):
            self._app.screen.agree()
        elif self.can_lock:
            self._app.attempt(self._lock_if_wanted, group="leave", exclusive=True)

    async def _lock_if_wanted(self, then: Relaunch | None = None) -> None:
        """Locks; asks first if something would be lost. `then` starts another program instead of the locked
        one. Nothing can be read behind the question."""
        from atlas_desktop.tui.dialogs.questions import Curtain, LockScreen

        if lost := await self._off_record():
            curtain = Curtain()
            await self._app.push_screen(curtain)
            question = LockScreen(len(lost), how_to("app.lock", self._app.keys))
            agreed = await self._app.push_screen_wait(question)
            if not agreed:
                if curtain is self._app.screen:
                    await self._app.pop_screen()
                return
        self.relaunch = then or self.relaunch
        await self.lock()

    async def lock(self) -> None:
        """Covers the screen, closes everything, and quits; `relaunch` then starts the locked program.

        Closing that takes too long is cut short by the end of the process; nothing acknowledged is lost.
        """
        if self._app.leaving:
            return
        self._app.leaving = self.locking = True
        try:
            await self._cover_and_close()
        except TimeoutError:
            self._app.log("closing was cut short")
        except Exception as error:  # noqa: BLE001 - no failure may prevent the lock
            noted(error, self._app.desk.paths.logs)
        finally:
            self._app.exit()

    async def _cover_and_close(self) -> None:
        from atlas_desktop.tui.dialogs.questions import Curtain

        self.gather()
        shown = self._app.chat
        self._app.push_screen(Curtain())
        if shown is not None and self._app.desk.room is not None:
            # Drafts and notes are the only text that is not stored yet, so they get more time.
            async with asyncio.timeout(DRAFTS_S):
                await self._app.notes.keep_all()
                await self._app.drafts.leave_open(shown.current)
                await self._app.drafts.keep_all()
        async with asyncio.timeout(LOCK_CLOSE_S):
            await self._close_all()

    def watch(self) -> None:
        """Starts locking when the user is idle, and collecting garbage when nobody types."""
        self.monitor, self.sweeper = self._new_monitor(), Sweeper()
        self._app.set_interval(WATCH_EVERY_S, self.check)

    def settings_changed(self) -> None:
        """Applies changed settings."""
        if self.monitor is not None:
            self.monitor = self._new_monitor()

    def _new_monitor(self) -> IdleMonitor:
        privacy = self._app.desk.settings.privacy
        return IdleMonitor(privacy.lock_after_minutes * 60.0, privacy.lock_after_sleep)

    async def check(self) -> None:
        """Locks if it is time to. A user who waits for a reply or a download counts as present."""
        if self._watchdog is not None:
            self._watchdog.beat()
        if self._terminal_gone and not self._app.leaving:
            # No signal reported it. If the program continued, Textual would read its empty input forever.
            self._hung_up()
            return
        awaited = any(worker.group in AWAITED and worker.is_running for worker in self._app.workers)
        if self.sweeper is not None:
            self.sweeper.sweep(at_rest=self._app.screen is self._app.chat and not awaited)
        if self.monitor is None:
            return
        if awaited:
            self.monitor.seen()
        if self.monitor.due() is not None and self.can_lock:
            self._app.attempt(self.lock, group="leave", exclusive=True)

    # --- ending the program ----------------------------------------------------------------------

    def _terminated(self, number: int = signal.SIGTERM) -> None:
        """Handles the system's request to end the program."""
        if self._terminal_gone:
            self._hung_up()
        elif not self._app.leaving:
            self._app.leaving = True
            self.gather()
            self._app.attempt(self._leave(128 + number), group="leave", exclusive=True)

    def _interrupted(self) -> None:
        """Handles Ctrl+C from outside; at the keyboard it is a key once Textual has the terminal."""
        if self._app.driver is None:
            stop()
        self._terminated(signal.SIGINT)

    @property
    def _terminal_gone(self) -> bool:
        return self.on_terminal and not terminal_here()

    def _hung_up(self) -> None:
        """Handles the loss of the terminal: nothing can be shown, only stored."""
        self._app.leaving = True
        if self._app.driver is not None:
            # Writing to a terminal that is gone would block forever.
            self._app.driver.write = _nowhere  # type: ignore[method-assign]
        self.gather()
        self._app.attempt(self._vanish, group="leave", exclusive=True)

    async def _vanish(self) -> None:
        try:
            async with asyncio.timeout(FORCED_CLOSE_S):
                await self._close_all()
        except TimeoutError:
            self._app.log("closing was cut short")
        except Exception as error:  # noqa: BLE001 - there is no terminal to report to
            noted(error, self._app.desk.paths.logs)
        finally:
            remove_private_temporary_folder(self._app.desk.paths)
            os._exit(128 + signal.SIGHUP)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Handles signals and watches the event loop for as long as the program runs."""
        if sys.platform == "win32":
            yield
            return
        self.on_terminal = terminal_here()
        loop = asyncio.get_running_loop()
        if self.on_terminal and threading.current_thread() is threading.main_thread():
            self._watchdog = Watchdog(loop, self._end_at_once)

        def hear(what: Asked, then: Callable[[], None]) -> Callable[..., None]:
            def heard(*_unused: object) -> None:
                self.asked(what)
                loop.call_soon_threadsafe(then)

            return heard

        # Not the loop's own handlers: they run only while the loop does.
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
            # Has no effect while rooms are closed; the handler is removed with the loop.
            loop.add_signal_handler(signal.SIGINT, lambda: None)
            if self._watchdog is not None:
                self._watchdog.close()

    # --- a stuck event loop ------------------------------------------------------------------------

    def asked(self, what: Asked) -> None:
        """Makes the program end even if its loop does not respond. Callable from any thread."""
        if self._watchdog is not None:
            self._watchdog.asked(what)

    def key_read(self, key: str) -> None:
        """Called in the thread that reads keys, before the event loop receives the key."""
        for action, what in (("app.lock", Asked.LOCK), ("app.quit", Asked.QUIT)):
            if key in keys_of(BY_ID[action], self._app.keys).split(","):
                self.asked(what)

    def _end_at_once(self, what: Asked) -> NoReturn:
        """Ends a program whose loop is stuck; everything acknowledged is stored. Called in a thread."""
        try:
            if what is not Asked.HUNG_UP and self._app.driver is not None:
                give_back(self._app.driver, self._app.forgetting_pictures())
            remove_private_temporary_folder(self._app.desk.paths)
            if what is Asked.LOCK and self.relaunch is not None and self._app.desk.room is not None:
                silence()
                self.relaunch()
        finally:
            os._exit(_STATUS[what])

    async def close(self) -> None:
        """Closes the rooms and ends the model's process after Textual has ended."""
        # A user who asked twice to quit, and a lock, do not wait for work that does not end.
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await self._close_doors()
                await self._app.desk.close()
        if self.locking and self.relaunch is not None:
            self.relaunch()

    def seen(self) -> None:
        """Notes that the user has pressed a key or moved the mouse."""
        if self.monitor is not None:
            self.monitor.seen()
        if self.sweeper is not None:
            self.sweeper.touched()

    @property
    def _patience(self) -> float | None:
        if self.locking:
            return 0.1
        return FORCED_CLOSE_S if self._forced else None
