"""Tells whether an embedding model can read the script of a text.

A model that cannot gives unrelated sentences of that script nearly the same vector: all it sees are single
letters or the sign for the unknown. all-MiniLM-L6-v2 gives the sentences below a mean cosine of 0.53 (kana)
to 1.0 (Thai), and 0.0 in English. What is near in such vectors is near by accident.
"""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LATIN = (
    "My sister plays the violin in an orchestra.",
    "The train to the coast leaves at noon.",
    "We need to buy tomatoes and bread.",
    "The court rejected the appeal last year.",
)
"""Four sentences that have nothing in common. Those of the other scripts say the same."""
SCRIPTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "han": (
        "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",
        (
            "我妹妹在乐团里拉小提琴。",
            "去海边的火车中午出发。",
            "我们要买西红柿和面包。",
            "法院去年驳回了上诉。",
        ),
    ),
    "kana": (
        "\u3040-\u30ff\uff66-\uff9f",
        (
            "妹はオーケストラでバイオリンを弾いています。",
            "海岸行きの電車は正午に出ます。",
            "トマトとパンを買わなければなりません。",
            "裁判所は昨年、控訴を棄却しました。",
        ),
    ),
    "hangul": (
        "\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff",
        (
            "내 여동생은 오케스트라에서 바이올린을 연주한다.",
            "바닷가로 가는 기차는 정오에 떠난다.",
            "우리는 토마토와 빵을 사야 한다.",
            "법원은 작년에 항소를 기각했다.",
        ),
    ),
    # Thai also stands for Lao, Burmese and Khmer.
    "thai": (
        "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff",
        (
            "น้องสาวของฉันเล่นไวโอลินในวงออร์เคสตรา",
            "รถไฟไปชายทะเลออกตอนเที่ยง",
            "เราต้องซื้อมะเขือเทศและขนมปัง",
            "ศาลยกคำอุทธรณ์เมื่อปีที่แล้ว",
        ),
    ),
    # Hindi also stands for the other scripts of India.
    "devanagari": (
        "\u0900-\u0dff",
        (
            "मेरी बहन ऑर्केस्ट्रा में वायलिन बजाती है।",
            "तट की ओर जाने वाली ट्रेन दोपहर को छूटती है।",
            "हमें टमाटर और रोटी खरीदनी है।",
            "अदालत ने पिछले साल अपील खारिज कर दी।",
        ),
    ),
    "cyrillic": (
        "\u0400-\u052f",
        (
            "Моя сестра играет на скрипке в оркестре.",
            "Поезд на побережье отходит в полдень.",
            "Нам нужно купить помидоры и хлеб.",
            "В прошлом году суд отклонил апелляцию.",
        ),
    ),
    "greek": (
        "\u0370-\u03ff\u1f00-\u1fff",
        (
            "Η αδερφή μου παίζει βιολί σε μια ορχήστρα.",
            "Το τρένο για την ακτή φεύγει το μεσημέρι.",
            "Πρέπει να αγοράσουμε ντομάτες και ψωμί.",
            "Το δικαστήριο απέρριψε πέρυσι την έφεση.",
        ),
    ),
    "arabic": (
        "\u0600-\u06ff\u0750-\u077f",
        (
            "تعزف أختي على الكمان في فرقة موسيقية.",
            "يغادر القطار إلى الساحل عند الظهر.",
            "علينا أن نشتري الطماطم والخبز.",
            "رفضت المحكمة الاستئناف العام الماضي.",
        ),
    ),
    "hebrew": (
        "\u0590-\u05ff",
        (
            "אחותי מנגנת בכינור בתזמורת.",
            "הרכבת לחוף יוצאת בצהריים.",
            "אנחנו צריכים לקנות עגבניות ולחם.",
            "בית המשפט דחה את הערעור בשנה שעברה.",
        ),
    ),
}
ALIKE = 0.3
"""A script is unreadable if its unrelated sentences are this much more alike than those in Latin letters:
the share of the distance to 1. Models that read a script are within some hundredths."""
_PATTERNS = {name: re.compile(f"[{letters}]") for name, (letters, _) in SCRIPTS.items()}
_LETTER = re.compile(r"[^\W\d_]")


def script_of(text: str) -> str | None:
    """Returns the script that has most letters of `text`, if all but Latin ones are at least half of them."""
    if text.isascii():
        return None
    counts = {name: len(pattern.findall(text)) for name, pattern in _PATTERNS.items()}
    if 2 * sum(counts.values()) < len(_LETTER.findall(text)) or not any(counts.values()):
        return None
    return max(counts, key=lambda name: counts[name])


def readable(own: "NDArray[np.float64]", latin: "NDArray[np.float64]") -> bool:
    """Returns whether a model reads a script, given its vectors (rows of length 1) of the sentences of the
    script and of those in Latin letters."""
    base = _likeness(latin)
    return _likeness(own) - base < ALIKE * (1.0 - base)


def _likeness(vectors: "NDArray[np.float64]") -> float:
    """Returns the mean cosine of different rows."""
    n = len(vectors)
    return float(((vectors @ vectors.T).sum() - n) / (n * (n - 1)))
