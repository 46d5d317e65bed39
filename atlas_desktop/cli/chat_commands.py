"""The slash commands of `atlas chat`."""

import shlex
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli import output
from atlas_desktop.cli.context import dumps
from atlas_desktop.cli.personas import line
from atlas_desktop.cli.search import marked
from atlas_desktop.cli.session_context import compaction_text
from atlas_desktop.errors import UsageError
from atlas_desktop.words import phrases
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.forgetting import preview_text, receipt_text
from memory.entities import MemoryMode, RoomKind
from memory.forgetting import Target

if TYPE_CHECKING:
    from atlas_desktop.cli.conversation import Conversation
    from atlas_desktop.services.desk import RoomsService
    from memory.entities import Message, Session
    from memory.memories.entities import Memory


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
        from atlas_desktop.services.attachments import read_attachment, typed_path

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

        from atlas_desktop.services.lending import persona_for, personas_for

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
        from atlas_desktop.services.lending import template_for, templates_for
        from atlas_desktop.services.personas import filled, variables

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


_YES = "yes"


class RoomCommands:
    """Each says first what it does to what is there; what cannot be taken back waits for a yes."""

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

    async def private(self, _rest: str) -> None:
        """/private: move this session to the private room (the passphrase is asked for), and go on there."""
        if not self._agreed("/private", phrases.of_move(self._here, RoomKind.PRIVATE), _YES):
            return
        talk = self._talk
        private = await talk.ctx.enter_private()
        self._rooms.on_closing = self._closing
        self._rooms.watch()
        if talk.session is not None:
            await self._rooms.move(talk.session, RoomKind.PRIVATE)
        self._set(None)
        talk.enter(private)
        talk.tell("private", "You are in the private room. /open moves the session back, /close leaves it.")

    async def open(self, rest: str) -> None:
        """/open: move this session from the private room to the open one."""
        talk = self._talk
        if not self._agreed("/open", phrases.of_move(self._here, RoomKind.OPEN), rest):
            return
        if self._here is RoomKind.OFF_RECORD:
            await self.keep("")
            return
        if talk.session is not None:
            await self._rooms.move(talk.session, RoomKind.OPEN)
        talk.enter(talk.ctx.desk.at(RoomKind.OPEN))
        talk.tell("open", "You are in the open room.")

    async def close(self, _rest: str) -> None:
        """/close: close the private room; what is in it is not seen until it is opened again."""
        await self._rooms.leave_private()
        self._talk.tell("closed", "The private room is closed.")

    async def keep(self, _rest: str) -> None:
        """/keep: save this session, which is off the record, to the open room."""
        talk = self._talk
        if self._here is not RoomKind.OFF_RECORD:
            talk.tell("kept", "Everything here is saved already.")
            return
        await self._keep(MemoryMode.NORMAL)
        talk.tell("kept", "It is saved in the open room.")

    async def _keep(self, mode: MemoryMode) -> None:
        talk = self._talk
        opened = await talk.ctx.enter_open()
        if talk.session is not None:
            await self._rooms.keep(talk.session, mode)
        self._set(mode)
        talk.enter(opened)

    # --- memory modes -----------------------------------------------------------------------------

    async def off(self, rest: str) -> None:
        """/off: go on off the record: nothing more is written, and it ends with the program."""
        await self._mode(MemoryMode.OFF, rest)

    async def reads(self, rest: str) -> None:
        """/reads: use memories and add none."""
        await self._mode(MemoryMode.READS, rest)

    async def blank(self, rest: str) -> None:
        """/blank: neither use memories nor add any."""
        await self._mode(MemoryMode.BLANK, rest)

    async def normal(self, rest: str) -> None:
        """/normal: use memories, and learn."""
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
        talk.tell("memory", f"The memory mode is {mode}.")

    def _present(self, session: "Session | None") -> MemoryMode:
        if self._here is RoomKind.OFF_RECORD:
            return MemoryMode.OFF
        if session is not None:
            return session.memory_mode
        return self._talk.options.memory_mode or MemoryMode.NORMAL

    # --- what they share --------------------------------------------------------------------------

    def _agreed(self, command: str, change: phrases.Consequence, rest: str) -> bool:
        """Says what will happen; False when that waits for the person's yes."""
        waits = change.asks and rest.strip().lower() != _YES and not self._talk.ctx.yes
        self._talk.tell(
            "consequence", f"{change.words} Write {command} {_YES} to do it." if waits else change.words
        )
        return not waits

    def _set(self, mode: MemoryMode | None) -> None:
        """The mode of the turns from now on; without one a session's own."""
        self._talk.options = replace(self._talk.options, memory_mode=mode)

    async def _closing(self) -> None:
        talk = self._talk
        if self._here is RoomKind.PRIVATE:
            talk.session = None
            talk.enter(talk.ctx.desk.open_rooms[0])
            talk.tell("leaving", "You leave the private room, which closes.")


_SHOWN = 10


class MemoryCommands:
    """Of one conversation; in its room."""

    def __init__(self, talk: "Conversation") -> None:
        self._talk = talk

    def by_name(self) -> dict[str, Command]:
        return {"/memories": self.memories, "/remember": self.remember, "/pin": self.pin, "/why": self.why}

    async def memories(self, rest: str) -> None:
        """/memories [WORDS]: what is remembered (with these words), pinned memories first."""
        from memory.memories.entities import MemoryFilter

        found = await self._talk.room.knowledge.select(MemoryFilter(containing=rest), limit=_SHOWN)
        text = "\n".join(map(output.line, found)) or "Nothing is remembered that fits."
        await self._tell("memories", text, found)

    async def remember(self, rest: str) -> None:
        """/remember TEXT: keep this at once, in your words."""
        project = await self._learning_in()
        try:
            made = await self._talk.room.learning.remember(
                rest, project=project, session_id=self._talk.session
            )
        except ValueError as error:
            raise UsageError(
                f"That cannot be remembered: {error}.", "Write /remember followed by a sentence."
            ) from None
        await self._tell("remembered", f"Remembered: {made.text}", [made])

    async def pin(self, rest: str) -> None:
        """/pin [ID|last]: always tell the model this memory (the one that was learned last)."""
        made = await self._talk.room.knowledge.pin_latest(rest)
        if made is None:
            raise UsageError("Nothing has been learned yet.", "/remember keeps something at once.")
        await self._tell("pinned", f"Pinned: {made.text}", [made])

    async def why(self, rest: str) -> None:
        """/why [ID]: where the last reply (or a memory, a message) comes from, and what else there was."""
        from atlas_desktop.cli import provenance

        talk = self._talk
        service = talk.room.why
        found = await (service.why(rest) if rest else service.of_last_reply(talk.begun()))
        if talk.ctx.json:
            told = {
                "type": "notice",
                "code": "why",
                "text": provenance.described(found),
                "why": provenance.as_json(found),
            }
            print(dumps(told), flush=True)
        else:
            talk.tell("why", provenance.described(found))

    async def _learning_in(self) -> str | None:
        """The project that is talked in. Raises `UsageError` where nothing is added to memory."""
        talk = self._talk
        mode, project = talk.options.memory_mode, talk.options.project
        if talk.session is not None:
            session = await talk.room.store.get_session(talk.session)
            mode, project = session.memory_mode, session.project
        if mode not in (None, "normal"):
            raise UsageError(
                "This conversation adds nothing to memory.", "/normal lets it; then /remember again."
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
    """The commands of one conversation; each takes the rest of its line, and its docstring is its help."""

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
        """/help: list the commands."""
        docs = [act.__doc__ or "" for act in self.by_name().values()]
        self._talk.tell("help", "\n".join(doc for doc in docs if doc))

    # --- sessions ---------------------------------------------------------------------------------

    async def new(self, _rest: str) -> None:
        """/new (or !clear): begin a new session; the old one is kept."""
        self._talk.session = None
        self._talk.tell("new", "A new session begins with your next words.")

    async def sessions(self, _rest: str) -> None:
        """/sessions: list the latest sessions."""
        found = [s for room in self._talk.rooms for s in await room.sessions.recent(limit=10)]
        found = sorted(found, key=lambda s: s.updated_at, reverse=True)[:10]
        self._talk.tell("sessions", "\n".join(f"{s.id}  {marked(s)}" for s in found) or "There are none yet.")

    async def resume(self, rest: str) -> None:
        """/resume ID|last: go on with an earlier session."""
        view = await self._talk.go_to(rest or "last")
        self._talk.session = view.session.id
        self._talk.tell("resumed", f"{view.session.title} ({len(view.messages)} messages)")
        await self._talk.remind()

    async def rename(self, rest: str) -> None:
        """/rename TITLE: name this session."""
        try:
            session = await self._talk.room.sessions.rename(self._talk.begun(), rest)
        except ValueError:
            raise UsageError("A title is needed.", "Write /rename followed by the title.") from None
        self._talk.tell("renamed", session.title)

    async def fork(self, rest: str) -> None:
        """/fork [TITLE]: go on in a copy of this session, which stays as it is."""
        session = await self._talk.room.sessions.fork(self._talk.begun(), title=rest)
        self._talk.session = session.id
        self._talk.tell("forked", f"{session.title} ({session.message_count} messages)")

    # --- turns ------------------------------------------------------------------------------------

    async def regenerate(self, _rest: str) -> None:
        """/regenerate: answer my newest message again; the earlier answer is kept."""
        talk = self._talk
        await talk.run(talk.room.chat.regenerate(talk.begun(), options=talk.options))

    async def go_on(self, _rest: str) -> None:
        """/continue: go on with the newest reply, which was stopped or cut, from its last word."""
        talk = self._talk
        view = await talk.room.branches.open(talk.begun(), newest=1)
        newest = view.newest[-1] if view.newest else None
        whole = newest is None or (newest.status == "complete" and newest.stop_reason != "length")
        if newest is None or newest.role != "assistant" or whole or not newest.content.strip():
            raise UsageError("The newest reply is whole.", "/regenerate asks for another one.")
        await talk.run(talk.room.chat.go_on(talk.begun(), newest.id, options=talk.options))

    async def edit(self, rest: str) -> None:
        """/edit TEXT: say this in the place of my newest message; the old words and their answer are kept."""
        talk = self._talk
        if not rest:
            raise UsageError("The new words are needed.", "Write /edit followed by them.")
        newest = await self._newest()
        await talk.run(talk.room.chat.edit(talk.begun(), newest.id, rest, options=talk.options))

    async def split(self, rest: str) -> None:
        """/split [TEXT]: say a long text (or my newest message, if it was too long) in parts that fit."""
        from atlas_desktop.services.turns import part_options

        talk = self._talk
        chat = talk.room.chat
        # The first part of what did not fit takes its place.
        whole = None if rest else await self._newest()
        parts = await chat.in_parts(
            rest if whole is None else whole.content, session=talk.session, options=talk.options
        )
        if whole is not None and len(parts) < 2:
            raise UsageError("Your newest message fits as it is.", "Write /split followed by a long text.")
        for number, part in enumerate(parts, 1):
            options = part_options(talk.options, number, len(parts))
            if number == 1 and whole is not None:
                turn = chat.edit(talk.begun(), whole.id, part, options=options)
            else:
                turn = chat.turn(part, session=talk.session, options=options)
            await talk.run(turn)
            if talk.stopped:
                return

    # --- context ----------------------------------------------------------------------------------

    async def context(self, _rest: str) -> None:
        """/context: what the model is given next, by tier, and its exact words."""
        from atlas_desktop.services.context import meter, next_prompt

        talk = self._talk
        view = await talk.room.chat.context.view(talk.begun(), reply=talk.options.params.max_tokens)
        assert view is not None
        if talk.ctx.json:
            print(dumps({"type": "context", **output.context(view)}), flush=True)
        else:
            talk.tell("context", f"{meter(view)}\n\n{next_prompt(view)}")

    async def summarise(self, _rest: str) -> None:
        """/summarise: summarise all but the newest messages now."""
        made = await self._talk.room.epochs.summarise_now(self._talk.begun())
        self._talk.tell("compacted", compaction_text(made))

    async def important(self, rest: str) -> None:
        """/important [last|ID]: keep a message (your newest) in sight longest."""
        await self._talk.room.sessions.mark_important(self._talk.begun(), rest or "last")
        self._talk.tell("important", "The message is marked as important.")

    # --- forgetting -------------------------------------------------------------------------------

    async def forget(self, rest: str) -> None:
        """/forget last|this|ID: say what would go with my newest words, this session or anything with an id;
        /forget yes then erases it for good."""
        await forget_in_chat(self._talk, rest)

    # --- the conversation itself ------------------------------------------------------------------

    async def save(self, _rest: str) -> None:
        """/save (or !save): nothing to do, every word is saved as it comes."""
        kept = "Nothing is saved here: this conversation is off the record. /keep saves it."
        off = self._talk.room.store.room == "off"
        self._talk.tell("saved", kept if off else "Everything is saved already.")

    async def quit(self, _rest: str) -> None:
        """/quit (or exit, quit): end."""
        self._talk.ended = True

    async def _newest(self) -> "Message":
        """The person's newest message. Raises `UsageError` when there is none."""
        view = await self._talk.room.sessions.view(self._talk.begun())
        found = next((m for m in reversed(view.messages) if m.role == "user"), None)
        if found is None:
            raise UsageError("You have said nothing here yet.", "Say something first.")
        return found


async def forget_in_chat(talk: "Conversation", rest: str) -> None:
    """`/forget last|this|ID` tells what would go, and `/forget yes` does it; with `--yes` it is done."""
    from atlas_desktop.services.forgetting_in_rooms import RoomsForgetting

    words = rest.split()
    agreed = bool(words) and words[-1] in ("yes", "--yes")
    if agreed:
        words.pop()
    if len(words) > 1 or not (words or agreed):
        raise UsageError("It is not said what to forget.", "Write /forget last, /forget this or /forget ID.")
    target = await _meant(talk, words[0]) if words else talk.to_forget
    if target is None:
        raise UsageError(
            "Nothing is waiting to be forgotten.", "Write /forget last, /forget this or /forget ID."
        )
    forgetting = RoomsForgetting(lambda: talk.ctx.opened or (talk.room,))
    plan = await forgetting.preview(target)
    affected = plan.affected
    if not agreed and not talk.ctx.yes:
        talk.to_forget = target
        _tell(
            talk,
            "forget_preview",
            f"{preview_text(affected)}\n/forget yes erases it for good.",
            output.forget_preview(affected),
        )
        return
    talk.to_forget = None
    receipt = await forgetting.forget(plan)
    if talk.session in {one.id for one in affected.sessions}:
        talk.session = None
    _tell(talk, "forgotten", receipt_text(receipt), output.receipt(receipt))


async def _meant(talk: "Conversation", word: str) -> "Target":
    from atlas_desktop.services.forgetting_in_rooms import newest_words
    from memory.forgetting import Target

    if word == "this":
        return Target(sessions=(talk.begun(),))
    if word != "last":
        return Target(ids=(word,))
    said = await newest_words(talk.room, talk.begun())
    if not said:
        raise UsageError("You have said nothing here yet.", "Say something first.")
    return Target(messages=said)


def _tell(talk: "Conversation", code: str, text: str, value: dict[str, Any]) -> None:
    if talk.ctx.json:
        print(
            dumps({"type": "notice", "code": code, "text": text, "session": talk.session, **value}),
            flush=True,
        )
    else:
        talk.tell(code, text)
