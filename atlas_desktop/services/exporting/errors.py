"""What can keep an export from being written."""

from pathlib import Path


class ExportFault(Exception):
    """An export that was not written; what was there before is as it was."""


class TargetExists(ExportFault):
    """Something is there already, and nobody said that it may be replaced."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


class TargetRefused(ExportFault):
    """The system does not let the file or folder be made. `reason` is its word for why."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(str(path), reason)
        self.path = path
        self.reason = reason


class BadRecipient(ExportFault):
    """What was given is neither an age recipient nor an SSH public key that age takes."""


class NothingToExport(ExportFault):
    """No session was chosen, or none that may go out."""
