"""Texts for where a reply or a memory comes from, and why recall used or left out what it found."""

from atlas_desktop.locale import N_, _

_HIDDEN_TEXTS = {
    "superseded": N_("A newer memory replaced it."),
    "archived": N_("It is archived."),
    "rejected": N_("You rejected it."),
    "expired": N_("It has expired."),
    "unapproved": N_("It needs your approval."),
}
_OUTCOME_TEXTS = {
    "told": N_("in the prompt"),
    "repeats": N_("left out: its source was already in the prompt"),
    "echo": N_("left out: it adds nothing to your message"),
    "too_far": N_("left out: not relevant enough"),
    "no_room": N_("left out: no space left"),
}
_PART_TEXTS = {
    "lexical": N_("same words"),
    "semantic": N_("same meaning"),
    "neighbour": N_("nearby messages"),
    "session": N_("its conversation"),
    "speaker": N_("who said it"),
    "time": N_("time asked about"),
    "dated": N_("has a date"),
    "machine": N_("not your words (–)"),
    "question": N_("only a question (–)"),
    "stated": N_("a preference"),
    "topic": N_("same topic"),
    "recency": N_("how recent"),
    "importance": N_("importance"),
}


def hidden_text(reason: str) -> str:
    """Returns why a memory is not used (`Why.hidden`)."""
    return _(_HIDDEN_TEXTS[reason])


def outcome_text(outcome: str) -> str:
    """Returns what happened to something that recall found (an `Outcome`)."""
    return _(_OUTCOME_TEXTS[outcome])


def part_text(name: str) -> str:
    """Returns what a part of a hit's score stands for; an unknown name is returned unchanged."""
    return _(_PART_TEXTS[name]) if name in _PART_TEXTS else name
