"""Personas and prompt templates of a room: stores them, fills them in, and uses them as a session's
instructions."""

import re
from collections.abc import Callable, Mapping

from atlas_desktop.services.cleaning import clean, clean_line
from memory.entities import Session, SessionPatch
from memory.personas import NewPersona, NewTemplate, Persona, Template
from memory.storage.store import Store

_VARIABLE = re.compile(r"\{\{|\}\}|\{([^{}\n]{1,60})\}")


def variables(text: str) -> list[str]:
    """Returns the `{variables}` of a template, each once, in order. `{{` and `}}` are literal braces."""
    found = (match.group(1) for match in _VARIABLE.finditer(text))
    return list(dict.fromkeys(" ".join(name.split()) for name in found if name and name.strip()))


def filled(text: str, values: Mapping[str, str]) -> str:
    """Returns a template with its variables replaced; a variable without a value stays as written."""

    def value(match: re.Match[str]) -> str:
        if match.group(1) is None:
            return match.group(0)[0]
        return values.get(" ".join(match.group(1).split()), match.group(0))

    return _VARIABLE.sub(value, text)


class PersonaService:
    """The personas and templates of one room. Raises what `PersonaStore` raises."""

    def __init__(self, store: Store, default_system: Callable[[], str]) -> None:
        """`default_system` returns the instructions for sessions that have none of their own."""
        self._store = store
        self._default_system = default_system

    async def personas(self) -> list[Persona]:
        return await self._store.personas.personas()

    async def persona(self, ref: str) -> Persona:
        return await self._store.personas.persona(ref)

    async def add(self, new: NewPersona) -> Persona:
        return await self._store.personas.add_persona(_cleaned(new))

    async def change(self, ref: str, new: NewPersona) -> Persona:
        """Changes a persona. Sessions that already use it keep their text."""
        return await self._store.personas.change_persona(ref, _cleaned(new))

    async def remove(self, ref: str) -> Persona:
        return await self._store.personas.remove_persona(ref)

    async def templates(self) -> list[Template]:
        return await self._store.personas.templates()

    async def template(self, ref: str) -> Template:
        return await self._store.personas.template(ref)

    async def add_template(self, new: NewTemplate) -> Template:
        return await self._store.personas.add_template(NewTemplate(clean_line(new.name), clean(new.text)))

    async def change_template(self, ref: str, new: NewTemplate) -> Template:
        cleaned = NewTemplate(clean_line(new.name), clean(new.text))
        return await self._store.personas.change_template(ref, cleaned)

    async def remove_template(self, ref: str) -> Template:
        return await self._store.personas.remove_template(ref)

    # --- the instructions of a session ------------------------------------------------------------

    async def instruct(self, session_id: str, text: str | None) -> Session:
        """Sets a session's instructions; None restores the default ones. Its next turn begins a new epoch."""
        system = self._default_system() if text is None else clean(text).strip()
        return await self._store.update_session(session_id, SessionPatch(system_prompt=system))

    def instructions(self, session: Session) -> str:
        return self._default_system() if session.system_prompt is None else session.system_prompt


def _cleaned(new: NewPersona) -> NewPersona:
    return NewPersona(clean_line(new.name), clean(new.system_prompt), new.model, new.temperature)
