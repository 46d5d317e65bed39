"""The process that reads PDFs: `python -m atlas_desktop.services.pdf_child`.

A PDF is untrusted and can be crafted to take unlimited time or memory. So this process has neither a key nor
a network, may open no file but installed code, has limits on time and memory, and ends with the program. It
reads the bytes of one PDF from standard input and writes one answer to standard output.
"""

import os
import sys
import sysconfig
from pathlib import Path

import msgspec

from atlas_desktop.errors import Refusal
from atlas_desktop.services.attachments import MOST_CHARACTERS, MOST_MEMORY, MOST_PAGES, PDF_TIME_S, PdfText
from models.confinement import begin_child, confine

_PER_PAGE = "\n\n"


def main() -> None:
    begin_child()
    # Output of the PDF library must not get into the answer.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out, open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        _bound()
        try:
            answer = read(sys.stdin.buffer.read())
        except MemoryError:
            answer = PdfText(refusal=Refusal.TOO_MUCH_MEMORY)
        out.write(msgspec.json.encode(answer))


def _bound() -> None:
    """Limits memory and CPU time, and denies access to everything but installed code."""
    import pypdf  # noqa: F401 - everything is imported before files are denied

    if os.name == "posix":
        import resource

        seconds = int(PDF_TIME_S)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    # Codecs and font tables are read when first needed, so installed code stays readable.
    paths = sysconfig.get_paths()
    confine([Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")])


def read(data: bytes) -> PdfText:
    """Returns the text of a PDF, page by page, or why it has none. Raises MemoryError."""
    import io

    from pypdf import PdfReader

    try:
        reader = PdfReader(io.BytesIO(data))
        # Many files are encrypted with an empty password, only to state usage restrictions.
        if reader.is_encrypted and not reader.decrypt(""):
            return PdfText(refusal=Refusal.ENCRYPTED)
        if len(reader.pages) > MOST_PAGES:
            return PdfText(refusal=Refusal.TOO_MANY_PAGES)
        texts: list[str] = []
        size = 0
        for page in reader.pages:
            text = page.extract_text().strip()
            size += len(text)
            if size > MOST_CHARACTERS:
                return PdfText(refusal=Refusal.TOO_MUCH_TEXT)
            texts.append(text)
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - whatever a malformed file makes the reader do, it cannot be read
        return PdfText(refusal=Refusal.DAMAGED)
    joined = _PER_PAGE.join(text for text in texts if text)
    if not joined:
        return PdfText(refusal=Refusal.PICTURES)
    return PdfText(joined.encode("utf-8", "replace").decode())


if __name__ == "__main__":
    main()
