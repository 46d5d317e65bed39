"""Tasks: their steps with the exact contexts, what was found, what the user added, and the results.

All of it stays in its room. `brief` and `returned` of a step are JSON. `text` of evidence is the source's
text from `begin` to `end`; `source_id` is a document, note, memory or message. `document_id` of a task is its
report in the library.
"""

from memory.storage.connection import Connection

VERSION = 18
NAME = "tasks"

_STATEMENTS = (
    """
    CREATE TABLE tasks (
        id TEXT PRIMARY KEY,
        brief TEXT NOT NULL CHECK (brief <> ''),
        project_id TEXT REFERENCES projects (id),
        session_id TEXT REFERENCES sessions (id) ON DELETE SET NULL,
        documents TEXT CHECK (json_valid(documents)),
        teams TEXT NOT NULL CHECK (json_valid(teams)),
        rounds INTEGER NOT NULL CHECK (rounds >= 0),
        max_tokens INTEGER CHECK (max_tokens >= 1),
        wants_baseline INTEGER NOT NULL DEFAULT 0 CHECK (wants_baseline IN (0, 1)),
        state TEXT NOT NULL CHECK (
            state IN ('planned', 'running', 'paused', 'waiting', 'done', 'failed', 'cancelled')
        ),
        round INTEGER NOT NULL DEFAULT 0 CHECK (round >= 0),
        asked TEXT CHECK (asked IN ('nothing_found', 'parts_missing')),
        missing TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(missing)),
        title TEXT NOT NULL DEFAULT '',
        report TEXT,
        unsupported TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(unsupported)),
        by_model INTEGER NOT NULL DEFAULT 0 CHECK (by_model IN (0, 1)),
        document_id TEXT REFERENCES documents (id) ON DELETE SET NULL,
        baseline TEXT,
        baseline_context INTEGER NOT NULL DEFAULT 0,
        baseline_tokens INTEGER NOT NULL DEFAULT 0,
        baseline_ms REAL NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        ended_at INTEGER
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX tasks_by_project ON tasks (project_id) WHERE project_id IS NOT NULL",
    "CREATE INDEX tasks_by_session ON tasks (session_id) WHERE session_id IS NOT NULL",
    "CREATE INDEX tasks_by_document ON tasks (document_id) WHERE document_id IS NOT NULL",
    """
    CREATE TABLE task_steps (
        id TEXT PRIMARY KEY,
        task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
        number INTEGER NOT NULL CHECK (number >= 1),
        round INTEGER NOT NULL CHECK (round >= 0),
        team TEXT NOT NULL CHECK (team IN ('research', 'analysis', 'writing', 'rating')),
        brief TEXT NOT NULL CHECK (json_valid(brief)),
        state TEXT NOT NULL CHECK (state IN ('running', 'done')),
        returned TEXT NOT NULL DEFAULT '',
        context TEXT NOT NULL DEFAULT '',
        context_tokens INTEGER NOT NULL DEFAULT 0 CHECK (context_tokens >= 0),
        tokens INTEGER NOT NULL DEFAULT 0 CHECK (tokens >= 0),
        model_ms REAL NOT NULL DEFAULT 0,
        own_ms REAL NOT NULL DEFAULT 0,
        attempts INTEGER NOT NULL DEFAULT 1 CHECK (attempts >= 1),
        begun_at INTEGER NOT NULL,
        ended_at INTEGER,
        UNIQUE (task_id, number)
    ) STRICT, WITHOUT ROWID
    """,
    """
    CREATE TABLE task_evidence (
        id TEXT PRIMARY KEY,
        task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
        step_id TEXT NOT NULL REFERENCES task_steps (id) ON DELETE CASCADE,
        marker INTEGER NOT NULL CHECK (marker >= 1),
        kind TEXT NOT NULL CHECK (kind IN ('document', 'note', 'memory', 'message')),
        source_id TEXT NOT NULL,
        document_id TEXT REFERENCES documents (id) ON DELETE CASCADE,
        source_session TEXT,
        title TEXT NOT NULL DEFAULT '',
        begin INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        page INTEGER,
        first_line INTEGER,
        last_line INTEGER,
        heading TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(heading)),
        header TEXT NOT NULL DEFAULT '',
        text TEXT NOT NULL,
        sha256 TEXT NOT NULL DEFAULT '',
        subject TEXT NOT NULL DEFAULT '',
        UNIQUE (task_id, marker)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX task_evidence_by_source ON task_evidence (source_id)",
    "CREATE INDEX task_evidence_by_document ON task_evidence (document_id) WHERE document_id IS NOT NULL",
    "CREATE INDEX task_evidence_by_step ON task_evidence (step_id)",
    """
    CREATE TABLE task_citations (
        task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
        number INTEGER NOT NULL CHECK (number >= 0),
        marker INTEGER NOT NULL CHECK (marker >= 1),
        kind TEXT NOT NULL CHECK (kind IN ('document', 'note', 'memory', 'message')),
        source_id TEXT NOT NULL,
        document_id TEXT REFERENCES documents (id) ON DELETE CASCADE,
        title TEXT NOT NULL DEFAULT '',
        begin INTEGER NOT NULL,
        "end" INTEGER NOT NULL,
        page INTEGER,
        first_line INTEGER,
        last_line INTEGER,
        quote TEXT NOT NULL,
        verified INTEGER NOT NULL CHECK (verified IN (0, 1)),
        PRIMARY KEY (task_id, number)
    ) STRICT, WITHOUT ROWID
    """,
    "CREATE INDEX task_citations_by_document ON task_citations (document_id) WHERE document_id IS NOT NULL",
    # The user's instructions to the supervisor: `after` is the number of the last step before it.
    """
    CREATE TABLE task_guidance (
        task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
        number INTEGER NOT NULL CHECK (number >= 0),
        text TEXT NOT NULL,
        after INTEGER NOT NULL,
        revises INTEGER NOT NULL CHECK (revises IN (0, 1)),
        PRIMARY KEY (task_id, number)
    ) STRICT, WITHOUT ROWID
    """,
    # What happened, in order: codes and numbers.
    """
    CREATE TABLE task_events (
        task_id TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
        number INTEGER NOT NULL CHECK (number >= 0),
        kind TEXT NOT NULL CHECK (
            kind IN ('plan', 'assigned', 'returned', 'revision', 'escalated', 'approved', 'done')
        ),
        step_id TEXT,
        team TEXT CHECK (team IN ('research', 'analysis', 'writing', 'rating')),
        code TEXT NOT NULL,
        count INTEGER NOT NULL DEFAULT 0,
        at INTEGER NOT NULL,
        PRIMARY KEY (task_id, number)
    ) STRICT, WITHOUT ROWID
    """,
)


def apply(conn: Connection) -> None:
    for statement in _STATEMENTS:
        conn.execute(statement)
