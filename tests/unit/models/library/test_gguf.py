import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import DamagedGguf, ModelFileMissing, ModelsError, NotGguf, TruncatedGguf
from models.library.gguf import GgufHeader, read_header
from tests.unit.models.gguf_files import write_gguf


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_gguf(tmp_path_factory.mktemp("gguf") / "sample.gguf")


def test_reads_what_the_file_says(sample: Path) -> None:
    header = read_header(sample)
    assert header == GgufHeader(
        version=3,
        architecture="llama",
        tensors=2,
        parameters=20 * 8 + 8,
        size=header.size,
        name="Tiny",
        licence="mit",
        file_type=1,
        context_length=2048,
        embedding_length=8,
        kv_bytes_per_token=2 * 1 * (4 + 4) * 2,
        tokenizer="gpt2",
        vocabulary=20,
        pooling=None,
        chat_template=True,
    )
    assert sample.stat().st_size - 32 < header.size <= sample.stat().st_size


@pytest.mark.parametrize(
    ("architecture", "pooling", "embeds"),
    [("llama", None, False), ("bert", None, True), ("qwen3", 3, True), ("qwen3", 0, False)],
)
def test_tells_embedding_models_from_chat_models(
    tmp_path: Path, architecture: str, pooling: int | None, embeds: bool
) -> None:
    path = write_gguf(tmp_path / "m.gguf", architecture=architecture, pooling=pooling)
    assert read_header(path).embeds is embeds


def test_other_files_are_named_for_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissing):
        read_header(tmp_path / "none.gguf")
    with pytest.raises(ModelFileMissing):
        read_header(tmp_path)
    for content in (b"", b"GG", b"PK\x03\x04 a zip archive"):
        (tmp_path / "x").write_bytes(content)
        with pytest.raises(NotGguf):
            read_header(tmp_path / "x")


def test_truncation_names_both_sizes(sample: Path, tmp_path: Path) -> None:
    content = sample.read_bytes()
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(content[:-100])
    with pytest.raises(TruncatedGguf) as caught:
        read_header(cut)
    assert caught.value.actual == len(content) - 100
    assert caught.value.expected == read_header(sample).size


def _with(sample: Path, target: Path, offset: int, value: bytes) -> Path:
    content = bytearray(sample.read_bytes())
    content[offset : offset + len(value)] = value
    target.write_bytes(content)
    return target


@pytest.mark.parametrize(
    ("offset", "value"),
    [
        (4, struct.pack("<I", 99)),
        (4, struct.pack(">I", 3)),
        (8, struct.pack("<Q", 1 << 40)),
        (16, struct.pack("<Q", 1 << 63)),
        (24, struct.pack("<Q", (1 << 64) - 1)),
    ],
    ids=["version", "big-endian", "tensors", "entries", "key length"],
)
def test_absurd_counts_are_damage(sample: Path, tmp_path: Path, offset: int, value: bytes) -> None:
    with pytest.raises(DamagedGguf):
        read_header(_with(sample, tmp_path / "bad.gguf", offset, value))


def test_a_claimed_array_is_never_built(tmp_path: Path) -> None:
    key = b"tokenizer.ggml.tokens"
    path = tmp_path / "bomb.gguf"
    with path.open("wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, 1))
        file.write(struct.pack("<Q", len(key)) + key + struct.pack("<IIQ", 9, 8, 1 << 30))
        file.truncate(1 << 34)
    tracemalloc.start()
    with pytest.raises(DamagedGguf):
        read_header(path)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


def test_a_file_without_an_architecture_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "empty.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    with pytest.raises(DamagedGguf):
        read_header(path)


@given(cut=st.floats(0, 1))
def test_every_truncation_is_an_error_of_ours(sample: Path, cut: float) -> None:
    content = sample.read_bytes()
    path = sample.with_name("cut.gguf")
    path.write_bytes(content[: int(cut * read_header(sample).size * 0.999)])
    with pytest.raises(ModelsError):
        read_header(path)


@given(flips=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(1, 255)), min_size=1, max_size=8))
def test_flipped_bytes_never_escape_as_anything_else(sample: Path, flips: list[tuple[int, int]]) -> None:
    content = bytearray(sample.read_bytes())
    for offset, mask in flips:
        content[offset % len(content)] ^= mask
    path = sample.with_name("flipped.gguf")
    path.write_bytes(content)
    try:
        header = read_header(path)
    except ModelsError:
        return
    assert header.size <= len(content)


@given(junk=st.binary(max_size=400))
def test_junk_after_the_magic_never_escapes_as_anything_else(sample: Path, junk: bytes) -> None:
    path = sample.with_name("junk.gguf")
    path.write_bytes(b"GGUF\x03\x00\x00\x00" + junk)
    with pytest.raises(ModelsError):
        read_header(path)
