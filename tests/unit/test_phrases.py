"""What a change of mode or room does is said truly, for every change that there is."""

import itertools
from gettext import NullTranslations

import pytest

from atlas_desktop import locale
from atlas_desktop import phrases as phrases
from memory.documents.entities import CitedReply, StoredCitation
from memory.entities import MemoryMode, RoomKind
from memory.organising import examples
from memory.transfer import Losses

STORED = (MemoryMode.NORMAL, MemoryMode.READS, MemoryMode.BLANK)


@pytest.mark.parametrize(("now", "then"), [*itertools.permutations(MemoryMode, 2)])
@pytest.mark.parametrize("begun", [True, False])
def test_every_change_of_mode_is_told(now: MemoryMode, then: MemoryMode, begun: bool) -> None:
    room = RoomKind.OFF_RECORD if now is MemoryMode.OFF else RoomKind.OPEN
    told = phrases.of_mode(now, then, room=room, begun=begun)
    # Only what was said and never written can be given up by a change: by writing it.
    assert told.asks is (begun and now is MemoryMode.OFF)
    assert ("is saved to the open room" in told.words) is told.asks
    assert ("no memories are used" in told.words.lower()) is (then in (MemoryMode.BLANK, MemoryMode.OFF))
    assert ("stays saved in the open room" in told.words) is (begun and then is MemoryMode.OFF)
    assert ("will not learn from what was said" in told.words) is (
        begun and then is MemoryMode.NORMAL and now in STORED
    )


class Reversed(NullTranslations):
    """A language whose words are the English ones backwards, except in sentences with values."""

    def gettext(self, message: str) -> str:
        return message if "{" in message else message[::-1]


def test_the_built_in_categories_are_shown_in_the_language_and_own_ones_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(locale._Chosen, "texts", Reversed())
    for name in examples():
        assert phrases.category_text(name) == name[::-1]
    assert phrases.category_text("Zeppelins") == "Zeppelins"
    assert phrases.topic_name_text("category", "Money") == "yenoM"
    assert phrases.topic_name_text("tag", "Money") == "Money"


@pytest.mark.parametrize("mode", MemoryMode)
def test_what_is_so_already_changes_nothing(mode: MemoryMode) -> None:
    told = phrases.of_mode(mode, mode, room=RoomKind.OPEN, begun=True)
    assert (told.words.startswith("Nothing changes"), told.asks) == (True, False)


def test_a_private_session_that_goes_off_the_record_stays_in_the_private_room() -> None:
    told = phrases.of_mode(MemoryMode.NORMAL, MemoryMode.OFF, room=RoomKind.PRIVATE, begun=True)
    assert "stays saved in the private room" in told.words
    assert "saves the copy to the open room." in told.words


@pytest.mark.parametrize("source", RoomKind)
@pytest.mark.parametrize("destination", [RoomKind.OPEN, RoomKind.PRIVATE])
def test_every_move_is_told_and_one_to_the_open_room_is_asked_for(
    source: RoomKind, destination: RoomKind
) -> None:
    told = phrases.of_move(source, destination)
    if source is destination:
        assert told.words.startswith("Nothing changes")
    # Nor is what was off the record, perhaps a copy of a private session, saved there by the way.
    assert told.asks is (source is not RoomKind.OPEN and destination is RoomKind.OPEN)


def test_a_move_tells_of_the_documents_that_stay() -> None:
    one = phrases.of_move(RoomKind.OPEN, RoomKind.PRIVATE, Losses(documents=1))
    assert one.words.endswith(
        "A document in use stays in the open room: what moves loses the link to it, its passages and its "
        "citations."
    )
    two = phrases.of_move(RoomKind.PRIVATE, RoomKind.OPEN, Losses(documents=2))
    assert "2 documents in use stay in the private room" in two.words
    assert two.asks
    assert "documents in use" not in phrases.of_move(RoomKind.OPEN, RoomKind.PRIVATE).words
    assert "documents in use" not in phrases.of_move(RoomKind.OPEN, RoomKind.OPEN, Losses(documents=2)).words


def test_a_move_that_deletes_tasks_is_asked_for() -> None:
    told = phrases.of_move(RoomKind.OPEN, RoomKind.PRIVATE, Losses(tasks=2))
    assert told.words.endswith(
        "2 tasks that have read it are deleted with their reports, for good: its text would stay behind."
    )
    assert told.asks
    told = phrases.of_move(RoomKind.OPEN, RoomKind.PRIVATE, Losses(notes=1))
    assert told.words.endswith("A note that links to it stays in the open room, with the words of its link.")
    assert not told.asks


def test_what_a_reply_rests_on_is_told_with_what_it_does_not_rest_on() -> None:
    def of(quote: str, *, verified: bool, current: bool = True) -> StoredCitation:
        return StoredCitation(1, "d", "Lease", None, (3, 4), 0, 9, quote, verified, "", current)

    content = "The rent is 840 euros. It was painted in May."
    cited = CitedReply((of("840 euros", verified=True), of("Red", verified=False)), ((23, 45),))
    assert phrases.sources_text(content, cited).split("\n") == [
        "✓ [1] Lease, lines 3–4: “840 euros”",
        "✗ [1] Lease, lines 3–4 · quotation not found there: “Red”",
        "✗ Not in the sources: “It was painted in May.”",
    ]
    changed = CitedReply((of("840 euros", verified=True, current=False),))
    assert "document has changed since" in phrases.sources_text(content, changed)
