"""What keeping personas and templates must offer."""

from typing import Protocol

from memory.personas.entities import NewPersona, NewTemplate, Persona, Template


class PersonaStore(Protocol):
    """Of one room. A `ref` is a name (in any case), an id, or a unique prefix of an id.

    Raises `PersonaNotFound`, `AmbiguousId`, and as `memory.ports.SessionStore`. `add` and `change` raise
    `NameTaken` when another one has the name, and `ValueError` when a name or text is empty.
    """

    async def personas(self) -> list[Persona]:
        """By name."""
        ...

    async def persona(self, ref: str) -> Persona: ...

    async def add_persona(self, new: NewPersona) -> Persona: ...

    async def change_persona(self, ref: str, new: NewPersona) -> Persona:
        """Everything but its id and the time of its making is replaced."""
        ...

    async def remove_persona(self, ref: str) -> Persona:
        """Sessions that took it up keep its words."""
        ...

    async def templates(self) -> list[Template]:
        """By name."""
        ...

    async def template(self, ref: str) -> Template:
        """Raises `TemplateNotFound`, as the others of templates do."""
        ...

    async def add_template(self, new: NewTemplate) -> Template: ...

    async def change_template(self, ref: str, new: NewTemplate) -> Template: ...

    async def remove_template(self, ref: str) -> Template: ...
