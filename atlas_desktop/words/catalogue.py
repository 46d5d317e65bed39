"""The words of the interface, by key: `tr("unlock.title")` is `UNLOCK["title"]` of `words.en.setup`.

Another language is another folder beside `en` with the same tables and keys: no code names a word.
"""

from functools import lru_cache
from importlib import import_module

LANGUAGE = "en"


@lru_cache(maxsize=64)
def texts(screen: str, language: str = LANGUAGE) -> dict[str, str]:
    """The table of one screen. Raises KeyError."""
    package = f"atlas_desktop.words.{language}"
    places: dict[str, str] = import_module(package).PLACES
    found: dict[str, str] = getattr(import_module(f"{package}.{places[screen]}"), screen.upper())
    return found


def tr(key: str, /, *, count: int | None = None, **facts: object) -> str:
    """The text of a key with its facts put in.

    With a `count`, the text is `KEY.one` or `KEY.other` (or `KEY` for both), and `{count}` is the number as
    the person's language writes it. Raises KeyError.
    """
    screen, _, name = key.partition(".")
    table = texts(screen)
    if count is None:
        text = table[name]
        return text.format(**facts) if facts else text
    from atlas_desktop.words.formats import formats

    form = f"{name}.one" if count == 1 else f"{name}.other"
    return table.get(form, table.get(name, form)).format(count=formats().number(count), **facts)
