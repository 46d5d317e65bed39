"""What is asked before a model is downloaded or removed."""

from atlas_desktop.errors import size
from atlas_desktop.tui.model_rows import Row
from atlas_desktop.tui.screens.confirm import ConfirmScreen
from atlas_desktop.words.catalogue import tr


def before_download(row: Row) -> ConfirmScreen:
    """It takes gigabytes, and is the one thing for which this computer turns to another."""
    assert row.summary is not None
    host = row.host or tr("models.package_index")
    text = tr("models.download", model=row.id, host=host)
    if row.summary.fit != "fits":
        needed = size(row.summary.memory_needed)
        text = f"{text}\n\n{tr(f'models.fit.{row.summary.fit}', needed=needed)}"
    return ConfirmScreen(
        tr("models.download_title", bytes=size(row.summary.bytes)),
        text,
        agree=tr("models.download_yes"),
        refuse=tr("models.download_no"),
    )


def before_removal(row: Row) -> ConfirmScreen:
    assert row.summary is not None
    text = tr("models.remove_linked" if row.linked else "models.remove", bytes=size(row.summary.bytes))
    if row.used:
        text = f"{text} {tr('models.remove_used')}"
    return ConfirmScreen(
        tr("models.remove_title", model=row.id),
        text,
        agree=tr("models.remove_yes"),
        refuse=tr("models.remove_no"),
    )
