"""The process that reads documents: `python -m atlas_desktop.parsing.child`.

A document is untrusted: it can be crafted to take unlimited time or memory, or to exploit its parser. So this
process has neither a key nor a network, may open no file but installed code, has limits on time and memory,
and ends with the program. It reads requests from standard input and writes one answer to each.
"""

import mimetypes
import os
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import msgspec

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing import formats
from atlas_desktop.parsing.client import LENGTH, MOST_MEMORY, Answer, Request
from memory.documents.entities import ParsedText
from models.confinement import begin_child, confine

Reader = Callable[[bytes, str], ParsedText]


def main() -> None:
    begin_child()
    # Output of a library must not get into the answers.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as out, open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
        _bound()
        source = sys.stdin.buffer
        while (head := source.read(LENGTH)) and len(head) == LENGTH:
            request = msgspec.msgpack.decode(source.read(int.from_bytes(head)), type=Request)
            data = source.read(request.size)
            _allow(request.seconds)
            answer = msgspec.msgpack.encode(read(data, request))
            out.write(len(answer).to_bytes(LENGTH) + answer)
            out.flush()


def _bound() -> None:
    """Limits memory, and denies access to everything but installed code."""
    # Without this, its first use reads a file of the system.
    mimetypes.init(())
    if os.name == "posix":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    # Parsers and codecs are loaded when first needed, so installed code stays readable.
    paths = sysconfig.get_paths()
    code = [Path(paths[name]) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    confine([*code, Path(__file__).parents[2], *_libraries()])


def _libraries() -> list[Path]:
    """Returns where the system keeps libraries that installed code is linked to."""
    return [Path(one) for one in ("/lib", "/lib64", "/usr/lib", "/usr/lib64")] if os.name == "posix" else []


def _allow(seconds: int) -> None:
    """Lets this document take so many seconds of processor time more."""
    if os.name == "posix":
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        limit = int(used.ru_utime + used.ru_stime) + seconds + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))


def read(data: bytes, request: Request) -> Answer:
    """Returns the text of a document, or why it has none."""
    try:
        return Answer(parsed=reader(request.media_type)(data, request.name))
    except DocumentRefused as refused:
        return Answer(refusal=refused.reason.value, limit=refused.limit)
    except MemoryError:
        return Answer(refusal=Refusal.TOO_MUCH_MEMORY.value, limit=MOST_MEMORY)
    except Exception:  # noqa: BLE001 - whatever a malformed file makes a parser do, it cannot be read
        return Answer(refusal=Refusal.DAMAGED.value)


def reader(media_type: str) -> Reader:
    """Returns the parser of a format. Imports it only now: each takes a while."""
    match media_type:
        case formats.PDF:
            from atlas_desktop.parsing.pdf import read_pdf as found
        case formats.DOCX:
            from atlas_desktop.parsing.office import read_docx as found
        case formats.PPTX:
            from atlas_desktop.parsing.office import read_pptx as found
        case formats.XLSX:
            from atlas_desktop.parsing.office import read_xlsx as found
        case formats.ODT:
            from atlas_desktop.parsing.office import read_odt as found
        case formats.EPUB:
            from atlas_desktop.parsing.epub import read_epub as found
        case formats.HTML:
            from atlas_desktop.parsing.html import read_html as found
        case formats.MARKDOWN:
            from atlas_desktop.parsing.plain import read_markdown as found
        case formats.CSV | formats.TSV:
            from atlas_desktop.parsing.plain import read_csv as found
        case formats.RTF:
            from atlas_desktop.parsing.plain import read_rtf as found
        case formats.MAIL:
            from atlas_desktop.parsing.plain import read_mail as found
        case formats.NOTEBOOK:
            from atlas_desktop.parsing.plain import read_notebook as found
        case _:
            from atlas_desktop.parsing.plain import read_plain as found
    return found


if __name__ == "__main__":
    main()
