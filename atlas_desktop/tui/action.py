"""What an action is, and where in the interface it can be carried out."""

from dataclasses import dataclass
from enum import StrEnum, auto

from atlas_desktop.words.catalogue import texts, tr


class Where(StrEnum):
    """Which part of the interface answers to an action."""

    CHAT = auto()
    VIEWS = auto()
    SESSIONS = auto()
    MESSAGES = auto()
    MEMORIES = auto()
    HISTORY = auto()
    INSIGHTS = auto()
    SETTINGS = auto()
    MODELS = auto()
    EVERYWHERE = auto()

    @property
    def label(self) -> str:
        """As people call it."""
        return tr(f"actions.where.{self}")


@dataclass(frozen=True, slots=True)
class Action:
    """`run` is the name of the method (`action_…`); `key` the default keys.

    `priority` keys work while text is being typed. `slash` is what can be typed in place of a message to
    carry it out; with `words`, what follows it on the line is given to the action. How it is called is in
    `words.en.actions`, by its id.
    """

    id: str
    where: Where
    run: str
    key: str = ""
    priority: bool = False
    in_palette: bool = True
    slash: str = ""
    words: bool = False

    @property
    def name(self) -> str:
        return tr(f"actions.{self.id}.name")

    @property
    def label(self) -> str:
        """Its word in the footer; empty: it is not shown there."""
        return texts("actions").get(f"{self.id}.label", "")

    @property
    def help(self) -> str:
        """What it does, in a sentence or two."""
        return tr(f"actions.{self.id}.help")
