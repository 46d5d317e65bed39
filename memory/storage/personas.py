"""The personas and prompt templates of one room."""

from memory.clock import Clock
from memory.personas import NewPersona, NewTemplate, Persona, Template
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import personas


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
        return await self._database.read(personas.all_personas)

    async def persona(self, ref: str) -> Persona:
        return await self._database.read(lambda conn: personas.persona(conn, ref))

    async def add_persona(self, new: NewPersona) -> Persona:
        now = self._clock.now()
        return await self._database.write(lambda conn: personas.put_persona(conn, None, new, now))

    async def change_persona(self, ref: str, new: NewPersona) -> Persona:
        """Replaces everything but its id and creation time."""
        now = self._clock.now()

        def work(conn: Connection) -> Persona:
            return personas.put_persona(conn, personas.persona(conn, ref), new, now)

        return await self._database.write(work)

    async def remove_persona(self, ref: str) -> Persona:
        """Removes a persona. Sessions that use it keep its text."""

        def work(conn: Connection) -> Persona:
            gone = personas.persona(conn, ref)
            conn.execute("DELETE FROM personas WHERE id = ?", (gone.id,))
            return gone

        return await self._database.erase(work)

    async def templates(self) -> list[Template]:
        """Returns all templates, by name."""
        return await self._database.read(personas.all_templates)

    async def template(self, ref: str) -> Template:
        """Returns a template. Raises `TemplateNotFound`, like the other template methods."""
        return await self._database.read(lambda conn: personas.template(conn, ref))

    async def add_template(self, new: NewTemplate) -> Template:
        now = self._clock.now()
        return await self._database.write(lambda conn: personas.put_template(conn, None, new, now))

    async def change_template(self, ref: str, new: NewTemplate) -> Template:
        now = self._clock.now()

        def work(conn: Connection) -> Template:
            return personas.put_template(conn, personas.template(conn, ref), new, now)

        return await self._database.write(work)

    async def remove_template(self, ref: str) -> Template:
        def work(conn: Connection) -> Template:
            gone = personas.template(conn, ref)
            conn.execute("DELETE FROM templates WHERE id = ?", (gone.id,))
            return gone

        return await self._database.erase(work)
