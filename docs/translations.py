"""Updates the catalogues of translations: `python -m docs.translations`, or `make translations`.

Every text inside `_()`, `N_()`, `ngettext()` and `plural()` is put into each `atlas.po`; existing
translations are kept. Each is then compiled to `atlas.mo`, which the program reads. To add a language, name
it in `LANGUAGES`, run this, and translate its `atlas.po`.
"""

import ast
import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from atlas_desktop.locale import DOMAIN, FOLDER
from models.library.catalog import load_catalog

LANGUAGES = ("de", "es")
ROOT = Path(__file__).resolve().parents[1]
_ONE = {"_", "N_"}
_TWO = {"ngettext", "plural"}
# Fixed, so that the catalogues change only with their texts.
_DATE = datetime(2026, 1, 1, tzinfo=UTC)

Message = str | tuple[str, str]


def texts_of(path: Path) -> Iterator[tuple[int, Message]]:
    """Yields the line and text of every call that marks one, also inside f-strings.

    Raises `ValueError` for an f-string, and for `N_` and `plural` if the text is not a literal.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        called = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        if not isinstance(node, ast.Call) or called not in _ONE | _TWO:
            continue
        wanted = 1 if called in _ONE else 2
        written = [one.value for one in node.args[:wanted] if isinstance(one, ast.Constant)]
        texts = [text for text in written if isinstance(text, str)]
        if len(texts) == wanted:
            yield node.lineno, texts[0] if wanted == 1 else (texts[0], texts[1])
        elif called in ("N_", "plural") or any(isinstance(one, ast.JoinedStr) for one in node.args[:wanted]):
            raise ValueError(f"{path}:{node.lineno}: the text must be written out")


def template() -> Catalog:
    """Returns every text of the program, without translations."""
    found = Catalog(project="Atlas Desktop", creation_date=_DATE, revision_date=_DATE)
    for path in sorted((ROOT / "atlas_desktop").rglob("*.py")):
        for _line, message in texts_of(path):
            if message:
                found.add(message, locations=[(path.relative_to(ROOT).as_posix(), 0)])
    for entry in load_catalog().entries:
        if entry.note:
            found.add(entry.note, locations=[("models/catalog.toml", 0)])
    return found


def po_path(language: str) -> Path:
    return FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def catalogue(language: str) -> Catalog:
    """Returns the existing translations into a language."""
    with po_path(language).open("rb") as file:
        return read_po(file, locale=language)


def updated(language: str) -> Catalog:
    """Returns the existing translations with the program's present texts."""
    known = catalogue(language) if po_path(language).exists() else Catalog(locale=language)
    known.update(template(), no_fuzzy_matching=True)
    known.obsolete.clear()
    known.header_comment = "# Atlas Desktop"
    known.project, known.creation_date, known.revision_date = "Atlas Desktop", _DATE, _DATE
    known.last_translator = known.language_team = "Atlas Desktop"
    known.fuzzy = False
    return known


def po_bytes(catalog: Catalog) -> bytes:
    out = io.BytesIO()
    write_po(out, catalog, width=100, include_lineno=False, ignore_obsolete=True)
    return out.getvalue()


def mo_bytes(catalog: Catalog) -> bytes:
    out = io.BytesIO()
    write_mo(out, catalog)
    return out.getvalue()


def missing(catalog: Catalog) -> list[Message]:
    """Returns the texts without a translation."""
    found: list[Message] = []
    for message in catalog:
        forms = message.string if isinstance(message.string, list | tuple) else [message.string]
        if message.id and not all(forms):
            found.append(message.id)
    return found


def main() -> int:
    for language in LANGUAGES:
        known = updated(language)
        po_path(language).parent.mkdir(parents=True, exist_ok=True)
        po_path(language).write_bytes(po_bytes(known))
        po_path(language).with_suffix(".mo").write_bytes(mo_bytes(known))
        print(  # noqa: T201
            f"{language}: {len(known)} texts, {len(missing(known))} not translated"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
