import re
import tomllib
from importlib import resources
from typing import Any

import pytest

from models.errors import UnknownModel
from models.library.catalog import (
    HubSource,
    ModelRole,
    Recipe,
    WheelSource,
    load_catalog,
    parse_catalog,
    parse_ref,
)

OPEN = {"Apache-2.0", "MIT"}


def raw_entries() -> list[dict[str, Any]]:
    text = resources.files("models").joinpath("catalog.toml").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = tomllib.loads(text)["model"]
    return entries


def test_the_first_of_each_role_comes_from_a_registry_and_was_verified() -> None:
    catalog = load_catalog()
    chat = catalog.of_role(ModelRole.CHAT)[0]
    embed = catalog.of_role(ModelRole.EMBED)[0]
    assert (chat.id, embed.id) == ("smollm2-135m-instruct", "all-minilm-l6-v2")
    for entry in (chat, embed):
        assert entry.verified
        assert isinstance(entry.sources[0], WheelSource)
    assert embed.wheel[0].recipe is Recipe.BERT_F16


@pytest.mark.parametrize("entry", load_catalog().entries, ids=lambda entry: entry.id)
def test_nothing_is_claimed_that_was_not_checked(entry: Any) -> None:
    if entry.verified:
        assert re.fullmatch(r"[0-9a-f]{64}", entry.sha256)
        assert not entry.bytes_approximate
    else:
        assert entry.sha256 is None
        assert entry.bytes_approximate
    assert entry.licence_open is (entry.licence in OPEN)
    assert 0 < entry.active_fraction <= 1
    assert entry.bytes > entry.parameters / 8
    for source in entry.hub:
        assert parse_ref(str(source)) == source


def test_there_is_something_for_every_machine_and_language() -> None:
    catalog = load_catalog()
    sizes = [entry.bytes for entry in catalog.of_role(ModelRole.CHAT)]
    for low, high in ((0, 1.5e9), (1.5e9, 4e9), (4e9, 10e9), (10e9, 20e9)):
        assert sum(low <= size < high for size in sizes) >= 3
    assert any("multilingual" in entry.languages for entry in catalog.of_role(ModelRole.EMBED))


def test_finds_by_id_in_any_case_and_suggests() -> None:
    catalog = load_catalog()
    assert catalog.get("Qwen3-8B").id == "qwen3-8b"
    with pytest.raises(UnknownModel) as caught:
        catalog.get("gema-3")
    assert "gemma-3-1b-it" in caught.value.suggestions
    assert catalog.suggestions("zzzzzz") == ()


def test_finds_by_checksum() -> None:
    entry = load_catalog().entries[0]
    assert entry.sha256 is not None
    assert load_catalog().by_sha256(entry.sha256) == entry
    assert load_catalog().by_sha256("0" * 64) is None


@pytest.mark.parametrize(
    ("ref", "source"),
    [
        ("hf:owner/repo/file.gguf", HubSource("owner/repo", "file.gguf")),
        ("hf:owner/repo@v1/deep/er/file.GGUF", HubSource("owner/repo", "deep/er/file.GGUF", "v1")),
        ("smollm2-135m-instruct", None),
    ],
)
def test_reads_references(ref: str, source: HubSource | None) -> None:
    assert parse_ref(ref) == source
    if source is not None:
        assert parse_ref(str(source)) == source


@pytest.mark.parametrize(
    "ref",
    [
        "hf:",
        "hf:owner/file.gguf",
        "hf:owner/repo/file.bin",
        "hf:a/b/../c.gguf",
        "hf:a//c.gguf",
        "hf:a/@v/c.gguf",
    ],
)
def test_refuses_incomplete_references(ref: str) -> None:
    with pytest.raises(UnknownModel):
        parse_ref(ref)


def _toml(**changes: object) -> str:
    import tomlkit

    entry: dict[str, Any] = next(raw for raw in raw_entries() if "hub" in raw)
    return tomlkit.dumps({"model": [{**entry, **changes}]})


@pytest.mark.parametrize(
    "change",
    [{"colour": "red"}, {"id": "Upper"}, {"roles": []}, {"hub": []}, {"roles": ["paint"]}, {"bytes": "many"}],
    ids=lambda change: next(iter(change)),
)
def test_a_wrong_entry_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        parse_catalog(_toml(**change))


def test_an_id_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="unique"):
        parse_catalog(_toml() + "\n" + _toml())
