"""The one place where errors become words."""

from atlas_desktop.explain import Words
from atlas_desktop.words import backups, conversation, memory, models, program, search

WORDS: Words = {
    **memory.WORDS,
    **backups.WORDS,
    **conversation.WORDS,
    **models.WORDS,
    **program.WORDS,
    **search.WORDS,
}
