"""Personas and prompt templates as rows."""

from datetime import datetime

from memory.clock import micros, moment
from memory.errors import PersonaNotFound, TemplateNotFound
from memory.named import found_among, required
from memory.personas import NewPersona, NewTemplate, Persona, Template
from memory.storage.connection import Connection
from memory.storage.values import new_id, storable


def all_personas(conn: Connection) -> list[Persona]:
    rows = conn.execute(
        """
        SELECT id, name, system_prompt, created_at, updated_at, model, temperature FROM personas
        ORDER BY fold(name)
        """
    )
    return [Persona(row[0], row[1], row[2], moment(row[3]), moment(row[4]), row[5], row[6]) for row in rows]


def persona(conn: Connection, ref: str) -> Persona:
    """Returns one persona. Raises `PersonaNotFound`, `AmbiguousId`."""
    found = found_among(all_personas(conn), ref)
    if found is None:
        raise PersonaNotFound(ref)
    return found


def put_persona(conn: Connection, old: Persona | None, new: NewPersona, now: datetime) -> Persona:
    """Stores a new persona, or new content of an `old` one. Raises `NameTaken`, `ValueError`."""
    others = all_personas(conn)
    name, text = required(
        storable(new.name), storable(new.system_prompt), others, None if old is None else old.id
    )
    made = Persona(
        id=new_id() if old is None else old.id,
        name=name,
        system_prompt=text,
        created_at=moment(micros(now)) if old is None else old.created_at,
        updated_at=moment(micros(now)),
        model=new.model or None,
        temperature=new.temperature,
    )
    conn.execute(
        """
        INSERT INTO personas (id, name, system_prompt, model, temperature, created_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, system_prompt = excluded.system_prompt,
            model = excluded.model, temperature = excluded.temperature, updated_at = excluded.updated_at
        """,
        (made.id, name, text, made.model, made.temperature, micros(made.created_at), micros(now)),
    )
    return made


def all_templates(conn: Connection) -> list[Template]:
    rows = conn.execute("SELECT id, name, text, created_at, updated_at FROM templates ORDER BY fold(name)")
    return [Template(row[0], row[1], row[2], moment(row[3]), moment(row[4])) for row in rows]


def template(conn: Connection, ref: str) -> Template:
    """Returns one template. Raises `TemplateNotFound`, `AmbiguousId`."""
    found = found_among(all_templates(conn), ref)
    if found is None:
        raise TemplateNotFound(ref)
    return found


def put_template(conn: Connection, old: Template | None, new: NewTemplate, now: datetime) -> Template:
    """Stores a new template, or new content of an `old` one. Raises `NameTaken`, `ValueError`."""
    others = all_templates(conn)
    name, text = required(storable(new.name), storable(new.text), others, None if old is None else old.id)
    made = Template(
        id=new_id() if old is None else old.id,
        name=name,
        text=text,
        created_at=moment(micros(now)) if old is None else old.created_at,
        updated_at=moment(micros(now)),
    )
    conn.execute(
        """
        INSERT INTO templates (id, name, text, created_at, updated_at) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (id) DO UPDATE SET name = excluded.name, text = excluded.text,
            updated_at = excluded.updated_at
        """,
        (made.id, name, text, micros(made.created_at), micros(now)),
    )
    return made
