import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from models.errors import ModelLoadFailed
from models.library.catalog import load_catalog
from models.library.download import bert_to_gguf, piece
from models.library.files import Progress
from models.library.gguf import read_header

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "run", "##ning", "[", "é"]
CONFIG = {
    "model_type": "bert",
    "hidden_size": 8,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
    "type_vocab_size": 2,
    "vocab_size": len(TOKENS),
    "layer_norm_eps": 1e-12,
}
LAYER = "encoder.layer.0"
SHAPES: dict[str, tuple[int, ...]] = {
    "embeddings.word_embeddings.weight": (len(TOKENS), 8),
    "embeddings.position_embeddings.weight": (32, 8),
    "embeddings.token_type_embeddings.weight": (2, 8),
    "embeddings.LayerNorm.weight": (8,),
    "embeddings.LayerNorm.bias": (8,),
    f"{LAYER}.attention.self.query.weight": (8, 8),
    f"{LAYER}.attention.self.query.bias": (8,),
    f"{LAYER}.intermediate.dense.weight": (16, 8),
    "pooler.dense.weight": (8, 8),
}


def write_weights(path: Path, **more: tuple[int, ...]) -> Path:
    from safetensors.numpy import save_file

    random = np.random.default_rng(7)
    shapes = {**SHAPES, **more}
    tensors = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    save_file({**tensors, "embeddings.position_ids": np.arange(32)[None, :]}, path)
    return path


def convert(
    weights: Path, target: Path, *, config: str | None = None, tokens: list[str] = TOKENS
) -> list[Progress]:
    reports: list[Progress] = []
    bert_to_gguf(
        weights,
        json.dumps(CONFIG) if config is None else config,
        "\n".join(tokens) + "\n",
        target,
        name="Tiny BERT",
        licence="MIT",
        report=reports.append,
    )
    return reports


@pytest.mark.parametrize(
    ("token", "expected"),
    [("run", "▁run"), ("##ning", "ning"), ("[CLS]", "[CLS]"), ("[", "▁["), ("##", ""), ("#", "▁#")],
)
def test_pieces(token: str, expected: str) -> None:
    assert piece(token) == expected


def test_writes_what_llama_cpp_expects(tmp_path: Path) -> None:
    reports = convert(write_weights(tmp_path / "w.safetensors"), tmp_path / "m.gguf")
    header = read_header(tmp_path / "m.gguf")
    assert (header.architecture, header.pooling, header.embeds) == ("bert", 1, True)
    assert (header.name, header.licence, header.tokenizer) == ("Tiny BERT", "MIT", "bert")
    assert (header.context_length, header.embedding_length, header.vocabulary) == (32, 8, len(TOKENS))
    assert header.tensors == len(SHAPES) - 1
    assert reports[-1].done == reports[-1].total == len(SHAPES)
    assert (tmp_path / "m.gguf").stat().st_mode & 0o777 == 0o600


def test_matrices_are_f16_and_the_rest_stays_f32(tmp_path: Path) -> None:
    import gguf

    convert(write_weights(tmp_path / "w.safetensors"), tmp_path / "m.gguf")
    reader = gguf.GGUFReader(tmp_path / "m.gguf")
    kinds = {tensor.name: tensor.tensor_type.name for tensor in reader.tensors}
    assert kinds["token_embd.weight"] == kinds["blk.0.attn_q.weight"] == kinds["blk.0.ffn_up.weight"] == "F16"
    assert kinds["position_embd.weight"] == kinds["token_types.weight"] == "F32"
    assert kinds["blk.0.attn_q.bias"] == kinds["token_embd_norm.weight"] == "F32"
    assert reader.fields["tokenizer.ggml.tokens"].contents(5) == "▁run"
    assert reader.fields["tokenizer.ggml.tokens"].contents(6) == "ning"


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    weights = write_weights(tmp_path / "w.safetensors")
    convert(weights, tmp_path / "a.gguf")
    convert(weights, tmp_path / "b.gguf")
    assert (tmp_path / "a.gguf").read_bytes() == (tmp_path / "b.gguf").read_bytes()


def test_what_does_not_fit_together_is_refused(tmp_path: Path) -> None:
    weights = write_weights(tmp_path / "w.safetensors")
    target = tmp_path / "m.gguf"
    with pytest.raises(ModelLoadFailed, match="8 of 9 tokens"):
        convert(weights, target, tokens=TOKENS[:-1])
    with pytest.raises(ModelLoadFailed, match="roberta"):
        convert(weights, target, config=json.dumps({**CONFIG, "model_type": "roberta"}))
    with pytest.raises(ModelLoadFailed, match=r"config\.json"):
        convert(weights, target, config="{}")
    with pytest.raises(ModelLoadFailed, match=r"config\.json"):
        convert(weights, target, config="not json")
    with pytest.raises(ModelLoadFailed, match="unexpected tensor"):
        convert(write_weights(tmp_path / "x.safetensors", **{"decoder.weight": (8,)}), target)
    (tmp_path / "bad.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelLoadFailed, match="not a safetensors file"):
        convert(tmp_path / "bad.safetensors", target)


@pytest.mark.real_model
def test_the_installed_encoder_is_the_one_of_the_catalogue_and_knows_likeness(real_models: Path) -> None:
    from llama_cpp import Llama

    path = real_models / "all-minilm-l6-v2.gguf"
    if not path.is_file():
        pytest.skip("all-minilm-l6-v2 is not installed")
    assert sha256(path.read_bytes()).hexdigest() == load_catalog().get("all-minilm-l6-v2").sha256
    encoder = Llama(str(path), embedding=True, verbose=False, n_ctx=512)

    def vector(text: str) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
        found = np.asarray(encoder.embed(text), dtype=np.float64)
        return found / np.linalg.norm(found)

    happy = vector("That is a happy person")
    assert happy.shape == (384,)
    # The figures that the model's authors publish for these sentences.
    assert happy @ vector("That is a happy dog") == pytest.approx(0.695, abs=0.003)
    assert happy @ vector("That is a very happy person") == pytest.approx(0.943, abs=0.003)
    assert happy @ vector("Today is a sunny day") == pytest.approx(0.257, abs=0.003)
    assert abs(vector("We went hiking in the mountains") @ vector("The invoice is due on Friday")) < 0.1
    encoder.close()
