"""`atlas chat`: a conversation line by line, with slash commands, for plain terminals and for programs."""

import argparse
import shlex
import sys
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

from atlas_desktop import phrases as phrases
from atlas_desktop.cli import output
from atlas_desktop.cli.ask import (
    add_turn_options,
    attachments_of,
    for_new_session,
    open_for,
    options_for,
    refuse_what_is_for_new_sessions,
)
from atlas_desktop.cli.context import Context, Lines, dumps
from atlas_desktop.cli.conversation import Command, Conversation
from atlas_desktop.cli.personas import line
from atlas_desktop.cli.search import marked
from atlas_desktop.cli.sessions import compaction_text
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import N_, _, ngettext
from atlas_desktop.phrases import preview_text, receipt_text
from memory.entities import MemoryMode, RoomKind, Target
from memory.errors import StorageFull

if TYPE_CHECKING:
    from atlas_desktop.services.desk import RoomsService
    from atlas_desktop.services.forgetting_in_rooms import RoomsForgetting
    from memory.entities import Message, Session
    from memory.memories.entities import Memory


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    parser = subparsers.add_parser(
        "chat",
        parents=[common],
        help=_("chat line by line"),
        description=_("Chat line by line: text in, streamed text out. `/help` lists the commands."),
    )
    add_turn_options(parser)
    parser.add_argument("--jsonl", action="store_true", help=_("one JSON object per line, in and out"))
    parser.set_defaults(handler=chat, exclusive=True)


async def chat(ctx: Context, args: argparse.Namespace) -> int:
    # Imported late to keep printing the help fast.

    refuse_what_is_for_new_sessions(args)
    attached = await attachments_of(args.attach)
    room = await open_for(ctx, args)
    options = await for_new_session(ctx, room, options_for(ctx, args), args)
    session = None if args.session == "new" else (await room.store.get_session(args.session)).id
    talk = Conversation(ctx, room, options, session, attached=list(attached))
    talk.commands = ChatCommands(talk).by_name()
    # A program sends its lines without pauses, so due jobs run between them.
    scripted = not sys.stdin.isatty()
    room.recall.start(talk.report)
    if not scripted:
        room.background.start(talk.report)
    if not ctx.json and sys.stdin.isatty():
        ctx.note(_("Ctrl-C stops a reply, Ctrl-D quits. /help lists the commands."))
    if session is not None:
        await talk.remind()
    lines = Lines(prompt=not ctx.json)
    for number in count(1):
        line = None if talk.ended else await lines.next()
        if line is None:
            break
        ctx.desk.rooms.used()
        await talk.take(line, number)
        if scripted and ctx.desk.settings.jobs.enabled:
            # The jobs run once there is space again; the conversation continues.
            with suppress(StorageFull):
                await talk.room.background.run()
    return Exit.DONE


_HELP = {
    "/attach": N_(
        "/attach [FILE]: attach a file (text, Markdown, code, PDF); without FILE: list attachments."
    ),
    "/detach": N_("/detach NAME: remove a file from this session and from the model's context."),
    "/system": N_("/system [TEXT]: change this session's instructions; without TEXT: show them."),
    "/persona": N_("/persona [NAME|none]: choose a persona for the model; without NAME: list personas."),
    "/template": N_(
        "/template [NAME [VARIABLE=VALUE…]]: fill in and send a template; without NAME: list them."
    ),
    "/star": N_("/star: star this session, or remove its star."),
    "/tag": N_("/tag [TAG…]: tag this session; without TAG: list its tags."),
    "/untag": N_("/untag TAG…: remove tags from this session."),
    "/private": N_(
        "/private: move this session to the private room (asks for the passphrase) and continue there."
    ),
    "/open": N_("/open: move this session from the private room to the open room."),
    "/close": N_("/close: close the private room; its contents stay hidden until you open it again."),
    "/keep": N_("/keep: save this off-the-record session to the open room."),
    "/off": N_("/off: continue off the record: nothing more is saved, and the session ends when you quit."),
    "/reads": N_("/reads: use memories but add none."),
    "/blank": N_("/blank: do not use or add memories."),
    "/normal": N_("/normal: use and add memories."),
    "/memories": N_("/memories [WORDS]: list memories (that contain these words), pinned ones first."),
    "/remember": N_("/remember TEXT: save this as a memory now, in your words."),
    "/pin": N_("/pin [ID|last]: always give the model this memory (default: the latest one learned)."),
    "/why": N_(
        "/why [ID]: show what the latest reply (or a memory or message) is based on and what it left out."
    ),
    "/help": N_("/help: list the commands."),
    "/new": N_("/new (or !clear): start a new session; the old one is kept."),
    "/sessions": N_("/sessions: list the latest sessions."),
    "/resume": N_("/resume ID|last: continue an earlier session."),
    "/rename": N_("/rename TITLE: name this session."),
    "/fork": N_("/fork [TITLE]: continue in a copy of this session; the original stays unchanged."),
    "/document": N_("/document: make a document of this session: decisions, facts, code and open questions."),
    "/regenerate": N_("/regenerate: get a new reply to your latest message; the earlier reply is kept."),
    "/continue": N_("/continue: continue the latest reply from its last word, if it was stopped or cut off."),
    "/edit": N_("/edit TEXT: replace your latest message with this; the old message and its reply are kept."),
    "/split": N_(
        "/split [TEXT]: send a long text (or your latest message, if it was too long) in parts that fit."
    ),
    "/context": N_("/context: show what the model gets next, by tier, and the exact text."),
    "/summarise": N_("/summarise: summarise all but the latest messages now."),
    "/important": N_(
        "/important [last|ID]: mark a message (default: your latest) to keep it in context longest."
    ),
    "/forget": N_(
        "/forget last|this|ID|WORDS: preview erasing your latest message and its reply, this session, any "
        "ID, or everything with some words; /forget yes then erases it permanently."
    ),
    "/save": N_("/save (or !save): not needed; everything is saved automatically."),
    "/quit": N_("/quit (or exit, quit): end the chat."),
}


class ToolCommands:
    """The commands of one conversation for files, instructions, templates, stars and tags."""

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
        from atlas_desktop.services.attachments import read_attachment, typed_path

        talk = self._talk
        if not rest:
            names = [_named(one.name, one.text) for one in talk.attached]
            if talk.session is not None:
                stored = await talk.room.attachments.attached(talk.session)
                names = [_named(one.name, one.text) for one in stored] + names
            talk.tell("attachments", "\n".join(names) or _("No attachments. Write /attach and a path."))
            return
        new = await read_attachment(typed_path(rest))
        if talk.session is None:
            talk.attached.append(new)
        else:
            await talk.room.attachments.attach(talk.session, new)
        talk.tell(
            "attached",
            _("Attached: {file}. Included with your next message.", file=_named(new.name, new.text)),
        )

    async def detach(self, rest: str) -> None:
        talk = self._talk
        waiting = [one for one in talk.attached if one.name.casefold() == rest.strip().casefold()]
        if waiting:
            talk.attached.remove(waiting[0])
            talk.tell("detached", _("Removed: {name}.", name=waiting[0].name))
            return
        gone = await talk.room.attachments.detach(talk.begun(), rest)
        talk.tell("detached", _("Removed: {name}. The model no longer sees it.", name=gone.name))

    # --- instructions -----------------------------------------------------------------------------

    async def system(self, rest: str) -> None:
        from dataclasses import replace

        talk = self._talk
        if not rest:
            talk.tell("system", await self._instructions() or _("No instructions."))
        elif talk.session is None:
            talk.options = replace(talk.options, system=rest)
            talk.tell(
                "system", _("These instructions apply to the session that starts with your next message.")
            )
        else:
            await self._instruct(rest, _("Instructions changed."))

    async def persona(self, rest: str) -> None:
        from dataclasses import replace

        from atlas_desktop.services.forgetting_in_rooms import persona_for, personas_for

        talk = self._talk
        if not rest:
            known = await personas_for(talk.room, talk.rooms)
            listed = "\n".join(map(line, known)) or _("No personas. Add one: `atlas personas add NAME TEXT`.")
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
        said = _("Persona removed.") if found is None else _("Persona: {name}.", name=found.name)
        if talk.session is None:
            talk.options = replace(talk.options, system=text)
            talk.tell("persona", said)
        else:
            await self._instruct(text, said)

    async def _use(self, model: str) -> None:
        """Switches to this model. Raises `UnknownModel` if it is not installed."""
        desk = self._talk.ctx.desk
        if model != desk.chosen_model:
            desk.chosen_model = desk.check_model(model)
            await desk.switch_model()

    async def _instruct(self, text: str | None, said: str) -> None:
        await self._talk.room.personas.instruct(self._talk.begun(), text)
        then = _("With your next message, the model rereads this conversation with the new instructions.")
        self._talk.tell("system", f"{said} {then}")

    async def _instructions(self) -> str:
        talk = self._talk
        if talk.session is None:
            return talk.options.system or talk.ctx.desk.settings.chat.system_prompt
        return talk.room.personas.instructions(await talk.room.store.get_session(talk.session))

    async def template(self, rest: str) -> None:
        from atlas_desktop.services.forgetting_in_rooms import template_for, templates_for
        from atlas_desktop.services.personas import filled, variables

        talk = self._talk
        if not rest:
            known = await templates_for(talk.room, talk.rooms)
            text = "\n".join(f"{one.name}: {' '.join(one.text.split())}" for one in known)
            talk.tell("templates", text or _("No templates. Add one: `atlas templates add NAME TEXT`."))
            return
        name, *given = _words(rest)
        found = await template_for(talk.room, talk.rooms, name)
        wanted = variables(found.text)
        values = dict(each.split("=", 1) for each in given if "=" in each)
        if len(wanted) == 1 and not values and given:
            values = {wanted[0]: " ".join(given)}
        missing = [each for each in wanted if each not in values]
        if missing:
            command = " ".join(["/template", name, *(f'"{each}=…"' for each in missing)])
            raise UsageError(
                _("Missing variables: {names}.", names=", ".join(missing)),
                _("Write {command}", command=command),
            )
        await talk.say(filled(found.text, values))

    # --- stars and tags ---------------------------------------------------------------------------

    async def star(self, _rest: str) -> None:
        from memory.organising import MarksPatch

        talk = self._talk
        session = await self._session()
        starred = not session.starred
        await talk.room.organising.apply([session.id], MarksPatch(starred=starred))
        talk.tell("starred", _("Star added.") if starred else _("Star removed."))

    async def tag(self, rest: str) -> None:
        await self._tagged(add=_words(rest))

    async def untag(self, rest: str) -> None:
        await self._tagged(remove=_words(rest))

    async def _tagged(self, *, add: list[str] | None = None, remove: list[str] | None = None) -> None:
        from memory.organising import MarksPatch

        session = await self._session()
        patch = MarksPatch(add_tags=tuple(add or ()), remove_tags=tuple(remove or ()))
        try:
            await self._talk.room.organising.apply([session.id], patch)
        except ValueError as error:
            raise UsageError(
                _("Invalid tag: {error}.", error=error), _("Write one or more short words.")
            ) from None
        tags = (await self._session()).tags
        self._talk.tell(
            "tags", _("Tags: {tags}", tags=", ".join(tags)) if tags else _("This session has no tags.")
        )

    async def _session(self) -> "Session":
        return await self._talk.room.store.get_session(self._talk.begun())


def _named(name: str, text: str) -> str:
    """A file with the length of its text."""
    return ngettext("{name} (1 character)", "{name} ({count} characters)", len(text), name=name)


def _words(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError:
        return rest.split()


_YES = "yes"


class RoomCommands:
    """The commands for rooms and memory modes. Each first describes what it will do.

    A change that cannot be undone needs a yes.
    """

    def __init__(self, talk: "Conversation") -> None:
        self._talk = talk

    def by_name(self) -> dict[str, Command]:
        return {
            "/private": self.private,
            "/open": self.open,
            "/close": self.close,
            "/keep": self.keep,
            "/off": self.off,
            "/reads": self.reads,
            "/blank": self.blank,
            "/normal": self.normal,
        }

    @property
    def _rooms(self) -> "RoomsService":
        return self._talk.ctx.desk.rooms

    @property
    def _here(self) -> RoomKind:
        return self._talk.room.store.room

    # --- rooms ------------------------------------------------------------------------------------

    async def _to(self, destination: RoomKind) -> phrases.Consequence:
        """Returns what moving the session will do."""
        moving = self._talk.session
        losses = phrases.NO_LOSSES if moving is None else await self._rooms.losses([moving], destination)
        return phrases.of_move(self._here, destination, losses)

    async def private(self, rest: str) -> None:
        if not self._agreed("/private", await self._to(RoomKind.PRIVATE), rest):
            return
        talk = self._talk
        private = await talk.ctx.enter_private()
        self._rooms.on_closing = self._closing
        self._rooms.watch()
        if talk.session is not None:
            await self._rooms.move(talk.session, RoomKind.PRIVATE)
        self._set(None)
        talk.enter(private)
        talk.tell(
            "private", _("You are in the private room. /open moves the session back, /close closes it.")
        )

    async def open(self, rest: str) -> None:
        talk = self._talk
        if not self._agreed("/open", await self._to(RoomKind.OPEN), rest):
            return
        if self._here is RoomKind.OFF_RECORD:
            await self.keep("")
            return
        if talk.session is not None:
            await self._rooms.move(talk.session, RoomKind.OPEN)
        talk.enter(talk.ctx.desk.at(RoomKind.OPEN))
        talk.tell("open", _("You are in the open room."))

    async def close(self, _rest: str) -> None:
        await self._rooms.leave_private()
        self._talk.tell("closed", _("Private room closed."))

    async def keep(self, _rest: str) -> None:
        talk = self._talk
        if self._here is not RoomKind.OFF_RECORD:
            talk.tell("kept", _("Everything is already saved."))
            return
        await self._keep(MemoryMode.NORMAL)
        talk.tell("kept", _("Saved to the open room."))

    async def _keep(self, mode: MemoryMode) -> None:
        talk = self._talk
        opened = await talk.ctx.enter_open()
        if talk.session is not None:
            await self._rooms.keep(talk.session, mode)
        self._set(mode)
        talk.enter(opened)

    # --- memory modes -----------------------------------------------------------------------------

    async def off(self, rest: str) -> None:
        await self._mode(MemoryMode.OFF, rest)

    async def reads(self, rest: str) -> None:
        await self._mode(MemoryMode.READS, rest)

    async def blank(self, rest: str) -> None:
        await self._mode(MemoryMode.BLANK, rest)

    async def normal(self, rest: str) -> None:
        await self._mode(MemoryMode.NORMAL, rest)

    async def _mode(self, mode: MemoryMode, rest: str) -> None:
        talk = self._talk
        session = None if talk.session is None else await talk.room.store.get_session(talk.session)
        now = self._present(session)
        change = phrases.of_mode(now, mode, room=self._here, begun=session is not None)
        if not self._agreed(f"/{mode}", change, rest) or mode is now:
            return
        if mode is MemoryMode.OFF:
            if session is not None:
                talk.session = (await self._rooms.off_the_record(session.id)).id
            talk.enter(await self._rooms.off_record())
        elif self._here is RoomKind.OFF_RECORD:
            await self._keep(mode)
        elif session is not None:
            await self._rooms.set_mode(session.id, mode)
        self._set(mode)
        talk.tell("memory", _("Memory mode: {mode}.", mode=mode))

    def _present(self, session: "Session | None") -> MemoryMode:
        if self._here is RoomKind.OFF_RECORD:
            return MemoryMode.OFF
        if session is not None:
            return session.memory_mode
        return self._talk.options.memory_mode or MemoryMode.NORMAL

    # --- shared helpers ---------------------------------------------------------------------------

    def _agreed(self, command: str, change: phrases.Consequence, rest: str) -> bool:
        """Describes what will happen. Returns False while the user still has to agree."""
        waits = change.asks and rest.strip().lower() != _YES and not self._talk.ctx.yes
        how = _("Write {command} to confirm.", command=f"{command} {_YES}")
        self._talk.tell("consequence", f"{change.words} {how}" if waits else change.words)
        return not waits

    def _set(self, mode: MemoryMode | None) -> None:
        """Sets the memory mode of the next turns; None means the session's own mode."""
        self._talk.options = replace(self._talk.options, memory_mode=mode)

    async def _closing(self) -> None:
        talk = self._talk
        if self._here is RoomKind.PRIVATE:
            talk.session = None
            talk.enter(talk.ctx.desk.open_rooms[0])
            talk.tell("leaving", _("You left the private room. It is closing."))


_SHOWN = 10


class MemoryCommands:
    """The memory commands of one conversation, in its room."""

    def __init__(self, talk: "Conversation") -> None:
        self._talk = talk

    def by_name(self) -> dict[str, Command]:
        return {"/memories": self.memories, "/remember": self.remember, "/pin": self.pin, "/why": self.why}

    async def memories(self, rest: str) -> None:
        from memory.memories.entities import MemoryFilter

        found = await self._talk.room.knowledge.select(MemoryFilter(containing=rest), limit=_SHOWN)
        text = "\n".join(map(output.line, found)) or _("No memories found.")
        await self._tell("memories", text, found)

    async def remember(self, rest: str) -> None:
        project = await self._learning_in()
        try:
            made = await self._talk.room.learning.remember(
                rest, project=project, session_id=self._talk.session
            )
        except ValueError as error:
            raise UsageError(
                _("Cannot save this memory: {error}.", error=error),
                _("Write /remember followed by a sentence."),
            ) from None
        await self._tell("remembered", _("Remembered: {text}", text=made.text), [made])

    async def pin(self, rest: str) -> None:
        made = await self._talk.room.knowledge.pin_latest(rest)
        if made is None:
            raise UsageError(_("No memories learned yet."), _("Use /remember to save one now."))
        await self._tell("pinned", _("Pinned: {text}", text=made.text), [made])

    async def why(self, rest: str) -> None:
        from atlas_desktop.cli import memory_view

        talk = self._talk
        service = talk.room.why
        found = await (service.why(rest) if rest else service.of_last_reply(talk.begun()))
        if talk.ctx.json:
            told = {
                "type": "notice",
                "code": "why",
                "text": memory_view.described(found),
                "why": memory_view.why_as_json(found),
            }
            print(dumps(told), flush=True)
        else:
            talk.tell("why", memory_view.described(found))

    async def _learning_in(self) -> str | None:
        """The project of this conversation. Raises `UsageError` if the memory mode adds no memories."""
        talk = self._talk
        mode, project = talk.options.memory_mode, talk.options.project
        if talk.session is not None:
            session = await talk.room.store.get_session(talk.session)
            mode, project = session.memory_mode, session.project
        if mode not in (None, "normal"):
            raise UsageError(
                _("This conversation does not add memories."), _("Use /normal first, then /remember again.")
            )
        return project

    async def _tell(self, code: str, text: str, memories: "list[Memory]") -> None:
        talk = self._talk
        if not talk.ctx.json:
            talk.tell(code, text)
            return
        views = await talk.room.knowledge.views(memories)
        event: dict[str, Any] = {"type": "notice", "code": code, "text": text, "session": talk.session}
        print(dumps({**event, "memories": [output.memory(view) for view in views]}), flush=True)


class ChatCommands:
    """All commands of one conversation. Each takes the rest of its line."""

    def __init__(self, talk: "Conversation") -> None:
        self._talk = talk

    def by_name(self) -> dict[str, Command]:
        return {
            "/help": self.help,
            "/new": self.new,
            "/sessions": self.sessions,
            "/resume": self.resume,
            "/rename": self.rename,
            "/regenerate": self.regenerate,
            "/edit": self.edit,
            "/continue": self.go_on,
            "/fork": self.fork,
            "/document": self.document,
            "/split": self.split,
            "/context": self.context,
            "/summarise": self.summarise,
            "/important": self.important,
            "/forget": self.forget,
            **MemoryCommands(self._talk).by_name(),
            **RoomCommands(self._talk).by_name(),
            **ToolCommands(self._talk).by_name(),
            "/save": self.save,
            "/quit": self.quit,
        }

    async def help(self, _rest: str) -> None:
        self._talk.tell("help", "\n".join(_(_HELP[name]) for name in self.by_name()))

    # --- sessions ---------------------------------------------------------------------------------

    async def new(self, _rest: str) -> None:
        self._talk.session = None
        self._talk.tell("new", _("Your next message starts a new session."))

    async def sessions(self, _rest: str) -> None:
        found = [s for room in self._talk.rooms for s in await room.sessions.recent(limit=10)]
        found = sorted(found, key=lambda s: s.updated_at, reverse=True)[:10]
        self._talk.tell("sessions", "\n".join(f"{s.id}  {marked(s)}" for s in found) or _("No sessions yet."))

    async def resume(self, rest: str) -> None:
        view = await self._talk.go_to(rest or "last")
        self._talk.session = view.session.id
        self._talk.tell("resumed", _titled(view.session.title, len(view.messages)))
        await self._talk.remind()

    async def rename(self, rest: str) -> None:
        try:
            session = await self._talk.room.sessions.rename(self._talk.begun(), rest)
        except ValueError:
            raise UsageError(_("The title is missing."), _("Write /rename followed by the title.")) from None
        self._talk.tell("renamed", session.title)

    async def fork(self, rest: str) -> None:
        session = await self._talk.room.sessions.fork(self._talk.begun(), title=rest)
        self._talk.session = session.id
        self._talk.tell("forked", _titled(session.title, session.message_count))

    async def document(self, _rest: str) -> None:
        made = await self._talk.room.documents.from_session(self._talk.begun())
        self._talk.tell("document", _("Made the document {id}.", id=made.id))

    # --- turns ------------------------------------------------------------------------------------

    async def regenerate(self, _rest: str) -> None:
        talk = self._talk
        await talk.run(talk.room.chat.regenerate(talk.begun(), options=talk.options))

    async def go_on(self, _rest: str) -> None:
        talk = self._talk
        view = await talk.room.branches.open(talk.begun(), newest=1)
        newest = view.newest[-1] if view.newest else None
        whole = newest is None or (newest.status == "complete" and newest.stop_reason != "length")
        if newest is None or newest.role != "assistant" or whole or not newest.content.strip():
            raise UsageError(_("The latest reply is complete."), _("Use /regenerate for another one."))
        await talk.run(talk.room.chat.go_on(talk.begun(), newest.id, options=talk.options))

    async def edit(self, rest: str) -> None:
        talk = self._talk
        if not rest:
            raise UsageError(_("The new text is missing."), _("Write /edit followed by the text."))
        newest = await self._newest()
        await talk.run(talk.room.chat.edit(talk.begun(), newest.id, rest, options=talk.options))

    async def split(self, rest: str) -> None:
        from atlas_desktop.services.turns import part_options

        talk = self._talk
        chat = talk.room.chat
        # The first part replaces the message that did not fit.
        whole = None if rest else await self._newest()
        parts = await chat.in_parts(
            rest if whole is None else whole.content, session=talk.session, options=talk.options
        )
        if whole is not None and len(parts) < 2:
            raise UsageError(
                _("Your latest message already fits."), _("Write /split followed by a long text.")
            )
        for place, part in enumerate(parts, 1):
            options = part_options(talk.options, place, len(parts))
            if place == 1 and whole is not None:
                turn = chat.edit(talk.begun(), whole.id, part, options=options)
            else:
                turn = chat.turn(part, session=talk.session, options=options)
            await talk.run(turn)
            if talk.stopped:
                return

    # --- context ----------------------------------------------------------------------------------

    async def context(self, _rest: str) -> None:
        from atlas_desktop.services.context import meter, next_prompt

        talk = self._talk
        view = await talk.room.chat.context.view(talk.begun(), reply=talk.options.params.max_tokens)
        assert view is not None
        if talk.ctx.json:
            print(dumps({"type": "context", **output.context(view)}), flush=True)
        else:
            talk.tell("context", f"{meter(view)}\n\n{next_prompt(view)}")

    async def summarise(self, _rest: str) -> None:
        made = await self._talk.room.epochs.summarise_now(self._talk.begun())
        self._talk.tell("compacted", compaction_text(made))

    async def important(self, rest: str) -> None:
        await self._talk.room.sessions.mark_important(self._talk.begun(), rest or "last")
        self._talk.tell("important", _("Message marked as important."))

    # --- forgetting -------------------------------------------------------------------------------

    async def forget(self, rest: str) -> None:
        await forget_in_chat(self._talk, rest)

    # --- the conversation itself ------------------------------------------------------------------

    async def save(self, _rest: str) -> None:
        kept = _("Nothing is saved: this conversation is off the record. /keep saves it.")
        off = self._talk.room.store.room == "off"
        self._talk.tell("saved", kept if off else _("Everything is already saved."))

    async def quit(self, _rest: str) -> None:
        self._talk.ended = True

    async def _newest(self) -> "Message":
        """The user's latest message. Raises `UsageError` if there is none."""
        view = await self._talk.room.sessions.view(self._talk.begun())
        found = next((m for m in reversed(view.messages) if m.role == "user"), None)
        if found is None:
            raise UsageError(_("You have not sent a message here yet."), _("Send a message first."))
        return found


def _titled(title: str, messages: int) -> str:
    return ngettext("{title} (1 message)", "{title} ({count} messages)", messages, title=title)


async def forget_in_chat(talk: "Conversation", rest: str) -> None:
    """`/forget last|this|ID|WORDS` shows a preview and `/forget yes` erases; with `--yes`, erases at once."""
    from atlas_desktop.services.forgetting_in_rooms import RoomsForgetting

    words = rest.split()
    agreed = bool(words) and words[-1] in ("yes", "--yes")
    if agreed:
        words.pop()
    next_step = _("Write /forget last, /forget this, /forget ID or /forget WORDS.")
    if not (words or agreed):
        raise UsageError(_("You did not say what to forget."), next_step)
    forgetting = RoomsForgetting(lambda: talk.ctx.opened or (talk.room,), talk.ctx.desk.rooms.backups_made)
    target = await _meant(talk, forgetting, " ".join(words)) if words else talk.to_forget
    if target is None:
        raise UsageError(_("There is nothing to confirm."), next_step)
    plan = await forgetting.preview(target)
    affected = plan.affected
    if not agreed and not talk.ctx.yes:
        talk.to_forget = target
        text = f"{preview_text(affected, **plan.elsewhere)}\n{_('/forget yes erases it permanently.')}"
        _tell(talk, "forget_preview", text, output.forget_preview(affected))
        return
    talk.to_forget = None
    receipt = await forgetting.forget(plan)
    if talk.session in {one.id for one in affected.sessions}:
        talk.session = None
    _tell(talk, "forgotten", receipt_text(receipt), output.receipt(receipt))


async def _meant(talk: "Conversation", forgetting: "RoomsForgetting", word: str) -> "Target":
    from atlas_desktop.services.forgetting_in_rooms import newest_words, target_of
    from memory.entities import Target

    if word == "this":
        return Target(sessions=(talk.begun(),))
    if word != "last":
        return await target_of(forgetting, word)
    said = await newest_words(talk.room, talk.begun())
    if not said:
        raise UsageError(_("You have not sent a message here yet."), _("Send a message first."))
    return Target(messages=said)


def _tell(talk: "Conversation", code: str, text: str, value: dict[str, Any]) -> None:
    if talk.ctx.json:
        print(
            dumps({"type": "notice", "code": code, "text": text, "session": talk.session, **value}),
            flush=True,
        )
    else:
        talk.tell(code, text)
