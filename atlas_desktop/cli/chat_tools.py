"""The commands of `atlas chat` about what a conversation is given (files, instructions, prompts to fill in),
and about how it is filed."""

import shlex
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_desktop.cli.personas import line
from atlas_desktop.explain import UsageError
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from atlas_desktop.cli.chat import Conversation
    from memory.entities import Session

Command = Callable[[str], Awaitable[None]]


class ToolCommands:
    """Of one conversation."""

    def __init__(self, talk: "Conversation") -> None:
        self._talk = talk

    def by_name(self) -> dict[str, Command]:
        return {
            "/attach": self.attach,
            "/detach": self.detach,
            "/system": self.system,
            "/persona": self.persona,
            "/template": self.template,
            "/star": self.star,
            "/tag": self.tag,
            "/untag": self.untag,
        }

    # --- files ------------------------------------------------------------------------------------

    async def attach(self, rest: str) -> None:
        """/attach [FILE]: let this session read a file (text, Markdown, code, PDF); alone: what it reads."""
        from atlas_desktop.services.attachments import read_attachment
        from atlas_desktop.services.paths_typed import typed_path

        talk = self._talk
        if not rest:
            names = [f"{one.name} ({len(one.text):,} characters)" for one in talk.attached]
            if talk.session is not None:
                stored = await talk.room.attachments.attached(talk.session)
                names = [f"{one.name} ({len(one.text):,} characters)" for one in stored] + names
            talk.tell("attachments", "\n".join(names) or "Nothing is attached. Write /attach and a path.")
            return
        new = await read_attachment(typed_path(rest))
        if talk.session is None:
            talk.attached.append(new)
        else:
            await talk.room.attachments.attach(talk.session, new)
        size = f"{len(new.text):,} characters"
        talk.tell("attached", f"Attached: {new.name} ({size}). It is read with your next words.")

    async def detach(self, rest: str) -> None:
        """/detach NAME: take a file out of this session and out of what the model is given."""
        talk = self._talk
        waiting = [one for one in talk.attached if one.name.casefold() == rest.strip().casefold()]
        if waiting:
            talk.attached.remove(waiting[0])
            talk.tell("detached", f"Taken out: {waiting[0].name}.")
            return
        gone = await talk.room.attachments.detach(talk.begun(), rest)
        talk.tell("detached", f"Taken out: {gone.name}. The model is not given it any more.")

    # --- instructions -----------------------------------------------------------------------------

    async def system(self, rest: str) -> None:
        """/system [TEXT]: other instructions for the model in this session; alone: the present ones."""
        from dataclasses import replace

        talk = self._talk
        if not rest:
            talk.tell("system", await self._instructions() or "There are none.")
        elif talk.session is None:
            talk.options = replace(talk.options, system=rest)
            talk.tell("system", "These are the instructions of the session that begins with your next words.")
        else:
            await self._instruct(rest, "The instructions are changed.")

    async def persona(self, rest: str) -> None:
        """/persona [NAME|none]: have the model be somebody; alone: who there is."""
        from dataclasses import replace

        from atlas_desktop.services.personas import persona_for, personas_for

        talk = self._talk
        if not rest:
            known = await personas_for(talk.room, talk.rooms)
            listed = "\n".join(map(line, known)) or "There are none yet: `atlas personas add NAME TEXT`."
            talk.tell("personas", listed)
            return
        none = rest.casefold() == "none"
        found = None if none else await persona_for(talk.room, talk.rooms, rest)
        if found is not None and found.model:
            await self._use(found.model)
        if found is not None and found.temperature is not None:
            params = replace(talk.options.params, temperature=found.temperature)
            talk.options = replace(talk.options, params=params)
        text = None if found is None else found.system_prompt
        said = "The model is itself again." if found is None else f"The model is {found.name} now."
        if talk.session is None:
            talk.options = replace(talk.options, system=text)
            talk.tell("persona", said)
        else:
            await self._instruct(text, said)

    async def _use(self, model: str) -> None:
        """Has this model answer from now on. Raises `UnknownModel` when it is not installed."""
        desk = self._talk.ctx.desk
        if model != desk.chosen_model:
            desk.models.installed_model(model)
            desk.chosen_model = model
            await desk.switch_model()

    async def _instruct(self, text: str | None, said: str) -> None:
        await self._talk.room.personas.instruct(self._talk.begun(), text)
        self._talk.tell("system", f"{said} {tr('turn.new_epoch')}")

    async def _instructions(self) -> str:
        talk = self._talk
        if talk.session is None:
            return talk.options.system or talk.ctx.desk.settings.chat.system_prompt
        return talk.room.personas.instructions(await talk.room.store.get_session(talk.session))

    async def template(self, rest: str) -> None:
        """/template [NAME [VARIABLE=VALUE…]]: say a prompt with its variables filled in; alone: which there
        are."""
        from atlas_desktop.services.personas import filled, template_for, templates_for, variables

        talk = self._talk
        if not rest:
            known = await templates_for(talk.room, talk.rooms)
            text = "\n".join(f"{one.name}: {' '.join(one.text.split())}" for one in known)
            talk.tell("templates", text or "There are none yet: `atlas templates add NAME TEXT`.")
            return
        name, *given = _words(rest)
        found = await template_for(talk.room, talk.rooms, name)
        wanted = variables(found.text)
        values = dict(each.split("=", 1) for each in given if "=" in each)
        if len(wanted) == 1 and not values and given:
            values = {wanted[0]: " ".join(given)}
        missing = [each for each in wanted if each not in values]
        if missing:
            raise UsageError(
                f"It asks for: {', '.join(missing)}.",
                f"Write /template {name} " + " ".join(f'"{each}=…"' for each in missing),
            )
        await talk.say(filled(found.text, values))

    # --- how it is filed --------------------------------------------------------------------------

    async def star(self, _rest: str) -> None:
        """/star: star this session, or take its star away."""
        from memory.organising.entities import MarksPatch

        talk = self._talk
        session = await self._session()
        starred = not session.starred
        await talk.room.organising.apply([session.id], MarksPatch(starred=starred))
        talk.tell("starred", "This session is starred." if starred else "Its star is taken away.")

    async def tag(self, rest: str) -> None:
        """/tag [TAG…]: tag this session; alone: its tags."""
        await self._tagged(add=_words(rest))

    async def untag(self, rest: str) -> None:
        """/untag TAG…: take tags away."""
        await self._tagged(remove=_words(rest))

    async def _tagged(self, *, add: list[str] | None = None, remove: list[str] | None = None) -> None:
        from memory.organising.entities import MarksPatch

        session = await self._session()
        patch = MarksPatch(add_tags=tuple(add or ()), remove_tags=tuple(remove or ()))
        try:
            await self._talk.room.organising.apply([session.id], patch)
        except ValueError as error:
            raise UsageError(f"That is no tag: {error}.", "Write one or more short words.") from None
        tags = (await self._session()).tags
        self._talk.tell("tags", f"Tags: {', '.join(tags)}" if tags else "This session has no tags.")

    async def _session(self) -> "Session":
        return await self._talk.room.store.get_session(self._talk.begun())


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:
        return rest.split()
