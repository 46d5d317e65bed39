"""Loads a model for its role and tests it."""

from pathlib import Path

from models.library.files import fingerprint
from models.llamacpp.chat_runtime import ChatRuntime
from models.llamacpp.jobs import Embedding
from models.llamacpp.native import BATCH, Context, Interrupt, Model
from models.llamacpp.prompts import PromptBuilder
from models.llamacpp.states import try_out
from models.llamacpp.templates import template_limits
from models.tuning.kernels import Kernels, hide_amx
from models.worker import protocol

EMBED_CONTEXT = 512
LONGEST_BY_DEFAULT = 8192


def load_vocabulary(load: protocol.Load) -> protocol.Loaded:
    """Tests whether the file can be read at all, then releases it."""
    model = _model(load)
    loaded = protocol.Loaded(
        load.id,
        fingerprint=fingerprint(Path(load.path)),
        architecture="",
        context_length=0,
        train_context=0,
        vocabulary=model.vocab.size,
        embedding_length=0,
        prefix_stable=True,
        base=0,
        overhead={},
        tokenizer="",
    )
    model.close()
    return loaded


def load_embedding(load: protocol.Load) -> tuple[Embedding, protocol.Loaded]:
    model = _model(load)
    length = min(EMBED_CONTEXT, model.train_context)
    context = Context(model, length=length, threads=load.threads, batch=length, embeddings=True)
    context.embed(model.vocab.framed("one two three four"), model.embedding_length)
    return Embedding(model, context), _described(load, model, length)


def load_chat(load: protocol.Load, interrupt: Interrupt) -> tuple[ChatRuntime, protocol.Loaded]:
    model = _model(load)
    with template_limits():
        prompts = PromptBuilder(model)
        base, overhead = prompts.shape()
        stable = prompts.only_appends() and not model.keeps_whole_state

    def new_context(length: int, interruptible: bool) -> Context:  # noqa: FBT001 - a callback
        return Context(
            model,
            length=length,
            threads=load.threads,
            interrupt=interrupt if interruptible else None,
            batch=load.batch or BATCH,
            flash=load.flash,
            kv_type=load.kv_type,
        )

    wanted = load.context_length or min(LONGEST_BY_DEFAULT, model.train_context)
    context = new_context(min(wanted, model.train_context), True)  # noqa: FBT003 - a callback
    layout = try_out(context, max(0, model.vocab.bos))
    loaded = _described(load, model, context.length, stable=stable, base=base, overhead=overhead)
    runtime = ChatRuntime(
        model,
        prompts,
        context,
        layout,
        fingerprint=loaded.fingerprint,
        cache=load.state_cache,
        new_context=new_context,
    )
    return runtime, loaded


def _model(load: protocol.Load) -> Model:
    if load.kernels == Kernels.WITHOUT_AMX:
        # Repeated at every load; harmless when it is already in force.
        hide_amx()
    return Model(
        Path(load.path),
        gpu_layers=load.gpu_layers,
        vocab_only=load.vocab_only,
        plain_kernels=load.kernels == Kernels.PLAIN,
    )


def _described(
    load: protocol.Load,
    model: Model,
    length: int,
    *,
    stable: bool = True,
    base: int = 0,
    overhead: dict[str, int] | None = None,
) -> protocol.Loaded:
    return protocol.Loaded(
        load.id,
        fingerprint=fingerprint(Path(load.path)),
        architecture=model.architecture,
        context_length=length,
        train_context=model.train_context,
        vocabulary=model.vocab.size,
        embedding_length=model.embedding_length,
        prefix_stable=stable,
        base=base,
        overhead=overhead or {},
        tokenizer=model.metadata("tokenizer.ggml.pre") or "",
        parameters=model.parameters,
    )
