"""What is said of words that stand elsewhere, too."""

from dataclasses import replace

from atlas_desktop.phrases import preview_text, receipt_text, where
from atlas_desktop.services.forgetting import Receipt
from memory.entities import Affected, Copy, Erased, Place

GONE = Erased(2, 0, 0, 0, 0, 2, 0, 0, verified=True)


def test_a_receipt_claims_no_more_than_what_happened() -> None:
    assert receipt_text(Receipt(GONE, 0, True)).endswith("A second check found nothing left.")
    copied = replace(GONE, copies=(Copy("a", "Locks (2)"),))
    told = receipt_text(Receipt(copied, 0, True))
    assert told.endswith(
        "A second check found nothing left of these messages. The same text still exists in “Locks (2)”."
    )
    assert "A second look found nothing of it" not in told
    assert "found afterwards" in receipt_text(Receipt(copied, 0, False))
    assert "The same text also exists in “Locks (2)” and stays there." in preview_text(Affected(copied))
    assert "same words" not in preview_text(Affected(GONE))


def test_a_title_that_stays_is_not_called_a_copy_of_the_text() -> None:
    titled = replace(GONE, copies=(Copy("a", "Locker", title_only=True), Copy("b", "Locks")))
    for told in (preview_text(Affected(titled)), receipt_text(Receipt(titled, 0, True))):
        assert told.endswith("Titles you wrote yourself stay: “Locker”.")
        assert "exist" in told.partition("“Locks”")[0].rpartition("same text")[2]
    alone = replace(GONE, copies=(Copy("a", "Locker", title_only=True),))
    assert "same text" not in preview_text(Affected(alone)) + receipt_text(Receipt(alone, 0, True))


def test_the_files_of_forgotten_documents_are_said_to_stay() -> None:
    read = replace(GONE, documents=1)
    for erased, said in ((read, True), (GONE, False)):
        for told in (preview_text(Affected(erased)), receipt_text(Receipt(erased, 0, True))):
            assert ("The files of documents stay where they are." in told) == said


def test_two_are_named_and_the_others_counted() -> None:
    copies = [Copy("a", "A"), Copy("b", "B", binned=True), Copy("c", ""), Copy("d", "D")]
    assert where(copies[:2]) == "“A” and “B” (in the bin)"
    assert where(copies[2:3]) == "a conversation without a title"
    assert where(copies[:3]) == "“A”, “B” (in the bin) and 1 other conversation"
    assert where(copies) == "“A”, “B” (in the bin) and 2 other conversations"


def test_what_goes_as_a_whole_is_named_and_not_called_a_removal_of_text() -> None:
    named = [("skill", "boat-day"), ("instructions", "Boat"), ("tag", ""), ("draft", "")]
    named += [("folder", "/papers"), ("saved search", "")]
    places = tuple(Place(kind, name) for kind, name in named)
    erased = replace(GONE, places=places)
    told = preview_text(Affected(erased)).split("\n")
    assert "It would also delete as a whole: 1 draft, 1 saved search, 1 skill (“boat-day”), 1 tag." in told
    assert "It would also empty: 1 set of instructions (“Boat”)." in told
    assert "It would also stop watching: 1 watched folder (“/papers”)." in told
    receipt = receipt_text(Receipt(erased, 0, True))
    assert "Deleted as a whole: 1 draft, 1 saved search, 1 skill, 1 tag. Emptied: 1 set" in receipt
    assert "boat-day" not in receipt, "a receipt has no content"


def test_a_preview_names_some_of_many() -> None:
    places = tuple(Place("task", f"Task {number}") for number in range(7))
    told = preview_text(Affected(replace(GONE, places=places)))
    assert "7 tasks (“Task 0”, “Task 1”, “Task 2”, “Task 3”, “Task 4”, …)" in told


def test_backups_that_may_contain_it_are_mentioned() -> None:
    for count, said in ((0, ""), (1, "A backup made before may"), (3, "3 backups made before may")):
        for told in (
            preview_text(Affected(GONE), backups=count),
            receipt_text(Receipt(GONE, 0, True, backups=count)),
        ):
            assert ("may still contain it" in told) == bool(count)
            assert said in told


def test_a_locked_private_room_is_said_to_be_unsearched() -> None:
    nothing = Erased(0, 0, 0, 0, 0, 0, 0, 0, verified=True)
    for erased in (GONE, nothing):
        for open_only in (True, False):
            for told in (
                preview_text(Affected(erased), open_only=open_only),
                receipt_text(Receipt(erased, 0, True, open_only=open_only)),
            ):
                assert told.endswith("A locked private room was not searched.") is open_only
