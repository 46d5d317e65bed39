"""The interface in the user's language: its texts, numbers and dates.

Texts are written in English where they are shown, inside `_()` or `ngettext()`. A text in a table is marked
with `N_()` or `plural()` and translated where it is shown. The catalogues are in `LANGUAGE/LC_MESSAGES`;
`make translations` updates them.

The language is chosen once (`atlas_desktop.__main__.language`), before the modules with texts are imported:
by the setting `ui.locale`, otherwise by the environment. Without a language, or with one that has no
catalogue, texts are English.
"""

import gettext as _gettext
from collections.abc import Mapping
from pathlib import Path

from atlas_desktop.locale.formats import Formats, known_locale

DOMAIN = "atlas"
FOLDER = Path(__file__).parent
_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LC_TIME", "LANG")


class _Chosen:
    texts: _gettext.NullTranslations = _gettext.NullTranslations()
    locale = ""
    formats: Formats | None = None


def N_(text: str) -> str:  # noqa: N802 - the name that gettext tools know
    """Marks a text for translation. `_()` translates it where it is shown."""
    return text


def plural(one: str, other: str) -> tuple[str, str]:
    """Marks both forms of a text for translation. `ngettext()` translates them where they are shown."""
    return one, other


def _(text: str, /, **values: object) -> str:
    """Returns the text in the user's language, with `values` in place of its `{names}`."""
    found = _Chosen.texts.gettext(text) if text else text
    return found.format(**values) if values else found


def quoted(text: str) -> str:
    """Returns a text between the quotation marks of the language."""
    return _("“{text}”", text=text)


def ngettext(one: str, other: str, count: int, /, **values: object) -> str:
    """Returns the form of the text for `count` in the user's language.

    `{count}` is the number with thousands separators.
    """
    return _Chosen.texts.ngettext(one, other, count).format(count=number(count), **values)


def formats() -> Formats:
    """Returns the number and date formats of the user's language; plain English for an unknown one."""
    # Made on first use: babel, which knows the languages, takes 50 ms to load.
    if _Chosen.formats is None:
        _Chosen.formats = Formats(_Chosen.locale if known_locale(_Chosen.locale) else "")
    return _Chosen.formats


def number(value: int) -> str:
    """Returns a whole number with thousands separators, as in the user's language."""
    return formats().number(value)


def use_formats(locale: str) -> None:
    """Sets the language of numbers and dates for the whole program; empty for plain English."""
    _Chosen.locale, _Chosen.formats = locale, None


def use(locale: str) -> None:
    """Sets the language (such as `de_DE`) of texts, numbers and dates for the whole program.

    Empty for plain English.
    """
    use_formats(locale)
    # For argparse, which looks for its own texts in this catalogue.
    _gettext.bindtextdomain(DOMAIN, str(FOLDER))
    _gettext.textdomain(DOMAIN)
    _Chosen.texts = (
        _gettext.translation(DOMAIN, FOLDER, [locale.replace("-", "_")], fallback=True)
        if locale
        else _gettext.NullTranslations()
    )


def locale_of(environ: Mapping[str, str]) -> str:
    """Returns the language that the environment asks for, such as `de_DE`; empty for none."""
    told = next((environ[name] for name in _VARIABLES if environ.get(name)), "")
    name = told.split(".")[0].split("@")[0].replace("-", "_")
    return "" if name in ("C", "POSIX") else name
