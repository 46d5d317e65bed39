"""The chat screen is composed: of few bases, and of controllers that do not know it."""

from atlas_desktop.tui.chat.screen import ChatScreen
from tests.unit.test_imports import ROOT, import_graph


def test_the_screen_has_at_most_two_bases_of_our_own() -> None:
    assert len([base for base in ChatScreen.__bases__ if base.__module__.startswith("atlas_desktop.")]) <= 2


def test_the_application_alone_imports_the_screen() -> None:
    graph = import_graph(ROOT)
    assert {name for name, found in graph.items() if ChatScreen.__module__ in found} == {
        "atlas_desktop.tui.app"
    }
