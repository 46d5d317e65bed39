"""Standard input, line by line, beside everything else."""

import asyncio
import sys
import threading


class Lines:
    """Lines of standard input, read by a thread that nobody waits for.

    A thread of asyncio's own would be joined at the end, and Ctrl-C at the prompt would wait for Enter.
    """

    def __init__(self, *, prompt: bool) -> None:
        self._prompt = prompt and sys.stdin.isatty()
        self._loop = asyncio.get_running_loop()
        self._wanted = threading.Semaphore(0)
        self._found: asyncio.Queue[str | None] = asyncio.Queue()
        threading.Thread(target=self._read, name="lines", daemon=True).start()

    async def next(self) -> str | None:
        """The next line without its end, or None at the end of the input."""
        self._wanted.release()
        return await self._found.get()

    def _read(self) -> None:
        line: str | None = ""
        while line is not None:
            self._wanted.acquire()
            line = self._line()
            try:
                self._loop.call_soon_threadsafe(self._found.put_nowait, line)
            except RuntimeError:
                # The loop has ended while the person was still typing.
                return

    def _line(self) -> str | None:
        if self._prompt:
            try:
                return input("> ")
            except EOFError:
                return None
        line = sys.stdin.readline()
        return line.rstrip("\r\n") if line else None
