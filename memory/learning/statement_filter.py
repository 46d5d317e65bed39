"""Finds what users seriously say about themselves, by patterns; skips quotes, games, irony and hearsay."""

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from memory.memories.entities import MemoryKind
from memory.search.terms import is_unspaced

LONGEST = 8_000
"""The most characters of a message that are examined; a longer one is mostly pasted."""

LONGEST_SENTENCE = 2_000
LONGEST_CLAUSE = 600
"""In characters. Longer ones are skipped: many patterns scan to the end of a text from each of its words."""

_FENCE = re.compile(r"(?m)^[ \t]*(```|~~~)[^\n]*\n(.*?)(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL)
_INLINE_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_CITED_LINE = re.compile(r"(?m)^[^\S\n]*(?:>|\||&gt;).*$")
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]\s+|\d{1,2}[.)]\s+|#{1,6}\s+)?")
_LIST = re.compile(r"(?m)^[^\n]+:[ \t]*\n(?:[ \t]*(?:\d{1,2}[.)]|[-*•])[ \t]+[^\n]+(?:\n|\Z)){2,}")
_QUOTED = re.compile(
    r"\"[^\"\n]{2,600}\"|“[^”\n]{2,600}”|„[^“”\n]{2,600}[“”]|«[^»\n]{2,600}»|‘[^\n]{2,600}?’(?!\w)"
    r"|(?<![\w])'[^\n]{2,600}?'(?!\w)"
)
_ONESELF = re.compile(
    r"\b(?:i|me|my|mine|we|us|our|you|your|ich|mein\w*|wir|je|j|mon|ma|mes|yo|mi|mis|soy|vivo)\b|[我你咱]",
    re.IGNORECASE,
)
_OPEN_QUOTE = re.compile(r"(?:^|[\s:,])[\"“„«][^\"”“»]*$")
# In German, a full stop follows the number of a day: "am 3. Mai".
_END = re.compile(
    r"(?<=[.!?…])(?!(?<=\d\.)\s+(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober"
    r"|November|Dezember)\b)[\"'”’»)\]]*\s+(?=\S)|(?<=[。！？])"
)
_ABBREVIATED = re.compile(
    r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Nr|No|vs|etc|approx|ca|bzw|usw|z\.\s?B|d\.\s?h|[Ee]\.g|[Ii]\.e|Jan|"
    r"Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Inc|Ltd|Co|Jr|Sr)\.$"
)
_NUMBERED = re.compile(r"(?m)^[ \t]*(?:§ ?\d|#{1,6} |\d{1,2}(?:\.\d{1,2})?[.)]? ).*$")
_SELF = re.compile(
    r"\b(?:i|me|my|we|our|ich|mich|mein\w*|wir|unser\w*|je|mon|ma|mes|yo|mi|mis)\b", re.IGNORECASE
)
_LEAST_OF_DOCUMENT = 1_200
_LEAST_PARTS = 3
"""Characters, and numbered lines, of a text that is taken for a document."""
_LOOKED_BACK = 16
"""Characters at the end of a sentence that are searched for an abbreviation."""
_GAP = "\x1f"
_WHO = (
    r"(?:i|i[’']m|i[’']ve|i[’']d|i[’']ll|we|we[’']re|we[’']ve|we[’']ll|my|our|me|he|he[’']s|she|she[’']s|they|it"
    r"|it[’']s|there|"
    r"there[’']s|that|that[’']s|this|these|those|you|your|what|who|which|where|how|why|when|can|could|do|does|is|are|"
    r"should|would|will|now (?:i|we|my)|any|please|don[’']t|let[’']s|could|give|tell|help|keep|so"
    r"|then|ich|wir|mein\w*|er|sie|es|je|j[’']\w+|nous|mon|ma|il|elle|yo|soy|vivo|mi|tengo|trabajo|me|no|él|ella)"
)
# "… and is allergic to nuts" continues the statement; "… and is there a bus?" asks something else.
_ASKED_OF = (
    r"(?:there|it|this|that|these|those|he|she|they|we|you|i|my|our|your|his|her|their"
    r"|(?:the|any|an?)\b[^.!;]*\?)"
)
_NEAR_ONE = (
    r"(?:my|our) [\w’'\-]+(?: (?-i:[^\W\d_a-zß-öø-ÿ])[\w’'\-]*)?"
    r" (?:lives|works|is|has|was|studies|loves|likes|hates)"
)
_SOMEBODY = (
    r"(?:i|i[’'](?:m|ve|d|ll)|we|we[’'](?:re|ve|ll)|he|he[’']s|she|she[’']s|they|it|it[’']s|there[’']s"
    rf"|what|which|who|how|why|can|could|(?:do|does|is|are)(?=\s+{_ASKED_OF})|should|would|will|please|don[’']t"
    rf"|now (?:i|we|my)|{_NEAR_ONE}"
    r"|ich|wir|er|sie|je|j[’']\w+|nous|il|elle|yo|soy|vivo|trabajo|tengo|no)"
)
_BUT = (
    r"(?:but|so|because|since|as|although|though|even though|while|whereas|which|plus|yet|unless|if|except"
    r"|given that|aber|weil|denn|sondern|mais|car|parce que|pero|porque|aunque)"
)
_AND = r"(?:and|or|und|et|y)"
# "And" also joins the items of a list: it begins a clause only before a subject and its verb.
_CLAUSE = re.compile(
    rf"(?<!\s)\s*;\s*|(?<!\s)\s+(?:—|–|-{{1,2}})\s+|(?<!\s)\s*\(|\)\s*|,\s+(?=(?:(?:{_BUT}|{_AND})\s+)?{_WHO}\b)"
    rf"|,\s+(?=and\s+(?-i:[^\W\d_a-zß-öø-ÿ])[\w’'\-]+\s+(?:is|was|has|\w+s)\b)|,\s+(?={_BUT}\s)"
    rf"|(?<!\s)\s+(?=(?:and|but|und|aber|et|mais|y|pero)\s+{_SOMEBODY}\b)"
    rf"|(?<!\s)\s+(?=(?:because|so|since|although|though|while|whereas|which|weil|porque"
    rf"|parce que)\s+{_WHO}\b)"
    r"|[；;]|[，,](?=(?:我|你|您|咱|请|能不能|能|可以|帮|但|不过|所以|因为|可是|他|她|有没有|有什么|有哪些|该|怎么|什么|哪))",
    re.IGNORECASE,
)


_ADVERBIAL = re.compile(
    r"(?:on|in|at|since|for|every|each|this|last|next|these|during|after|before|from|by|over|until|as|being|living|"
    r"speaking|having|yesterday|today|tomorrow|tonight|currently|recently|nowadays|lately|once|usually|normally|"
    r"sometimes|often|now|when|whenever|given|between|of|most|outside"
    r"|depuis|pendant|entre|chaque|maintenant|souvent|d[’']habitude|tous les|toutes les"
    r"|le (?:\d+|matin|soir|midi|week-end|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)"
    r"|desde|durante|cada|ahora|todos los|todas las|entre semana|el \d+)\b(?! (?:i|we)\b)"
    r"|比起|和|跟|与|关于|对于|作为|除了|\d{1,2}月|周末|每天|从|自",
    re.IGNORECASE,
)
_LONGEST_ADVERBIAL = 9
_REMARK = 4

# A request with a question mark. "Can you remember that I told you …?" asks what is known.
_KINDLY = re.compile(
    r"\W*(?:(?:please|also|and|so|hey|atlas)[, ]+)*(?:can|could|would|will) you (?:please |kindly |also )?"
    r"(?:remember|memori[sz]e|make a note|save) that (?=(?:i|we|my|our)\b)"
    r"(?!(?:i|we)(?:[’']ve| have| had)? (?:told|said|asked|mentioned|talked|spoke|discussed|wrote))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class StatementFilter:
    """The phrase patterns, by what they indicate."""

    pasted: re.Pattern[str]
    signed: re.Pattern[str]
    played: re.Pattern[str]
    produced: re.Pattern[str]
    ironic: re.Pattern[str]
    reported: re.Pattern[str]
    unreal: re.Pattern[str]
    harmless: re.Pattern[str]
    asking: re.Pattern[str]
    fillers: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that the user means seriously, verbatim, and its clauses."""

    text: str = field(repr=False)
    clauses: tuple[str, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the line before it, both together verbatim, and the code in it."""

    intro: str = field(repr=False)
    whole: str = field(repr=False)
    code: str = field(repr=False)


@cache
def voice() -> StatementFilter:
    found = tomllib.loads((files(__package__) / "voice.toml").read_text("utf-8"))
    flags = re.IGNORECASE | re.MULTILINE
    made = {name: re.compile("|".join(f"(?:{one})" for one in ones), flags) for name, ones in found.items()}
    starts = {
        "asking": rf"\A(?:{'|'.join(found['asking'])})",
        "fillers": rf"\A(?:(?:{'|'.join(found['fillers'])})(?![\w’'])[,:!.…]*\s+)+",
    }
    return StatementFilter(**(made | {name: re.compile(text, flags) for name, text in starts.items()}))


def sentences(text: str) -> list[Sentence]:
    """Returns what users seriously say about themselves, in order. All clauses are verbatim."""
    found: list[Sentence] = []
    written = _split(_own(text[:LONGEST]))
    known = voice()
    for number, each in enumerate(written):
        if len(each) > LONGEST_SENTENCE:
            continue
        sentence = each.rstrip(" ?") if _KINDLY.match(each) else each
        if known.played.search(sentence):
            # A game or a hypothetical continues until the message ends.
            break
        after = written[number + 1] if number + 1 < len(written) else ""
        if known.produced.search(sentence) or _not_meant(sentence, after):
            continue
        clauses = _clauses(sentence)
        if clauses:
            found.append(Sentence(sentence, clauses))
    return found


def plain(clause: str) -> str:
    """Strips meaningless words at both ends of a clause."""
    known = voice()
    left = known.fillers.sub("", clause.strip(" \t\n,;:–—-"))
    return known.harmless.sub(" ", left).strip(" \t\n,;:–—-")


def lists(text: str) -> list[str]:
    """Returns lines that announce a list, each with its list, verbatim."""
    return [match[0].strip() for match in _LIST.finditer(_own(text[:LONGEST]))]


def length(text: str) -> int:
    """Returns how many words a text has; in scripts without spaces, half its letters."""
    return max(len(text.split()), len(text) // 2 if is_unspaced(text) else 0)


def asks(sentence: str) -> bool:
    return sentence.rstrip(" \"'”’)").endswith(("?", "？"))


def blocks(text: str) -> list[Block]:
    """Returns the fenced blocks with the line directly before each."""
    found = []
    for match in _FENCE.finditer(text[:LONGEST]):
        before = text[: match.start()].rstrip()
        intro = before.rpartition("\n")[2].strip()
        begin = len(before) - len(intro)
        found.append(Block(intro, text[begin : match.end()].strip(), match[2].strip("\n")))
    return found


def _own(text: str) -> str:
    """Replaces code, citations and quoted speech by a mark that no pattern matches; drops pasted text."""
    text = _FENCE.sub(f"\n{_GAP}\n", text)
    text = _INLINE_FENCE.sub(_GAP, text)
    text = _CITED_LINE.sub(_GAP, text)
    if voice().signed.search(text) or _is_document(text):
        return ""
    cut = voice().pasted.search(text)
    if cut is not None:
        text = text[: cut.start()]
    text = _QUOTED.sub(_unquoted, text)
    return "\n".join(_OPEN_QUOTE.sub(_GAP, line) for line in text.split("\n"))


def _is_document(text: str) -> bool:
    """Whether a text is a contract, minutes or the like: long, with numbered parts that are not about the
    user."""
    if len(text) < _LEAST_OF_DOCUMENT:
        return False
    parts = _NUMBERED.findall(text)
    return len(parts) >= _LEAST_PARTS and 2 * sum(_SELF.search(one) is not None for one in parts) < len(parts)


def _unquoted(match: re.Match[str]) -> str:
    # Names and titles stay; quoted sentences do not.
    return _GAP if _ONESELF.search(match[0][1:-1]) else match[0]


def _split(text: str) -> list[str]:
    found: list[str] = []
    for line in text.split("\n"):
        begun = len(found)
        for piece in _END.split(_LIST_MARK.sub("", line)):
            if len(found) > begun and _ABBREVIATED.search(found[-1], max(0, len(found[-1]) - _LOOKED_BACK)):
                found[-1] += f" {piece}"
            elif piece.strip():
                found.append(piece.strip())
    return found


def _not_meant(sentence: str, after: str) -> bool:
    known = voice()
    bare = known.harmless.sub(" ", sentence)
    if known.ironic.search(sentence) or known.unreal.search(known.fillers.sub("", bare)):
        return True
    # "I love meetings. Not." retracts the statement.
    return bool(len(after.split()) <= 4 and known.ironic.search(f". {after}"))


def _clauses(sentence: str) -> tuple[str, ...]:
    known = voice()
    pieces = _pieces(sentence)
    kept: list[str] = []
    for piece in pieces:
        bare = known.harmless.sub(" ", piece).strip()
        if known.reported.search(piece):
            # What follows was reported; a short remark at the end means that all before it was.
            if piece is pieces[-1] and length(piece) <= _REMARK:
                return ()
            break
        if bare and len(piece) <= LONGEST_CLAUSE and _GAP not in bare and not known.unreal.search(bare):
            kept.append(piece)
    if not asks(sentence):
        return tuple(kept)
    if known.asking.match(known.fillers.sub("", pieces[0])):
        return ()
    # The statement before a question: "I live in Leeds, what should I see?"
    return tuple(piece for piece in kept if piece is not pieces[-1] and not known.asking.match(piece))


def _pieces(sentence: str) -> list[str]:
    """Splits into clauses; an adverbial of time or role stays with the clause it belongs to."""
    found: list[str] = []
    begin = 0
    for cut in _CLAUSE.finditer(sentence):
        head = sentence[begin : cut.start()].strip()
        comma = "," in cut[0] or "，" in cut[0]
        if not head or (_ADVERBIAL.match(head) and comma and length(head) <= _LONGEST_ADVERBIAL):
            begin = begin if head else cut.end()
            continue
        found.append(head)
        begin = cut.end()
    rest = sentence[begin:].strip()
    return [*found, rest] if rest else found


_PIECE = re.compile(r"<([A-Z]+)>")
_DEPTH = 4
_LONGEST = 1_000
"""The most characters of a clause."""
_LEAD = "<LEAD>"
_ENGLISH = "en"
_OTHERS = ("de", "es", "fr", "zh")
_ENDS = " .!…,;:。！，；："
_AROUND = " ,.;:。，；："


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to say something.

    `denies`: it states that something is not so. `only_ends`: it matters only to existing memories. `dated`:
    it counts only with a date.
    """

    kind: MemoryKind
    attribute: str
    confidence: float
    denies: bool
    only_ends: bool
    dated: bool
    when: tuple["Phrase", ...]
    ends: str | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """One phrase of a pattern. `led`: words for a time or place may precede it."""

    words: re.Pattern[str]
    led: bool


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """The meaning found in a clause.

    `who` is empty when it is about the user; `key` distinguishes several such things (the favourite *drink*).
    """

    pattern: Pattern
    value: str = field(repr=False)
    who: str = field(default="", repr=False)
    ended: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Turned:
    """A clause whose subject comes after its verb, and the order in which the patterns have its parts."""

    words: re.Pattern[str]
    order: tuple[str, ...]

    def straight(self, clause: str) -> str | None:
        """Returns the clause in that order; None if its subject does not come after its verb."""
        match = self.words.fullmatch(clause)
        if match is None:
            return None
        parts = {name: part for name, part in match.groupdict().items() if part}
        return " ".join(parts[name] for name in self.order if name in parts)


@dataclass(frozen=True, slots=True)
class Language:
    """The patterns of one language. `leading` are words for a time or place before a statement."""

    patterns: tuple[Pattern, ...]
    leading: re.Pattern[str] | None
    turned: Turned | None

    def read(self, clause: str) -> PatternMatch | None:
        """Returns the result of the first pattern that matches a clause."""
        found = self._first(clause)
        if found is None and self.turned is not None and (said := self.turned.straight(clause)):
            found = self._first(said)
        return found

    def _first(self, clause: str) -> PatternMatch | None:
        rest = self.leading.sub("", clause, count=1) if self.leading else clause
        for pattern in self.patterns:
            for phrase in pattern.when:
                match = phrase.words.match(clause)
                if match is None and phrase.led and rest != clause:
                    match = phrase.words.match(rest)
                if match is not None and (found := _matched(pattern, match)) is not None:
                    return found
        return None


def _matched(pattern: Pattern, match: re.Match[str]) -> PatternMatch | None:
    groups = match.groupdict()
    value = (groups.get("v") or match.string[match.end() :] or match[0]).strip(_AROUND)
    if not re.search(r"\w", value):
        return None
    ended = (groups.get("e") or "").strip(_AROUND)
    key = (groups.get("k") or "").strip()
    return PatternMatch(pattern, value, (groups.get("who") or "").strip(" ,"), ended, key)


@cache
def language(name: str) -> Language:
    """Returns the patterns of a language, compiled at the first call."""
    found = _data(name)
    pieces = found["pieces"]
    leading = re.compile(rf"^{_filled(_LEAD, pieces)}", re.IGNORECASE) if "LEAD" in pieces else None
    turned = None
    if "turned" in found:
        order = tuple(found["turned"]["order"])
        turned = Turned(re.compile(found["turned"]["from"], re.IGNORECASE), order)
    return Language(tuple(_pattern(one, pieces) for one in found["pattern"]), leading, turned)


@cache
def _speaks() -> dict[str, re.Pattern[str]]:
    return {name: re.compile(_data(name)["speaks"], re.IGNORECASE) for name in _OTHERS}


@cache
def vague() -> frozenset[str]:
    """Returns the words that name nothing on their own."""
    return frozenset(_data(_ENGLISH)["words"]["vague"].split())


@cache
def piece(name: str) -> str:
    """Returns the regular expression that `<NAME>` means in English."""
    return _filled(f"<{name}>", _data(_ENGLISH)["pieces"])


@cache
def _data(name: str) -> dict[str, Any]:
    file = "patterns.toml" if name == _ENGLISH else f"patterns.{name}.toml"
    return tomllib.loads((files(__package__) / file).read_text("utf-8"))


def _pattern(one: dict[str, Any], pieces: dict[str, str]) -> Pattern:
    return Pattern(
        kind=MemoryKind(one["kind"]),
        attribute=one.get("attribute", ""),
        confidence=one.get("confidence", 0.85),
        denies=one.get("denies", False),
        only_ends=one.get("only_ends", False),
        dated=one.get("dated", False),
        when=tuple(_phrase(text, pieces) for text in one["when"]),
        ends=one.get("ends"),
    )


def _phrase(text: str, pieces: dict[str, str]) -> Phrase:
    # Removed once for all patterns: a copy in each would take twice as long to compile.
    bare = text.removeprefix(_LEAD)
    return Phrase(re.compile(_filled(bare, pieces), re.IGNORECASE), led=bare != text)


def _filled(text: str, pieces: dict[str, str]) -> str:
    for _ in range(_DEPTH):
        text = _PIECE.sub(lambda match: pieces[match[1]], text)
    return text


@lru_cache(maxsize=4096)
def reading(clause: str) -> PatternMatch | None:
    """Returns the meaning of a clause (without fillers), or None if it is not worth remembering."""
    if len(clause) > _LONGEST:
        return None
    bare = clause.strip().rstrip(_ENDS)
    for name, speaks in _speaks().items():
        if speaks.search(bare) and (found := language(name).read(bare)) is not None:
            return found
    return language(_ENGLISH).read(bare)


@cache
def _date() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){piece('DATE')}(?!\w)", re.IGNORECASE)


def tells_date(text: str) -> bool:
    """Whether the text names a day, a month, a year or a period."""
    return _date().search(text) is not None
