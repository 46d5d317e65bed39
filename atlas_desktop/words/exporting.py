"""Words for exports: what is said before something leaves, and what can keep it from leaving."""

from atlas_desktop.words.catalogue import tr


def leaving(sessions: int, where: str, *, sealed: bool, private: int, redacted: bool) -> str:
    """What is said before anything is written. `private` counts sessions of the private room."""
    what = tr("exporting.leaving.sessions", count=sessions) if sessions else tr("exporting.leaving.memories")
    if private and private == sessions:
        what = tr("exporting.leaving.all_private", what=what)
    elif private and private < sessions:
        what = tr("exporting.leaving.some_private", what=what, private=private)
    if sealed:
        return tr("exporting.leaving.sealed", what=what, where=where)
    plain = tr("exporting.leaving.plain", what=what, where=where)
    return f"{plain} {tr('exporting.leaving.redacted')}" if redacted else plain
