"""The personas and prompt templates of one room."""

from datetime import datetime

from memory.clock import Clock, micros, moment
from memory.errors import PersonaNotFound, TemplateNotFound
from memory.personas import NewPersona, NewTemplate, Persona, Template, found_among, required
from memory.storage.connection import Connection, new_id, storable
from memory.storage.database import Database


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


class PersonaStore:
    """The personas and templates of one room. A `ref` is a name (in any case), an id, or a unique prefix of
    an id.

    Raises `PersonaNotFound`, `AmbiguousId`, and the errors of `Store`. `add` and `change` raise `NameTaken`
    when another one has the name, and `ValueError` when a name or text is empty.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def personas(self) -> list[Persona]:
        """Returns all personas, by name."""
        return await self._database.read(all_personas)

    async def persona(self, ref: str) -> Persona:
        return await self._database.read(lambda conn: persona(conn, ref))

    async def add_persona(self, new: NewPersona) -> Persona:
        now = self._clock.now()
        return await self._database.write(lambda conn: put_persona(conn, None, new, now))

    async def change_persona(self, ref: str, new: NewPersona) -> Persona:
        """Replaces everything but its id and creation time."""
        now = self._clock.now()

        def work(conn: Connection) -> Persona:
            return put_persona(conn, persona(conn, ref), new, now)

        return await self._database.write(work)

    async def remove_persona(self, ref: str) -> Persona:
        """Removes a persona. Sessions that use it keep its text."""

        def work(conn: Connection) -> Persona:
            gone = persona(conn, ref)
            conn.execute("DELETE FROM personas WHERE id = ?", (gone.id,))
            return gone

        return await self._database.erase(work)

    async def templates(self) -> list[Template]:
        """Returns all templates, by name."""
        return await self._database.read(all_templates)

    async def template(self, ref: str) -> Template:
        """Returns a template. Raises `TemplateNotFound`, like the other template methods."""
        return await self._database.read(lambda conn: template(conn, ref))

    async def add_template(self, new: NewTemplate) -> Template:
        now = self._clock.now()
        return await self._database.write(lambda conn: put_template(conn, None, new, now))

    async def change_template(self, ref: str, new: NewTemplate) -> Template:
        now = self._clock.now()

        def work(conn: Connection) -> Template:
            return put_template(conn, template(conn, ref), new, now)

        return await self._database.write(work)

    async def remove_template(self, ref: str) -> Template:
        def work(conn: Connection) -> Template:
            gone = template(conn, ref)
            conn.execute("DELETE FROM templates WHERE id = ?", (gone.id,))
            return gone

        return await self._database.erase(work)
