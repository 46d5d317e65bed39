"""What is written to a terminal for a picture, and how it is found out which pictures it shows."""

import base64
import io
import os
import pty
import re
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from rich.cells import cell_len

from atlas_desktop.parsing.protocol import Pixels
from atlas_desktop.tui.images import (
    MOST_CELLS,
    QUESTION,
    Answers,
    ImageTerminal,
    Inquiry,
    Protocol,
    image_of,
    iterm_picture,
    kitty_marks,
    kitty_picture,
    kitty_removal,
    kitty_row,
    painted,
    pixels_of,
    protocol_of,
    read_answers,
    sixel_picture,
    with_palette,
    without_placeholders,
)
from atlas_desktop.tui.terminal import Input

ROOT = Path(__file__).resolve().parents[2]
XTERM = b"\x1bP>|XTerm(379)\x1b\\\x1b[6;19;9t\x1b[?62;1;2;4;6c"


def picture(width: int, height: int, colours: int = 7) -> Pixels:
    """A picture in which pixels next to each other differ."""
    found = bytearray()
    for at in range(width * height):
        shade = (at * 5 + at // width) % colours * 36
        found += bytes((shade, 255 - shade, shade // 2))
    return Pixels(width, height, bytes(found))


# --- finding out ------------------------------------------------------------------------------------


def test_answers_are_read_between_what_the_user_typed() -> None:
    answers, typed = read_answers(b"ab" + XTERM + b"c\n")
    assert answers == Answers("XTerm(379)", (9, 19), sixels=True, complete=True)
    assert typed == b"abc\n"
    assert read_answers(b"\x1b[?1;2c")[0] == Answers(complete=True)
    assert read_answers(b"\x1b[6;0;0t") == (Answers(), b"")


ANSWERED = Answers(complete=True)


@pytest.mark.parametrize(
    ("answers", "environ", "expected"),
    [
        (Answers("kitty(0.41.1)", complete=True), {}, Protocol.KITTY),
        (Answers("kitty(0.26.5)", complete=True), {}, None),
        (Answers("ghostty 1.1.3", complete=True), {}, Protocol.KITTY),
        (Answers("iTerm2 3.5.0", complete=True), {}, Protocol.ITERM),
        (Answers("WezTerm 20240203", sixels=True, complete=True), {}, Protocol.ITERM),
        (Answers("foot(1.13.1)", sixels=True, complete=True), {}, Protocol.SIXEL),
        (ANSWERED, {"TERM": "xterm-kitty"}, None),
        (ANSWERED, {}, None),
        (Answers(), {"TERM": "xterm-kitty"}, Protocol.KITTY),
        (Answers(), {"TERM_PROGRAM": "iTerm.app"}, Protocol.ITERM),
        (Answers(), {"LC_TERMINAL": "iTerm2"}, Protocol.ITERM),
        (Answers(), {}, None),
        (Answers("kitty(0.41.1)", complete=True), {"TMUX": "/tmp/tmux"}, None),
        (Answers(sixels=True, complete=True), {"TERM": "screen-256color"}, None),
        (Answers("kitty(0.41.1)", complete=True), {"NO_COLOR": "1"}, None),
        (Answers(sixels=True, complete=True), {"TERM": "dumb"}, None),
    ],
)
def test_the_best_protocol_that_the_terminal_knows_is_used(
    answers: Answers, environ: Mapping[str, str], expected: Protocol | None
) -> None:
    assert protocol_of("auto", answers, {"TERM": "xterm-256color", **environ}) is expected


@pytest.mark.parametrize("choice", Protocol)
def test_a_chosen_protocol_is_used_even_within_tmux(choice: Protocol) -> None:
    assert protocol_of(choice.value, Answers(), {"TERM": "tmux-256color", "TMUX": "x"}) is choice
    assert protocol_of("off", Answers("kitty(0.41.1)", complete=True), {"TERM": "xterm-kitty"}) is None


ASKING = """
import os
from atlas_desktop.tui.images import inquire
print(repr(inquire("auto", os.environ)), flush=True)
"""


def asked(answer: bytes) -> str:
    """What a program finds out that runs in a terminal which answers like this."""
    ours, theirs = pty.openpty()
    environ = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "TMUX")}
    program = subprocess.Popen(
        [sys.executable, "-c", ASKING],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=ROOT,
        env={**environ, "TERM": "xterm-256color"},
        start_new_session=True,
    )
    os.close(theirs)
    read = b""
    while QUESTION.encode() not in read:
        read += os.read(ours, 4096)
    os.write(ours, answer)
    program.wait(20)
    while b"late" not in read:
        read += os.read(ours, 4096)
    os.close(ours)
    return read.decode().partition(QUESTION)[2]


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_the_terminal_is_asked_and_echoes_nothing() -> None:
    found = asked(b"hello" + XTERM)
    assert found.startswith("Inquiry(terminal=ImageTerminal(protocol=<Protocol.SIXEL: 'sixel'>, cell=(9, 19)")
    assert "typed=b'hello', late=False)" in found


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_a_terminal_that_does_not_answer_is_not_waited_for() -> None:
    assert "Inquiry(terminal=None, typed=b'x', late=True)" in asked(b"x")


def test_late_answers_are_no_keys_and_what_was_typed_comes_first() -> None:
    source = Input("utf-8", Inquiry(None, b"ab", late=True))
    assert source.decode(b"c" + XTERM + b"d") == "abcd"
    assert source.decode(b"\x1b[?1;2c") == "\x1b[?1;2c"


# --- kitty ------------------------------------------------------------------------------------------


def test_rows_and_columns_have_297_different_marks_that_take_no_cell() -> None:
    marks = kitty_marks()
    assert len(set(marks)) == MOST_CELLS
    assert (marks[0], marks[1], marks[-1]) == ("\u0305", "\u030d", "\U0001d244")
    assert all(cell_len(kitty_row(row, 3)) == 3 for row in range(MOST_CELLS))
    assert kitty_row(1, 2) == "\U0010eeee\u030d\u0305\U0010eeee\u030d\u030d"


def test_a_screenshot_leaves_pictures_blank() -> None:
    assert without_placeholders(f"a{kitty_row(2, 3)}b") == "a\xa0\xa0\xa0b"


CHUNK = re.compile("\x1b_G([^;]*);([^\x1b]*)\x1b\\\\")


def test_kitty_gets_a_picture_in_chunks() -> None:
    pixels = Pixels(200, 100, os.urandom(200 * 100 * 3))
    chunks = CHUNK.findall(kitty_picture(0x123456, pixels, 20, 5))
    assert "".join(f"\x1b_G{head};{data}\x1b\\" for head, data in chunks) == kitty_picture(
        0x123456, pixels, 20, 5
    )
    head = dict(pair.split("=") for pair in chunks[0][0].split(","))
    assert {name: head[name] for name in "aUstiqfovcr"} == {
        "a": "T", "U": "1", "s": "200", "t": "d", "i": "1193046", "q": "2", "f": "24", "o": "z", "v": "100",
        "c": "20", "r": "5",
    }  # fmt: skip
    assert [one[0] for one in chunks[1:]] == ["m=1"] * (len(chunks) - 2) + ["m=0"]
    assert all(len(data) <= 4096 for _, data in chunks)
    assert zlib.decompress(base64.b64decode("".join(data for _, data in chunks))) == pixels.rgb


def test_within_tmux_each_command_is_wrapped() -> None:
    terminal = ImageTerminal(Protocol.KITTY, nested=True, kept={7, 9})
    assert terminal.forgetting([7]) == "\x1bPtmux;\x1b\x1b_Ga=d,d=I,i=7,q=2\x1b\x1b\\\x1b\\"
    assert terminal.kept == {9}
    plain = ImageTerminal(Protocol.KITTY, kept={3, 2})
    assert plain.forgetting() == kitty_removal(2) + kitty_removal(3)
    assert plain.forgetting() == ""


# --- painted over the cells -------------------------------------------------------------------------


def test_iterm_gets_a_png_of_the_given_cells() -> None:
    pixels = picture(30, 20)
    written = iterm_picture(image_of(pixels), 3, 1)
    head, _, data = written.removeprefix("\x1b]1337;File=").removesuffix("\x07").partition(":")
    png = base64.b64decode(data)
    assert f"size={len(png)};width=3;height=1" in head
    with Image.open(io.BytesIO(png)) as image:
        assert pixels_of(image) == pixels


SIXELS = re.compile(r"#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)(.)|([$\-])|([?-~])")


def unsixelled(text: str) -> Pixels:
    """The picture that a terminal shows for sixels."""
    body = text.removeprefix('\x1bP0;1q"').removesuffix("\x1b\\")
    _, _, width, height = map(int, re.match(r"(\d+);(\d+);(\d+);(\d+)", body).groups())  # type: ignore[union-attr]
    palette: dict[int, bytes] = {}
    found = bytearray(b"\x01\x02\x03" * (width * height))
    x = top = colour = 0
    for sign in SIXELS.finditer(body, body.index("#")):
        if sign[1]:
            palette[int(sign[1])] = bytes(round(int(value) * 255 / 100) for value in sign.group(2, 3, 4))
        elif sign[5]:
            colour = int(sign[5])
        elif sign[8]:
            x, top = 0, top + (6 if sign[8] == "-" else 0)
        else:
            bits, count = ord(sign[7] or sign[9]) - 63, int(sign[6] or 1)
            for row in (top + bit for bit in range(6) if bits >> bit & 1):
                at = 3 * (row * width + x)
                found[at : at + 3 * count] = palette[colour] * count
            x += count
    return Pixels(width, height, bytes(found))


@given(st.integers(1, 40), st.integers(1, 20), st.integers(1, 7))
def test_sixels_show_the_picture(width: int, height: int, colours: int) -> None:
    pixels = picture(width, height, colours)
    seen = unsixelled(sixel_picture(with_palette(image_of(pixels))))
    assert (seen.width, seen.height) == (width, height)
    # The palette has shares of a hundred, and groups similar colours.
    assert max(abs(a - b) for a, b in zip(seen.rgb, pixels.rgb, strict=True)) <= 20


def test_a_picture_is_painted_at_its_cell_and_the_cursor_stays() -> None:
    assert painted(4, 2, "PICTURE") == "\x1b7\x1b[3;5HPICTURE\x1b8"
