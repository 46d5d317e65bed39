"""Analyses a question: what it asks for, its topics, and whether it refers to an earlier conversation.

A model that cannot read a script gives unrelated sentences in it nearly the same vector: all it sees are
single letters or the token for unknown text. all-MiniLM-L6-v2 gives the sentences below a mean cosine of 0.53
(kana) to 1.0 (Thai), and 0.0 in English. Such vectors are near each other by accident.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Self

from memory.clock import LocalZone
from memory.recall.entities import ITEM_KINDS, KINDS, FixedTexts, QueryVectors, RecallQuery
from memory.recall.feature_builder import Part, Question
from memory.recall.moments import asks_when, spans
from memory.recall.needs import need_of
from memory.recall.words import (
    addresses_machine,
    asks_advice,
    carries_meaning,
    named,
    only_asks,
    only_states,
    sums_up,
    surveys,
    without_names,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


LATIN = (
    "My sister plays the violin in an orchestra.",
    "The train to the coast leaves at noon.",
    "We need to buy tomatoes and bread.",
    "The court rejected the appeal last year.",
)
"""Four sentences that have nothing in common. Those in the other scripts mean the same."""
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
    # Thai also represents Lao, Burmese and Khmer.
    "thai": (
        "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff",
        (
            "น้องสาวของฉันเล่นไวโอลินในวงออร์เคสตรา",
            "รถไฟไปชายทะเลออกตอนเที่ยง",
            "เราต้องซื้อมะเขือเทศและขนมปัง",
            "ศาลยกคำอุทธรณ์เมื่อปีที่แล้ว",
        ),
    ),
    # Hindi also represents the other scripts of India.
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
"""A script is unreadable if its unrelated sentences are this much more alike than those in Latin letters: the
share of the distance to 1. Models that read a script are within a few hundredths.
"""
_SCRIPTS = {name: re.compile(f"[{letters}]") for name, (letters, _) in SCRIPTS.items()}
_LETTER = re.compile(r"[^\W\d_]")


def script_of(text: str) -> str | None:
    """Returns the script that has most letters of `text`, if all but Latin ones are at least half of them."""
    if text.isascii():
        return None
    counts = {name: len(pattern.findall(text)) for name, pattern in _SCRIPTS.items()}
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


_WHEN = r"(?:last|yesterday|earlier|before|previously|the other (?:day|time|week)|(?:a|one|two|\d+) \w+ ago)"
_WHO = r"(?:we|you|i)(?:'d| had|'ve| have)?\s+(?:just |already |also |once )?"
_TALK = (
    r"(?:discuss(?:ed)?|talk(?:ed|ing)?|sp(?:oke|oken) (?:about|of)|mention(?:ed)?|said|decided|agreed|"
    r"planned|chose|settled on|went (?:over|through)|work(?:ed|ing) on|covered|came up with|told)"
)
_TOLD = r"(?:told|asked|promised|recommended|suggested|advised|mentioned to)"
_DECIDE = r"(?:say|said|tell|told|decide|recommend|suggest|agree|choose|call)"
_CHAT = r"(?:chat|conversation|session|discussion)s?"

_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:as|like|what|that|which|when|the \w+(?: \w+)?)\s+{_WHO}{_TALK}\b",
        rf"\b{_WHO}{_TALK}\b.{{0,60}}\b{_WHEN}\b",
        rf"\b{_WHEN}\b.{{0,40}}\b{_WHO}{_TALK}\b",
        r"\b(?:do|did|can|don't|didn't) (?:you|we) (?:still |even )?(?:remember|recall)\b",
        r"^\W*remember (?:when|what|that|how|the|my|our|me|i|we|you)\b",
        r"\bremember (?:when|what) (?:we|you|i)\b",
        rf"\b(?:did|have|had|didn't|haven't) (?:we|you|i) (?:not |ever |already |also )?{_TALK}\b",
        r"\b(?:did|have) i (?:ever |already )?(?:tell|told|mention|ask|say)\b",
        r"\bdid (?:we|you) (?:ever |already )?(?:tell|say|recommend|suggest|decide|agree|choose)\b",
        rf"\b(?:i|you|we) (?:already )?{_TOLD} (?:you|me|us)\b",
        rf"\bwhat (?:did|have|had|was it) (?:i|we|you) {_DECIDE}",
        rf"\b(?:last|previous|earlier|past|other) {_CHAT}\b",
        r"\b(?:last|the other) time (?:we|you)\b|\blike last time\b",
        r"\b(?:back to|pick(?:ing)? up|continu(?:e|ing)) (?:where we|what we|from (?:where|our|last))",
        r"\bwhere (?:did )?we (?:left|leave) off\b",
        r"\bour (?:last|previous|earlier|other) \w+",
    )
)
_ORDER = re.compile(r"^\W*(?:please )?remember (?:that|my|the|i|to)\b", re.IGNORECASE)


def refers_back(text: str) -> bool:
    """Returns True for "as we discussed last week", "you told me", "remember when" and similar phrases.

    "Remember that …" asks to keep something: it counts only if the text has a question mark.
    """
    if _ORDER.match(text) and "?" not in text:
        return False
    return any(pattern.search(text) for pattern in _PATTERNS)


SHARPNESS = 0.03
"""The difference in cosine at which the nearer of two topics counts e times as much."""
CONSIDERED = 100
"""How many of the best statements are compared by topic."""
TOPICS = (
    "studying, courses, classes and learning a subject",
    "textbooks, tutorials and learning materials",
    "video games, consoles and board games",
    "films, cinema and movies",
    "television series and streaming shows",
    "music, songs, concerts and playlists",
    "novels, books and reading",
    "podcasts, radio and audiobooks",
    "news, newspapers and current affairs",
    "painting, crafts, hobbies and creative projects",
    "photography and cameras",
    "sports, matches and teams",
    "exercise, gym, running and fitness",
    "hiking, camping and the outdoors",
    "cooking, recipes and ingredients",
    "restaurants, dining out and dishes",
    "coffee, tea, wine and drinks",
    "baking, sweets, snacks and desserts",
    "diet, nutrition, allergies and healthy eating",
    "holidays, travel destinations and trips",
    "hotels, hostels and places to stay",
    "flights, trains, buses and how to get there",
    "cars, driving and commuting",
    "clothes, shoes and fashion",
    "hair, skin, make-up and personal care",
    "shopping, brands and gifts",
    "money, saving, investing and budgets",
    "work, jobs, career and office",
    "meetings, e-mail, planning and productivity",
    "computers, phones, apps and gadgets",
    "programming, software and tools",
    "home, furniture, decoration and interior design",
    "cleaning, laundry and household chores",
    "gardening, plants and flowers",
    "pets, dogs and cats",
    "children, family and parenting",
    "friends, parties, dates and social events",
    "festivals, holidays and celebrations",
    "museums, theatre, art and exhibitions",
    "health, doctors, medicine and therapy",
    "sleep, rest, stress and relaxation",
    "religion, spirituality and meditation",
    "volunteering, charity and the environment",
    "neighbourhoods, flats, houses and where to live",
    "weather, climate and seasons",
    "repairs, tools and doing it yourself",
    "insurance, contracts and public services",
    "history, science and nature",
    "languages and speaking",
    "writing, letters and speeches",
)


def kinship(
    question: "NDArray[np.float64]", statements: "NDArray[np.float64]", topics: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """Returns how far each of `statements` (`float[m, n]`) has the topics of `question` (`float[n]`), 0 … 1:
    the Bhattacharyya coefficient of their shares in `topics` (`float[t, n]`). All vectors have length 1."""
    import numpy as np

    return np.asarray(np.sqrt(_shares(statements, topics)) @ np.sqrt(_shares(question[None], topics))[0])


def beyond_the_others(kin: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Returns how far each exceeds the average of the others, 0 … 1. A topic that everything has
    distinguishes nothing.
    """
    import numpy as np

    others = (kin.sum() - kin) / max(len(kin) - 1, 1)
    return np.asarray(np.clip((kin - others) / np.maximum(1 - others, 1e-9), 0.0, 1.0))


def _shares(vectors: "NDArray[np.float64]", topics: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Returns the shares of each vector in the topics: rows that add up to 1."""
    import numpy as np

    near = vectors @ topics.T / SHARPNESS
    weights = np.exp(near - near.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


_NOTHING = 0.05
DIRECTIONS = 3
"""This many directions contain most of what requests for advice have in common."""
FRAMES = (
    "What should I get?",
    "Can you recommend something?",
    "What would you suggest?",
    "Which one should I choose?",
    "What is a good one for me?",
    "How should I do it?",
    "Where could I go?",
    "Do you have any ideas or tips?",
)
"""Requests for advice that name no subject."""
OVERVIEWS = (
    "Can you give me a summary of what we talked about?",
    "Can you list the order in which I brought up different things?",
    "Please summarise our conversations so far.",
    "How many different things did I mention across our sessions?",
    "Give me an overview of everything we have discussed.",
    "In what order did we cover these topics?",
    "Walk me through how this developed throughout our conversations.",
    "What have we covered so far, step by step?",
)
"""Questions about conversations that name no subject."""
OVERVIEW_DIRECTIONS = 2


LONGEST_QUESTION = 20_000
"""Characters of a question that are read; anything longer was pasted."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A `RecallQuery` in the form that is searched: bounded in length, at a known time."""

    text: str
    k: int
    kinds: frozenset[str]
    session: str | None
    project: str | None
    exclude_messages: frozenset[str]
    exclude_sessions: frozenset[str]
    since: datetime | None
    before: datetime | None
    now: datetime
    widen: bool
    recent_first: bool
    everywhere: bool = False

    @classmethod
    def of(cls, query: RecallQuery, now: datetime) -> Self:
        return cls(
            query.text[:LONGEST_QUESTION],
            query.k,
            frozenset(query.kinds) & (KINDS | ITEM_KINDS),
            query.session,
            query.project,
            frozenset(query.exclude_messages),
            frozenset(query.exclude_sessions),
            query.since,
            query.before,
            now.astimezone(LocalZone()),
            query.widen,
            query.recent_first,
            query.everywhere,
        )


def understood(wanted: Wanted, speakers: Sequence[str]) -> tuple[str, frozenset[int]]:
    """Returns the text without the names of `speakers`, and the numbers of those it names."""
    numbers = named(wanted.text, speakers)
    return without_names(wanted.text, [speakers[number] for number in numbers]), numbers


MOST_SENTENCES = 12
"""A longer text was pasted: it is searched for as a whole."""
BESIDE = 0.5
"""How much a sentence that asks nothing counts compared with one that asks."""
_SENTENCE = re.compile(
    # A quotation is not a sentence of its own. A decimal point or a dot in a name ends nothing.
    r'(?:"[^"\n]{0,300}"|“[^”\n]{0,300}”|「[^」\n]{0,300}」|『[^』\n]{0,300}』|[.!?](?!\s|$)|[^.!?。！？；\n])*+[.!?。！？；\n]*+'
)


def sentences(text: str) -> list[str]:
    """Returns the sentences of a question; the whole text as one if there are too many."""
    found = [sentence for one in _SENTENCE.findall(text) if re.search(r"\w", sentence := one.strip())]
    return found if 1 < len(found) <= MOST_SENTENCES else [text]


def parts_of(asked: Sequence[str], stems: Sequence[Sequence[str]], words: Sequence[str]) -> tuple[Part, ...]:
    """Returns the sentences with those of their stems that are among `words`; none if only one has any.

    If some of them ask, these count fully and the others half.
    """
    asking = [only_asks(sentence) for sentence in asked]
    found = [
        Part(frozenset(own).intersection(words), 1.0 if asks or not any(asking) else BESIDE)
        for own, asks in zip(stems, asking, strict=True)
    ]
    found = [part for part in found if part.words]
    return tuple(found) if len(found) > 1 else ()


def question_of(
    wanted: Wanted,
    speakers: frozenset[int],
    stems: Sequence[str],
    words: Sequence[str],
    parts: tuple[Part, ...] = (),
) -> Question:
    states = only_states(wanted.text)
    return Question(
        speakers,
        spans(wanted.text, wanted.now),
        asks_machine=addresses_machine(wanted.text) or sums_up(wanted.text),
        asks_when=asks_when(wanted.text),
        asks_advice=asks_advice(wanted.text) and not states,
        now=wanted.now,
        need=need_of(wanted.text),
        words=len(words) if carries_meaning(stems) else 0,
        parts=parts,
        states=states,
    )


class QueryEmbedder:
    """Embeds questions. In a request for advice, the words that ask ("what should I …") are near to any other
    question or answer, so the directions that such requests have in common are removed. The same applies to
    questions about conversations ("give me a summary of …")."""

    def __init__(
        self, vectors: QueryVectors, fixed: FixedTexts | None = None, *, refined: bool = True
    ) -> None:
        """The texts that such questions are compared with are embedded once and stored in `fixed`. Nothing is
        removed unless `refined`."""
        self._refined = refined
        self._vectors = vectors
        self._fixed = fixed
        self._made: dict[tuple[str, tuple[str, ...]], NDArray[np.float64]] = {}
        self._common: dict[tuple[str, tuple[str, ...]], NDArray[np.float64]] = {}

    async def of(self, text: str, model: str) -> Sequence[float] | None:
        """Returns the question as a vector of `model`, of length 1; None when that is not the model in use,
        or cannot read the question."""
        if not await self.reads(text, model):
            return None
        vector = await self._vectors.vector(text)
        if vector is None or vector.model != model:
            return None
        if not self._refined:
            return vector.numbers
        if surveys(text):
            common = await self._directions(model, OVERVIEWS, OVERVIEW_DIRECTIONS)
        elif asks_advice(text) and not only_states(text):
            common = await self._directions(model, FRAMES, DIRECTIONS)
        else:
            return vector.numbers
        return vector.numbers if common is None else specific(vector.numbers, common)

    async def reads(self, text: str, model: str) -> bool:
        """Returns whether `model` can read the script of `text`; True when it is not the model in use."""
        script = script_of(text)
        if script is None or not self._refined:
            return True
        own = await self._embedded(model, SCRIPTS[script][1])
        latin = await self._embedded(model, LATIN)
        return own is None or latin is None or readable(own, latin)

    async def topics(self, model: str) -> "NDArray[np.float64] | None":
        """Returns `TOPICS` as vectors of `model`, one per row, of length 1; None when that is not the model
        in use."""
        return await self._embedded(model, TOPICS)

    async def warm(self, model: str) -> None:
        """Embeds the texts that requests for advice and questions about conversations are compared with."""
        await self.topics(model)
        await self._directions(model, FRAMES, DIRECTIONS)
        await self._directions(model, OVERVIEWS, OVERVIEW_DIRECTIONS)

    async def _embedded(self, model: str, texts: tuple[str, ...]) -> "NDArray[np.float64] | None":
        """Returns one row per text, of length 1; None when `model` is not the model in use."""
        import numpy as np

        key = model, texts
        if key not in self._made:
            name = hashlib.sha256("\0".join((model, *texts)).encode()).hexdigest()[:16]
            kept = None if self._fixed is None else await self._fixed.fixed(name)
            if kept is not None:
                rows = np.frombuffer(base64.b64decode(kept), "<f4").reshape(len(texts), -1)
            else:
                found = [await self._vectors.vector(text) for text in texts]
                if any(one is None or one.model != model for one in found):
                    return None
                rows = np.array([one.numbers for one in found if one is not None], "<f4")
                if self._fixed is not None:
                    await self._fixed.keep_fixed(name, base64.b64encode(rows.tobytes()).decode())
            self._made[key] = rows / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
        return self._made[key]

    async def _directions(
        self, model: str, texts: tuple[str, ...], count: int
    ) -> "NDArray[np.float64] | None":
        """Returns the main directions of these texts: `float[count, n]`."""
        import numpy as np

        key = model, texts
        if key not in self._common:
            frames = await self._embedded(model, texts)
            if frames is None:
                return None
            self._common[key] = np.linalg.svd(frames, full_matrices=False)[2][:count]
        return self._common[key]


def beyond_usual(vector: Sequence[float], usual: Sequence[float] | None) -> Sequence[float]:
    """Returns the difference between `vector` and the mean of what was said (`usual`), scaled to length 1:
    what makes a statement special. `vector` itself if almost nothing is left."""
    import numpy as np

    if usual is None or len(usual) != len(vector):
        return vector
    rest = np.array(vector) - np.array(usual)
    length = float(np.linalg.norm(rest))
    return [float(number) for number in rest / length] if length > _NOTHING else vector


def specific(vector: Sequence[float], common: "NDArray[np.float64]") -> Sequence[float]:
    """Returns the part of `vector` beyond the directions `common` (orthonormal rows), scaled to length 1;
    `vector` itself if almost nothing is left.
    """
    import numpy as np

    whole = np.array(vector)
    rest = whole - (common @ whole) @ common
    length = float(np.linalg.norm(rest))
    return [float(number) for number in rest / length] if length > _NOTHING else vector
