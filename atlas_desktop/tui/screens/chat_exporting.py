"""The part of the conversation screen that exports."""

from typing import TYPE_CHECKING

from atlas_desktop.tui.screens.chat_part import ChatPart


class ExportActions(ChatPart):
    """Mixed into the conversation screen."""

    if TYPE_CHECKING:

        def _target(self) -> str | None: ...

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "export":
            return True if self._target() else None
        return super().check_action(action, parameters)

    def action_export(self) -> None:
        """Opens the export of the conversation that is shown, or of the one marked in the list."""
        from atlas_desktop.tui.screens.exporting import ExportDialog

        if (target := self._target()) is not None:
            self.atlas.push_screen(ExportDialog([target]))
