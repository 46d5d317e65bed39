"""Names of people in text, without a model: by what stands before them, and by lists."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

from atlas_desktop.services.exporting.patterns import Span

_CAP = r"[A-ZÀ-ÖØ-ÞĀ-ŽΆ-ΩЀ-Я][\w'’]*[^\W\d_](?:-[A-ZÀ-ÖØ-ÞĀ-ŽА-Я][\w'’]*)?"
_PARTICLE = r"(?:(?:van|von|de|del|della|di|da|dos|der|den|ten|la|le|bin|ibn|al|el|zu|af|av)[ -]){0,2}"
_FULL = rf"{_CAP}(?: (?:[A-Z]\. )?{_PARTICLE}{_CAP}){{0,2}}"

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
_PAIR = re.compile(rf"(?<![\w@/.])({_CAP})((?: (?:[A-Z]\. )?{_PARTICLE}{_CAP}){{0,2}})")
# People who write without capitals still say what they are called.
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
    """Common given names of many languages, in lower case; those that are words as well begin with `~` in the
    file and count only beside a second name."""
    return frozenset(name for name in _listed() if not name.startswith("~"))


@cache
def _ambiguous() -> frozenset[str]:
    return frozenset(name[1:] for name in _listed() if name.startswith("~"))


@cache
def _no_names() -> frozenset[str]:
    """What begins a sentence, or is written large for another reason, where a name could stand."""
    return frozenset(_listed("no_names.txt"))


def _listed(name: str = "given_names.txt") -> list[str]:
    text = files("atlas_desktop.services.exporting").joinpath(name).read_text(encoding="utf-8")
    return [word for line in text.splitlines() if not line.startswith("#") for word in line.lower().split()]


class KnownNames:
    """The names that a text, or many, gives to people; and where they stand.

    A name that is one in many languages is found however it is written, any other one only in capitals.
    """

    def __init__(self) -> None:
        self._any_case: set[str] = set()
        self._capital: set[str] = set()

    def learn(self, text: str) -> None:
        """Remembers each part of the names that somebody says, signs or greets with, and of common ones."""
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
        """A full name; what is no name at either end of it is left away."""
        words = name.split()
        while words and words[0].lower().strip("'’") in _no_names():
            words.pop(0)
        for word in words:
            bare = _bare(word)
            if bare.lower() in _no_names():
                break
            if word[:1].isupper() and len(bare.strip(".")) >= _SHORTEST:
                self._keep(bare.lower())
                # Of a double name either half is used alone.
                for half in bare.split("-") if "-" in bare else ():
                    if half[:1].isupper() and len(half) > _SHORTEST and half.lower() not in _no_names():
                        self._keep(half.lower())

    def _keep(self, word: str) -> None:
        (self._any_case if word in given_names() else self._capital).add(word)

    def spans(self, text: str) -> Iterator[Span]:
        """Where known names stand; names beside each other are one."""
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
            # `Will` is a name before `Turner`, and nowhere else.
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
    """A word without the ending of the possessive."""
    return re.sub(r"['’](?:s|S)?$", "", word.rstrip("-"))
