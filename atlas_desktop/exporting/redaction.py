"""Redaction of personal data in exports: the patterns that find it, and the marks that replace it.

`spans` is a pure function of a text. A `Redactor` gives the same value the same mark throughout an export, so
that the redacted text can still be followed.
"""

import json
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from atlas_desktop.exporting.document import UNSUPPORTED, MemoryRecord, citations, named_speaker, unsupported
from memory.memories.lifetime import CARD, IBAN, digits, iban_end, luhn
from memory.transfer import TravellingEvidence, TravellingMessage, TravellingSession

Span = tuple[int, int]

_GAP = r"[ \u00a0\u2009\u202f.\-\u2010\u2011\u2013/]"

# Most texts contain neither and need no further search.
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d(?:[^\w\n]{0,2}\d){4}")

_EMAIL = re.compile(
    r"(?<![\w.!#$%&'*+/=?^`{|}~-])[\w.!#$%&'*+/=?^`{|}~-]++@(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}",
    re.UNICODE,
)
_SSN = re.compile(r"(?<![\w-])(?!000|666|9\d\d)\d{3}[- ](?!00)\d{2}[- ](?!0000)\d{4}(?![\w-])")
_NINO = re.compile(r"(?<!\w)[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D](?!\w)")
_DNI = re.compile(r"(?<!\w)([XYZ]?)(\d{7,8})-?([A-Z])(?!\w)", re.IGNORECASE)
_CODICE = re.compile(r"(?<!\w)[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z](?!\w)", re.IGNORECASE)
_INSEE = re.compile(r"(?<![\w.])[12] ?\d{2} ?\d{2} ?\d[\dAB] ?\d{3} ?\d{3} ?(\d{2})(?![\w-])")
_NUMBERED = re.compile(
    r"(?:passport|driv(?:er'?s|ing) licen[cs]e|social security|national insurance|tax|id card|identity card|"
    r"account|ausweis|reisepass|steuer|konto|versicherung|passeport|pasaporte|passaporto)"
    r"[ -]?(?:id|number|no\.?|nr\.?|#|nummer|num[ée]ro|n[úu]mero|numero)?\s*(?:is|ist|est|es|:|#|=)?\s*"
    r"([A-Z]{0,3}\d[A-Z0-9]*(?:[ -]?[A-Z0-9]*\d[A-Z0-9]*){0,5})",
    re.IGNORECASE,
)
_PHONE = re.compile(rf"(?<![\w.+#/-])(?:\+|\(|\d)(?:[()]|{_GAP}(?!{_GAP})|\d){{5,24}}\d(?![\w%]|[.,]\d)")
_CALLED = re.compile(
    r"(?:phone|tel(?:ephone|efon)?|mobile|cell|fax|call|text|handy|whatsapp|m[óo]vil|portable)\.?"
    r"(?:\s+(?:me|us|him|her|is|number|no\.?|at|on|under|nr\.?|nummer)){0,3}\s*:?\s*"
    rf"(\+?\d(?:{_GAP}?\d){{4,16}})(?!\w)",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{4}([-./])\d{1,2}\1\d{1,2}|\d{1,2}([-./])\d{1,2}\2(?:\d{4}|\d{2})")
_YEARS = re.compile(r"(?:1[5-9]|20)\d{2}[-–/ ](?:1[5-9]|20)\d{2}")
_IP = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
_NANP = re.compile(r"(?:1[-. ])?(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}")
_LOCAL = re.compile(r"\d{3}-\d{4}")

_W = r"[^\W\d_][\w'’.-]*+"
_CAP = r"[A-ZÀ-ÖØ-ÞĀ-ŽΑ-ΩА-Я][\w'’-]*"
# Without this, text with many possible starts (A'A'A'…) would be scanned to its end from each of them.
_BEGINS = r"(?<!\w)(?<!\w['’-])"
_UNIT = r"(?:,? *(?i:apt|apartment|suite|ste|unit|flat|floor|room)\.? *#?\w+|,? *#\d+)?"
_PLACE = r"[A-ZÀ-ÖØ-ÞĀ-ŽΑ-ΩА-Я][^\W\d_]*(?:['’-][^\W\d_]+)*(?!\w)"
_TOWN = rf"(?:, *{_PLACE}(?: {_PLACE}){{0,2}})?"
_STATE = r"(?:,? +[A-Z]{2} +\d{5}(?:-\d{4})?)?"
_POSTCODE_UK = r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}"
_ADDRESSES = (
    re.compile(
        rf"(?<![\w-])\d{{1,5}}[A-Za-z]? +(?:(?:{_CAP}|\d{{1,3}}(?:st|nd|rd|th))\.? +){{1,4}}"
        r"(?i:street|st|avenue|ave|road|rd|boulevard|blvd|lane|ln|drive|dr|court|ct|square|sq|place|pl|"
        r"terrace|way|close|crescent|parkway|pkwy|highway|hwy|mews|row|gardens|hill)\b\.?"
        rf"{_UNIT}{_TOWN}{_STATE}(?:,? +{_POSTCODE_UK})?"
    ),
    re.compile(
        rf"{_BEGINS}(?:{_CAP}+ ){{0,2}}{_CAP}(?:straße|strasse|str\.|weg|platz|allee|gasse|ring|damm|ufer|"
        r"stra?at|laan|gracht|plein|gatan|vägen|veien|gata|vej)"
        rf" +\d{{1,4}} ?[a-z]?\b(?:, *\d{{4,5}}(?: ?[A-Z]{{2}})? +{_CAP}(?: {_CAP})?)?"
    ),
    re.compile(
        rf"{_BEGINS}(?:(?:Am|An|Auf|Im|In|Zum|Zur|Unter)(?: der| dem| den)? {_CAP}|"
        rf"{_CAP} (?:Straße|Strasse|Str\.|Weg|Platz|Allee|Gasse|Ring|Damm)) \d{{1,4}} ?[a-z]?\b"
        rf"(?:, *\d{{5}} +{_CAP}(?: {_CAP})?)?"
    ),
    re.compile(
        r"(?<!\w)\d{1,4},? *(?:bis,? |ter,? )?(?i:rue|avenue|av\.|boulevard|bd|place|chemin|allée|impasse|"
        rf"quai|cours|route) +(?:(?:de|du|des|la|le|les|l'|d'|l’|d’) *)*{_CAP}+(?:[ -]{_W}){{0,3}}?"
        rf"(?:, *\d{{5}} +{_CAP})?(?=[\s,.;:!?)]|$)"
    ),
    re.compile(
        r"(?<!\w)(?i:calle|avenida|avda\.|plaza|paseo|via|viale|piazza|corso|rua|praça|ulica|ul\.) +"
        rf"(?:(?:de|del|della|dei|di|do|da|la|las|los) +)*{_CAP}(?: {_W}){{0,3}}?,? *(?:n[.º°]? *)?"
        r"\d{1,4}\b"
        rf"(?:,? *\d{{5}}(?: +{_CAP})?)?"
    ),
    re.compile(r"(?<!\w)(?:P\.? ?O\.? Box|Postfach|Apartado|Casella postale) +\d[\d ]*\d", re.IGNORECASE),
    re.compile(rf"(?<!\w){_POSTCODE_UK}(?!\w)"),
    re.compile(r"(?<!\w)[A-Z]{2} \d{5}(?:-\d{4})?(?!\w)"),
    re.compile(r"(?<![\w.])-?\d{1,2}\.\d{4,},\s*-?\d{1,3}\.\d{4,}(?![\w.])"),
)


def emails(text: str) -> Iterator[Span]:
    """Yields email addresses."""
    if "@" in text:
        yield from (found.span() for found in _EMAIL.finditer(text))


def cards(text: str) -> Iterator[Span]:
    """Yields payment card numbers: 13 to 19 digits with a valid check digit (ISO/IEC 7812-1, Luhn)."""
    if _NUMBER.search(text) is None:
        return
    for found in CARD.finditer(text):
        if luhn(digits(found[0])):
            yield found.span()


def ids(text: str) -> Iterator[Span]:
    """Yields IBANs, national numbers of a known form, and numbers described as one or as an account's."""
    if _DIGIT.search(text) is None:
        return
    for found in IBAN.finditer(text):
        if (end := iban_end(text, *found.span())) is not None:
            yield found.start(), end
    for pattern in (_NINO, _CODICE):
        yield from (found.span() for found in pattern.finditer(text))
    if _NUMBER.search(text) is not None:
        yield from _long_ids(text)


def _long_ids(text: str) -> Iterator[Span]:
    """Yields the ids with many digits together."""
    yield from (found.span() for found in _SSN.finditer(text))
    for found in _DNI.finditer(text):
        number = int(
            "".join(digits_text({"": "", "x": "0", "y": "1", "z": "2"}[found[1].lower()] + found[2]))
        )
        if "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == found[3].upper():
            yield found.span()
    for found in _INSEE.finditer(text):
        plain = found[0].replace(" ", "").upper().replace("2A", "19").replace("2B", "18")
        if plain.isdigit() and 97 - int(plain[:-2]) % 97 == int(plain[-2:]):
            yield found.span()
    for found in _NUMBERED.finditer(text):
        if len(digits(found[1])) >= 5:
            yield found.span(1)


def phones(text: str) -> Iterator[Span]:
    """Yields telephone numbers: international, with a leading zero, in American form, or described as one."""
    if _NUMBER.search(text) is None:
        return
    for found in _PHONE.finditer(text):
        start = found.start()
        number = found[0].rstrip("()" + " .-/")
        if _is_phone(number):
            yield start, start + len(number)
    yield from (found.span(1) for found in _CALLED.finditer(text))


def addresses(text: str) -> Iterator[Span]:
    """Yields streets with a number, PO boxes, British and American postcodes, and coordinates."""
    if _DIGIT.search(text) is None:
        return
    for pattern in _ADDRESSES:
        yield from (found.span() for found in pattern.finditer(text))


def _is_phone(number: str) -> bool:
    count = len(digits(number))
    if _DATE.fullmatch(number) or _YEARS.fullmatch(number) or _IP.fullmatch(number) or number.count("(") > 1:
        return False
    if number.startswith(("+", "00")):
        return 7 <= count <= 15
    if _NANP.fullmatch(number):
        return True
    if number.startswith(("0", "(0")):
        return 7 <= count <= 15 and not re.match(r"0[./]", number)
    return _LOCAL.fullmatch(number) is not None


def digits_text(text: str) -> Iterator[str]:
    yield from (str(value) for value in digits(text))


FINDERS: dict[str, Callable[[str], Iterator[Span]]] = {
    "emails": emails,
    "cards": cards,
    "ids": ids,
    "phones": phones,
    "addresses": addresses,
}
"""Finders in the order in which they claim a place in the text."""


_CAPITALISED = r"[A-ZÀ-ÖØ-ÞĀ-ŽΆ-ΩЀ-Я][\w'’]*[^\W\d_](?:-[A-ZÀ-ÖØ-ÞĀ-ŽА-Я][\w'’]*)?"
_PARTICLE = r"(?:(?:van|von|de|del|della|di|da|dos|der|den|ten|la|le|bin|ibn|al|el|zu|af|av)[ -]){0,2}"
_FULL = rf"{_CAPITALISED}(?: (?:[A-Z]\. )?{_PARTICLE}{_CAPITALISED}){{0,2}}"

_SAID = re.compile(
    r"(?:\b(?i:my name is|my name's|my name was|name is|i am called|i'm called|call me|this is|named|called|"
    r"ich hei(?:ß|ss)e|mein name ist|je m'appelle|mon nom est|me llamo|mi nombre es|mi chiamo|meu nome é)"
    r"|\b(?:I'm|I am|I’m))"
    rf" ({_FULL})"
)
_TITLED = re.compile(
    r"(?<!\w)(?:(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Sir|Madam|Herr|Herrn|Frau|Monsieur|Madame|Mme|Mlle|"
    rf"Se[ñn]ora?|Signora?|Sra?|Don|Do[ñn]a)\.? )+({_FULL})"
)
_GREETED = re.compile(
    r"^[^\S\n]*(?:Dear|Hi|Hello|Hey|Hallo|Liebe[rs]?|Cher|Chère|Querid[oa]|Cara?|"
    r"Good (?:morning|evening|afternoon))"
    rf",? ({_FULL})(?=\s*[,!:.\n]|$)",
    re.MULTILINE,
)
_SIGNED = re.compile(
    r"(?i:regards|sincerely|best|love|cheers|yours|thanks|wishes|grüße|gruß|cordialement|saludos)[,!]?\s*\n+\s*"
    rf"[-–—]* ?({_FULL})\s*$",
    re.MULTILINE,
)
_RELATED = re.compile(
    r"\b(?i:my|his|her|our|their|meine?|mon|ma|mi)\s+(?:\w+ )?(?i:wife|husband|partner|girlfriend|boyfriend|"
    r"son|daughter|mother|father|mum|mom|dad|brother|sister|friend|colleague|boss|manager|neighbou?r|aunt|uncle|cousin|"
    r"grandmother|grandfather|doctor|therapist|teacher|landlord|roommate|fianc[ée]e?|frau|mann|sohn|tochter|"
    rf"freundin|freund|schwester|bruder|chef|femme|mari|hija|hijo),? ({_FULL})"
)
_PAIR = re.compile(rf"(?<![\w@/.])({_CAPITALISED})((?: (?:[A-Z]\. )?{_PARTICLE}{_CAPITALISED}){{0,2}})")
# Users who write without capitals still state their names.
_SAID_SMALL = re.compile(
    r"\b(?:my name is|my name's|ich hei(?:ß|ss)e|je m'appelle|me llamo|mi chiamo|meu nome é)"
    r" ([^\W\d_][\w’'-]+)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_INTRODUCED = (_SAID, _TITLED, _GREETED, _SIGNED, _RELATED)

_SHORTEST = 2


@cache
def given_names() -> frozenset[str]:
    """Returns common given names of many languages, in lower case.

    Names that are also ordinary words begin with `~` in the file. They are not returned, and count only next
    to a second name.
    """
    return frozenset(name for name in _listed() if not name.startswith("~"))


@cache
def _ambiguous() -> frozenset[str]:
    return frozenset(name[1:] for name in _listed() if name.startswith("~"))


@cache
def _no_names() -> frozenset[str]:
    """Returns words that begin a sentence, or are capitalised for another reason, where a name could be."""
    return frozenset(_listed("no_names.txt"))


def _listed(name: str = "given_names.txt") -> list[str]:
    text = files("atlas_desktop.exporting").joinpath(name).read_text(encoding="utf-8")
    return [word for line in text.splitlines() if not line.startswith("#") for word in line.lower().split()]


class KnownNames:
    """Personal names learned from one or more texts, and their places in a text.

    Names that are common in many languages are found in any case, other names only when capitalised.
    """

    def __init__(self) -> None:
        self._any_case: set[str] = set()
        self._capital: set[str] = set()

    def learn(self, text: str) -> None:
        """Learns each part of common names and of names used in introductions, signatures and greetings."""
        for pattern in _INTRODUCED:
            for found in pattern.finditer(text):
                self.add(found[1])
        for found in _SAID_SMALL.finditer(text):
            if (word := found[1].lower()) not in _no_names():
                self._any_case.add(word)
        for found in _PAIR.finditer(text):
            first, rest = found[1].lower(), found[2].strip()
            if first in given_names() or (rest and first in _ambiguous()):
                self.add(found[0])

    def add(self, name: str) -> None:
        """Adds a full name, without words at either end that are not names."""
        words = name.split()
        while words and words[0].lower().strip("'’") in _no_names():
            words.pop(0)
        for word in words:
            bare = _bare(word)
            if bare.lower() in _no_names():
                break
            if word[:1].isupper() and len(bare.strip(".")) >= _SHORTEST:
                self._keep(bare.lower())
                # Either half of a double name may be used alone.
                for half in bare.split("-") if "-" in bare else ():
                    if half[:1].isupper() and len(half) > _SHORTEST and half.lower() not in _no_names():
                        self._keep(half.lower())

    def _keep(self, word: str) -> None:
        (self._any_case if word in given_names() else self._capital).add(word)

    def spans(self, text: str) -> Iterator[Span]:
        """Yields the spans of known names; adjacent names form one span."""
        start = end = -1
        before: re.Match[str] | None = None
        for found in _WORD.finditer(text):
            word = _bare(found[0])
            if not self._knows(word):
                before = found
                continue
            if end >= 0 and text[end : found.start()] in _BETWEEN:
                end = found.start() + len(word)
                continue
            if end >= 0:
                yield start, end
            start, end = found.start(), found.start() + len(word)
            # `Will` is a name only before another name, such as `Turner`.
            if before is not None and text[before.end() : start] in _BETWEEN and _first_name(before[0]):
                start = before.start()
            before = None
        if end >= 0:
            yield start, end

    def _knows(self, word: str) -> bool:
        small = word.lower()
        if small in self._any_case or small in given_names():
            return True
        if not word[:1].isupper():
            return False
        return small in self._capital or ("-" in small and any(self._knows(p) for p in word.split("-") if p))


_BETWEEN = (" ", "\u00a0")


def _first_name(word: str) -> bool:
    return word[:1].isupper() and word.lower() in _ambiguous()


def _bare(word: str) -> str:
    """Returns a word without a possessive ending."""
    return re.sub(r"['’](?:s|S)?$", "", word.rstrip("-"))


KINDS = ("names", "emails", "phones", "addresses", "cards", "ids", "words")
"""`words` are the user's own words."""

_SINGULAR = {
    "names": "name",
    "emails": "email",
    "phones": "phone",
    "addresses": "address",
    "cards": "card",
    "ids": "id",
    "words": "removed",
}
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OTHER_NAMES = {
    "e-mail": "emails",
    "mail": "emails",
    "numbers": "ids",
    "id-numbers": "ids",
    "address": "addresses",
}


@dataclass(frozen=True, slots=True)
class Redaction:
    """What to redact; the user's own words are matched in any case."""

    kinds: frozenset[str]
    words: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Found:
    """A value that was found `count` times, and the mark that replaces it."""

    kind: str
    text: str = field(repr=False)
    mark: str
    count: int


def kinds_of(text: str) -> frozenset[str] | None:
    """Parses a comma-separated list of kinds (`names,phones`; `all`); returns None if it is invalid."""
    kinds: set[str] = set()
    for word in text.lower().replace(" ", "").split(","):
        if word == "all":
            kinds.update(KINDS)
            continue
        kind = next((one for one in KINDS if word in (one, _SINGULAR[one])), _OTHER_NAMES.get(word))
        if kind is None:
            return None
        kinds.add(kind)
    return frozenset(kinds)


def pattern_of(words: Iterable[str]) -> "re.Pattern[str] | None":
    """Returns a pattern for any of the words, or None if there are none.

    It ignores case, the amount of whitespace and Unicode composition. A word with upper and lower case must
    stand alone; in scripts without case it may touch other words.
    """
    forms = {form for word in words if word.strip() for form in _forms(word.strip())}
    if not forms:
        return None
    ordered = sorted(forms, key=lambda form: (-len(form), form))
    return re.compile("|".join(map(_bounded, ordered)), re.IGNORECASE)


def _forms(word: str) -> set[str]:
    return {unicodedata.normalize(form, word) for form in ("NFC", "NFD")} | {word}


def _bounded(word: str) -> str:
    body = r"\s+".join(map(re.escape, word.split()))
    before = r"(?<!\w)" if _alphabetic(word[0]) else ""
    after = r"(?!\w)" if _alphabetic(word[-1]) else ""
    return f"{before}{body}{after}"


def _alphabetic(char: str) -> bool:
    return char.isdecimal() or char.lower() != char.upper() or unicodedata.combining(char) > 0


def spans(
    text: str, kinds: frozenset[str], names: KnownNames, words: "re.Pattern[str] | None"
) -> list[tuple[int, int, str]]:
    """Returns start, end and kind of the text to redact, in order.

    The spans do not overlap: the first kind wins.
    """
    taken: list[tuple[int, int, str]] = []
    if words is not None and "words" in kinds:
        taken.extend((*found.span(), "words") for found in words.finditer(text))
    for kind, find in FINDERS.items():
        if kind in kinds:
            _claim(taken, find(text), kind)
    if "names" in kinds:
        _claim(taken, names.spans(text), "names")
    return taken


def _claim(taken: list[tuple[int, int, str]], found: Iterable[tuple[int, int]], kind: str) -> None:
    """Adds the finds that do not overlap earlier ones; `taken` stays sorted."""
    for start, end in found:
        at = bisect_left(taken, (start, end, ""))
        if (at and taken[at - 1][1] > start) or (at < len(taken) and taken[at][0] < end):
            continue
        taken.insert(at, (start, end, kind))


class Redactor:
    """Redacts sessions, memories and text, after `learn` has seen all of them for their names."""

    def __init__(self, redaction: Redaction) -> None:
        self._kinds = redaction.kinds | ({"words"} if redaction.words else frozenset())
        self._words = pattern_of(redaction.words)
        self._names = KnownNames()
        self._marks: dict[tuple[str, str], str] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._first: dict[tuple[str, str], str] = {}
        self._numbers: dict[str, int] = {}
        self._people: dict[str, str] = {}

    def learn(self, session: TravellingSession) -> None:
        """Learns the personal names in a session."""
        if "names" not in self._kinds:
            return
        self._names.learn(session.title)
        for message in session.messages:
            self._names.learn(message.content)
            for line in citations(message):
                self._names.learn(line)
            if name := named_speaker(message):
                self._names.add(name)

    def learn_text(self, text: str) -> None:
        """Learns the personal names in a text."""
        if "names" in self._kinds:
            self._names.learn(text)

    @property
    def found(self) -> list[Found]:
        """Values redacted so far, by kind, the most frequent first."""
        listed = [
            Found(kind, self._first[kind, key], mark, self._counts[kind, key])
            for (kind, key), mark in self._marks.items()
        ]
        return sorted(listed, key=lambda one: (KINDS.index(one.kind), -one.count, one.text))

    def counts(self) -> dict[str, int]:
        """Returns the number of redactions so far, by kind."""
        totals: dict[str, int] = {}
        for (kind, _), count in self._counts.items():
            totals[kind] = totals.get(kind, 0) + count
        return {kind: totals[kind] for kind in KINDS if kind in totals}

    def text(self, text: str) -> str:
        """Returns a text in which marks replace the values found."""
        if not text:
            return text
        parts = []
        at = 0
        for start, end, kind in spans(text, self._kinds, self._names, self._words):
            parts += [text[at:start], self._mark(kind, text[start:end])]
            at = end
        return "".join([*parts, text[at:]]) if parts else text

    def session(self, session: TravellingSession) -> TravellingSession:
        """Returns a session with all its text redacted, including unknown fields."""
        return replace(
            session,
            id=self._id(session.id),
            title=self.text(session.title),
            project=None if session.project is None else self.text(session.project),
            tags=tuple(map(self.text, session.tags)),
            category=self.text(session.category),
            system_prompt=None if session.system_prompt is None else self.text(session.system_prompt),
            head=None if session.head is None else self._id(session.head),
            messages=tuple(map(self._message, session.messages)),
            meta=self._meta(session.meta),
        )

    def memory(self, memory: MemoryRecord) -> MemoryRecord:
        """Returns a redacted memory."""
        return replace(
            memory,
            text=self.text(memory.text),
            subject=self.text(memory.subject),
            project=None if memory.project is None else self.text(memory.project),
            sources=tuple(map(self._id, memory.sources)),
            evidence=tuple(
                TravellingEvidence(self._id(one.session), self._id(one.message), self.text(one.quote))
                for one in memory.evidence
            ),
        )

    def _message(self, message: TravellingMessage) -> TravellingMessage:
        content, meta = self.text(message.content), self._meta(message.meta)
        if f'"{UNSUPPORTED}"' in meta:
            meta = json.dumps(self._moved(message.content, content, json.loads(meta)))
        return replace(
            message,
            id=self._id(message.id),
            parent=None if message.parent is None else self._id(message.parent),
            speaker=self.text(message.speaker) if named_speaker(message) else message.speaker,
            content=content,
            meta=meta,
        )

    def _moved(self, content: str, redacted: str, meta: dict[str, Any]) -> dict[str, Any]:
        """Returns the fields of a message with the ranges of its redacted text."""
        if redacted == content:
            return meta
        ranges = [[self.text(content[:at]) for at in one] for one in unsupported(meta)]
        moved = [[len(begin), len(end)] for begin, end in ranges if redacted.startswith(end)]
        return {**meta, UNSUPPORTED: moved}

    def _next(self, kind: str) -> int:
        self._numbers[kind] = self._numbers.get(kind, 0) + 1
        return self._numbers[kind]

    def _part_of(self, key: tuple[str, str]) -> str | None:
        """Returns the mark of a name; None for a single name that is unknown, and for other kinds.

        A full name gets a new mark, and its parts share it: they most likely refer to the same person.
        """
        kind, name = key
        if kind != "names":
            return None
        words = name.split()
        if len(words) == 1:
            return self._people.get(name)
        mark = f"[name {self._next(kind)}]"
        for word in words:
            for part in (word, *word.split("-")):
                self._people.setdefault(part, mark)
        return mark

    def _id(self, name: str) -> str:
        return name if _UUID.fullmatch(name) else self.text(name)

    def _meta(self, meta: str) -> str:
        return meta if meta == "{}" else json.dumps(self._value(json.loads(meta)))

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._id(value)
        if isinstance(value, list):
            return [self._value(one) for one in value]
        if isinstance(value, dict):
            return {self.text(key): self._value(one) for key, one in value.items()}
        return value

    def _mark(self, kind: str, text: str) -> str:
        key = (kind, _same(kind, text))
        if key not in self._marks:
            self._marks[key] = self._part_of(key) or f"[{_SINGULAR[kind]} {self._next(kind)}]"
            self._first[key] = text
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._marks[key]


def _same(kind: str, text: str) -> str:
    """Returns a key that is the same for different spellings of one value."""
    if kind in ("phones", "cards"):
        return "".join(map(str, digits(text)))
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())
