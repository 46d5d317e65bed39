"""How long conversations are kept, in words."""

from atlas_desktop.cli.sessions import _text
from atlas_desktop.services.retention import Removed
from memory.retention import RetentionPolicy


def test_everything_that_stays_is_named_and_one_day_is_one_day() -> None:
    first, who = _text(RetentionPolicy(days=1, bin_days=30), [], None).splitlines()[:2]
    assert (
        first == "Conversations are kept for 1 day after the last use. In the bin, they are kept for 30 days."
    )
    assert all(word in who for word in ("Starred", "important", "pinned ones"))


def test_what_is_erased_is_counted_as_it_is_said() -> None:
    removed = [Removed(sessions=1, messages=2, verified=True)]
    assert _text(RetentionPolicy(), [], removed).endswith("Erased: 1 conversation with 2 messages.")
