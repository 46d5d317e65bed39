"""Word lists and patterns that classify questions, messages and replies; small words by language."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Protocol

from memory.search.terms import is_unspaced
from memory.summaries.languages import lexicon

# Stems as in the index. They occur in most messages and distinguish none.
_FUNCTION_WORDS = """
    a about after all also am an and ani ar as at be been befor by can could did do doe done for from get got
    had ha have he her hi him how i if in into is it its itself just like me mai mani might more most much
    must my no nor not of on onc or our out over own s same she should so some such t than that the their them
    then there these thei thi those to too under until up us veri wa we were what when where which while
    who whom why will with would yet you your d ll m re ve don doesn didn isn wasn won
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())
_ADDRESSED = re.compile(
    r"\b(?:did|have|had|were) you\b|\byour (?:advice|suggest|recommend|answer|explan|opinion)"
    r"|\byou (?:had |have |'ve |'d )?(?:recommended|suggested|told|said|advised|explained|proposed"
    r"|mentioned|gave|given|wrote|written)\b",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"\b(?:recommend|suggest|advise|advice|ideas?|tips?|pick|propose)\b"
    r"|\b(?:should|could|can|shall|might|do|would|may) (?:i|we|you)\b"
    r"|\b(?:would|could|might) (?:be|make|suit|go|help)\b"
    r"|\bwhat(?:'s| is| are) (?:a|an|the|some|good|worth)\b|\bwhere (?:to|can|could|should)\b|\bhow to\b"
    r"|\bi(?: am|'m) (?:looking for|thinking (?:of|about)|planning)\b|\bhelp me\b"
    r"|\bi(?: want| need|'d like) to\b|\bworth (?:a|an|my|the|\w+ing)\b|\bhelps? (?:with|against|me)\b"
    r"|\bwhich (?:\w+ ){1,5}(?:is|are|has|have) (?:an? |the )?"
    r"(?:best|better|good|nice|fun|right|most|in fashion|special)\b"
    r"|\bwould (?:\w+ ){1,5}(?:suit|fit|be (?:something|good|right|nice|fun))\b"
    # What would suit, whoever asks: "which tutorials would get me started", "what shoes go with a suit".
    r"|(?:^|[.!?] )(?:what|which|where|how) (?:[\w'’-]+ ){0,8}?(?:would|should|could|can) "
    r"(?!(?:\w+ ){0,3}have\b)"
    r"|(?:^|[.!?] )(?:which|what(?: kinds?| sorts?)?(?: of)?) (?:[\w-]+ ){1,4}?"
    r"(?:go(?:es)?|fits?|suits?|works?|burns?)\b"
    r"|(?:^|[.!?] )any\b|\bwhat is there to\b|\bhow do (?:people|others|most)\b"
    r"|(?:^|[.!?] )(?:please )?(?:plan|put together|set up|find|pick|make) (?:me |us )?(?:an?|some)\b",
    re.IGNORECASE,
)
_SUMS_UP = re.compile(
    r"\bsummar(?:y|i[sz])|\boverview\b|\brecap\b|\bsum (?:it |this |that )?up\b", re.IGNORECASE
)
_TALKS = r"(?:conversation|discussion|chat|session|talk|exchange|message|request|question)s?"
_SURVEYS = re.compile(
    r"\b(?:throughout|across|during|over|in) (?:all |each )?(?:of )?(?:my|our|these|the) (?:\w+ ){0,3}"
    rf"{_TALKS}\b"
    r"|\bin (?:what|which) order\b|\bthe order (?:in which|of)\b"
    r"|\bwe(?:'ve| have) (?:discussed|covered|talked)\b",
    re.IGNORECASE,
)
_ATTITUDE = re.compile(
    r"\b(?:i|we)(?:'d| would| really| absolutely| strongly| usually| always| only| never| also| just)*"
    r" (?:like|love|enjoy|prefer|adore|favou?r|hate|dislike|detest|loathe|avoid|refuse|want|need|insist|value"
    r"|care about|am (?:a |an |allergic|afraid|scared|into|not into|not a|fond|tired|vegan|vegetarian)"
    r"|(?:do not|don't|can't|cannot|won't|will not) (?:like|eat|drink|want|stand|bear|tolerate|enjoy|use|buy"
    r"|watch|wear|trust|take|care))\b"
    r"|\b(?:i|we) (?:only|never|always|rarely|mostly)\b|\bmy favou?rite\b|\bnot a (?:big )?fan of\b",
    re.IGNORECASE,
)
# At the beginning of a sentence.
_REQUESTS = re.compile(
    r"(?:(?:please|now|then|and|ok(?:ay)?|hey|hi|hello),? )*+"
    r"(?:tell|show|give|list|find|remind|explain|describe|name|recommend|suggest|advise|pick|plan|put|set"
    r"|write|make|create|draft|translate|compare|search|look|check|remember|recall|help|let|say|repeat"
    r"|continue|summar\w+|count|collect|quote|get|open|who|whom|whose|what|which|when|where|why|how"
    r"|do|does|did|is|are|was|were|has|have|had|can|could|will|would|should|shall|may|might|any"
    r"|i (?:need|want|wonder)|i(?:'d| would) like|i(?:'m| am) (?:looking for|planning)|please)\b",
    re.IGNORECASE,
)
_BREAK = re.compile(r"[.!:;\n]")
_PERSON = re.compile(
    r"\b(?:i|we|he|she|they|me|us|my|our|his|her|their|him|them|somebody|someone|everybody|everyone)\b",
    re.IGNORECASE,
)
# What a person wants of all later replies, or of those about something.
_INSTRUCTS = re.compile(
    r"(?:^|[.!?;]\s+)(?:please |and |also |so |ok(?:ay)?,? )*(?:always|never|from now on|from here on"
    r"|going forward|in (?:the )?future|by default|as a rule|whenever (?:i|you)"
    r"|remember to always|immer|ab jetzt|ab sofort|in zukunft|künftig|toujours|désormais"
    r"|à partir de maintenant|à l[’']avenir"
    r"|siempre|nunca|a partir de ahora|de ahora en adelante)\b(?!,? (?:i|we|ich|wir|je|nous|yo)\b)"
    r"|\b(?:when(?:ever)?|every time|each time|any time) i (?:ask|request|want)\b"
    r"|\b(?:i(?:[’']d| would)? (?:want|like|need|expect)|i[’']d prefer it if) you to (?:always|never)\b"
    r"|\bwenn ich (?:nach|dich) .{0,40}?frage\b|\bquand je (?:te |vous )?demande\b"
    r"|\bcuando (?:te )?pregunte\b"
    r"|(?:^|[。！？；，])(?:请)?(?:以后|今后|从现在起|从现在开始|每次|总是)[^我。]{0,12}(?:回答|回复|说|写|用)",
    re.IGNORECASE,
)
_SHORTEST_NAME = 2
_LITTLE = 3
"""A sentence with at most this many times the words of a memory says little else."""
_MARKS = ".,;:!?…\"'“”„‘’«»()[]*_"
AFTER_A_QUESTION = " \t\r\n\"')”’"
"""Characters that may follow the question mark at the end of a message."""


def content_words(stems: Iterable[str]) -> list[str]:
    """Returns the stems that carry meaning; all of them when none does."""
    known = list(stems)
    return [stem for stem in known if stem not in FUNCTION_WORDS] or known


def carries_meaning(stems: Iterable[str]) -> bool:
    """Returns whether any of the stems names a subject; in "how are you" none does."""
    return any(stem not in FUNCTION_WORDS for stem in stems)


def addresses_machine(question: str) -> bool:
    """Returns whether the question asks for the model's earlier replies, as in "what did you recommend"."""
    return _ADDRESSED.search(question) is not None


def asks_advice(question: str) -> bool:
    """Returns whether the question asks what to do, get or choose, so that preferences matter. Asking what
    was advised before does not count."""
    return _ADVICE.search(question) is not None and not addresses_machine(question)


def only_states(text: str) -> bool:
    """Returns whether the text is talk that asks for nothing, as in "I missed the train again". Single words
    and phrases ("dentist appointment") are questions to a search."""
    if "?" in text or "？" in text or addresses_machine(text) or surveys(text):
        return False
    if any(_REQUESTS.match(sentence.strip()) for sentence in _BREAK.split(text)):
        return False
    return _PERSON.search(text) is not None


def sums_up(question: str) -> bool:
    """Returns whether the question asks for a summary, which also covers what the model said."""
    return _SUMS_UP.search(question) is not None


def surveys(question: str) -> bool:
    """Returns whether the question is about conversations as a whole, so that each may contain part of the
    answer."""
    return sums_up(question) or _SURVEYS.search(question) is not None


def states_preference(text: str) -> bool:
    """Returns whether the author says what they like, want or avoid."""
    return _ATTITUDE.search(text) is not None


def instructs(text: str) -> bool:
    """Returns whether the author says how all later replies should be, or those about something."""
    return _INSTRUCTS.search(text) is not None


def only_asks(text: str) -> bool:
    """Returns whether the text ends with a question: such a message is seldom the answer to another."""
    return text.rstrip(AFTER_A_QUESTION).endswith(("?", "？"))


def named(question: str, speakers: Sequence[str]) -> frozenset[int]:
    """Returns which of `speakers` (names in lower case) the question names, in full or by first name."""
    folded = question.casefold()
    words = set(re.findall(r"\w+", folded))
    found = set()
    for number, name in enumerate(speakers):
        parts = re.findall(r"\w+", name)
        if not parts or len(parts[0]) < _SHORTEST_NAME:
            continue
        # In scripts without spaces, a name is part of a word.
        if parts[0] in words or set(parts) <= words or (is_unspaced(name) and name in folded):
            found.add(number)
    return frozenset(found)


def without_names(question: str, names: Iterable[str]) -> str:
    """Returns the question without these names: its subject is found by who spoke, not by who was addressed.

    An embedding of "what did Ann research" is nearest to "Wow, Ann!", which is said to her, not by her.
    """
    parts = sorted({part for name in names for part in re.findall(r"\w+", name)}, key=len, reverse=True)
    if not parts:
        return question
    pattern = rf"\b(?:{'|'.join(map(re.escape, parts))})\b(?:['’]s\b)?"
    left = " ".join(re.sub(pattern, " ", question, flags=re.IGNORECASE).split())
    return left if re.search(r"\w{3}", left) else question


_LEAST_SHARE = 0.5
_LEAST_WORDS = 2
_CONFIRMS = re.compile(
    r"\W*(?:yes|yeah|yep|yup|right|correct|exactly|indeed|true|that(?:'s| is) (?:right|correct|true|it)"
    r"|(?:you(?:'re| are) right)|perfect|precisely)\b",
    re.IGNORECASE,
)


def cited(memory: Sequence[str], asked: Collection[str], reply: Collection[str]) -> bool:
    """Returns whether a reply repeats the memory, beyond what the question already contained.

    All three are stems. Half of what the memory adds to the question must be in the reply, and at least two
    words if it adds that many.
    """
    # A single letter of Chinese is in most replies.
    added = {stem for stem in content_words(memory) if stem not in asked and not _is_letter(stem)}
    said = added.intersection(reply)
    return len(said) >= min(_LEAST_WORDS, len(added)) > 0 and len(said) >= _LEAST_SHARE * len(added)


def repeats(said: Collection[str], before: Collection[str], now: Collection[str]) -> bool:
    """Returns whether a sentence of a reply says what a memory said `before` it was changed.

    It has all words that the memory no longer has and a third of those that it still has, or half of the
    former and most of the latter; and none of the new ones. All are from `told_words`. `now` is empty if the
    memory was rejected: then the sentence must have all its words, and little else.
    """
    sentence, old, new = set(said), set(before), set(now)
    gone, stays = old - new, old & new
    if not new:
        return bool(old) and old <= sentence and len(sentence) <= _LITTLE * len(old)
    if not gone or (new - old) & sentence:
        return False
    if gone <= sentence:
        return 3 * len(stays & sentence) >= len(stays)
    return 2 * len(gone & sentence) >= len(gone) and 2 * len(stays & sentence) > len(stays)


def parts(reply: str) -> list[str]:
    """Returns the lines and sentences of a reply, roughly."""
    marked = reply.replace("! ", ". ").replace("? ", ". ")
    return [part for line in marked.splitlines() for part in line.split(". ")]


def told_words(text: str) -> frozenset[str]:
    """Returns the folded words and numbers of a text without common words."""
    found = {fold(word.strip(_MARKS)).removesuffix("'s") for word in text.replace("’", "'").split()}
    return frozenset(found - _common() - {""})


@cache
def _common() -> frozenset[str]:
    return FUNCTION_WORDS.union(map(fold, lexicon().common))


def _is_letter(stem: str) -> bool:
    return len(stem) == 1 and is_unspaced(stem)


def confirms(text: str) -> bool:
    """Returns whether the text agrees with the message just before it."""
    return _CONFIRMS.match(text) is not None


_WORD = re.compile(r"[^\W\d_]+")
_NAMES = {"de": "german", "es": "spanish", "fr": "french"}
# Folded, as in the index. In a room that is mostly in another language they are rare, and would count as much
# as the words that are asked about.
_SMALL = {
    "de": """
    aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis
    bist da damit dann das dass dein deine deinem deinen deiner dem den denn der des dich die dies diese
    diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einige er es
    etwas euch euer eure fur gegen gibt hab habe haben hast hat hatte hatten hattest hier hinter ich ihm
    ihn ihnen ihr ihre ihrem ihren ihrer im in ist ja jede jeder jedes jetzt kann kannst kein keine
    keinen keiner konnen konnte machen mal man mehr mein meine meinem meinen meiner meines mich mir mit
    muss nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit
    selbst sich sie sind so soll sollte uber um und uns unser unsere unserem unseren unter viel vom von
    vor wann war waren warum was weg weil welche welchem welchen welcher welches wem wen wenn wer werde
    werden weshalb wessen wie wieder wieso wieviel will wir wird wirst wo woher wohin womit wurde wurden
    zu zum zur zwischen
    """,
    "es": """
    a al algo alguna algunas alguno algunos ante antes aquel aquella asi aun aunque cada como con contra
    cual cuales cuando cuanta cuantas cuanto cuantos de del desde donde dos e el ella ellas ellos en
    entre era eran eras eres es esa esas ese eso esos esta estaba estan estas este esto estos estoy fue
    fueron ha habia habian han has hasta hay he la las le les lo los mas me mi mis mucho muy nada ni no
    nos nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para pero por porque que
    quien quienes se sea ser si sido sin sobre solo son soy su sus tambien tan te tengo ti tiene tienen
    tienes todo todos tu tus un una uno unos y ya yo
    """,
    "fr": """
    a ai aie alors as au aucun aussi aux avait avaient avec avez avoir avons c ca car ce cela ces cet
    cette ceux chez comme comment combien d dans de des dont du elle elles en est et etait etaient ete
    etes etre eu eux fait faut il ils j je l la le les leur leurs lequel laquelle lui m ma mais me meme
    mes moi mon n ne nos notre nous on ont ou par pas pendant plus pour pourquoi qu quand que quel
    quelle quelles quels qui quoi s sa sans se ses si son sont suis sur t ta te tes toi ton tous tout
    toute tres tu un une vers vos votre vous y
    """,
}
_LEAST = 2
_SHORTEST = 3
MOST_FORMS = 500
"""How many words of the index with the same beginning are examined."""


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 (the library's name)


def fold(word: str) -> str:
    """Returns a word without case and accents, as the index has it."""
    spread = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in spread if not unicodedata.combining(char))


def language_of(text: str) -> str | None:
    """Returns de, es or fr if the small words of that language prevail; None for English, or if unclear."""
    found = [fold(word) for word in _WORD.findall(text)]
    counts = {name: sum(word in small for word in found) for name, small in _small().items()}
    best = max(counts, key=lambda name: counts[name])
    others = [counts[name] for name in counts if name != best]
    english = sum(word in FUNCTION_WORDS for word in found)
    if counts[best] < _LEAST or counts[best] <= max(*others, english):
        return None
    return best


def is_english(text: str) -> bool:
    """Whether English small words prevail in a text."""
    found = [fold(word) for word in _WORD.findall(text)]
    others = max(sum(word in small for word in found) for small in _small().values())
    return sum(word in FUNCTION_WORDS for word in found) > max(_LEAST, others)


def without_small_words(text: str, language: str) -> str:
    """Returns the text without the small words of a language; the text itself if nothing else is in it."""
    small = _small()[language]
    left = _WORD.sub(lambda match: " " if fold(match[0]) in small else match[0], text)
    return left if re.search(r"\w{2}", left) else text


def beginning(stem: str, language: str) -> str | None:
    """Returns the letters that all forms of a word begin with; None if it is too short to have any."""
    root = _root(stem, language)
    return root[: max(_SHORTEST, len(root) - 1)] if len(root) >= _SHORTEST and root.isalpha() else None


def forms(stem: str, words: Iterable[str], language: str) -> tuple[str, ...]:
    """Returns those of `words` that are other forms of the same word, all as stems of the index."""
    root = _root(stem, language)
    return tuple(word for word in words if word != stem and _root(word, language) == root)


def _root(stem: str, language: str) -> str:
    return _stemmer(language).stemWord(stem)


@cache
def _stemmer(language: str) -> _Stemmer:
    # Only a question in one of these languages needs it; importing it takes 40 ms.
    import snowballstemmer

    found: _Stemmer = snowballstemmer.stemmer(_NAMES[language])
    return found


@cache
def _small() -> dict[str, frozenset[str]]:
    return {name: frozenset(text.split()) for name, text in _SMALL.items()}
