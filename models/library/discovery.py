"""Finds the GGUF files that Ollama, LM Studio, Jan and GPT4All already keep. Reads only."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from models.errors import ModelsError
from models.library.gguf import GgufHeader, read_header

_MAX_MANIFEST: Final = 1 << 20
_MAX_FILES: Final = 10_000
_MAX_DEPTH: Final = 8
_MODEL_LAYER: Final = "application/vnd.ollama.image.model"

_FOLDERS: Final[tuple[tuple[str, str], ...]] = (
    ("LM Studio", ".lmstudio/models"),
    ("LM Studio", ".cache/lm-studio/models"),
    ("Jan", "jan/models"),
    ("Jan", ".local/share/Jan/data/models"),
    ("Jan", ".local/share/Jan/data/llamacpp/models"),
    ("Jan", ".config/Jan/data/models"),
    ("Jan", "Library/Application Support/Jan/data/models"),
    ("Jan", "Library/Application Support/Jan/data/llamacpp/models"),
    ("Jan", "AppData/Roaming/Jan/data/models"),
    ("Jan", "AppData/Roaming/Jan/data/llamacpp/models"),
    ("GPT4All", ".local/share/nomic.ai/GPT4All"),
    ("GPT4All", "Library/Application Support/nomic.ai/GPT4All"),
    ("GPT4All", "AppData/Local/nomic.ai/GPT4All"),
)


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A usable model file of another program; `name` is what that program calls it."""

    program: str
    name: str
    path: Path
    bytes: int
    header: GgufHeader


def discover(home: Path, environment: Mapping[str, str] | None = None) -> tuple[FoundModel, ...]:
    """The models of other programs below a person's home folder, each file once, by program and name.

    `environment` gives `OLLAMA_MODELS`; files that are not whole models are left out. Never raises on what
    it finds.
    """
    candidates = list(_ollama(home, environment or {}))
    for program, folder in _FOLDERS:
        candidates += [(program, path.stem, path) for path in _gguf_files(home / folder)]
    found: dict[Path, FoundModel] = {}
    for program, name, path in candidates:
        try:
            real = path.resolve(strict=True)
            if real not in found:
                header = read_header(real)
                if header.split_count == 1 and header.architecture != "clip":
                    found[real] = FoundModel(program, name, real, real.stat().st_size, header)
        except (OSError, RuntimeError, ModelsError):
            continue  # unreadable, or no model: nothing to offer
    return tuple(sorted(found.values(), key=lambda model: (model.program, model.name)))


def _gguf_files(folder: Path) -> Iterator[Path]:
    """GGUF files below `folder`; links to folders are not followed, depth and number are capped."""
    seen = 0
    for current, folders, files in os.walk(folder, followlinks=False):
        depth = len(Path(current).relative_to(folder).parts)
        folders[:] = sorted(folders) if depth < _MAX_DEPTH else []
        for name in sorted(files):
            seen += 1
            if seen > _MAX_FILES:
                return
            if name.lower().endswith(".gguf") and not name.startswith(("mmproj", ".")):
                yield Path(current) / name


def _ollama(home: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, str, Path]]:
    given = environment.get("OLLAMA_MODELS")
    roots = [Path(given)] if given else []
    roots += [home / ".ollama/models", Path("/usr/share/ollama/.ollama/models")] if not given else []
    for root in roots:
        manifests = root / "manifests"
        seen = 0
        for current, folders, files in os.walk(manifests, followlinks=False):
            parts = Path(current).relative_to(manifests).parts
            folders[:] = sorted(folders) if len(parts) < _MAX_DEPTH else []
            for tag in sorted(files):
                seen += 1
                if seen > _MAX_FILES:
                    return
                digest = _model_digest(Path(current) / tag)
                if digest is not None:
                    yield "Ollama", f"{parts[-1] if parts else ''}:{tag}", root / "blobs" / f"sha256-{digest}"


def _model_digest(manifest: Path) -> str | None:
    """The hex SHA-256 of the model layer of an Ollama manifest, or None when the file is no manifest."""
    try:
        if not manifest.is_file() or manifest.stat().st_size > _MAX_MANIFEST:
            return None
        content: Any = json.loads(manifest.read_bytes())
        layers = content["layers"]
        digests = [layer["digest"] for layer in layers if layer.get("mediaType") == _MODEL_LAYER]
    except (OSError, ValueError, RecursionError, TypeError, KeyError, AttributeError):
        return None
    if not digests or not isinstance(digests[0], str):
        return None
    digest = digests[0].removeprefix("sha256:")
    return digest if len(digest) == 64 and set(digest) <= set("0123456789abcdef") else None
