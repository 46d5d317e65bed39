"""Exceptions for model files, downloads and the worker.

They carry facts; the application chooses the text that the user sees.
"""

from pathlib import Path


class ModelsError(Exception):
    """Base of all errors of this package."""


class ModelFileError(ModelsError):
    """A model file that cannot be used."""

    def __init__(self, path: Path, detail: str = "") -> None:
        super().__init__(f"{type(self).__name__}: {detail}" if detail else type(self).__name__)
        self.path = path
        self.detail = detail


class ModelFileMissing(ModelFileError):
    """The file does not exist, is not a regular file, or cannot be read."""


class NotGguf(ModelFileError):
    """The file does not start like a GGUF file."""


class DamagedGguf(ModelFileError):
    """The header contradicts itself or exceeds its bounds."""


class TruncatedGguf(ModelFileError):
    """The file ends before its tensors do."""

    def __init__(self, path: Path, expected: int, actual: int) -> None:
        super().__init__(path, f"expected at least {expected} bytes, found {actual}")
        self.expected = expected
        self.actual = actual


class WrongChecksum(ModelFileError):
    """The file's SHA-256 is not the expected one."""

    def __init__(self, path: Path, expected: str, actual: str) -> None:
        super().__init__(path, f"expected sha256 {expected}, found {actual}")
        self.expected = expected
        self.actual = actual


class UnknownArchitecture(ModelFileError):
    """This build of llama.cpp does not support the model's architecture."""


class ModelLoadFailed(ModelFileError):
    """llama.cpp refused the file for another reason."""


class NotEnoughMemory(ModelsError):
    """A model needs more memory than is available; both in bytes."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(f"needs {needed} bytes of memory, {available} available")
        self.needed = needed
        self.available = available


class NotEnoughDisk(ModelsError):
    """A download or copy needs more disk space than is free; both in bytes."""

    def __init__(self, needed: int, free: int, folder: Path) -> None:
        super().__init__(f"needs {needed} bytes on disk, {free} free")
        self.needed = needed
        self.free = free
        self.folder = folder


class UnknownModel(ModelsError):
    """No model with that name is installed or in the catalogue."""

    def __init__(self, ref: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(f"unknown model {ref!r}")
        self.ref = ref
        self.suggestions = suggestions


class ModelNotInstalled(UnknownModel):
    """A catalogue model whose file is not installed."""


class NoModel(ModelsError):
    """No model is installed for a role (`chat` or `embed`)."""

    def __init__(self, role: str) -> None:
        super().__init__(f"no {role} model is installed")
        self.role = role


class ModelDamaged(NoModel):
    """The model for a role exists, but its file is damaged; `detail` describes the damage."""

    def __init__(self, role: str, ref: str, path: Path, detail: str = "") -> None:
        super().__init__(role)
        self.ref = ref
        self.path = path
        self.detail = detail


class ModelExists(ModelsError):
    """A different model with that name is already installed."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"model {ref!r} is already installed")
        self.ref = ref


class DownloadFailed(ModelsError):
    """A download ended early; a partial file from the hub is kept and the next attempt resumes it."""

    def __init__(self, source: str, detail: str) -> None:
        super().__init__(f"download of {source} failed: {detail}")
        self.source = source
        self.detail = detail


class DownloadCancelled(DownloadFailed):
    """The user stopped a download; a partial file is kept and resumed as for `DownloadFailed`."""

    def __init__(self, source: str) -> None:
        super().__init__(source, "cancelled")


class WorkerCrashed(ModelsError):
    """The worker process ended unexpectedly. `code` is its exit status (negative: a signal)."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"the model process ended with status {code}")
        self.code = code


class WorkerUnresponsive(ModelsError):
    """The worker process did not answer in time and was ended."""


class WorkerFault(ModelsError):
    """An unexpected error in the worker process, which keeps running; `detail` is the error's type."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class PromptTooLong(ModelsError):
    """The prompt and the space reserved for the reply exceed the context; counts are tokens."""

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(f"the prompt has {tokens} tokens, the limit is {limit}")
        self.tokens = tokens
        self.limit = limit


class BadGrammar(ModelsError):
    """llama.cpp cannot parse the grammar given for a completion."""


class TemplateFailed(ModelsError):
    """The model's chat template cannot render the messages."""


class ProtocolError(ModelsError):
    """The application and the worker disagree about the protocol."""


class StateNotHeld(ModelsError):
    """The requested state is no longer in the model's memory."""


class StateRefused(ModelsError):
    """A state cannot be restored. `detail`: model, checksum, tokens, length, size, memory or layout."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class EngineError(ModelsError):
    """Base of the errors of another model server. `engine` is its name in the settings."""

    def __init__(self, engine: str, problem: str = "") -> None:
        super().__init__(f"engine {engine}: {problem}" if problem else f"engine {engine}")
        self.engine = engine


class UnknownEngine(EngineError):
    """No engine of that name is in the settings; `others` are the names of those that are."""

    def __init__(self, engine: str, others: tuple[str, ...] = ()) -> None:
        super().__init__(engine, "unknown")
        self.others = others


class BadEngine(EngineError):
    """An engine that cannot be added. `reason`: name, url, model or key."""

    def __init__(self, engine: str, reason: str) -> None:
        super().__init__(engine, reason)
        self.reason = reason


class EngineUnreachable(EngineError):
    """Nothing answers at the engine's address. `host` is its host and port."""

    def __init__(self, engine: str, host: str) -> None:
        super().__init__(engine, "unreachable")
        self.host = host


class EngineSilent(EngineError):
    """The engine sent nothing for `seconds`."""

    def __init__(self, engine: str, seconds: float) -> None:
        super().__init__(engine, f"silent for {seconds:g} s")
        self.seconds = seconds


class EngineCutOff(EngineError):
    """The connection ended in the middle of an answer."""


class EngineBadAnswer(EngineError):
    """An answer that breaks the rules of the interface.

    `detail`: json, shape, size, line, encoding, redirect or vectors.
    """

    def __init__(self, engine: str, detail: str) -> None:
        super().__init__(engine, detail)
        self.detail = detail


class EngineFailed(EngineError):
    """The engine answered with an error. `status` is that of HTTP.

    `detail` is its own text, which may repeat content: it is shown, and never part of the exception's text.
    """

    def __init__(self, engine: str, status: int, detail: str = "") -> None:
        super().__init__(engine, f"status {status}")
        self.status = status
        self.detail = detail


class EngineBusy(EngineFailed):
    """The engine is still loading its model, or has too many requests."""


class EngineKeyRefused(EngineError):
    """The engine wants a key, or refuses the one it was given."""


class EngineModelUnknown(EngineError):
    """The engine has no model of that name."""

    def __init__(self, engine: str, model: str) -> None:
        super().__init__(engine, "unknown model")
        self.model = model


class EngineNotAllowed(EngineError):
    """The engine is not on this computer, and the user has not agreed to that yet."""

    def __init__(self, engine: str, host: str) -> None:
        super().__init__(engine, "not agreed to")
        self.host = host


class EngineNotLocal(EngineError):
    """The engine is not on this computer, so the private room refuses it."""
