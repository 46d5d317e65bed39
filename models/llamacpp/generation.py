"""From a model's probabilities to text: llama.cpp's samplers, whole characters, stop sequences."""

import codecs
import secrets
from collections.abc import Sequence
from typing import Any

import llama_cpp.llama_cpp as C  # noqa: N812 - the C interface

from models.errors import BadGrammar
from models.llamacpp.native import Context
from models.llamacpp.vocabulary import Vocabulary
from models.messages import GenerationParams

_SEED_MASK = 0xFFFFFFFF


class Sampler:
    """Chooses the next token. Greedy when the temperature is 0; close it when done.

    Raises `BadGrammar`.
    """

    def __init__(self, vocab: Vocabulary, params: GenerationParams) -> None:
        self.handle = C.llama_sampler_chain_init(C.llama_sampler_chain_default_params())
        try:
            for link in _links(vocab, params):
                C.llama_sampler_chain_add(self.handle, link)
        except BadGrammar:
            self.close()
            raise

    def sample(self, context: Context) -> int:
        """The next token, given what the context has just read."""
        return int(C.llama_sampler_sample(self.handle, context.handle, -1))

    def close(self) -> None:
        if self.handle:
            C.llama_sampler_free(self.handle)
            self.handle = None


def _links(vocab: Vocabulary, params: GenerationParams) -> list[Any]:
    links = []
    if params.grammar is not None:
        grammar = C.llama_sampler_init_grammar(vocab._handle, params.grammar.encode(), b"root")  # noqa: SLF001
        if not grammar:
            raise BadGrammar
        links.append(grammar)
    if params.repeat_penalty != 1.0:
        penalty = (params.repeat_last_n, params.repeat_penalty, 0.0, 0.0)
        links.append(C.llama_sampler_init_penalties(vocab.size, *penalty))
    if params.temperature == 0:
        return [*links, C.llama_sampler_init_greedy()]
    if params.top_k:
        links.append(C.llama_sampler_init_top_k(params.top_k))
    seed = secrets.randbits(32) if params.seed is None else params.seed & _SEED_MASK
    return [
        *links,
        C.llama_sampler_init_top_p(params.top_p, 1),
        C.llama_sampler_init_min_p(params.min_p, 1),
        C.llama_sampler_init_temp(params.temperature),
        C.llama_sampler_init_dist(seed),
    ]


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
