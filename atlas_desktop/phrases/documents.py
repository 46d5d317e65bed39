"""Texts about documents that both interfaces show."""

from typing import TYPE_CHECKING

from atlas_desktop.locale import N_, _

if TYPE_CHECKING:
    from atlas_desktop.services.documents.scanning import SkipReason

_SCAN_TEXTS = {
    "link": N_("is a link"),
    "special": N_("is not a regular file"),
    "hidden": N_("is hidden"),
    "temporary": N_("is a temporary file"),
    "ignored": N_("is excluded by a rule"),
    "unknown_format": N_("has an unknown format"),
    "too_large": N_("is too large"),
    "unreadable": N_("cannot be opened"),
    "vanished": N_("disappeared during the scan"),
    "bad_name": N_("has a name that is not valid text"),
    "too_deep": N_("is nested too deeply"),
    "too_many": N_("has too many entries"),
    "bad_pattern": N_("is not a valid rule and was ignored"),
}


def scan_reason(reason: "SkipReason | str") -> str:
    """Returns why a scan skipped something, after its name."""
    return _(_SCAN_TEXTS[str(reason)])
