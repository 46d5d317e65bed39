"""Texts for insights: kinds of topics, and what the storage is used for."""

from atlas_desktop.locale import N_, _
from atlas_desktop.services.cleaning import clean_line

_TOPIC_TEXTS = {
    "tag": N_("Tags"),
    "project": N_("Projects"),
    "category": N_("Categories"),
    "cluster": N_("Found by meaning"),
}
_STORED_TEXTS = {
    "messages": N_("messages"),
    "full_text": N_("word index"),
    "vectors": N_("vectors"),
    "memories": N_("memories"),
    "summaries": N_("summaries"),
    "attachments": N_("attachments"),
    "sessions": N_("conversations"),
    "epochs": N_("epochs"),
    "snapshots": N_("saved model states"),
    "models": N_("models"),
    "backups": N_("backups"),
    "other": N_("other"),
}
TOPIC_KINDS = tuple(_TOPIC_TEXTS)


def topic_text(kind: str) -> str:
    """Returns the heading of the topics of a kind (of `TOPIC_KINDS`)."""
    return _(_TOPIC_TEXTS[kind])


def stored_text(kind: str) -> str:
    """Returns what a part of the storage is used for; a table that is not listed has its own name."""
    return _(_STORED_TEXTS[kind]) if kind in _STORED_TEXTS else clean_line(kind).replace("_", " ")
