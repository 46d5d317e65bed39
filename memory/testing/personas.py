"""Personas and templates in dictionaries."""

from memory.errors import PersonaNotFound, TemplateNotFound
from memory.named import found_among, required
from memory.personas.entities import NewPersona, NewTemplate, Persona, Template
from memory.ports import Clock
from memory.storage.values import new_id, storable
from memory.testing.rows import Rows


class InMemoryPersonaStore:
    """`memory.personas.ports.PersonaStore` beside the sessions of `rows`."""

    def __init__(self, rows: Rows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._personas: dict[str, Persona] = {}
        self._templates: dict[str, Template] = {}

    async def personas(self) -> list[Persona]:
        self._rows.require_open()
        return sorted(self._personas.values(), key=lambda one: one.name.casefold())

    async def persona(self, ref: str) -> Persona:
        found = found_among(await self.personas(), ref)
        if found is None:
            raise PersonaNotFound(ref)
        return found

    async def add_persona(self, new: NewPersona) -> Persona:
        return await self._put_persona(None, new)

    async def change_persona(self, ref: str, new: NewPersona) -> Persona:
        return await self._put_persona(await self.persona(ref), new)

    async def remove_persona(self, ref: str) -> Persona:
        return self._personas.pop((await self.persona(ref)).id)

    async def _put_persona(self, old: Persona | None, new: NewPersona) -> Persona:
        but = None if old is None else old.id
        name, text = required(storable(new.name), storable(new.system_prompt), await self.personas(), but)
        now = self._clock.now()
        made = Persona(
            id=but or new_id(),
            name=name,
            system_prompt=text,
            created_at=now if old is None else old.created_at,
            updated_at=now,
            model=new.model or None,
            temperature=new.temperature,
        )
        self._personas[made.id] = made
        return made

    async def templates(self) -> list[Template]:
        self._rows.require_open()
        return sorted(self._templates.values(), key=lambda one: one.name.casefold())

    async def template(self, ref: str) -> Template:
        found = found_among(await self.templates(), ref)
        if found is None:
            raise TemplateNotFound(ref)
        return found

    async def add_template(self, new: NewTemplate) -> Template:
        return await self._put_template(None, new)

    async def change_template(self, ref: str, new: NewTemplate) -> Template:
        return await self._put_template(await self.template(ref), new)

    async def remove_template(self, ref: str) -> Template:
        return self._templates.pop((await self.template(ref)).id)

    async def _put_template(self, old: Template | None, new: NewTemplate) -> Template:
        but = None if old is None else old.id
        name, text = required(storable(new.name), storable(new.text), await self.templates(), but)
        now = self._clock.now()
        made = Template(
            id=but or new_id(),
            name=name,
            text=text,
            created_at=now if old is None else old.created_at,
            updated_at=now,
        )
        self._templates[made.id] = made
        return made
