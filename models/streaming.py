"""From tokens to text as it comes: whole characters only, and nothing past a stop sequence."""

import codecs
from collections.abc import Sequence


class TextStream:
    """Collects the bytes of a reply and hands out text that is certain.

    A character whose bytes are not all there is held back, and so is an end that may be the beginning of a
    stop sequence. Bytes that are no UTF-8 become U+FFFD.
    """

    def __init__(self, stop: Sequence[str] = ()) -> None:
        self._stop = tuple(s for s in stop if s)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""
        self.stopped = False

    def feed(self, data: bytes) -> str:
        """The text that became certain. Empty once a stop sequence was met."""
        if self.stopped:
            return ""
        self._held += self._decoder.decode(data)
        return self._release()

    def finish(self) -> str:
        """What was still held back, at the end of a reply."""
        if self.stopped:
            return ""
        self._held += self._decoder.decode(b"", final=True)
        # A stop sequence that is met here leaves nothing held.
        text = self._release() + self._held
        self._held = ""
        return text

    def _release(self) -> str:
        ends = [at for at in (self._held.find(s) for s in self._stop) if at >= 0]
        if ends:
            self.stopped = True
            text, self._held = self._held[: min(ends)], ""
            return text
        keep = max((_overlap(self._held, s) for s in self._stop), default=0)
        cut = len(self._held) - keep
        text, self._held = self._held[:cut], self._held[cut:]
        return text


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a beginning of `stop`."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
