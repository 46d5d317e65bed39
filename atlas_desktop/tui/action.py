"""What an action is, and where in the interface it can be carried out."""

from dataclasses import dataclass
from enum import StrEnum


class Where(StrEnum):
    """Which part of the interface answers to an action."""

    CHAT = "Conversation"
    SESSIONS = "List of conversations"
    MESSAGES = "Messages"
    MEMORIES = "Memories"
    HISTORY = "History"
    INSIGHTS = "Insights"
    SETTINGS = "Settings"
    MODELS = "Models"
    EVERYWHERE = "Everywhere"


@dataclass(frozen=True, slots=True)
class Action:
    """`run` is the name of the method (`action_…`); `key` the default keys, `label` its word in the footer.

    `priority` keys work while text is being typed. An action without a label is not shown in the footer.
    `slash` is what can be typed in place of a message to carry it out; with `words`, what follows it on the
    line is given to the action.
    """

    id: str
    name: str
    help: str
    where: Where
    run: str
    key: str = ""
    label: str = ""
    priority: bool = False
    in_palette: bool = True
    slash: str = ""
    words: bool = False
