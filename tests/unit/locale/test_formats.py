"""Dates and numbers in the person's language; in none they need no library."""

import subprocess
import sys
from datetime import UTC, datetime

import pytest

from atlas_desktop import locale as locale_package
from atlas_desktop.locale import locale_of
from atlas_desktop.locale.formats import Formats
from atlas_desktop.settings.file import SettingsError, parse

MOMENT = datetime(2026, 5, 3, 15, 4, tzinfo=UTC)


def test_plain_english_with_24_hours() -> None:
    plain = Formats()
    assert (plain.time(MOMENT), plain.weekday(MOMENT), plain.day(MOMENT)) == ("15:04", "Sun", "3 May")
    assert (plain.date(MOMENT), plain.month(MOMENT)) == ("3 May 2026", "May 2026")
    assert (plain.number(12345), plain.decimal(1234.56)) == ("12,345", "1,234.6")


def test_german() -> None:
    german = Formats("de-DE")
    assert (german.time(MOMENT), german.weekday(MOMENT), german.day(MOMENT)) == ("15:04", "So", "3. Mai")
    assert (german.date(MOMENT), german.number(12345)) == ("3. Mai 2026", "12.345")
    assert german.decimal(1234.56, 2) == "1.234,56"


def test_american_time() -> None:
    assert Formats("en_US").time(MOMENT).replace("\u202f", " ") == "3:04 PM"


@pytest.mark.parametrize(
    ("environ", "locale"),
    [
        ({"LANG": "de_DE.UTF-8"}, "de_DE"),
        ({"LC_ALL": "C.UTF-8", "LANG": "de_DE"}, ""),
        ({"LC_TIME": "sr_RS@latin", "LANG": "en_US"}, "sr_RS"),
        ({"LANG": "xx_YY"}, "xx_YY"),
        ({}, ""),
    ],
)
def test_the_system_says_which_language(environ: dict[str, str], locale: str) -> None:
    assert locale_of(environ) == locale


def test_numbers_of_an_unknown_language_are_english() -> None:
    try:
        locale_package.use_formats("xx_YY")
        assert locale_package.number(12345) == "12,345"
    finally:
        locale_package.use_formats("")


def test_a_language_that_nobody_knows_is_refused() -> None:
    with pytest.raises(SettingsError, match="unknown locale"):
        parse({"ui": {"locale": "klingon"}})


def test_without_a_language_babel_is_not_imported() -> None:
    code = (
        "import sys; from atlas_desktop.tui.calendar import short; from datetime import datetime, UTC;"
        "short(datetime.now(UTC), datetime.now(UTC)); print('babel' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_things_are_listed_in_a_sentence() -> None:
    for known, found in (((), ""), (("a",), "a"), (("a", "b"), "a and b"), (("a", "b", "c"), "a, b and c")):
        assert Formats().listed(known) == found
    assert Formats("de").listed(["a", "b", "c"]) == "a, b und c"
    assert Formats("es").listed(["a", "b"]) == "a y b"
