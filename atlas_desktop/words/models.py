"""Words for what can go wrong with models and their process."""

import signal
from collections.abc import Callable

from atlas_desktop.explain import Exit, Explained, Words, aside, named, size, told
from atlas_desktop.words.catalogue import tr
from models import errors as models


def _crashed(e: models.WorkerCrashed) -> Explained:
    how = ""
    if e.code is not None and e.code < 0:
        try:
            how = signal.Signals(-e.code).name
        except ValueError:
            how = tr("errors.model_crashed.signal", number=-e.code)
    elif e.code is not None:
        how = tr("errors.model_crashed.status", number=e.code)
    return told("model_crashed", how=aside(how))


def _file(code: str) -> Callable[[models.ModelFileError], Explained]:
    return lambda e: told(code, file=e.path.name, detail=aside(e.detail))


def _unknown_model(e: models.UnknownModel) -> Explained:
    if not e.suggestions:
        return told("unknown_model", ref=e.ref)
    near = ", ".join(e.suggestions)
    return told("unknown_model", what=tr("errors.unknown_model.meant", ref=e.ref, near=near))


def _no_model(e: models.NoModel) -> Explained:
    what = tr("errors.no_model.chat") if e.role == "chat" else tr("errors.no_model.embedding")
    return told("no_model", Exit.NO_MODEL, what=what)


def _damaged_model(e: models.ModelDamaged) -> Explained:
    role = "chat" if e.role == "chat" else "embedding"
    what = tr(f"errors.model_damaged.{role}", file=e.path.name, detail=aside(e.detail))
    return told("model_damaged", Exit.NO_MODEL, what=what, ref=e.ref)


WORDS: Words = {
    models.ModelFileMissing: _file("model_file_missing"),
    models.NotGguf: _file("not_gguf"),
    models.DamagedGguf: _file("damaged_gguf"),
    models.TruncatedGguf: _file("truncated_gguf"),
    models.WrongChecksum: _file("wrong_checksum"),
    models.UnknownArchitecture: _file("unknown_architecture"),
    models.ModelLoadFailed: _file("model_load_failed"),
    models.NotEnoughMemory: lambda e: told(
        "not_enough_memory", needed=size(e.needed), available=size(e.available)
    ),
    models.NotEnoughDisk: lambda e: told("disk_space", needed=size(e.needed), free=size(e.free)),
    models.UnknownModel: _unknown_model,
    models.ModelNotInstalled: lambda e: told("model_not_installed", ref=e.ref),
    models.NoModel: _no_model,
    models.ModelDamaged: _damaged_model,
    models.ModelExists: lambda e: told("model_exists", ref=e.ref),
    models.DownloadFailed: lambda e: told("download_failed", source=e.source, detail=e.detail),
    models.WorkerCrashed: _crashed,
    models.WorkerUnresponsive: named("model_unresponsive"),
    models.PromptTooLong: lambda e: told("prompt_too_long", tokens=e.tokens, limit=e.limit),
    models.TemplateFailed: named("template_failed"),
    models.BadGrammar: named("bad_grammar"),
    models.WorkerFault: lambda e: told("model_fault", detail=e.detail),
    models.StateNotHeld: named("state_not_held"),
    models.StateRefused: lambda e: told("state_refused", detail=e.detail),
    models.ProtocolError: named("model_protocol"),
}
