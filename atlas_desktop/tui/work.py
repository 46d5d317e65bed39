"""What the background of a room is doing, or waiting for, in a few words for the status line."""

from typing import TYPE_CHECKING

from atlas_desktop.services.epochs import EPOCH
from atlas_desktop.services.recall import KIND as EMBED
from atlas_desktop.services.titles import KIND as TITLE
from atlas_desktop.services.tuning import KIND as TUNE
from atlas_desktop.services.upkeep import COLLECT, CONSOLIDATE, PROMOTE
from memory.background import Held
from memory.lifecycle.compaction import IMPROVE

if TYPE_CHECKING:
    from atlas_desktop.services.background import BackgroundService

_DOING = {
    TITLE: "naming conversations",
    EPOCH: "summarising",
    IMPROVE: "writing summaries anew",
    EMBED: "learning what was said",
    TUNE: "tuning the model",
    PROMOTE: "looking after memories",
    COLLECT: "looking after memories",
    CONSOLIDATE: "looking after memories",
}
_WAITING = {Held.BATTERY: "background work rests on battery", Held.PAUSED: "background work is paused"}


def work_under_way(background: "BackgroundService") -> str:
    """Nothing when there is nothing to do."""
    if background.waiting is not None:
        return _WAITING[background.waiting]
    job = background.running
    return _DOING.get(job.kind, "working in the background") if job is not None else ""
