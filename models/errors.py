"""Everything that can go wrong with a model file, a download or the worker.

The exceptions carry facts; the words a person reads are chosen in one place, in the application.
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
    """The file is not there, or is not a regular file."""


class NotGguf(ModelFileError):
    """The file does not begin like a GGUF file."""


class DamagedGguf(ModelFileError):
    """The header contradicts itself or exceeds its bounds."""


class TruncatedGguf(ModelFileError):
    """The file ends before its tensors do."""

    def __init__(self, path: Path, expected: int, actual: int) -> None:
        super().__init__(path, f"expected at least {expected} bytes, found {actual}")
        self.expected = expected
        self.actual = actual


class WrongChecksum(ModelFileError):
    """The file's SHA-256 is not the one that was promised."""

    def __init__(self, path: Path, expected: str, actual: str) -> None:
        super().__init__(path, f"expected sha256 {expected}, found {actual}")
        self.expected = expected
        self.actual = actual


class UnknownArchitecture(ModelFileError):
    """llama.cpp in this build does not know the model's architecture."""


class ModelLoadFailed(ModelFileError):
    """llama.cpp refused the file for another reason."""


class NotEnoughMemory(ModelsError):
    """Bytes of memory that the model needs, and what is available."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(f"needs {needed} bytes of memory, {available} available")
        self.needed = needed
        self.available = available


class NotEnoughDisk(ModelsError):
    """Bytes of disk space that a download or copy needs, and what is free."""

    def __init__(self, needed: int, free: int, folder: Path) -> None:
        super().__init__(f"needs {needed} bytes on disk, {free} free")
        self.needed = needed
        self.free = free
        self.folder = folder


class UnknownModel(ModelsError):
    """No model of that name is installed or in the catalogue."""

    def __init__(self, ref: str, suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(f"unknown model {ref!r}")
        self.ref = ref
        self.suggestions = suggestions


class ModelNotInstalled(UnknownModel):
    """A model of the catalogue whose file is not here."""


class NoModel(ModelsError):
    """No model is installed for a role (`chat` or `embed`)."""

    def __init__(self, role: str) -> None:
        super().__init__(f"no {role} model is installed")
        self.role = role


class ModelDamaged(NoModel):
    """The model that would be used for a role is there, but its file is damaged; `detail` says how."""

    def __init__(self, role: str, ref: str, path: Path, detail: str = "") -> None:
        super().__init__(role)
        self.ref = ref
        self.path = path
        self.detail = detail


class ModelExists(ModelsError):
    """A different model of that name is already installed."""

    def __init__(self, ref: str) -> None:
        super().__init__(f"model {ref!r} is already installed")
        self.ref = ref


class DownloadFailed(ModelsError):
    """A download ended early; what came is kept, and the next try resumes it."""

    def __init__(self, source: str, detail: str) -> None:
        super().__init__(f"download of {source} failed: {detail}")
        self.source = source
        self.detail = detail


class DownloadCancelled(DownloadFailed):
    """The person stopped a download; what came is kept, and the next try resumes it."""

    def __init__(self, source: str) -> None:
        super().__init__(source, "cancelled")


class WorkerCrashed(ModelsError):
    """The model process ended unexpectedly. `code` is its exit status (negative: a signal)."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"the model process ended with status {code}")
        self.code = code


class WorkerUnresponsive(ModelsError):
    """The model process did not answer in time and was ended."""


class WorkerFault(ModelsError):
    """The model process met an error of its own while it worked; it lives on. `detail` is its type."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


class PromptTooLong(ModelsError):
    """The prompt and the reply's reserve do not fit the context; counts are tokens."""

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(f"the prompt has {tokens} tokens, the limit is {limit}")
        self.tokens = tokens
        self.limit = limit


class BadGrammar(ModelsError):
    """llama.cpp cannot read the grammar that a completion should obey."""


class TemplateFailed(ModelsError):
    """The model's chat template cannot express the conversation."""


class ProtocolError(ModelsError):
    """The two sides of the worker's pipe disagree."""


class StateNotHeld(ModelsError):
    """The model no longer has in its memory what was asked for."""


class StateRefused(ModelsError):
    """A state cannot be put back. `detail`: model, checksum, tokens, size or layout."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail
