"""What the background of a room is doing, or waiting for, in a few words for the status line."""

from typing import TYPE_CHECKING

from atlas_desktop.services.context import EPOCH
from atlas_desktop.services.memories import COLLECT, CONSOLIDATE, PROMOTE
from atlas_desktop.services.recall import KIND as EMBED
from atlas_desktop.services.summaries import KIND as TITLE
from atlas_desktop.services.tuning import KIND as TUNE
from atlas_desktop.words.catalogue import tr
from memory.jobs.runner import Held
from memory.summaries.compaction import IMPROVE

if TYPE_CHECKING:
    from atlas_desktop.services.background import BackgroundService

_DOING = {
    TITLE: "chat.doing.title",
    EPOCH: "chat.doing.epoch",
    IMPROVE: "chat.doing.improve",
    EMBED: "chat.doing.embed",
    TUNE: "chat.doing.tune",
    PROMOTE: "chat.doing.upkeep",
    COLLECT: "chat.doing.upkeep",
    CONSOLIDATE: "chat.doing.upkeep",
}
_WAITING = {Held.BATTERY: "chat.resting.battery", Held.PAUSED: "chat.resting.paused"}


def work_under_way(background: "BackgroundService") -> str:
    """Nothing when there is nothing to do."""
    if background.waiting is not None:
        return tr(_WAITING[background.waiting])
    job = background.running
    return tr(_DOING.get(job.kind, "chat.doing.other")) if job is not None else ""
