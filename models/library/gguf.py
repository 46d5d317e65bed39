"""Reads the header of a GGUF file within strict bounds, before llama.cpp opens the file."""

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from models.errors import DamagedGguf, ModelFileError, ModelFileMissing, NotGguf, TruncatedGguf

U32: Final = struct.Struct("<I")
U64: Final = struct.Struct("<Q")
# No model file is this long: a length beyond it means damage, not truncation.
ABSURD: Final = 1 << 44
_WINDOW: Final = 1 << 20


class GgufWindow:
    """Reads a file in order, with a window of it in memory. Raises `DamagedGguf`, `TruncatedGguf`."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path = path
        self._file = file
        self._size = os.fstat(file.fileno()).st_size
        self._base = 0
        self._window = b""
        self._position = 0

    def _damaged(self, detail: str) -> DamagedGguf:
        return DamagedGguf(self._path, detail)

    def _require(self, end: int) -> None:
        if end > ABSURD:
            raise self._damaged("a length is beyond all bounds")
        if end > self._size:
            raise TruncatedGguf(self._path, end, self._size)

    def _ahead(self, count: int) -> int:
        """Makes the next `count` bytes available; returns their offset in the window."""
        start = self._position - self._base
        if start < 0 or start + count > len(self._window):
            self._require(self._position + count)
            self._file.seek(self._position)
            self._window = self._file.read(max(count, _WINDOW))
            self._base = self._position
            start = 0
            if len(self._window) < count:  # the file was truncated while it was being read
                raise TruncatedGguf(self._path, self._position + count, self._base + len(self._window))
        return start

    def _bytes(self, count: int) -> bytes:
        start = self._ahead(count)
        self._position += count
        return self._window[start : start + count]

    def _skip(self, count: int) -> None:
        self._require(self._position + count)
        self._position += count

    def _u32(self) -> int:
        start = self._ahead(4)
        self._position += 4
        value: int = U32.unpack_from(self._window, start)[0]
        return value

    def _u64(self) -> int:
        start = self._ahead(8)
        self._position += 8
        value: int = U64.unpack_from(self._window, start)[0]
        return value

    def _count(self, limit: int, what: str) -> int:
        count = self._u64()
        if count > limit:
            raise self._damaged(f"{count} {what}, at most {limit} are accepted")
        return count

    def _string(self, limit: int, what: str) -> str:
        length = self._u64()
        if length > limit:
            self._require(self._position + length)
            raise self._damaged(f"{what} of {length} bytes")
        try:
            return self._bytes(length).decode()
        except UnicodeDecodeError as error:
            raise self._damaged(f"{what} is not UTF-8") from error


# ggml tensor type → (elements per block, bytes per block). A type that is not listed is accepted, because
# llama.cpp may support it; only the ends of its tensors cannot be checked.
BLOCKS: Final[dict[int, tuple[int, int]]] = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    9: (32, 40),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
    40: (64, 36),
    41: (128, 18),
}


MAGIC: Final = b"GGUF"
_MAX_ENTRIES: Final = 1 << 16
_MAX_TENSORS: Final = 1 << 16
_MAX_STRINGS: Final = 1 << 23
_MAX_KEY: Final = 1 << 16
_MAX_KEPT: Final = 1 << 10
_MAX_TENSOR_NAME: Final = 1 << 10
_MAX_DIMENSIONS: Final = 4

_STRING, _ARRAY = 8, 9
_SCALARS: Final[dict[int, struct.Struct]] = {
    0: struct.Struct("<B"),
    1: struct.Struct("<b"),
    2: struct.Struct("<H"),
    3: struct.Struct("<h"),
    4: U32,
    5: struct.Struct("<i"),
    6: struct.Struct("<f"),
    7: struct.Struct("<?"),
    10: U64,
    11: struct.Struct("<q"),
    12: struct.Struct("<d"),
}
_ENCODERS: Final = frozenset(
    {
        "bert",
        "eurobert",
        "gemma-embedding",
        "jina-bert-v2",
        "jina-bert-v3",
        "modern-bert",
        "neo-bert",
        "nomic-bert",
        "nomic-bert-moe",
        "t5encoder",
    }
)

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The metadata in a GGUF file's header.

    `size` is the least length of the file in bytes, given its tensors. `parameters` is the number of weights.
    `file_type` is llama.cpp's number for the main quantisation. `pooling` is llama.cpp's pooling type (1
    mean, 2 cls, 3 last). `split_count` is above 1 for one part of a model that is split into several files.
    """

    version: int
    architecture: str
    tensors: int
    parameters: int
    size: int
    name: str | None = None
    licence: str | None = None
    file_type: int | None = None
    context_length: int | None = None
    embedding_length: int | None = None
    kv_bytes_per_token: int | None = None
    tokenizer: str | None = None
    vocabulary: int | None = None
    pooling: int | None = None
    chat_template: bool = False
    split_count: int = 1

    @property
    def embeds(self) -> bool:
        """Whether the model is made for embeddings rather than chat."""
        return self.architecture in _ENCODERS or self.pooling in {1, 2, 3}


def read_header(path: Path) -> GgufHeader:
    """Validates and reads the header of `path`.

    Raises `ModelFileMissing`, `NotGguf`, `DamagedGguf` or `TruncatedGguf`.
    """
    try:
        if not path.is_file():
            raise ModelFileMissing(path)
        with path.open("rb") as file:
            return _Reader(path, file).read()
    except OSError as error:
        raise ModelFileMissing(path, error.strerror or type(error).__name__) from error


def flaw_of(path: Path) -> ModelFileError | None:
    """The error that `read_header` raises for a file, or None."""
    try:
        read_header(path)
    except ModelFileError as flaw:
        return flaw
    return None


class _Reader(GgufWindow):
    """Parses a file's header and keeps the metadata that is needed."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        super().__init__(path, file)
        self._strings = 0
        self._scalars: dict[str, Scalar] = {}
        self._lengths: dict[str, int] = {}

    def read(self) -> GgufHeader:
        if self._size < len(MAGIC) or self._bytes(4) != MAGIC:
            raise NotGguf(self._path)
        version = self._u32()
        if version not in {2, 3}:
            raise DamagedGguf(self._path, f"version {version} is not known")
        tensors = self._count(_MAX_TENSORS, "tensors")
        entries = self._count(_MAX_ENTRIES, "metadata entries")
        for _ in range(entries):
            self._entry()
        parameters, data_end = self._tensor_table(tensors)
        end = self._data_start() + data_end if tensors else self._position
        self._require(end)
        return self._header(version, tensors, parameters, end)

    def _entry(self) -> None:
        key = self._string(_MAX_KEY, "key")
        kind = self._u32()
        if kind == _STRING:
            length = self._u64()
            self._lengths[key] = length
            if length > _MAX_KEPT:
                self._skip(length)
            else:
                self._scalars[key] = self._bytes(length).decode(errors="replace")
        elif kind == _ARRAY:
            self._array(key)
        else:
            self._scalars[key] = self._scalar(kind)

    def _scalar(self, kind: int) -> Scalar:
        layout = _SCALARS.get(kind)
        if layout is None:
            raise self._damaged(f"metadata type {kind} is not known")
        start = self._ahead(layout.size)
        self._position += layout.size
        value: Scalar = layout.unpack_from(self._window, start)[0]
        return value

    def _array(self, key: str) -> None:
        kind = self._u32()
        count = self._u64()
        self._lengths[key] = count
        layout = _SCALARS.get(kind)
        if layout is not None:
            self._skip(count * layout.size)
        elif kind == _STRING:
            self._skip_strings(count)
        else:
            raise self._damaged(f"array of type {kind}")

    def _skip_strings(self, count: int) -> None:
        self._strings += count
        if self._strings > _MAX_STRINGS:
            raise self._damaged(f"{self._strings} strings, at most {_MAX_STRINGS} are accepted")
        self._require(self._position + 8 * count)
        unpack = U64.unpack_from
        while count:
            offset = self._ahead(8)
            window = self._window
            last = len(window) - 8
            while count and offset <= last:
                offset += 8 + unpack(window, offset)[0]
                count -= 1
            self._position = self._base
            self._skip(offset)

    def _tensor_table(self, tensors: int) -> tuple[int, int]:
        """The number of weights, and the end of the last tensor relative to the start of the data."""
        parameters = data_end = 0
        for _ in range(tensors):
            self._string(_MAX_TENSOR_NAME, "tensor name")
            dimensions = self._u32()
            if dimensions > _MAX_DIMENSIONS:
                raise self._damaged(f"tensor of {dimensions} dimensions")
            elements = 1
            for _ in range(dimensions):
                elements *= self._u64()
            if elements > ABSURD:
                raise self._damaged(f"tensor of {elements} elements")
            kind = self._u32()
            offset = self._u64()
            per_block, block_bytes = BLOCKS.get(kind, (1, 0))
            if elements % per_block:
                raise self._damaged(f"{elements} elements are not whole blocks of {per_block}")
            parameters += elements
            data_end = max(data_end, offset + elements // per_block * block_bytes)
        return parameters, data_end

    def _data_start(self) -> int:
        alignment = self._scalars.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment <= _MAX_KEY:
            raise self._damaged("bad alignment")
        return -(-self._position // alignment) * alignment

    def _integer(self, key: str) -> int | None:
        value = self._scalars.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

    def _text(self, key: str) -> str | None:
        value = self._scalars.get(key)
        return value if isinstance(value, str) and value else None

    def _header(self, version: int, tensors: int, parameters: int, size: int) -> GgufHeader:
        architecture = self._text("general.architecture")
        if architecture is None:
            raise self._damaged("no architecture")
        return GgufHeader(
            version=version,
            architecture=architecture,
            tensors=tensors,
            parameters=parameters,
            size=size,
            name=self._text("general.name"),
            licence=self._text("general.license"),
            file_type=self._integer("general.file_type"),
            context_length=self._integer(f"{architecture}.context_length"),
            embedding_length=self._integer(f"{architecture}.embedding_length"),
            kv_bytes_per_token=self._kv_bytes(architecture),
            tokenizer=self._text("tokenizer.ggml.model"),
            vocabulary=self._lengths.get("tokenizer.ggml.tokens"),
            pooling=self._integer(f"{architecture}.pooling_type"),
            chat_template=bool(self._lengths.get("tokenizer.chat_template")),
            split_count=self._integer("split.count") or 1,
        )

    def _kv_bytes(self, architecture: str) -> int | None:
        """Bytes of f16 keys and values per token; None where the layers differ from each other."""
        layers = self._integer(f"{architecture}.block_count")
        width = self._integer(f"{architecture}.embedding_length")
        heads = self._integer(f"{architecture}.attention.head_count")
        kv_heads = self._integer(f"{architecture}.attention.head_count_kv") or heads
        if not (layers and width and heads and kv_heads):
            return None
        key = self._integer(f"{architecture}.attention.key_length") or width // heads
        value = self._integer(f"{architecture}.attention.value_length") or width // heads
        return layers * kv_heads * (key + value) * 2
