"""The process that reads documents: `python -m atlas_desktop.parsing.child`.

A document is untrusted: it can be crafted to take unlimited time or memory, or to exploit its parser. So this
process has neither a key nor a network, may open no file but installed code, has limits on time and memory,
and ends with the program. It reads requests from standard input and writes one answer to each.
"""

import mimetypes
import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import msgspec
from lxml import etree

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing import protocol
from atlas_desktop.parsing.building import unreadable
from atlas_desktop.parsing.protocol import (
    LENGTH,
    MOST_MEMORY,
    Answer,
    PagePicture,
    PageView,
    Request,
    Unreadable,
)
from memory.documents.entities import ParsedText
from models.confinement import begin_child, confine

_PARSERS = {
    protocol.PDF: ("pdf", "read_pdf"),
    protocol.DOCX: ("office", "read_docx"),
    protocol.PPTX: ("office", "read_pptx"),
    protocol.XLSX: ("office", "read_xlsx"),
    protocol.ODT: ("office", "read_odt"),
    protocol.EPUB: ("html", "read_epub"),
    protocol.HTML: ("html", "read_html"),
    protocol.MARKDOWN: ("plain", "read_markdown"),
    protocol.CSV: ("plain", "read_csv"),
    protocol.TSV: ("plain", "read_tsv"),
    protocol.RTF: ("plain", "read_rtf"),
    protocol.MAIL: ("html", "read_mail"),
    protocol.NOTEBOOK: ("plain", "read_notebook"),
}
_OTHERS = ("plain", "read_plain")


def main() -> None:
    begin_child()
    # Output of a library must not get into the answers.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out, open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        settle_in()
        source = sys.stdin.buffer
        while len(head := source.read(LENGTH)) == LENGTH:
            request = msgspec.msgpack.decode(source.read(int.from_bytes(head)), type=Request)
            _allow(request.seconds)
            answer = msgspec.msgpack.encode(_answer(request))
            out.write(len(answer).to_bytes(LENGTH) + answer)
            out.flush()


def settle_in() -> None:
    """Limits memory, and denies access to everything but installed code."""
    # The parser of the most common binary format is loaded before the first document arrives.
    import_module("atlas_desktop.parsing.pdf")
    # openpyxl would read a file of the system for this.
    mimetypes.init()
    # It would also load this, for 0.2 s and 100 MB, only for its types.
    sys.modules["numpy"] = None  # type: ignore[assignment]
    if os.name == "posix":
        import resource

        limit = _mapped() + MOST_MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    # Other parsers and codecs are loaded when first needed, so installed code stays readable.
    paths = sysconfig.get_paths()
    code = [Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    confine([*code, Path(__file__).parent, *_system_libraries()])


def _mapped() -> int:
    """Returns the bytes of address space that loaded code takes, which a document does not use."""
    sizes = Path("/proc/self/statm")
    if not sizes.exists():
        return MOST_MEMORY
    import resource

    mapped, resident = map(int, sizes.read_text().split()[:2])
    return (mapped - resident) * resource.getpagesize()


def _system_libraries() -> list[Path]:
    """Returns the folders of the system libraries that installed code is linked to."""
    return [Path(one) for one in ("/lib", "/lib64", "/usr/lib", "/usr/lib64")] if os.name == "posix" else []


def _allow(seconds: int) -> None:
    """Lets the next document use this many seconds of processor time."""
    if os.name == "posix":
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + seconds + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def _answer(request: Request) -> Answer:
    try:
        data = sys.stdin.buffer.read(request.size)
        if request.view is not None:
            return Answer(picture=draw(data, request.view))
        return Answer(parsed=read(request.media_type, data))
    except Unreadable as error:
        return Answer(refusal=error.reason, limit=error.limit)


def draw(data: bytes, view: PageView) -> PagePicture:
    """Returns the picture of a page. Raises `Unreadable`, and nothing else."""
    with _refusing():
        picture: PagePicture = import_module("atlas_desktop.parsing.pdf").draw_page(data, view)
        return picture


def read(media_type: str, data: bytes) -> ParsedText:
    """Returns the text of a document. Raises `Unreadable`, and nothing else."""
    module, function = _PARSERS.get(media_type, _OTHERS)
    with _refusing():
        if not data.strip(b"\0 \t\r\n"):
            raise Unreadable(Refusal.EMPTY)
        parsed: ParsedText = getattr(import_module(f"atlas_desktop.parsing.{module}"), function)(data)
        return parsed


@contextmanager
def _refusing() -> Iterator[None]:
    """Turns whatever a malformed file makes a library do into `Unreadable`."""
    try:
        yield
    except Unreadable:
        raise
    except MemoryError:
        raise Unreadable(Refusal.TOO_MUCH_MEMORY, MOST_MEMORY) from None
    except etree.XMLSyntaxError as error:
        raise unreadable(error) from None
    except RecursionError:
        raise Unreadable(Refusal.TOO_DEEP) from None
    except Exception:  # noqa: BLE001 - it cannot be read, whatever the library did
        raise Unreadable(Refusal.DAMAGED) from None


if __name__ == "__main__":
    main()
