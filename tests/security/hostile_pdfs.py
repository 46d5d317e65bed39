"""PDFs that are made to harm their reader."""

import zlib

Objects = dict[int, bytes]


def document(objects: Objects, trailer: bytes = b"") -> bytes:
    """A file of numbered objects, the first of which is its root."""
    out, places = b"%PDF-1.7\n", dict[int, int]()
    for number, body in objects.items():
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table, size = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
    return out + b"trailer\n<</Size %d/Root 1 0 R%s>>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, table)


def stream(data: bytes, filters: bytes = b"/FlateDecode", extra: bytes = b"") -> bytes:
    return b"<</Length %d/Filter %s%s>>\nstream\n%s\nendstream" % (len(data), filters, extra, data)


def shown(operators: bytes) -> bytes:
    return stream(zlib.compress(operators))


def page(
    contents: bytes,
    *,
    root: bytes = b"",
    kids: bytes = b"3 0 R",
    count: int = 1,
    box: bytes = b"[0 0 612 792]",
) -> Objects:
    """A page with a font and a form that draws itself fifty times."""
    resources = b"<</Font<</F1 5 0 R>>/XObject<</X 6 0 R>>>>"
    return {
        1: b"<</Type/Catalog/Pages 2 0 R%s>>" % root,
        2: b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, count),
        3: b"<</Type/Page/Parent 2 0 R/MediaBox%s/Contents 4 0 R/Resources%s>>" % (box, resources),
        4: contents,
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        6: stream(zlib.compress(b"/X Do " * 50), extra=b"/Type/XObject/Subtype/Form/Resources%s" % resources),
    }


WORDS = b"BT /F1 12 Tf 10 10 Td (words) Tj ET"
JAVASCRIPT = (
    b"/OpenAction<</S/JavaScript/JS(while\\(1\\){})>>/AA<</WC<</S/URI/URI(http://127.0.0.1:9/)>>>>"
    b"/Names<</EmbeddedFiles<</Names[(x)<</EF<</F 4 0 R>>>>]>>>>"
)
CMAP = b"begincmap 1 begincodespacerange <0000> <ffff> endcodespacerange 1 beginbfrange %s endbfrange endcmap"


def deflated_zeros(megabytes: int) -> bytes:
    deflate = zlib.compressobj(9)
    return b"".join(deflate.compress(bytes(1 << 20)) for _ in range(megabytes)) + deflate.flush()


def in_a_chain_of_folders(depth: int) -> bytes:
    objects = page(shown(WORDS), kids=b"10 0 R")
    for number in range(10, 10 + depth):
        objects[number] = b"<</Type/Pages/Kids[%d 0 R]/Count 1>>" % (number + 1)
    return document({**objects, 10 + depth: objects[3]})


def with_a_font_that_means(ranges: bytes) -> bytes:
    font = b"<</Type/Font/Subtype/Type0/Encoding/Identity-H/ToUnicode 7 0 R/DescendantFonts[8 0 R]>>"
    widths = b"<</Subtype/CIDFontType2/BaseFont/A/W[0 4294967295 500]>>"
    text = shown(b"BT /F1 12 Tf <%s> Tj ET" % (b"0000" * 10_000))
    return document({**page(text), 5: font, 7: shown(CMAP % ranges), 8: widths})


def sealed(revision: int) -> bytes:
    """Locked, with a password that takes long to try."""
    keys = b"/O<%s>/U<%s>" % (b"00" * 48, b"00" * 48) + b"/OE<%s>/UE<%s>" % (b"00" * 32, b"00" * 32)
    locks = b"<</Filter/Standard/V 5/R %d/Length 256%s/Perms<%s>/P -1>>" % (revision, keys, b"00" * 16)
    return document({**page(shown(WORDS)), 9: locks}, b"/Encrypt 9 0 R/ID[<00><00>]")


HOSTILE = {
    "a bomb": document(page(stream(deflated_zeros(200)))),
    "bombs in bombs": document(
        page(
            stream(
                zlib.compress(zlib.compress(deflated_zeros(200))), b"[/FlateDecode/FlateDecode/FlateDecode]"
            )
        )
    ),
    "a bomb of runs": document(
        page(stream(zlib.compress(b"\x81a" * 5_000_000), b"[/FlateDecode/RunLengthDecode]"))
    ),
    "deep arrays": document({**page(shown(b"[" * 500_000)), 7: b"<</A" * 100_000 + b">>" * 100_000}),
    "folders that hold themselves": document(page(shown(WORDS), kids=b"2 0 R 2 0 R", count=2)),
    "folders in folders": in_a_chain_of_folders(1500),
    "an object that is itself": document({**page(b"4 0 R")}),
    "a length that is its own": document(page(b"<</Length 4 0 R>>\nstream\nx\nendstream")),
    "a million pages": document(page(shown(WORDS), kids=b" 3 0 R" * 1_000_000, count=1_000_000)),
    "a table before itself": b"%PDF-1.7\nxref\n0 1\n0000000000 65535 f \n"
    b"trailer\n<</Size 1/Root 1 0 R/Prev 9>>\nstartxref\n9\n%%EOF\n",
    "a font of all numbers": with_a_font_that_means(b"<00000000> <ffffffff> <0000>"),
    "a font of long words": with_a_font_that_means(b"<0000> <0001> <%s>" % (b"0041" * 200_000)),
    "a predictor of huge rows": document(
        page(
            stream(
                zlib.compress(b"\0" * 100),
                extra=b"/DecodeParms<</Predictor 15/Columns 999999999999/Colors 9999>>",
            )
        )
    ),
    "objects that end nowhere": b"%PDF-1.7\n" + b"<<" * 2_000_000 + b"\nstartxref\n9\n%%EOF",
    "a lock that takes long": sealed(6),
}
HARMLESS = {
    "forms that draw themselves": document(page(shown(WORDS + b" /X Do" * 100))),
    "a program of its own": document(page(shown(WORDS), root=JAVASCRIPT)),
    "a claim of pages": document(page(shown(WORDS), count=10**12)),
    "a huge page": document(page(shown(WORDS), box=b"[0 0 9999999999999 9999999999999]/UserUnit 999999")),
}
