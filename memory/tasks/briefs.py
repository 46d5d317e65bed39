"""Reads a brief: its goal, its subjects, the attributes it asks for, and its limits."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from memory.summaries.evidence import fold
from memory.summaries.languages import lexicon
from memory.tasks.lexicon import (
    Kind,
    Limit,
    Period,
    content,
    is_month,
    known,
    limits,
    meaningful,
    period_in,
    root,
    words,
)

LONGEST = 4_000
"""Characters of a brief."""


class Goal(StrEnum):
    """What a report shows: a table, a list, a total, contradictions, a plan, a summary, or an answer."""

    COMPARE = "compare"
    LIST = "list"
    SUM = "sum"
    CONTRADICTION = "contradiction"
    PLAN = "plan"
    SUMMARY = "summary"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Attribute:
    """A property that a brief asks for of each subject.

    `stems` are those of its own words, `kind` what they mean, if that is known.
    """

    name: str
    stems: frozenset[str]
    kind: Kind | None = None

    @property
    def spoken(self) -> frozenset[str]:
        """All stems of words that refer to it."""
        if self.kind is not None:
            return self.stems | self.kind.stems
        return self.stems.union(*(group for group in known().same if not group.isdisjoint(self.stems)))

    @property
    def special(self) -> frozenset[str]:
        """The stems that its kind does not explain: "boil" of "boiling time", and "budget"."""
        explained = self.kind.stems - known().distinct if self.kind is not None else frozenset()
        return self.stems - explained

    @property
    def particular(self) -> frozenset[str]:
        """The stems of which a sentence must have one, because the price of something else is not meant:
        "rent" and "Miete" of the rent."""
        named = self.stems & known().particular
        if self.kind is not None and self.stems & self.kind.stems - known().particular:
            # "Costs and fees" is any price.
            return frozenset()
        return named.union(*(group for group in known().same if group & named)) if named else frozenset()


@dataclass(frozen=True, slots=True)
class Brief:
    """A brief as the supervisor understands it.

    `subjects` are names in it; `noun` is the stem of what they are, `count` how many; `further` are the nouns
    of others ("the caravans and the bikes"), as written. `topic` are the stems of everything else that it is
    about; `parts` are those of each thing that a total is over, if there are several. `choice`: it asks which
    is best; `best` is the attribute that decides, and whether the least or the most of it is wanted. `period`
    is that of a total or a list.
    """

    text: str = field(repr=False)
    goal: Goal
    subjects: tuple[str, ...] = ()
    noun: str = ""
    nouns: str = ""
    further: tuple[str, ...] = ()
    count: int | None = None
    attributes: tuple[Attribute, ...] = ()
    topic: frozenset[str] = frozenset()
    parts: tuple[frozenset[str], ...] = ()
    choice: bool = False
    best: tuple[str, str] | None = None
    limits: tuple[Limit, ...] = ()
    period: Period | None = None


_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_LIST = re.compile(r",|;|\band\b|\bund\b|\by\b|&|\bwith\b|\bmit\b|\bcon\b|\bor\b|\boder\b")
_OF = re.compile(r"\b(?:of|for|among|between|der|des|von|für|de|del|entre|para)\b", re.IGNORECASE)
_WITH = re.compile(
    r"\b(?:with (?:their|its|the)|by (?:their|its)?|mit (?:ihrem|ihrer|ihren)|con sus?)\b", re.IGNORECASE
)
_WITHOUT = re.compile(
    r"\b(?:(?P<order>leave out|omit|ignore|skip|never mind|lass .{1,40} weg|lasse .{1,40} weg|omite)"
    r"|not? matter|doesn't matter|don't matter|ist egal|no importa)\b",
    re.IGNORECASE,
)
"""A sentence with one of these takes back what it names, but not what comes before an order."""
_STATES = re.compile(
    r"\s*(?:no,? |nein,? )?(?:the|a|an|my|our|it|this|that|der|die|das|el|la|los|las)\b[^?:]{0,60}"
    r"\b(?:is|are|was|were|has|have|stands?|ist|sind|war|hat|steht|stehen|est[aá]n?|es|son)\b",
    re.IGNORECASE,
)
"""An instruction that states something ("the rent is in the lease") names no further attribute."""
_MEANT = re.compile(r"\b(?:mean|meant|meine|meinte|digo|quise decir)\b")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_CUT = re.compile(r"[,;]| and (?:say|tell|which|recommend)\b")
_CHOOSE = re.compile(r"[,;]? (?:and )?(?:say|tell|which|recommend)\b")
_ENUMERATED = re.compile(r",|;|\band\b|\bund\b|\by\b|&|\bor\b|\boder\b")
_SET_BESIDE = re.compile(
    r"\b(?:with|to|against|mit|con)\b(?! (?:their|its|ihr|sein|sus?\b|regard|respect|each other))"
)
_SUPERLATIVE = re.compile(
    r"\b(?:best|most|least|worst|\w{2,}est|beste\w*|meisten|(?:größ|höch)\w+|\w{3,}sten|mejor\w*)\b"
)
_SMALL = frozenset(map(root, words("again according at based by for from in of on one ones per see to with")))
"""Words that are never the last one of a thing."""
_PURPOSE = frozenset({"for", "für", "para"})
_AND_OTHERS = re.compile(
    r"(?:,|,? and|,? und|,? y) (?:the |die |los |las )?(?:[^\W\d_]+ )?"
    r"(?P<nouns>(?:[^\W\d_]+-)?[^\W\d_]+(?:s|en|er))\b"
)
_OF_NAMED = re.compile(
    r"\b(?P<article>the|die|das|los|las) [^\W\d_]+ (?:of|from|by|von|der|de) (?P<name>[^\W\d_a-zß-öø-ÿ].*)\Z"
)
_TOKEN = re.compile(r"\d+|[^\W\d_]+(?:-[^\W\d_]+)*")
_NAME = re.compile(r"[^\W\d_][\w'’-]*")
_QUOTED = re.compile(r"[“\"«„]([^“”\"«»„]{2,80})[”\"»“]")
_SUM_UP = re.compile(r"\bsum up ([^,.;:?!]{1,80})")
_REST = re.compile(
    r"\b(?:about|of|for|in|on|from|since|until|by|with|to|during|between|that|which|who|we|i)\b"
)
_HOW_MUCH = re.compile(
    r"\bhow much (?:[\w'’]+ ){1,3}(?:spend|spent|pay|paid)\b"
    r"|\bwhat (?:did|have|do) (?:i|we) (?:spend|spent|pay|paid)\b"
    r"|\bwas habe?n? (?:ich|wir) (?:[\w'’]+ ){1,10}(?:ausgegeben|bezahlt|gezahlt)\b"
    r"|\bwie ?viel (?:[\w'’]+ ){1,10}(?:ausgegeben|bezahlt|gezahlt)\b"
    r"|\bcu[aá]nto (?:[\w'’]+ ){0,3}(?:gastado|pagado|gast[eé]|pagu[eé]|gastamos|pagamos)\b"
)
_SPENT = re.compile(
    r"\b(?:what|all|everything|how much|the money)(?: that)?(?: [\w'’]+){0,3} (?:spend|spent|pay|paid)\b"
    r"|\bwhat (?:(?:the|my|our|it) ?)?(?:[\w'’]+ ){0,2}costs?$"
)
_MOST_ATTRIBUTES = 8
_MOST_SUBJECTS = 40
_LONGEST_THING = 3
_TABULAR = frozenset({Goal.COMPARE, Goal.LIST, Goal.SUM, Goal.PLAN})


def read_brief(text: str) -> Brief:
    """Returns the brief as understood."""
    text = text[:LONGEST]
    goal = _goal(text)
    stems = [root(word) for word in words(text)]
    german = is_german(text)
    subjects = _names(text, german=german)
    things = _things(text, goal) if goal in (Goal.COMPARE, Goal.LIST) else ()
    enumerated = len(things) > len(subjects) and all(any(name in one for one in things) for name in subjects)
    if enumerated:
        subjects = things
    attributes, noun, nouns, count = _asked(text, subjects)
    if enumerated:
        count = None
    if goal not in _TABULAR:
        attributes = ()
    if goal is Goal.SUM:
        attributes = tuple(one for one in attributes if one.kind is not None) or _by_kind(stems)
    chosen = any(stem in known().choice for stem in stems)
    best = next((known().best[stem] for stem in stems if stem in known().best), None)
    own = {stem for one in attributes for stem in one.stems}
    period = _period(text) if goal is Goal.LIST else None
    if goal is Goal.SUM:
        # Of "the water costs", all but the kind of value is what it is about.
        own = {stem for one in attributes for stem in one.stems if one.kind and stem in one.kind.stems}
        own -= known().papers
        period = _period(text)
        own |= known().spending
        if period is not None:
            own |= {root(word) for word in words(text) if is_month(word)}
    cues = known().asking | known().choice | frozenset().union(*known().goals.values())
    cues |= {root(word) for word in known().articles}
    topic = frozenset(stem for stem in content(text) if stem not in own and stem not in cues)
    parts = _parts(text, topic) if goal is Goal.SUM else ()
    return Brief(
        text=text,
        goal=goal,
        subjects=subjects,
        noun=noun,
        nouns=nouns,
        further=_further(text, nouns) if goal is Goal.COMPARE and count is None else (),
        count=count,
        attributes=attributes,
        # A total of everything needs no topic.
        topic=topic or (frozenset() if goal is Goal.SUM else frozenset(content(text))),
        parts=parts,
        choice=chosen and goal in (Goal.COMPARE, Goal.LIST),
        best=best,
        limits=tuple(limits(text)),
        period=period,
    )


def _period(text: str) -> Period | None:
    """Returns the period of a brief; a line that was added and corrects it replaces it ("I meant 2026")."""
    for line in reversed(text.split("\n")[1:]):
        if _MEANT.search(line) and _YEAR.search(line):
            return period_in(_MEANT.sub("in", line))
    return period_in(text)


def _goal(text: str) -> Goal:
    stems = [root(word) for word in words(text)]
    lowered = fold(text)
    goals = known().goals
    if not goals["contradiction"].isdisjoint(stems):
        return Goal.CONTRADICTION
    if "add up" in lowered or "how much in all" in lowered or "zähle" in map(fold, words(text)):
        return Goal.SUM
    if _HOW_MUCH.search(lowered):
        return Goal.SUM
    if (summed := _SUM_UP.search(lowered)) is not None:
        # "Sum up the water costs" asks for a total, "sum up the rent contract" for a summary.
        before = words(_REST.split(summed[1])[0])
        heads = [root(one) for one, after in pairwise([*before, "and"]) if after == "and"]
        # The minutes of a meeting are no amount.
        by_kind = any(_by_kind([one]) for one in heads if one != root("minutes"))
        return Goal.SUM if by_kind or _SPENT.search(summed[1].strip()) else Goal.SUMMARY
    asks = any(fold(word) in known().questions for word in words(text)[:1])
    for stem in stems:
        for name in ("compare", "plan", "sum", "list", "summary"):
            # "Who organises the shed?" is no order.
            if (
                stem in goals[name]
                and not (name == "list" and stem in _NO_LIST)
                and not (name == "plan" and asks)
            ):
                return Goal(name)
    if (
        asks
        and any(fold(word) in known().which for word in words(text)[:1])
        and not known().best.keys().isdisjoint(stems)
    ):
        # "Which of the nurseries is cheapest?" is known once they are compared.
        return Goal.COMPARE
    return Goal.ANSWER


_NO_LIST = frozenset(map(root, ("alle", "todos", "todas")))


def _by_kind(stems: list[str]) -> tuple[Attribute, ...]:
    """Returns the first known kind of value that the words refer to, as an attribute."""
    for stem in stems:
        for kind in known().kinds.values():
            if stem in kind.stems:
                return (Attribute(kind.name, frozenset({stem}), kind),)
    return ()


def is_german(text: str) -> bool:
    """Whether German small words prevail."""
    small = lexicon().small_words
    found = [fold(word) for word in words(text)]
    return sum(word in small["de"] for word in found) > sum(word in small["en"] for word in found)


def _names(text: str, *, german: bool) -> tuple[str, ...]:
    """Returns the names in a brief: words with capitals inside a sentence, and quoted text.

    In German all nouns have capitals, so only quotes count.
    """
    found: dict[str, None] = {}
    for match in _QUOTED.finditer(text):
        found[match[1].strip()] = None
    for sentence in [] if german else _SENTENCE.findall(_QUOTED.sub(" ", text)):
        current: list[str] = []
        end = 0
        for at, match in enumerate(_NAME.finditer(sentence)):
            word = match[0]
            # "Fjord, Alpine" are two names.
            between = sentence[end : match.start()]
            joined = bool(current) and between in (" ", " & ")
            end = match.end()
            if at and word[0].isupper() and word != "I" and fold(word) not in lexicon().calendar:
                # "Slate & Sons" is one firm.
                linked = ["&", word] if between == " & " else [word]
                current = [*current, *linked] if joined else _flush(found, current, [word])
            else:
                current = _flush(found, current, [])
        _flush(found, current, [])
    return tuple(found)


def _things(text: str, goal: Goal) -> tuple[str, ...]:
    """Returns the things of "compare the boat, the garden and the piano", or of "list the costs of the boat
    and the piano". Returns none if one has no article or the like, because it may be anything else ("compare
    the boat and the car, and explain why"), or if all are classes ("the tents and the stoves").
    """
    cues = known().goals[goal.value]
    sentences = _SENTENCE.findall(text)
    sentence = next((one for one in sentences if not cues.isdisjoint(map(root, words(one)))), "")
    kinds = frozenset().union(*(kind.stems for kind in known().kinds.values()))
    found = _set_beside(sentence, kinds) if goal is Goal.COMPARE else []
    if not found:
        before, of, about = _parted(sentence, enumerated=True)
        valued = not kinds.isdisjoint(map(root, words(before)))
        if goal is Goal.LIST and not (of and valued):
            return ()
        if fold(of) in _PURPOSE and not valued:
            # "Compare the phones for comfort and noise": these are no phones.
            return ()
        parts = _ENUMERATED.split(about or _CHOOSE.split(before)[0])
        if (
            len(parts) > 1
            and (owner := _OF_NAMED.search(parts[0]))
            and not any(map(_OF_NAMED.search, parts[1:]))
        ):
            # "The offers of Wimmer and Hofbauer": both have made one.
            parts[0] = f"{owner['article']} {owner['name']}"
        found = [_thing(part, kinds) for part in parts]
        # In German all nouns have capitals: "die Preise der Zelte und Kocher" names none.
        shown = of == ":" or (bool(about) and not is_german(text))
        if goal is Goal.COMPARE and shown and any(_is_named(part) for part in parts):
            found = [one or _bare(part, kinds) for one, part in zip(found, parts, strict=True)]
        found = list(dict.fromkeys(found))
        if "" in found or len(found) < 2 or all(fold(one).endswith("s") for one in found):
            return ()
    left_out = {stem for one in sentences for stem in content(_WITHOUT.sub(" ", _taken_back(one)[1]))}
    if left_out <= {root(word) for one in found for word in words(one)}:
        found = [one for one in found if not left_out.intersection(content(one))] or found
    return tuple(found)


def _set_beside(sentence: str, kinds: frozenset[str]) -> list[str]:
    """Returns the two things of "compare the boat with the van"; none if what follows "with" may be something
    else ("the phones with the best camera")."""
    parts = _SET_BESIDE.split(sentence)
    if len(parts) != 2 or ":" in sentence or _ENUMERATED.search(sentence) or _SUPERLATIVE.search(parts[1]):
        return []
    found = [_thing(part, kinds) for part in parts]
    # "The phones", "the three offers": what follows is what they are compared by.
    several = fold(found[0]).endswith("s") or fold(found[0]).split(" ")[0] in lexicon().number_words
    return [] if "" in found or several or found[0] == found[1] else found


def _is_named(part: str) -> bool:
    """Whether a part of an enumeration is a single word with a capital letter, or ends with one."""
    tokens = words(part)
    return bool(tokens) and tokens[-1][0].isupper()


def _bare(part: str, kinds: frozenset[str]) -> str:
    """Returns the word that is all of a part beside a cue; "" if it may be anything else. Beside a name, such
    a word is a thing, too: "compare Ibuprofen and aspirin"."""
    cues = known().asking | known().choice | frozenset().union(*known().goals.values())
    tokens = [word for word in words(part) if root(word) not in cues]
    alone = len(tokens) == 1 and tokens == [word for word in meaningful(part) if root(word) not in cues]
    return tokens[0] if alone and root(tokens[0]) not in kinds and not any(map(str.isdigit, part)) else ""


def _thing(part: str, kinds: frozenset[str]) -> str:
    """Returns what stands after the article, at the end: "boat insurance"; "" for anything else."""
    tokens = words(part)
    starts = [at for at, word in enumerate(tokens) if fold(word) in known().openers]
    if not starts or any(char.isdigit() for char in part):
        return ""
    cues = known().asking | frozenset().union(*known().goals.values())
    before, thing = tokens[: starts[-1]], tokens[starts[-1] + 1 :]
    said = meaningful(part)
    # The rent is a thing, as the price of something is not.
    if not (len(thing) == 1 and root(thing[0]) in known().particular):
        while thing and root(thing[-1]) in kinds | cues:
            # "How much the boat and the garden cost."
            thing.pop()
    known_before = all(word not in said or root(word) in cues for word in before)
    # The last word of "swimming course" is a small word elsewhere ("of course").
    told = bool(thing) and (thing[-1] in said or (thing[0] in said and root(thing[-1]) not in _SMALL))
    named = known_before and told and len(thing) <= _LONGEST_THING
    return " ".join(thing) if named else ""


def _flush(found: dict[str, None], current: list[str], following: list[str]) -> list[str]:
    if current:
        name = " ".join(current)
        found[name.removesuffix("'s").removesuffix("’s")] = None
    return following


def _asked(text: str, subjects: tuple[str, ...]) -> tuple[tuple[Attribute, ...], str, str, int | None]:
    """Returns the attributes wanted of each subject, the noun for the subjects (its stem, and as written),
    and their number.
    """
    names = {root(word) for name in subjects for word in words(name)}
    attributes: dict[frozenset[str], Attribute] = {}
    noun, nouns, count = "", "", None
    unwanted: set[str] = set()
    for added, whole in (
        (number > 0, sentence)
        for number, line in enumerate(text.split("\n"))
        for sentence in _SENTENCE.findall(line)
    ):
        sentence, unneeded = _taken_back(whole)
        unwanted |= {root(word) for word in words(unneeded)}
        if not words(sentence) or (added and _STATES.match(sentence)):
            continue
        wanted, _, about = _parted(sentence)
        if not noun:
            kinds = {stem for kind in known().kinds.values() for stem in kind.stems}
            noun, nouns, count = _noun(about or sentence, names if about else names | kinds)
        for part in _LIST.split(wanted):
            if known().which.intersection(map(fold, words(part))):
                continue
            one = _attribute(part, names | {noun})
            # "List all hotels" names no value: nothing shows that "hotels" is one.
            named = one is not None and (bool(about) or one.kind is not None or bool(attributes))
            if one is not None and named and len(attributes) < _MOST_ATTRIBUTES:
                attributes.setdefault(one.stems, one)
    kept = [one for one in attributes.values() if not one.stems <= unwanted]
    return tuple(kept), noun, nouns, count


def _taken_back(sentence: str) -> tuple[str, str]:
    """Splits a sentence into what it asks for and what it takes back: "also the noise, and leave out the
    price"."""
    match = _WITHOUT.search(sentence)
    if match is None:
        return sentence, ""
    at = match.start() if match["order"] else 0
    return sentence[:at], sentence[at:]


def _parts(text: str, topic: frozenset[str]) -> tuple[frozenset[str], ...]:
    """Returns the words of each thing in "the costs of the boat, the garden and the roof"; none if it is
    one thing.
    """
    of = _OF.search(text)
    named = (
        [] if of is None else [topic.intersection(content(part)) for part in _LIST.split(text[of.end() :])]
    )
    parts = tuple(dict.fromkeys(part for part in named if part))
    return parts if len(parts) > 1 else ()


def _parted(sentence: str, *, enumerated: bool = False) -> tuple[str, str, str]:
    """Splits "the weight and price of the three stoves" into the attributes and the subjects; and "the stoves
    with their weight" the other way round. `enumerated`: a comma does not end the subjects.
    """
    with_ = _WITH.search(sentence)
    if with_ is not None:
        return sentence[with_.end() :], "", sentence[: with_.start()]
    before, colon, after = sentence.partition(":")
    if colon and after.strip():
        return after, colon, before
    of = _OF.search(sentence)
    if of is None:
        return sentence, "", ""
    after = sentence[of.end() :]
    # "… of the stoves, and say which": the part after the comma does not belong to it.
    cut = (_CHOOSE if enumerated else _CUT).search(after)
    return sentence[: of.start()], of[0], after if cut is None else after[: cut.start()]


def _noun(text: str, names: set[str]) -> tuple[str, str, int | None]:
    """Returns the noun for the subjects: a plural, if there is one."""
    count: int | None = None
    numbers = lexicon().number_words
    found: list[str] = []
    tokens = _TOKEN.findall(text)
    said = meaningful(" ".join(tokens))
    cues = known().asking | known().choice | frozenset().union(*known().goals.values())
    for token in tokens:
        word = fold(token)
        value = token if token.isdecimal() else numbers.get(word)
        if value is not None:
            # Of "courses below 100 euros", the number is not a count.
            count = int(value) if not found and int(value) <= _MOST_SUBJECTS else count
            continue
        stem = root(token)
        if word in known().articles or token not in said or stem in names or stem in cues:
            continue
        found.append(token)
    plurals = [
        one for one in found if fold(one).endswith(("s", "en", "er")) and not (one[0].isupper() and names)
    ]
    chosen = (plurals or found or [""])[0]
    return (root(chosen), chosen, count) if chosen else ("", "", count)


def _further(text: str, nouns: str) -> tuple[str, ...]:
    """Returns the other plurals in "the caravans, the bikes and the flats: price"."""
    about = _parted(text)[2]
    at = about.find(nouns) + len(nouns) if nouns else len(about)
    found: list[str] = []
    while (match := _AND_OTHERS.match(about, at)) is not None:
        found.append(match["nouns"])
        at = match.end()
    return tuple(found)


def _attribute(part: str, apart: set[str]) -> Attribute | None:
    """Returns an attribute from a part of a list ("the boiling time"); None if the part is not one."""
    cues = known().asking | known().choice | frozenset().union(*known().goals.values())
    said = meaningful(part)
    kept = [
        word
        for word in words(part)
        if fold(word) not in known().articles
        and root(word) not in apart
        and (root(word) not in cues or any(root(word) in kind.stems for kind in known().kinds.values()))
        and (word in said or any(root(word) in kind.stems for kind in known().kinds.values()))
    ]
    if not 1 <= len(kept) <= 3 or any(char.isdigit() for char in part):
        return None
    stems = frozenset(map(root, kept))
    kind = next(
        (kind for word in reversed(kept) for kind in known().kinds.values() if root(word) in kind.stems), None
    )
    return Attribute(" ".join(kept), stems, kind)
