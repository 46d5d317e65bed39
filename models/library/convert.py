"""Writes a BERT sentence encoder (safetensors, WordPiece vocabulary) as a GGUF file.

The same input always gives the same bytes, so that the result has a checksum. Matrices become f16; vectors,
positions and token types stay f32, as llama.cpp expects them.
"""

from pathlib import Path
from typing import Any, Final

import msgspec

from models.errors import ModelLoadFailed
from models.library.files import Progress, Report, silent, sync

_CONTROL: Final = {"pad": "[PAD]", "unk": "[UNK]", "bos": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_KEEP_F32: Final = ("position_embd.weight", "token_types.weight")
_WORD_START: Final = "\u2581"


class BertConfig(msgspec.Struct, frozen=True):
    """The fields of a BERT `config.json` that shape the network."""

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
    """Writes `target` from a safetensors file, the text of `config.json` and that of `vocab.txt`.

    Raises `ModelLoadFailed` when the three do not fit together.
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
