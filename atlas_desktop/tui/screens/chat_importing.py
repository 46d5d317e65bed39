"""The part of the conversation screen that imports."""

from atlas_desktop.tui.screens.chat_part import ChatPart
from memory.entities import RoomKind


class ImportActions(ChatPart):
    """Mixed into the conversation screen."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "import_conversations":
            kept = (one for one in self.atlas.desk.open_rooms if one.store.room is not RoomKind.OFF_RECORD)
            return True if next(kept, None) is not None else None
        return super().check_action(action, parameters)

    def action_import_conversations(self, path: str = "") -> None:
        """Opens the import of a file, which may be named already."""
        from atlas_desktop.tui.screens.importing import ImportDialog

        self.atlas.push_screen(ImportDialog(path.strip()))
