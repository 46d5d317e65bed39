"""Standard input, line by line, beside everything else."""

import asyncio
import re
import sys
import threading

from atlas_desktop.errors import UsageError

# What stands for bytes that are not UTF-8, and halves of characters: neither can be stored.
_BROKEN = re.compile("[\ud800-\udfff]")


def whole(text: str, *, where: str = "") -> str:
    """The text. Raises `UsageError`, which names the line, when it was not UTF-8: nothing of it would be lost
    without a word. `where` names the line of a text that is one."""
    broken = _BROKEN.search(text)
    if broken is None:
        return text
    line = where or f"line {text.count(chr(10), 0, broken.start()) + 1}"
    raise UsageError(
        f"The text is not UTF-8 in {line}, so it was not taken.",
        "Convert it first, for example with `iconv -f WINDOWS-1252 -t UTF-8`.",
    )


def given_text(given: str) -> str:
    """What is given on the command line, or with `-` on standard input. Raises `UsageError`."""
    return whole(sys.stdin.read() if given == "-" else given)


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
