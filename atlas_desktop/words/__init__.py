"""The one place where errors become words."""

from atlas_desktop.explain import Words
from atlas_desktop.words import backups, memory, models, program

WORDS: Words = {**memory.WORDS, **backups.WORDS, **models.WORDS, **program.WORDS}
