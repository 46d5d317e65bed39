"""Words for what can go wrong with the program itself."""

from atlas_desktop.words.catalogue import tr


def unknown_variable(name: str, near: str) -> str:
    """Of a variable that looks like a setting's and is none's; `near` is one that is, if any is like it."""
    if near:
        return tr("settings.unknown_variable.meant", name=name, near=near)
    return tr("settings.unknown_variable", name=name)
