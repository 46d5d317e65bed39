"""What is said of errors: of each, by its code, what it is called, what it means, and what to do next."""

from atlas_desktop.words.en.errors import (
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

TEXTS = {
    **program.TEXTS,
    **memory.TEXTS,
    **backups.TEXTS,
    **conversation.TEXTS,
    **exporting.TEXTS,
    **importing.TEXTS,
    **models.TEXTS,
    **organising.TEXTS,
    **search.TEXTS,
}
