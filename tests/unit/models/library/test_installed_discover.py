import json
from pathlib import Path

import pytest

from models.library.installed import discover
from tests.unit.models.gguf_files import write_gguf

DIGEST = "a" * 64


def ollama(root: Path, *, tag: str = "1b", digest: str = DIGEST, name: str = "llama3.2") -> None:
    manifest = root / "manifests/registry.ollama.ai/library" / name / tag
    manifest.parent.mkdir(parents=True, exist_ok=True)
    layers = [
        {"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:" + "b" * 64},
        {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"},
    ]
    manifest.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))


def test_finds_the_models_of_four_programs(tmp_path: Path) -> None:
    ollama(tmp_path / ".ollama/models")
    write_gguf(tmp_path / f".ollama/models/blobs/sha256-{DIGEST}")
    write_gguf(tmp_path / ".lmstudio/models/owner/repo/studio.gguf", fill=2)
    write_gguf(tmp_path / ".local/share/Jan/data/llamacpp/models/jan/model.gguf", fill=3)
    write_gguf(tmp_path / ".local/share/nomic.ai/GPT4All/all.gguf", fill=4)
    found = discover(tmp_path)
    assert [(model.program, model.name) for model in found] == [
        ("GPT4All", "all"),
        ("Jan", "model"),
        ("LM Studio", "studio"),
        ("Ollama", "llama3.2:1b"),
    ]
    assert all(model.header.architecture == "llama" and model.bytes > 0 for model in found)


def test_follows_the_folder_that_ollama_was_told(tmp_path: Path) -> None:
    ollama(tmp_path / "elsewhere")
    write_gguf(tmp_path / f"elsewhere/blobs/sha256-{DIGEST}")
    found = discover(tmp_path / "home", {"OLLAMA_MODELS": str(tmp_path / "elsewhere")})
    assert [model.name for model in found] == ["llama3.2:1b"]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"layers": 3}', '{"layers": [3]}', '{"layers": []}', "[" * 5000, "\x00\xff"],
    ids=range(9),
)
def test_a_strange_manifest_is_passed_over(tmp_path: Path, text: str) -> None:
    root = tmp_path / ".ollama/models"
    ollama(root, tag="odd")
    (root / "manifests/registry.ollama.ai/library/llama3.2/odd").write_text(text, encoding="latin-1")
    assert discover(tmp_path) == ()


@pytest.mark.parametrize("digest", ["../../../etc/passwd", "A" * 64, "short", ""])
def test_a_digest_is_only_ever_a_digest(tmp_path: Path, digest: str) -> None:
    ollama(tmp_path / ".ollama/models", digest=digest)
    assert discover(tmp_path) == ()


def test_a_huge_manifest_is_not_read(tmp_path: Path) -> None:
    root = tmp_path / ".ollama/models"
    ollama(root)
    write_gguf(root / f"blobs/sha256-{DIGEST}")
    manifest = root / "manifests/registry.ollama.ai/library/llama3.2/1b"
    manifest.write_text(manifest.read_text() + " " * (1 << 20))
    assert discover(tmp_path) == ()


def test_what_is_no_whole_model_is_not_offered(tmp_path: Path) -> None:
    folder = tmp_path / ".lmstudio/models"
    write_gguf(folder / "good.gguf")
    write_gguf(folder / "part-00001-of-00003.gguf", split=3, fill=2)
    write_gguf(folder / "mmproj-vision.gguf", fill=3)
    write_gguf(folder / "projector.gguf", architecture="clip", fill=4)
    (folder / "text.gguf").write_text("no model")
    (folder / "cut.gguf").write_bytes((folder / "good.gguf").read_bytes()[:300])
    assert [model.name for model in discover(tmp_path)] == ["good"]


def test_links_in_circles_and_to_one_file_are_safe(tmp_path: Path) -> None:
    folder = tmp_path / "jan/models"
    real = write_gguf(folder / "a.gguf")
    (folder / "b.gguf").symlink_to(real)
    (folder / "circle").symlink_to(folder, target_is_directory=True)
    (folder / "self.gguf").symlink_to(folder / "self.gguf")
    assert [model.path for model in discover(tmp_path)] == [real.resolve()]


def test_an_empty_home_has_none(tmp_path: Path) -> None:
    assert discover(tmp_path / "nobody") == ()
