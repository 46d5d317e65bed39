"""A thin, typed layer over llama.cpp's C interface, with the choice of how many threads compute."""

import ctypes
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as C  # noqa: N812 - the C interface
import psutil

from models.errors import ModelLoadFailed, UnknownArchitecture

MOMENT_S = 0.2
"""Seconds between measurements of others' use during evaluations; each covers at least this long."""
OTHERS = 0.5
"""Processors that others may use before a thread is given up; drawing an interface uses less."""
BACK = 0.15
"""By how much the use by others must fall below that before the thread is used again."""
REST_S = 0.1
"""Seconds without an evaluation after which the last measurement is outdated."""
GLANCES = 3
GLANCE_S = 0.002
"""Seconds between the `GLANCES` samples of running threads, so that brief wake-ups do not count."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Processor seconds of all processes and of this process, up to a moment of the clock."""

    at: float
    everybody: float
    own: float


def usage() -> Usage:
    """Processor time as the system counts it, in steps of about 10 ms."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0)
    # `user` already includes guests.
    guests = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return Usage(time.perf_counter(), sum(times) - idle - guests, time.process_time())


def running_now() -> int | None:
    """Number of other threads that run now or could; None where the system does not report it.

    Linux reports it. Must be called by the only thread of this process that works.
    """
    if not sys.platform.startswith("linux"):
        return None
    # psutil does not report this value.
    for line in Path("/proc/stat").read_text("ascii").splitlines():
        if line.startswith("procs_running"):
            return max(0, int(line.split()[1]) - 1)
    return None


class ThreadTuner:
    """Chooses the number of threads of each evaluation on a machine with `processors` processors."""

    def __init__(
        self,
        processors: int,
        read: Callable[[], Usage] = usage,
        running: Callable[[], int | None] = running_now,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._processors = processors
        self._read = read
        self._running = running
        self._pause = pause
        self._before = read()
        self._worked = self._before.at
        self._busy = 0
        self._doubt = False

    def doubt(self, now: float) -> bool:
        """Whether others may be working, so that a short batch should be evaluated first.

        After a pause, the last measurement may be outdated. If no other thread runs now, it is discarded. If
        some do, threads are given up at once. Where that is unknown, all threads start. In the last two cases
        a short evaluation then decides.
        """
        if now - self._worked >= REST_S:
            self._look()
            self._worked = now
            seen, self._busy = self._busy, 0
            others = self._glance() if seen else 0
            self._doubt = others != 0
            self._busy = min(seen, others or 0)
        return self._doubt

    def _glance(self) -> int | None:
        """Number of other threads that run all the time; None where it is unknown."""
        least: int | None = None
        for glance in range(GLANCES):
            if glance:
                self._pause(GLANCE_S)
            found = self._running()
            if not found:
                return found
            least = found if least is None else min(least, found)
        return least

    def threads(self, wished: int, now: float) -> int:
        """Number of threads for an evaluation that starts now, from 1 to `wished`.

        `now` is on the clock of `time.perf_counter`.
        """
        self.doubt(now)
        if now - self._before.at >= MOMENT_S:
            self._look()
            self._doubt = False
        return max(1, min(wished, self._processors - self._busy))

    def worked(self, now: float) -> None:
        """Records that an evaluation has ended."""
        self._worked = now

    def _look(self) -> None:
        """Measures how many processors others keep busy."""
        seen, before = self._read(), self._before
        passed = seen.at - before.at
        others = ((seen.everybody - before.everybody) - (seen.own - before.own)) / passed
        self._before = seen
        # A thread is given up at half a processor and used again somewhat below, to avoid oscillation.
        leave = int(others - OTHERS + 1) if others >= OTHERS else 0
        stay = int(others - OTHERS + BACK + 1) if others >= OTHERS - BACK else 0
        self._busy = min(max(self._busy, leave), stay)


class Vocabulary:
    """The tokens of a model: text to ids, ids to bytes, and which ids steer the model."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.size = int(C.llama_vocab_n_tokens(handle))
        self.kind = int(C.llama_vocab_type(handle))
        self._pieces: dict[int, bytes] = {}
        self._buffer = (C.llama_token * 4096)()

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Token ids of a text; control tokens in it are recognised only with `special`."""
        return self._tokenize(text, add=False, special=special)

    def framed(self, text: str) -> list[int]:
        """Token ids of a text inside the marks the model was trained with (BERT: [CLS], [SEP])."""
        return self._tokenize(text, add=True, special=False)

    def _tokenize(self, text: str, *, add: bool, special: bool) -> list[int]:
        data = text.encode("utf-8", "replace")
        size = len(self._buffer)
        count = C.llama_tokenize(self._handle, data, len(data), self._buffer, size, add, special)
        if count < 0:
            self._buffer = (C.llama_token * -count)()
            count = C.llama_tokenize(self._handle, data, len(data), self._buffer, -count, add, special)
        return list(self._buffer[:count])

    def piece(self, token: int) -> bytes:
        """The bytes of a token; empty for control tokens."""
        known = self._pieces.get(token)
        if known is None:
            known = self._pieces[token] = self._piece(token, special=False)
        return known

    def _piece(self, token: int, *, special: bool) -> bytes:
        buffer = ctypes.create_string_buffer(64)
        length = C.llama_token_to_piece(self._handle, token, buffer, 64, 0, special)
        if length < 0:
            buffer = ctypes.create_string_buffer(-length)
            length = C.llama_token_to_piece(self._handle, token, buffer, -length, 0, special)
        return buffer.raw[: max(0, length)]

    def written(self, token: int) -> str:
        """The text of a token, also of control tokens (`<|im_end|>`)."""
        return self._piece(token, special=True).decode("utf-8", "replace")

    def raw_text(self, token: int) -> bytes:
        """The token as the vocabulary stores it (byte-level BPE: in its printable alphabet)."""
        return C.llama_vocab_get_text(self._handle, token) or b""

    def attributes(self, token: int) -> int:
        return int(C.llama_vocab_get_attr(self._handle, token))

    def same(self, other: "Vocabulary") -> bool:
        """Whether both have the same tokens with the same ids."""
        if (self.size, self.kind) != (other.size, other.kind):
            return False
        return all(self.raw_text(one) == other.raw_text(one) for one in range(self.size))

    def is_end(self, token: int) -> bool:
        """Whether a token ends generation: end of text, of turn, of message."""
        return bool(C.llama_vocab_is_eog(self._handle, token))

    def is_control(self, token: int) -> bool:
        return bool(C.llama_vocab_is_control(self._handle, token))

    @property
    def bos(self) -> int:
        """Token that begins a text, or -1."""
        return int(C.llama_vocab_bos(self._handle))

    @property
    def eos(self) -> int:
        return int(C.llama_vocab_eos(self._handle))

    @property
    def adds_bos(self) -> bool:
        return bool(C.llama_vocab_get_add_bos(self._handle))


_LIBRARY = ctypes.CDLL("msvcrt" if sys.platform == "win32" else None)


class Interrupt:
    """A switch that ends evaluations; off at first. `set` and `clear` may be called from any thread."""

    def __init__(self) -> None:
        self._buffer = ctypes.create_string_buffer(2)
        self.callback = ctypes.cast(_LIBRARY.strlen, C.ggml_abort_callback)
        self.data = ctypes.cast(self._buffer, ctypes.c_void_p)

    def set(self) -> None:
        self._buffer[0] = b"\x01"

    def clear(self) -> None:
        self._buffer[0] = b"\x00"

    def attach(self, context: Any) -> None:
        """Lets this switch end evaluations of a llama.cpp context. It must live as long as the context."""
        C.llama_set_abort_callback(context, self.callback, self.data)


_DECODE_ABORTED = 2
# Tokens evaluated at once where tuning found nothing faster.
BATCH = 256
_KV_TYPES = {"f16": C.GGML_TYPE_F16, "q8_0": C.GGML_TYPE_Q8_0}
_log_lines: deque[str] = deque(maxlen=400)
_PROCESSORS = psutil.cpu_count() or 1
_crew = ThreadTuner(_PROCESSORS)


@C.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_log(_level: int, text: bytes, _data: Any) -> None:
    """Keeps the last lines in memory, to report why a load failed; nothing is printed."""
    _log_lines.append(text.decode("utf-8", "replace"))


def recent_log() -> str:
    """The last lines that llama.cpp logged since the most recent load began."""
    return "".join(_log_lines)


def start_backend() -> None:
    """Initialises llama.cpp; call it once per process, before any model is loaded."""
    C.llama_log_set(_keep_log, ctypes.c_void_p(0))
    C.llama_backend_init()


def has_graphics() -> bool:
    """Whether this build of llama.cpp can compute on a graphics card."""
    return bool(C.llama_supports_gpu_offload())


class Model:
    """Loaded weights and their vocabulary. Raises `UnknownArchitecture` or `ModelLoadFailed`."""

    def __init__(
        self, path: Path, *, gpu_layers: int = -1, vocab_only: bool = False, plain_kernels: bool = False
    ) -> None:
        params = C.llama_model_default_params()
        params.n_gpu_layers = gpu_layers if gpu_layers >= 0 else 0x7FFFFFFF
        params.vocab_only = vocab_only
        params.use_extra_bufts = not plain_kernels
        _log_lines.clear()
        self.handle = C.llama_model_load_from_file(str(path).encode(), params)
        if not self.handle:
            _raise_load_error(path)
        self.path = path
        self.vocab = Vocabulary(C.llama_model_get_vocab(self.handle))

    def close(self) -> None:
        if self.handle:
            C.llama_model_free(self.handle)
            self.handle = None

    def metadata(self, key: str) -> str | None:
        """A scalar of the file's metadata as text, or None."""
        size = 256
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = C.llama_model_meta_val_str(self.handle, key.encode(), buffer, size)
            if length < 0:
                return None
            if length < size:
                return bytes(buffer.value).decode("utf-8", "replace")
            size = length + 1

    @property
    def chat_template(self) -> str | None:
        raw = C.llama_model_chat_template(self.handle, None)
        return raw.decode("utf-8", "replace") if raw else None

    @property
    def architecture(self) -> str:
        return self.metadata("general.architecture") or ""

    @property
    def train_context(self) -> int:
        return int(C.llama_model_n_ctx_train(self.handle))

    @property
    def parameters(self) -> int:
        """Number of weights."""
        return int(C.llama_model_n_params(self.handle))

    @property
    def embedding_length(self) -> int:
        return int(C.llama_model_n_embd(self.handle))

    @property
    def keeps_whole_state(self) -> bool:
        """Whether the model cannot drop the end of its state (recurrent and hybrid models)."""
        return bool(C.llama_model_is_recurrent(self.handle) or C.llama_model_is_hybrid(self.handle))


def _raise_load_error(path: Path) -> None:
    log = recent_log()
    _, marker, rest = log.partition("unknown model architecture: '")
    if marker:
        raise UnknownArchitecture(path, rest.partition("'")[0][:60])
    reasons = [line for line in log.splitlines() if "error" in line.lower()]
    raise ModelLoadFailed(path, reasons[0].strip()[:200] if reasons else "llama.cpp gave no reason")


class DecodeFailed(Exception):
    """llama.cpp refused a batch; `status` is the return value of `llama_decode`."""

    def __init__(self, status: int) -> None:
        super().__init__(f"llama_decode returned {status}")
        self.status = status


class ContextClosed(Exception):
    """The context was closed while work for it was still waiting."""


class Context:
    """The evaluated tokens of one sequence and their state. `interrupt` can end an evaluation early."""

    def __init__(
        self,
        model: Model,
        *,
        length: int,
        threads: int,
        interrupt: Interrupt | None = None,
        batch: int = BATCH,
        embeddings: bool = False,
        flash: bool | None = None,
        kv_type: str = "",
    ) -> None:
        params = C.llama_context_default_params()
        params.n_ctx = length
        params.n_batch = batch
        params.n_ubatch = batch
        params.n_seq_max = 1
        params.n_threads = threads
        params.n_threads_batch = threads
        params.embeddings = embeddings
        params.no_perf = True
        # On processors, llama.cpp's flash attention evaluates a prompt several times slower than the plain
        # one once the context contains a thousand tokens.
        gpu = has_graphics()
        params.flash_attn_type = C.LLAMA_FLASH_ATTN_TYPE_AUTO if gpu else C.LLAMA_FLASH_ATTN_TYPE_DISABLED
        if flash is not None:
            on, off = C.LLAMA_FLASH_ATTN_TYPE_ENABLED, C.LLAMA_FLASH_ATTN_TYPE_DISABLED
            params.flash_attn_type = on if flash else off
        if kv_type:
            params.type_k = params.type_v = _KV_TYPES[kv_type]
        # Otherwise sliding-window models cannot go back to an earlier point.
        params.swa_full = True
        self.handle = C.llama_init_from_model(model.handle, params)
        if not self.handle:
            raise ModelLoadFailed(model.path, "llama.cpp could not make a context (not enough memory?)")
        self._threads = self._working = threads
        self._interrupt = interrupt
        if interrupt is not None:
            interrupt.attach(self.handle)
        self._memory = C.llama_get_memory(self.handle)
        self.length = int(C.llama_n_ctx(self.handle))
        self.batch = batch
        self.tokens: list[int] = []
        self.keeps_whole_state = model.keeps_whole_state
        self.trims = False
        """Whether the last tokens can be dropped alone; `states.try_out` finds out."""

    def close(self) -> None:
        if self.handle:
            C.llama_free(self.handle)
            self.handle = None

    def rewind(self, keep: int) -> int:
        """Drops all but the first `keep` tokens; returns how many are actually kept."""
        if keep >= len(self.tokens):
            return len(self.tokens)
        whole = keep == 0 or self.keeps_whole_state
        if whole or not C.llama_memory_seq_rm(self._memory, 0, keep, -1):
            self.clear()
        del self.tokens[keep:]
        return len(self.tokens)

    def clear(self) -> None:
        """Drops all tokens."""
        C.llama_memory_clear(self._memory, False)  # noqa: FBT003 - the data may stay, its cells are free
        self.tokens = []

    def held(self) -> int:
        """Number of tokens in the context according to llama.cpp."""
        return int(C.llama_memory_seq_pos_max(self._memory, 0)) + 1 if self._memory else 0

    def evaluate(self, tokens: Sequence[int], *, each: bool = False) -> bool:
        """Evaluates at most one batch of tokens; returns False when it was aborted.

        A token can be sampled after the last one, and with `each` after every one of them. `self.tokens` then
        lists what the context contains. Raises `ContextClosed` or `DecodeFailed`.
        """
        if not self.handle:
            raise ContextClosed
        array = (C.llama_token * len(tokens))(*tokens)
        batch = C.llama_batch_get_one(array, len(tokens))
        if each:
            batch.logits = (ctypes.c_int8 * len(tokens))(*[1] * len(tokens))
        self._make_room()
        status = C.llama_decode(self.handle, batch)
        _crew.worked(time.perf_counter())
        if status == 0:
            self.tokens.extend(tokens)
            return True
        if self.keeps_whole_state:
            # Such a state may already include a part of the batch; there is no way to find out.
            self.clear()
        done = max(0, self.held() - len(self.tokens))
        self.tokens.extend(tokens[:done])
        if status == _DECODE_ABORTED:
            return False
        raise DecodeFailed(status)

    @property
    def takes_every_processor(self) -> bool:
        """Whether anything else that runs takes processor time from this model's threads."""
        return self._threads >= _PROCESSORS and not has_graphics()

    def in_doubt(self) -> bool:
        """Whether others may be using the processors.

        A short batch then shows how many threads are best.
        """
        return self._threads > 1 and not has_graphics() and _crew.doubt(time.perf_counter())

    def _make_room(self) -> None:
        """Sets the number of threads to what the processors have room for."""
        # When a graphics card computes, the processors do little.
        if self._threads == 1 or has_graphics():
            return
        threads = _crew.threads(self._threads, time.perf_counter())
        if threads != self._working:
            C.llama_set_n_threads(self.handle, threads, threads)
            self._working = threads

    def embed(self, tokens: Sequence[int], dimension: int) -> list[float]:
        """The pooled vector of one text (`float[dimension]`, not normalised)."""
        if self._memory:
            self.clear()
        array = (C.llama_token * len(tokens))(*tokens)
        batch = C.llama_batch_get_one(array, len(tokens))
        read = C.llama_decode if self._memory else C.llama_encode
        self._make_room()
        status = read(self.handle, batch)
        _crew.worked(time.perf_counter())
        if status != 0:
            raise DecodeFailed(status)
        vector = C.llama_get_embeddings_seq(self.handle, 0)
        if not vector:
            raise DecodeFailed(-1)
        return list(vector[:dimension])
