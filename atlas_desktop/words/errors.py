"""The one place where errors become words."""

from atlas_desktop.explain import Words
from atlas_desktop.words import (
    backups,
    conversation,
    exporting,
    importing,
    memory,
    models,
    organising,
    program,
    search,
)

WORDS: Words = {
    **memory.WORDS,
    **backups.WORDS,
    **conversation.WORDS,
    **exporting.WORDS,
    **importing.WORDS,
    **models.WORDS,
    **organising.WORDS,
    **program.WORDS,
    **search.WORDS,
}
