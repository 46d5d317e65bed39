"""The order of the tests when several processes share them."""

from tests.order import dealt, seconds_of


def test_every_hand_begins_with_its_share_of_what_takes_long() -> None:
    files = [(0.0, ["a", "b", "c"]), (5.0, ["E", "F"]), (1.0, ["T"]), (2.5, ["S", "U"]), (0.0, ["d", "e"])]
    assert dealt(files, 2) == list("EFabcSUTde")


def test_no_test_is_lost_when_one_file_is_nearly_everything() -> None:
    assert dealt([(5.0, ["E", "F", "G"]), (0.0, ["a"])], 3) == ["E", "F", "G", "a"]


def test_what_takes_long_is_known_by_its_folder() -> None:
    assert seconds_of("tests/e2e/test_cli.py") > seconds_of("tests/tui/test_lock.py") > 0
    assert seconds_of("tests/unit/test_words.py") == 0
