"""How often a growing reply is drawn."""

import asyncio
import contextlib
import time

from atlas_desktop.tui.chat.streaming_markdown import Growing

LONGEST_FRAME_S = 0.5
"""How long to wait for a frame that may never be painted."""
REST = 40
"""Times as long as the processor worked for a frame until the next one begins: the model's threads wait
for each other, so whatever the interface takes of one processor is taken of all."""
LONGEST_REST_S = 0.3


class PacedStream:
    """Gives text to a `Growing` at most `frame_rate` times a second, for about a fortieth of the time.

    What arrives between two frames is drawn together, so a fast model costs no more than a slow one. A frame
    lasts from the new text until it has been painted.
    """

    def __init__(self, target: Growing, frame_rate: int) -> None:
        self._target = target
        self._frame = 1 / frame_rate
        self._pending: list[str] = []
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._run())

    def write(self, text: str) -> None:
        self._pending.append(text)
        self._news.set()

    def end(self) -> None:
        """Draws no more."""
        self._task.cancel()

    async def _painted(self) -> None:
        painted = asyncio.Event()
        if self._target.call_after_refresh(painted.set):
            # Nothing is painted any more when the widget goes away meanwhile.
            # (`wait_for` loses a cancellation that comes with the picture; the task would never end.)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_FRAME_S):
                    await painted.wait()

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            text = "".join(self._pending)
            self._pending.clear()
            began, worked = time.monotonic(), time.thread_time()
            if text:
                self._target.grow(text)
                await self._painted()
            rest = min(REST * (time.thread_time() - worked), LONGEST_REST_S)
            await asyncio.sleep(max(self._frame - (time.monotonic() - began), rest))
