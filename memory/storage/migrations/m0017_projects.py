"""The settings that a project gives its sessions: instructions, defaults for new ones, and isolation.

`persona_id`, `model` and `memory_mode` are NULL without a default of their own. `isolated`: nothing of the
project is recalled elsewhere, and nothing from elsewhere in it.
"""

from memory.storage.connection import Connection

VERSION = 17
NAME = "projects"

_STATEMENTS = (
    "ALTER TABLE projects ADD COLUMN instructions TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE projects ADD COLUMN persona_id TEXT REFERENCES personas (id) ON DELETE SET NULL",
    "ALTER TABLE projects ADD COLUMN model TEXT",
    "ALTER TABLE projects ADD COLUMN memory_mode TEXT CHECK (memory_mode IN ('normal', 'reads', 'blank'))",
    "ALTER TABLE projects ADD COLUMN isolated INTEGER NOT NULL DEFAULT 0 CHECK (isolated IN (0, 1))",
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
