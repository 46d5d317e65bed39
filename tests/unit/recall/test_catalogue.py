"""What a room holds, as columns: the same whether messages come one by one or many at a time."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.recall.catalogue import Catalogue
from memory.recall.entities import Entry, SessionEntry, Wording

SESSIONS = ("a", "b", "c")


@st.composite
def talk(draw: st.DrawFn) -> list[Entry]:
    """Messages in the order of storing, with gaps where others were erased."""
    entries: list[Entry] = []
    seq = 0
    for number in range(draw(st.integers(0, 12))):
        seq += draw(st.integers(1, 300))
        parent = draw(st.sampled_from([None, "gone", *(f"m{at}" for at in range(number))]))
        entries.append(
            Entry(
                seq,
                f"m{number}",
                draw(st.sampled_from(SESSIONS)),
                parent,
                draw(st.sampled_from(["Ada", "ada", "", "Bob"])),
                draw(st.booleans()),
                draw(st.integers(0, 2**50)),
                draw(st.booleans()),
                draw(st.booleans()),
                draw(st.integers(0, 1000)),
            )
        )
    return entries


def catalogue(pages: Sequence[Sequence[Entry]]) -> Catalogue:
    made = Catalogue()
    made.take_sessions([SessionEntry(one, None, lends=True, binned=False) for one in SESSIONS])
    for page in pages:
        made.take(page)
    return made


def state(one: Catalogue) -> object:
    columns = (
        one.seq, one.session, one.time, one.length, one.speaker, one.machine,
        one.important, one.asks, one.dated, one.prefers, one.alive, one.before, one.after,
    )  # fmt: skip
    return [column.tolist() for column in columns], one.ids, one.rows, one.speakers


@settings(deadline=None)
@given(talk(), st.integers(1, 12))
def test_many_messages_are_taken_as_one_after_the_other(entries: list[Entry], size: int) -> None:
    one_by_one = catalogue([[entry] for entry in entries])
    pages = [entries[at : at + size] for at in range(0, len(entries), size)]
    assert state(catalogue(pages)) == state(one_by_one)
    assert one_by_one.rows_of([entry.seq for entry in entries]).tolist() == list(range(len(entries)))


@settings(deadline=None)
@given(talk(), st.data())
def test_changed_messages_keep_their_rows_and_their_wording_is_asked_for_anew(
    entries: list[Entry], data: st.DataObject
) -> None:
    made = catalogue([entries])
    seqs = [entry.seq for entry in entries]
    assert made.unworded().tolist() == seqs
    made.take_wordings(seqs, [Wording(seq, dated=True, prefers=True, instructs=True) for seq in seqs])
    assert made.unworded().tolist() == []
    changed = [entry for entry in entries if data.draw(st.booleans())]
    made.take([entry._replace(length=entry.length + 1) for entry in changed])
    waiting = [entry.seq for entry in changed]
    assert made.unworded().tolist() == waiting
    assert made.dated.tolist() == made.prefers.tolist() == [seq not in waiting for seq in seqs]
    assert made.length.tolist() == [entry.length + (entry in changed) for entry in entries]
    made.drop(waiting)
    assert made.unworded().tolist() == []
    assert made.rows.keys() == {entry.id for entry in entries} - {entry.id for entry in changed}
