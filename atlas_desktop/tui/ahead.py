"""What is done while nobody waits for it, so that nobody waits for it later."""

import gc


def load_conversation() -> None:
    """Imports what the conversation needs."""
    import atlas_desktop.tui.screens.chat  # noqa: F401


def load_highlighter() -> None:
    """Imports what colours code, and colours a little of it."""
    from atlas_desktop.tui.widgets.markdown import load_highlighter

    load_highlighter()


def calm_the_collector() -> None:
    """Keeps the cyclic garbage collector out of the way of drawing.

    By default it goes through everything that is alive again and again while widgets are made, a tenth of a
    second each time. What is there by now stays, so it is left out; the rest is looked at less often.
    """
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
