"""Words for what can go wrong when conversations are put in order."""

from atlas_desktop.explain import Exit, Explained, Words, named, told
from atlas_desktop.words.catalogue import texts, tr
from memory import errors as memory


def _cannot_merge(e: memory.CannotMerge) -> Explained:
    reason = e.reason if f"merge.{e.reason}" in texts("errors") else "same"
    return told("cannot_merge", Exit.USAGE, why=tr(f"errors.merge.{reason}"))


WORDS: Words = {
    memory.ProjectNotFound: named("project_not_found", Exit.USAGE),
    memory.ProjectExists: named("project_exists", Exit.USAGE),
    memory.CannotMerge: _cannot_merge,
}
