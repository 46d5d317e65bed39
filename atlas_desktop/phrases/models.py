"""Texts for models: how one fits this computer, and the stages of an installation."""

from atlas_desktop.locale import N_, _

_FIT_TEXTS = {"fits": N_("fits"), "may be slow": N_("may be slow"), "won't fit": N_("won't fit")}
_STAGE_TEXTS = {
    "download": N_("downloading"),
    "verify": N_("checking"),
    "convert": N_("converting"),
    "place": N_("installing"),
    "bench": N_("measuring"),
    "start": N_("starting"),
}


def fit_text(fit: str) -> str:
    """Returns how well a model fits this computer; the name of a program is returned unchanged."""
    return _(_FIT_TEXTS[fit]) if fit in _FIT_TEXTS else fit


def stage_text(stage: str) -> str:
    """Returns the stage of an installation, a measurement or a start."""
    return _(_STAGE_TEXTS[stage])
