"""What personal data looks like in text: patterns and check digits, as pure functions.

They find more rather than less: who redacts looks at the preview and takes back what was too much.
"""

import re
from collections.abc import Callable, Iterator
from unicodedata import decimal

Span = tuple[int, int]

_GAP = r"[ \u00a0\u2009\u202f.\-\u2010\u2011\u2013/]"

# Most texts hold neither, and need not be looked at closely.
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d(?:[^\w\n]{0,2}\d){4}")

_EMAIL = re.compile(
    r"(?<![\w.!#$%&'*+/=?^`{|}~-])[\w.!#$%&'*+/=?^`{|}~-]++@(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_]{2,}",
    re.UNICODE,
)
_CARD = re.compile(r"(?<![\w.+-])\d(?:[ \u00a0\u202f\-\u2011]?\d){12,18}(?![\w-])")
_IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:[ \u00a0-]?[A-Z0-9]){11,30}(?!\w)", re.IGNORECASE)
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
# What has many beginnings (A'A'A'…) would be read to its end from each of them.
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
    """Addresses of electronic mail."""
    if "@" in text:
        yield from (found.span() for found in _EMAIL.finditer(text))


def cards(text: str) -> Iterator[Span]:
    """Numbers of payment cards: 13 to 19 digits whose check digit is right (ISO/IEC 7812-1, Luhn)."""
    if _NUMBER.search(text) is None:
        return
    for found in _CARD.finditer(text):
        if luhn(digits(found[0])):
            yield found.span()


def ids(text: str) -> Iterator[Span]:
    """IBAN, national numbers with a form of their own, and what is said to be one, or an account's."""
    if _DIGIT.search(text) is None:
        return
    for found in _IBAN.finditer(text):
        # Words that follow an IBAN look like more of it: the longest beginning that checks is it.
        for end in range(found.end(), found.start() + 14, -1):
            # What stands between it and the next word is not of it.
            if text[end - 1].isalnum() and iban(text[found.start() : end]):
                yield found.start(), end
                break
    for pattern in (_NINO, _CODICE):
        yield from (found.span() for found in pattern.finditer(text))
    if _NUMBER.search(text) is not None:
        yield from _long_ids(text)


def _long_ids(text: str) -> Iterator[Span]:
    """Those with many digits together."""
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
    """Telephone numbers: international, with a leading zero, in the American form, or said to be one."""
    if _NUMBER.search(text) is None:
        return
    for found in _PHONE.finditer(text):
        start = found.start()
        number = found[0].rstrip("()" + " .-/")
        if _is_phone(number):
            yield start, start + len(number)
    yield from (found.span(1) for found in _CALLED.finditer(text))


def addresses(text: str) -> Iterator[Span]:
    """Streets with a number, post office boxes, postcodes of Britain and America, places on the globe."""
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


def digits(text: str) -> list[int]:
    """The decimal digits of a text, in any script, as numbers."""
    return [value for char in text if (value := decimal(char, -1)) >= 0]


def digits_text(text: str) -> Iterator[str]:
    yield from (str(value) for value in digits(text))


def luhn(number: list[int]) -> bool:
    """Whether the last digit checks the others. A row of one digit only is no number of a card."""
    total = 0
    for place, value in enumerate(reversed(number)):
        doubled = value * 2 if place % 2 else value
        total += doubled - 9 if doubled > 9 else doubled
    return len(number) >= 13 and total % 10 == 0 and len(set(number)) > 1


def iban(text: str) -> bool:
    """Whether the two check digits are right (ISO 13616, ISO 7064 MOD 97-10)."""
    plain = re.sub(r"[\s-]", "", text).upper()
    if not (15 <= len(plain) <= 34 and plain.isascii() and plain.isalnum()):
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


FINDERS: dict[str, Callable[[str], Iterator[Span]]] = {
    "emails": emails,
    "cards": cards,
    "ids": ids,
    "phones": phones,
    "addresses": addresses,
}
"""In the order in which they claim a place in the text."""
