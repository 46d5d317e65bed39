"""Measures a model file's speed and perplexity on this machine, and re-quantises it."""

import ctypes
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llama_cpp.llama_cpp as C  # noqa: N812 - the C interface
import numpy as np

from models.errors import ModelLoadFailed
from models.llamacpp.native import Context, DecodeFailed, Model, recent_log
from models.tuning.kernels import Kernels, hide_amx
from models.tuning.plan import Round, RunSettings, TuningPlan

# Perplexity is computed over windows of this many tokens; the first of each are only context.
_WINDOW, _LEAD = 512, 32
_CHUNK = 64
# Generation is measured in this many stretches. The best one counts: the others were disturbed.
_STRETCHES = 4


class Bench:
    """A loaded model file. Raises `ModelLoadFailed`; where the kernels fault, the process dies."""

    def __init__(self, path: Path, kernels: Kernels) -> None:
        if kernels is Kernels.WITHOUT_AMX:
            hide_amx()
        self._model = Model(path, plain_kernels=kernels is Kernels.PLAIN)
        self.buffers = tuple(
            line.split("model buffer size")[0].split(":")[-1].strip()
            for line in recent_log().splitlines()
            if "model buffer size" in line
        )
        self._pairs: dict[str, tuple[Context, Context | None]] = {}
        trial = self._context(RunSettings(threads=1), _LEAD)
        trial.evaluate(self._tokens(8, 0))
        trial.evaluate(self._tokens(1, 8))
        trial.close()

    @property
    def row(self) -> int:
        """Length of the model's rows (its embedding length)."""
        return self._model.embedding_length

    def measure(self, settings: RunSettings, plan: TuningPlan) -> Round:
        """Measures one round.

        The contexts of the last two settings are kept, so that two settings can be measured alternately.
        """
        near, far = self._contexts(settings, plan)
        near.rewind(0)
        reading = self._read(near, plan.tokens)
        writing = max(self._write(near, plan.written // _STRETCHES) for _ in range(_STRETCHES))
        far_on = reading
        if far is not None:
            far.rewind(plan.held)
            if len(far.tokens) < plan.held:
                self._read(far, plan.held - len(far.tokens))
            far_on = self._read(far, plan.tokens)
        return Round(near=reading, far=far_on, decode=writing)

    def _contexts(self, settings: RunSettings, plan: TuningPlan) -> tuple[Context, Context | None]:
        pair = self._pairs.pop(settings.key, None)
        if pair is None:
            while len(self._pairs) > 1:
                for old in self._pairs.pop(next(iter(self._pairs))):
                    if old is not None:
                        old.close()
            near = self._context(settings, plan.tokens + max(plan.written, _STRETCHES))
            pair = near, self._context(settings, plan.held + plan.tokens) if plan.held else None
            # The first evaluation maps the weights into memory and allocates memory.
            near.evaluate(self._tokens(settings.batch, 0)[: plan.tokens])
        self._pairs[settings.key] = pair
        return pair

    def _context(self, settings: RunSettings, length: int) -> Context:
        return Context(
            self._model,
            length=length,
            threads=settings.threads,
            batch=settings.batch,
            flash=settings.flash,
            kv_type=settings.kv_type,
        )

    def _read(self, context: Context, count: int) -> float:
        """Evaluates `count` tokens in batches; returns tokens per second."""
        begun = time.perf_counter()
        for at in range(0, count, context.batch):
            context.evaluate(self._tokens(min(context.batch, count - at), len(context.tokens)))
        return count / (time.perf_counter() - begun)

    def _write(self, context: Context, count: int) -> float:
        """Evaluates tokens one by one, as generation does; returns tokens per second."""
        count = max(1, count)
        begun = time.perf_counter()
        for _ in range(count):
            context.evaluate(self._tokens(1, len(context.tokens)))
        return count / (time.perf_counter() - begun)

    def _tokens(self, count: int, start: int) -> list[int]:
        """Arbitrary token ids; their values do not affect the speed."""
        size = self._model.vocab.size
        return [(7919 * (start + n) + 101) % size for n in range(count)]

    def perplexity(self, text: str, settings: RunSettings, limit: int) -> float:
        """The exponential of the mean negative log-likelihood of the text's first `limit` tokens.

        Each window of 512 tokens is evaluated from an empty context; its first 32 are only context.
        """
        tokens = self._model.vocab.tokenize(text, special=False)[:limit]
        context = self._context(settings, _WINDOW)
        total, count = 0.0, 0
        try:
            for at in range(0, len(tokens) - _LEAD - 1, _WINDOW):
                window = tokens[at : at + _WINDOW]
                context.rewind(0)
                losses = np.concatenate(
                    [self._losses(context, window, n) for n in range(0, len(window) - 1, _CHUNK)]
                )
                total += float(losses[_LEAD:].sum())
                count += len(losses[_LEAD:])
        finally:
            context.close()
        return float(np.exp(total / count))

    def _losses(self, context: Context, window: Sequence[int], start: int) -> Any:
        """`float64[n]`: negative log-likelihood in nats of each token that follows those from `start`."""
        part = window[start : start + _CHUNK]
        batch = C.llama_batch_init(len(part), 0, 1)
        try:
            batch.n_tokens = len(part)
            for n, token in enumerate(part):
                batch.token[n], batch.pos[n], batch.logits[n] = token, start + n, True
                batch.n_seq_id[n], batch.seq_id[n][0] = 1, 0
            status = C.llama_decode(context.handle, batch)
            if status != 0:
                raise DecodeFailed(status)
            context.tokens.extend(part)
            shape = (len(part), self._model.vocab.size)
            logits = np.ctypeslib.as_array(C.llama_get_logits(context.handle), shape=shape).astype(np.float64)
        finally:
            C.llama_batch_free(batch)
        after = np.array(window[start + 1 : start + 1 + len(part)])
        logits = logits[: len(after)]
        top = logits.max(axis=1)
        return top + np.log(np.exp(logits - top[:, None]).sum(axis=1)) - logits[np.arange(len(after)), after]


def quantise(source: Path, target: Path, ftype: int, threads: int) -> None:
    """Writes the weights of `source` to `target` in another layout. Raises `ModelLoadFailed`."""
    params = C.llama_model_quantize_default_params()
    params.ftype = ftype
    params.nthread = threads
    params.allow_requantize = True
    status = C.llama_model_quantize(os.fsencode(source), os.fsencode(target), ctypes.byref(params))
    if status != 0:
        raise ModelLoadFailed(source, "llama.cpp could not write it in another layout")
