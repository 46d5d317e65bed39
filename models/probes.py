"""Varied texts on which two tokenizers are compared: the same ones every time."""

import random

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
    """`count` texts: prose, code, emoji, CJK, digits, white space, marks of templates, odd characters."""
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
