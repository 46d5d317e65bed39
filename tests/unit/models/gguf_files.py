"""Small GGUF files for tests."""

from pathlib import Path

import numpy as np


def write_gguf(
    path: Path,
    *,
    architecture: str = "llama",
    tokens: int = 20,
    template: bool = True,
    pooling: int | None = None,
    split: int | None = None,
    fill: float = 1.0,
    context: int = 2048,
    layers: int = 0,
) -> Path:
    """A well-formed file of a few kilobytes, and of four for each of its `layers`; `fill` makes different
    files differ."""
    import gguf

    path.parent.mkdir(parents=True, exist_ok=True)
    writer = gguf.GGUFWriter(str(path), architecture)
    writer.add_name("Tiny")
    writer.add_license("mit")
    writer.add_context_length(context)
    writer.add_embedding_length(8)
    writer.add_block_count(2)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_file_type(1)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"token{n}" for n in range(tokens)])
    writer.add_token_scores([0.5] * tokens)
    if template:
        writer.add_chat_template("{{ messages }}")
    if pooling is not None:
        writer.add_pooling_type(gguf.PoolingType(pooling))
    if split is not None:
        writer.add_uint16("split.count", split)
    writer.add_tensor("token_embd.weight", np.full((tokens, 8), fill, dtype=np.float16))
    writer.add_tensor("output_norm.weight", np.full((8,), fill, dtype=np.float32))
    for number in range(layers):
        writer.add_tensor(f"blk.{number}.ffn_up.weight", np.full((128, 8), fill, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
