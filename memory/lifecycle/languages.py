"""Words of the languages that the rules know: number words, months, small words that tell languages apart."""

import re
import unicodedata
from functools import lru_cache

_COUNTS = {
    "en": "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty",
    "de": "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn "
    "siebzehn achtzehn neunzehn zwanzig",
    "fr": "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept "
    "dix-huit dix-neuf vingt",
    "es": "dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis "
    "diecisiete dieciocho diecinueve veinte",
    "it": "due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici "
    "sedici diciassette diciotto diciannove venti",
}
_TENS = {
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
    "hundred": 100, "thousand": 1000, "dozen": 12, "million": 1_000_000,
    "dreißig": 30, "vierzig": 40, "fünfzig": 50, "hundert": 100, "tausend": 1000,
    "trente": 30, "quarante": 40, "cinquante": 50, "mille": 1000, "treinta": 30, "cuarenta": 40,
}  # fmt: skip
NUMBER_WORDS: dict[str, str] = {
    **{word: str(n) for words in _COUNTS.values() for n, word in enumerate(words.split(), 2)},
    **{word: str(n) for word, n in _TENS.items()},
}
"""Small numbers in words, to their digits. One is left out: it also is an article or a pronoun."""

# Numbers in one language that are common words of another one say nothing there.
AMBIGUOUS_NUMBER_WORDS = frozenset(
    {"once", "sei", "due", "mille", "dix", "elf", "tres", "acht", "six", "sept"}
)

_MONTHS = (
    "january february march april may june july august september october november december "
    "januar februar märz mai juni juli oktober dezember "
    "janvier février mars avril juin juillet août septembre octobre novembre décembre "
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
)
_DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday "
    "montag dienstag mittwoch donnerstag freitag samstag sonntag "
    "lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo"
)
CALENDAR = frozenset(f"{_MONTHS} {_DAYS}".split())

_SMALL = {
    "en": "the and is of to in that it was for with you are this have not but what they she her his from my "
    "i we be on as at will would about user",
    "de": "der die das und ist nicht ein eine zu den mit auf für ich sie es von im dem wir auch sich aber "
    "hat wird bei mein noch wie",
    "fr": "le la les et est une des pour dans que qui pas je vous nous avec sur au ce il elle sont du mon ma "
    "été aux mais",
    "es": "el los las y es una para en que de no con por su mi se como más pero yo está son del al muy "
    "usted ella",
    "it": "il lo gli è una per che non con di sono mi si del della ho ma anche più io alla nel come questo",
    "pt": "o os as é uma para que não com de do da em eu mas por mais seu minha são você no na ao",
    "nl": "de het een en is van niet ik dat op te met voor zijn je aan er maar ook mijn wij naar",
}
SMALL_WORDS = {language: frozenset(words.split()) for language, words in _SMALL.items()}
ALL_SMALL_WORDS = frozenset().union(*SMALL_WORDS.values())

GERMAN_BEFORE_NOUN = (
    "der die das den dem des ein eine einen einem einer kein keine keinen mein meine meinen meiner dein sein "
    "seine ihr ihre ihren ihrer im am zum zur beim vom ins ans diese dieser dieses jede jeder viel viele mehr"
)
"""Words that a German noun, and seldom a name, stands after."""

SAID_OF_SOMEBODY = (
    "is was has had will wants likes loves lives works said says asked prefers plans needs decided met hates "
    "moved bought called told and ist hat war wird mag wohnt est a habite aime es tiene vive"
)
"""Words that tell of somebody when they follow the first word of a sentence."""

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_LEAST_EVIDENCE = 4


def words(text: str) -> list[str]:
    """Runs of letters (with inner hyphens and apostrophes), as they are written."""
    return _WORD.findall(text)


def script(text: str) -> str | None:
    """The writing system of most letters (`LATIN`, `CYRILLIC`, `CJK`…), or None without letters."""
    counts: dict[str, int] = {}
    for char in text[:4000]:
        if char.isalpha():
            name = _script_of(char)
            counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: counts[name]) if counts else None


@lru_cache(maxsize=4096)
def _script_of(char: str) -> str:
    first = unicodedata.name(char, "UNKNOWN").split(" ", 1)[0]
    return "CJK" if first in ("CJK", "HIRAGANA", "KATAKANA") else first


def language(text: str) -> str | None:
    """The language whose small words stand out in a text in Latin script, or None when that is not clear."""
    found = [word.casefold() for word in words(text[:20_000])]
    scores = {name: sum(word in small for word in found) for name, small in SMALL_WORDS.items()}
    best, second = sorted(scores.values(), reverse=True)[:2]
    if best < _LEAST_EVIDENCE or best < 1.3 * second:
        return None
    return max(scores, key=lambda name: scores[name])
