"""Recognises texts that contain a secret: a PIN, a password, a key, a card or account number."""

import re
from collections.abc import Callable
from functools import lru_cache
from unicodedata import decimal

CARD = re.compile(r"(?<![\w.+-])\d(?:[ \u00a0\u202f\-\u2011]?\d){12,18}(?![\w-])")
"""What may be a payment card number, if `luhn` holds."""
IBAN = re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:[ \u00a0-]?[A-Z0-9]){11,30}(?!\w)", re.IGNORECASE)
"""What may be an IBAN with words after it, if `iban` holds for its beginning."""

_IS = r"(?:\b(?:is|are|was|lautet|ist|heißt|est|es)\b|[:=：是为])\s*"
_GIVEN = re.compile(
    r"(?:(?<!\w)(?:pass ?(?:word|phrase|code)s?|pins?|puk|cvv|cvc|otp|(?:api|secret|access|private)"
    r"[ -]?key|licen[cs]e key|(?:recovery|seed|secret|security) (?:phrase|key|word|answer)|tokens?"
    r"|passwort|kennwort|geheim(?:zahl|code)|mot de passe|contraseñas?|clave)"
    r"(?:[ -](?:code|number|nummer|número))?\b"
    rf"|密码|口令|密钥|验证码).{{0,40}}?{_IS}(?P<value>\S.*)",
    re.IGNORECASE,
)
_CODE = re.compile(
    r"(?:(?<!\w)(?:\w*codes?|(?:zahlen)?kombination|combination|keys?|tan|ssn|\w*schlüssel|códigos?"
    rf"|combinaison|combinación|social security number)\b|身份证号|卡号)"
    rf".{{0,40}}?{_IS}(?P<value>[\w#*-]*\d[\w#*-]{{2,}})",
    re.IGNORECASE,
)
# Words for what is no value of a password: "my password is too short".
_NO_VALUE = re.compile(
    r"(?:too|very|so|not|never|always|the same|stored|saved|weak|strong|wrong|lost|expired|safe|in|on|under"
    r"|with|zu|sehr|nicht|trop|très|pas|muy|no)\b|[很太不]",
    re.IGNORECASE,
)
_KNOWN = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{10,}"
    r"|\bAKIA[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bhf_[A-Za-z0-9]{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+"
)
_RUN = re.compile(r"(?<![\w./:@-])[A-Za-z0-9+_=-]{20,}(?![\w./@-])")
_LEAST_DIGITS = 3


def digits(text: str) -> list[int]:
    """Returns the decimal digits of a text, in any script, as numbers."""
    return [value for char in text if (value := decimal(char, -1)) >= 0]


def luhn(number: list[int]) -> bool:
    """Returns whether the last digit is a valid check digit; a single repeated digit is not a card number."""
    total = 0
    for place, value in enumerate(reversed(number)):
        doubled = value * 2 if place % 2 else value
        total += doubled - 9 if doubled > 9 else doubled
    return len(number) >= 13 and total % 10 == 0 and len(set(number)) > 1


def iban(text: str) -> bool:
    """Returns whether the two check digits are valid (ISO 13616, ISO 7064 MOD 97-10)."""
    plain = re.sub(r"[\s-]", "", text).upper()
    if not (15 <= len(plain) <= 34 and plain.isascii() and plain.isalnum()):
        return False
    return int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def iban_end(text: str, start: int, end: int) -> int | None:
    """Returns where the longest valid IBAN that begins at `start` ends; None if there is none.

    Words after an IBAN look like part of it; a separator before the next word is not part of it.
    """
    for at in range(end, start + 14, -1):
        if text[at - 1].isalnum() and iban(text[start:at]):
            return at
    return None


@lru_cache(maxsize=20_000)
def looks_secret(text: str) -> bool:
    """Whether a text seems to contain a secret. Deterministic, and cached."""
    return any(check(text) for check in _CHECKS)


def _is_given(text: str) -> bool:
    found = _GIVEN.search(text)
    return found is not None and _NO_VALUE.match(found["value"]) is None


def _is_code(text: str) -> bool:
    return _CODE.search(text) is not None


def _is_known(text: str) -> bool:
    return _KNOWN.search(text) is not None


def _is_card(text: str) -> bool:
    return any(luhn(digits(found[0])) for found in CARD.finditer(text))


def _is_account(text: str) -> bool:
    return any(iban_end(text, *found.span()) is not None for found in IBAN.finditer(text))


def _is_random(text: str) -> bool:
    """Whether a text contains a long run of small and capital letters and digits."""
    return any(
        run != run.lower() and run != run.upper() and len(digits(run)) >= _LEAST_DIGITS
        for run in _RUN.findall(text)
    )


_CHECKS: tuple[Callable[[str], bool], ...] = (
    _is_given,
    _is_code,
    _is_known,
    _is_card,
    _is_account,
    _is_random,
)
