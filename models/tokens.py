"""A tiktoken encoding made from a model's vocabulary, used only where it agrees with llama.cpp."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from models.worker.protocol import Pieces

if TYPE_CHECKING:
    import tiktoken


_PROSE = [
    "The",
    "ferry",
    "leaves",
    "at",
    "dawn;",
    "she'll",
    "be",
    "there,",
    "won't",
    "she?",
    "I've",
    "packed",
    "bread,",
    "cheese",
    "and",
    "two",
    "apples.",
    "Don't",
    "forget:",
    "they're",
    "late",
    "again,",
    "and",
    "it's",
    "raining.",
    "WE'RE",
    "DONE.",
    "Él",
    "dijo",
    "«mañana»,",
    "naïve",
    "façade,",
    "Straße,",
    "Übung,",
    "smörgåsbord.",
    "Привет,",
    "как",
    "дела?",
    "Καλημέρα",
    "κόσμε.",
    "שלום",
    "עולם.",
    "مرحبا",
    "بالعالم.",
    "नमस्ते",
    "दुनिया.",
]
_CODE = [
    "def f(x: int) -> str:",
    "    return f'{x:>10}'",
    "\tif (a && b) { c += 1; }",
    "// note",
    "SELECT * FROM t WHERE a='b';",
    '<div class="x">&amp;</div>',
    '{"k": [1, 2.5e-3, null]}',
    "#include <stdio.h>",
    "x = y ** 2 if z else -1",
    "  - item",
    "git commit -m 'x' --amend",
    "0xFFee10 ^ ~mask",
]
_EMOJI = ["😀", "👩‍💻", "🇫🇷", "👍🏽", "❤️", "🫠", "✈️", "①", "½", "™", "…", "—", "“quoted”", "‰"]
_CJK = [
    "漢字かな交じり文",
    "東京に行きました。",
    "你好，世界！",
    "안녕하세요 세계",
    "ｶﾀｶﾅ",
    "四二〇",
    "、",
    "。",
]
_SPACES = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\n    ", "\t\t "]
_MARKS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "[INST]", "<s>", "</s>", "<|", "|>", "im_end", "###"]
_ODD = ["\u0000", "\u0007", "\u200b", "\ufeff", "\u202e", "é", "e\u0301", "ﬁ", "𝔘", "\U0010fffd", "ߐ", "ª"]


def samples(count: int, seed: int = 20_240_229) -> list[str]:
    """`count` texts: prose, code, emoji, CJK, digits, white space, template marks, odd characters."""
    chance = random.Random(seed)  # noqa: S311 - these are examples, not secrets
    kinds = [_PROSE, _CODE, _EMOJI, _CJK, _SPACES, _MARKS, _ODD]
    texts = []
    for number in range(count):
        main = kinds[number % len(kinds)]
        parts = []
        for _ in range(chance.randint(1, 14)):
            kind = main if chance.random() < 0.6 else chance.choice(kinds)
            parts.append(chance.choice(kind))
            if chance.random() < 0.25:
                parts.append(_digits(chance))
            parts.append(chance.choice(["", " ", " ", "\n", chance.choice(_SPACES)]))
        texts.append("".join(parts))
    return texts


def _digits(chance: random.Random) -> str:
    number = str(chance.randrange(10 ** chance.randint(1, 12)))
    return chance.choice(
        [number, f"{number}.{number[:2]}", f"-{number}", f" {number}%", f"{number},{number}"]
    )


_BPE = 2
_NORMAL = 1 << 2
_USER_DEFINED = 1 << 4
_PROBES = 400

_CONTRACTIONS = r"'(?:s|t|re|ve|m|ll|d)"
_CONTRACTIONS_ANY_CASE = r"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"
_LLAMA3 = (
    _CONTRACTIONS_ANY_CASE + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# How text is split before merging, by the name that GGUF files use. llama.cpp applies a list of patterns in
# sequence; each entry is the single pattern that splits in the same places. `smollm` splits off every digit
# first, so white space before a digit is a separate piece.
_PATTERNS = {
    "gpt-2": _CONTRACTIONS + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "smollm": _CONTRACTIONS + r"|\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+",
    "llama-bpe": _LLAMA3.replace("{DIGITS}", "{1,3}"),
    "qwen2": _LLAMA3.replace("{DIGITS}", ""),
}


class ModelEncoding:
    """Converts plain text to token ids with tiktoken. Keeps no reference to the model."""

    def __init__(self, encoding: "tiktoken.Encoding", vocabulary: int) -> None:
        self._encoding = encoding
        self._vocabulary = vocabulary

    def encode(self, text: str) -> list[int]:
        """Token ids as llama.cpp gives them without control tokens.

        Bytes that the vocabulary lacks yield no token, as in llama.cpp.
        """
        tokens = self._encoding.encode(text, allowed_special="all", disallowed_special=())
        return [token for token in tokens if token < self._vocabulary]

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(self.encode(text)) for text in texts]


async def build_encoding(
    pieces: Pieces, tokenize: Callable[[Sequence[str]], Awaitable[list[list[int]]]]
) -> ModelEncoding | None:
    """The encoding for a vocabulary, or None where tiktoken disagrees with llama.cpp.

    `tokenize` is llama.cpp's own tokenizer; the two are compared on a fixed set of varied samples.
    """
    encoding = await asyncio.to_thread(encoding_from, pieces)
    if encoding is None:
        return None
    probes = samples(_PROBES)
    theirs = await tokenize(probes)
    mine = await asyncio.to_thread(lambda: [encoding.encode(text) for text in probes])
    return encoding if mine == theirs else None


def encoding_from(pieces: Pieces) -> ModelEncoding | None:
    """The unverified encoding; None when the vocabulary is not byte-level BPE of a known kind."""
    pattern = _PATTERNS.get(pieces.pre)
    if pieces.kind != _BPE or pattern is None:
        return None
    import tiktoken

    alphabet = _byte_alphabet()
    ranks: dict[bytes, int] = {}
    special: dict[str, int] = {}
    for token, (raw, attributes) in enumerate(zip(pieces.raw, pieces.attributes, strict=True)):
        text = raw.decode("utf-8", "replace")
        if attributes & _USER_DEFINED:
            special[text] = token
        elif attributes & _NORMAL and all(c in alphabet for c in text):
            ranks.setdefault(bytes(alphabet[c] for c in text), token)
    beyond = len(pieces.raw)
    for byte in range(256):
        if bytes([byte]) not in ranks:
            ranks[bytes([byte])] = beyond
            beyond += 1
    encoding = tiktoken.Encoding(
        name="from-model", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special
    )
    return ModelEncoding(encoding, len(pieces.raw))


def _byte_alphabet() -> dict[str, int]:
    """Maps byte-level BPE's characters for bytes to the bytes (the reverse of GPT-2's `bytes_to_unicode`)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in set(printable)]
    alphabet.update({chr(0x100 + n): byte for n, byte in enumerate(others)})
    return alphabet
