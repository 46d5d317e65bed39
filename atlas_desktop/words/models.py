"""Words for what can go wrong with models and their process."""

import signal
from collections.abc import Callable

from atlas_desktop.explain import Exit, Explained, Words, named, size
from models import errors as models


def _crashed(e: models.WorkerCrashed) -> Explained:
    how = ""
    if e.code is not None and e.code < 0:
        try:
            how = f" ({signal.Signals(-e.code).name})"
        except ValueError:
            how = f" (signal {-e.code})"
    elif e.code is not None:
        how = f" (status {e.code})"
    return Explained(
        "model_crashed",
        "The model process stopped",
        f"The process that runs the model ended unexpectedly{how}. Your words are saved, and so is the part "
        "of the reply that had come.",
        "Send again: the model is started anew by itself. If it keeps happening, try a smaller model.",
    )


def _file(code: str, title: str, text: str, next_step: str) -> Callable[[models.ModelFileError], Explained]:
    def words(e: models.ModelFileError) -> Explained:
        detail = f" ({e.detail})" if e.detail else ""
        return Explained(code, title, f"{e.path.name} {text}{detail}.", next_step)

    return words


def _prompt_too_long(e: models.PromptTooLong) -> Explained:
    return Explained(
        "prompt_too_long",
        "The conversation is too long for the model",
        f"The prompt has {e.tokens} tokens; the model reads {e.limit}. Your message is saved.",
        "Start a new conversation, or choose a model with a longer context.",
    )


def _unknown_model(e: models.UnknownModel) -> Explained:
    hint = f" Did you mean {', '.join(e.suggestions)}?" if e.suggestions else ""
    return Explained(
        "unknown_model",
        "There is no such model",
        f"No model called {e.ref} is installed or in the catalogue.{hint}",
        "`atlas models list --all` shows the catalogue; `atlas models import FILE` adds a file of yours.",
    )


def _no_model(e: models.NoModel) -> Explained:
    kind = "chat" if e.role == "chat" else "embedding"
    return Explained(
        "no_model",
        "There is no model yet",
        f"No {kind} model is installed in this home. Your conversations can still be read.",
        "`atlas models recommend` shows what fits this machine; `atlas models pull ID` fetches it.",
        Exit.NO_MODEL,
    )


def _damaged_model(e: models.ModelDamaged) -> Explained:
    detail = f" ({e.detail})" if e.detail else ""
    meanwhile = (
        "Your conversations can still be read."
        if e.role == "chat"
        else "Until it is whole again, what was said is found by its words and not by its meaning."
    )
    return Explained(
        "model_damaged",
        "The model file is damaged",
        f"{e.path.name} is no whole model any more{detail}. {meanwhile}",
        f"`atlas models pull {e.ref}` fetches it again; if it came from a file of yours, "
        f"`atlas models import FILE --name {e.ref}` takes that in again.",
        Exit.NO_MODEL,
    )


def _space(e: models.NotEnoughDisk) -> Explained:
    return Explained(
        "disk_space",
        "There is not enough disk space",
        f"{size(e.needed)} are needed, {size(e.free)} are free. Nothing was written.",
        "Free some space, or choose a smaller model.",
    )


def _ram(e: models.NotEnoughMemory) -> Explained:
    return Explained(
        "not_enough_memory",
        "The model is too large for this machine's memory",
        f"It needs about {size(e.needed)}; {size(e.available)} are available.",
        "Choose a smaller model: `atlas models recommend` shows what fits.",
    )


def _download(e: models.DownloadFailed) -> Explained:
    return Explained(
        "download_failed",
        "The download did not finish",
        f"{e.source}: {e.detail}. What came is kept.",
        "Try again with the same command: it goes on where it stopped.",
    )


WORDS: Words = {
    models.ModelFileMissing: _file(
        "model_file_missing",
        "The model file is not there",
        "cannot be found, or is not a file",
        "Check the path; `atlas models list` shows what is installed.",
    ),
    models.NotGguf: _file(
        "not_gguf",
        "This is not a GGUF model",
        "does not begin like a GGUF file",
        "Atlas runs models in the GGUF format; look for a .gguf download of the model.",
    ),
    models.DamagedGguf: _file(
        "damaged_gguf",
        "The model file is damaged",
        "has a header that contradicts itself",
        "Download it again.",
    ),
    models.TruncatedGguf: _file(
        "truncated_gguf",
        "The model file is incomplete",
        "ends too early",
        "Its download was cut short: download it again.",
    ),
    models.WrongChecksum: _file(
        "wrong_checksum",
        "The model file is not what it should be",
        "has another checksum than its source states, so it was not used",
        "Download it again; if it happens again, the source has changed.",
    ),
    models.UnknownArchitecture: _file(
        "unknown_architecture",
        "This kind of model is not known here",
        "is of an architecture that the built-in llama.cpp does not know",
        "Update Atlas, or choose a model from `atlas models list --all`.",
    ),
    models.ModelLoadFailed: _file(
        "model_load_failed",
        "The model could not be loaded",
        "was refused by llama.cpp",
        "`atlas models verify` checks the file; try another model if it is sound.",
    ),
    models.NotEnoughMemory: _ram,
    models.NotEnoughDisk: _space,
    models.UnknownModel: _unknown_model,
    models.ModelNotInstalled: lambda e: Explained(
        "model_not_installed",
        "This model is not here",
        f"{e.ref} is in the catalogue, but its file is not on this computer.",
        f"`atlas models pull {e.ref}` fetches it.",
    ),
    models.NoModel: _no_model,
    models.ModelDamaged: _damaged_model,
    models.ModelExists: lambda e: Explained(
        "model_exists",
        "A model of that name is already there",
        f"{e.ref} is installed and its content differs.",
        "Give the new one another name with --name, or remove the old one first.",
    ),
    models.DownloadFailed: _download,
    models.WorkerCrashed: _crashed,
    models.WorkerUnresponsive: named(
        "model_unresponsive",
        "The model does not answer",
        "Its process gave no sign of life in time and was ended. Your words are saved.",
        "Send again; a smaller model loads faster. models.load_timeout_s sets the limit.",
    ),
    models.PromptTooLong: _prompt_too_long,
    models.TemplateFailed: named(
        "template_failed",
        "The model's chat template cannot be used",
        "The template inside the model file refuses this conversation or takes too long.",
        "Choose another model; this one was not made for chat.",
    ),
    models.BadGrammar: named(
        "bad_grammar",
        "The model could not be told the form of its answer",
        "The grammar for this answer cannot be read by this build of llama.cpp.",
        "Run `atlas doctor`; what you said is saved.",
    ),
    models.WorkerFault: lambda e: Explained(
        "model_fault",
        "The model could not do that",
        f"The model process met an error ({e.detail}). Your words are saved, and so is what had come.",
        "Send again; if it keeps happening, try another model.",
    ),
    models.StateNotHeld: named(
        "state_not_held",
        "The model has moved on",
        "What it had read of this conversation is no longer in its memory.",
        "Nothing is lost: the next turn reads the conversation again.",
    ),
    models.StateRefused: lambda e: Explained(
        "state_refused",
        "A stored state of the model was not used",
        f"It does not fit the model as it runs now ({e.detail}).",
        "Nothing is lost: the next turn reads the conversation again.",
    ),
    models.ProtocolError: named(
        "model_protocol",
        "The model process and Atlas disagree",
        "A message between them could not be read; the process was ended. Your words are saved.",
        "Send again. If it keeps happening, reinstall Atlas.",
    ),
}
