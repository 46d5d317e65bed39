"""Word lists and patterns that classify questions, messages and replies."""

import re
from collections.abc import Collection, Iterable, Sequence

from memory.search.terms import is_unspaced

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
AFTER_A_QUESTION = " \t\r\n\"')”’"
"""Characters that may follow the question mark at the end of a message."""


def content_words(stems: Iterable[str]) -> list[str]:
    """Returns the stems that carry meaning; all of them when none does."""
    known = list(stems)
    return [stem for stem in known if stem not in FUNCTION_WORDS] or known


def carries_meaning(stems: Iterable[str]) -> bool:
    """Returns whether any of the stems says what is asked about; "how are you" has none."""
    return any(stem not in FUNCTION_WORDS for stem in stems)


def addresses_machine(question: str) -> bool:
    """Returns whether the question asks for what the model said, as in "what did you recommend"."""
    return _ADDRESSED.search(question) is not None


def asks_advice(question: str) -> bool:
    """Returns whether the question asks what to do, get or choose, so that preferences matter. Asking what
    was advised before does not count."""
    return _ADVICE.search(question) is not None and not addresses_machine(question)


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
        # In scripts without spaces, a name stands within a word.
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
    """Returns whether a reply says what the memory says, beyond what the question had said already.

    All three are stems. Half of what the memory adds to the question must be in the reply, and at least two
    words if it adds that many.
    """
    # A single letter of Chinese is in most replies.
    added = {stem for stem in content_words(memory) if stem not in asked and not _is_letter(stem)}
    said = added.intersection(reply)
    return len(said) >= min(_LEAST_WORDS, len(added)) > 0 and len(said) >= _LEAST_SHARE * len(added)


def _is_letter(stem: str) -> bool:
    return len(stem) == 1 and is_unspaced(stem)


def confirms(text: str) -> bool:
    """Returns whether the text agrees with what was said just before."""
    return _CONFIRMS.match(text) is not None
