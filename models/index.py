"""`installed.toml`: which model files there are, and which was chosen for what."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from models.catalog import ModelRole
from models.files import write_atomically

INDEX_NAME = "installed.toml"


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """One model. `file` is a name in the models folder, or an absolute path when the file stays elsewhere.

    `sha256` is empty until the file's checksum has been computed; `added_at` is RFC 3339.
    """

    id: str
    file: str
    bytes: int
    roles: tuple[ModelRole, ...]
    sha256: str = ""
    source: str = "file"
    licence: str = ""
    added_at: str = ""
    context_length: int = 0
    architecture: str = ""

    @property
    def linked(self) -> bool:
        return Path(self.file).is_absolute()


class Index(msgspec.Struct, frozen=True):
    """The whole file. `damaged` says that it could not be read and starts anew from the folder."""

    models: tuple[Record, ...] = ()
    chosen: dict[ModelRole, str] = {}
    damaged: bool = False

    def find(self, ref: str) -> Record | None:
        """The record of that id (case is ignored), or None."""
        wanted = ref.casefold()
        return next((record for record in self.models if record.id.casefold() == wanted), None)

    def with_record(self, record: Record) -> "Index":
        """The index with `record` in place of any of the same id."""
        others = [other for other in self.models if other.id != record.id]
        return msgspec.structs.replace(self, models=(*others, record))

    def without(self, model_id: str) -> "Index":
        """The index without a model and without its being chosen."""
        return msgspec.structs.replace(
            self,
            models=tuple(record for record in self.models if record.id != model_id),
            chosen={role: chosen for role, chosen in self.chosen.items() if chosen != model_id},
        )

    def with_choice(self, role: ModelRole, model_id: str) -> "Index":
        """The index with `model_id` chosen for `role`."""
        return msgspec.structs.replace(self, chosen={**self.chosen, role: model_id})


def read_index(folder: Path) -> Index:
    """The index of a models folder; empty when there is none, empty and `damaged` when it makes no sense.

    Nothing is lost with a damaged index but choices, links and origins: the files themselves are found again.
    """
    try:
        raw: dict[str, Any] = tomllib.loads((folder / INDEX_NAME).read_text(encoding="utf-8"))
        return msgspec.convert(
            {"models": raw.get("model", []), "chosen": raw.get("chosen", {})}, Index, strict=True
        )
    except FileNotFoundError:
        return Index()
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError):
        return Index(damaged=True)


def write_index(folder: Path, index: Index) -> None:
    """Replaces the index of a models folder."""
    import tomlkit

    content = {
        "chosen": {str(role): model for role, model in index.chosen.items()},
        "model": [msgspec.to_builtins(record) for record in index.models],
    }
    write_atomically(folder / INDEX_NAME, tomlkit.dumps(content))
