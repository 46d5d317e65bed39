"""What is pasted is text, whatever is in it: cleaned, whole, and it sends nothing."""

import random
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual import events
from textual._xterm_parser import XTermParser
from textual.message import Message

from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.terminal import PASTE_BEGINS, PASTE_ENDS, Input
from tests.tui.desk import Stage
from tests.tui.driving import assert_until, chat, on, settle

HOSTILE = "alpha \x1b[31mbeta \x1b[0m gamma\rdelta \x07 epsilon \x1b]52;c;eA==\x07 \x9b2J \x1b[200~ zeta"


def read(pieces: list[bytes]) -> list[Message]:
    """What Textual makes of bytes that a terminal sends piece by piece."""
    source, parser = Input("utf-8"), XTermParser()
    found: list[Message] = []
    for piece in pieces:
        # Of what may be the beginning of a mark nothing is passed on yet; Textual's reader waits then, too.
        if text := source.decode(piece):
            found += parser.feed(text)
    return found


def in_pieces(text: str, cuts: list[int]) -> list[bytes]:
    data = text.encode()
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [data[a:b] for a, b in pairwise(places)]


@given(st.lists(st.integers(0, 10_000), max_size=8))
def test_a_paste_with_control_sequences_is_one_text_wherever_the_reads_end(cuts: list[int]) -> None:
    heard = read(in_pieces(f"{PASTE_BEGINS}{HOSTILE}{PASTE_ENDS}k", cuts))
    # A mark that came in two pieces is told of twice, which leaves a sign that every field takes out.
    pastes = [one.text.replace("\x1b", "") for one in heard if isinstance(one, events.Paste)]
    keys = [one.key for one in heard if isinstance(one, events.Key)]
    assert pastes == ["\r".join(map(clean, HOSTILE.split("\r")))]
    assert keys == ["k"]


@given(st.text(max_size=200), st.lists(st.integers(0, 10_000), max_size=6))
def test_any_paste_is_whole(text: str, cuts: list[int]) -> None:
    text = text.replace(PASTE_ENDS, "")
    source = Input("utf-8")
    sent = f"a{PASTE_BEGINS}{text}{PASTE_ENDS}b".encode("utf-8", "replace")
    places = sorted({0, len(sent), *(cut % (len(sent) + 1) for cut in cuts)})
    out = "".join(source.decode(sent[a:b]) for a, b in pairwise(places))
    assert out.startswith("a" + PASTE_BEGINS)
    assert out.endswith(PASTE_ENDS + "b")
    inside = out[1:-1].replace(PASTE_BEGINS, "").removesuffix(PASTE_ENDS)
    assert inside == "\r".join(map(clean, text.encode("utf-8", "replace").decode().split("\r")))


def test_keys_are_passed_on_as_they_come() -> None:
    source = Input("utf-8")
    assert source.decode(b"\x1b") == "\x1b"
    assert source.decode(b"[A\x07\r") == "[A\x07\r"


@pytest.mark.parametrize("where", ["prompt", "list"])
async def test_a_paste_lands_in_the_prompt_and_sends_nothing(make: Callable[..., Stage], where: str) -> None:
    place = make()
    chance = random.Random(1)
    async with place.app.run_test(size=(140, 40)) as pilot:
        await settle(pilot)
        if where == "list":
            chat(place.app).sidebar.sessions.focus()
            await settle(pilot)
            assert not chat(place.app).prompt.has_focus
        whole = f"{PASTE_BEGINS}{HOSTILE}{PASTE_ENDS}"
        for one in read(in_pieces(whole, [chance.randrange(6, 60) for _ in range(3)])):
            place.app.post_message(one)
        await assert_until(pilot, lambda: "zeta" in chat(place.app).prompt.text)
        await settle(pilot)
        assert on(place.app, ChatScreen)
        text = chat(place.app).prompt.text
        assert all(word in text for word in ("alpha", "beta", "gamma\ndelta", "epsilon"))
        assert not set(text) & {"\x1b", "\x07", "\x9b", "\r"}
        assert await place.store.list_sessions() == []
