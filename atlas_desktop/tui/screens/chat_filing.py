"""The part of the conversation screen about how a conversation is filed (star, tags) and opened by name."""

import shlex
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices

GROUP = "tools"


class FilingActions(ChatPart):
    """Mixed into the conversation screen."""

    if TYPE_CHECKING:

        def action_focus_sessions(self) -> None: ...

    @property
    def _room(self) -> "RoomServices":
        return self.atlas.room_of(self.current)

    # --- how it is filed --------------------------------------------------------------------------

    def action_star(self) -> None:
        self.atlas.attempt(self._star(), group=GROUP)

    async def _star(self) -> None:
        from memory.organising.entities import MarksPatch

        shown, session, room = self.current, self.current.session, self._room
        assert session is not None
        await room.organising.apply([session.id], MarksPatch(starred=not session.starred))
        shown.session = await room.store.get_session(session.id)
        self.atlas.say(tr("chat.unstarred" if session.starred else "chat.starred"))
        self.tell()
        self.refresh_list()

    def action_tag(self, words: str = "") -> None:
        """Tags the conversation with the words; `-word` takes a tag away."""
        self.atlas.attempt(self._tag(words), group=GROUP)

    async def _tag(self, words: str) -> None:
        from atlas_desktop.tui.screens.fields import FieldsScreen
        from memory.organising.entities import MarksPatch

        shown, session, room = self.current, self.current.session, self._room
        assert session is not None
        if not words:
            now = ", ".join(map(clean_line, session.tags)) or tr("chat.no_tags_yet")
            hint = tr("chat.tags_now", tags=now)
            field = tr("chat.tags_field")
            given = await self.atlas.push_screen_wait(FieldsScreen(tr("chat.tag"), [field], hint=hint))
            words = given[field] if given else ""
        if not words.strip():
            return
        given_tags = _split(words)
        patch = MarksPatch(
            add_tags=tuple(tag for tag in given_tags if not tag.startswith("-")),
            remove_tags=tuple(tag[1:] for tag in given_tags if len(tag) > 1 and tag.startswith("-")),
        )
        try:
            await room.organising.apply([session.id], patch)
        except ValueError as error:
            self.atlas.say(tr("chat.not_a_tag", reason=error))
            return
        shown.session = await room.store.get_session(session.id)
        tags = ", ".join(map(clean_line, shown.session.tags))
        self.atlas.say(tr("chat.tags", tags=tags) if tags else tr("chat.no_tags"))
        self.refresh_list()

    def action_resume(self, words: str = "") -> None:
        """Opens a conversation by id, `last`, or words of its title; without any it goes to the list."""
        if words:
            self.atlas.attempt(self._resume_by(words), group="open", exclusive=True)
        else:
            self.action_focus_sessions()

    async def _resume_by(self, words: str) -> None:
        from memory.errors import AmbiguousId, SessionNotFound

        try:
            _, session = await self.atlas.desk.rooms.find(words)
        except (SessionNotFound, AmbiguousId) as error:
            rooms = self.atlas.desk.open_rooms
            found = [s for room in rooms for s in await room.sessions.recent(containing=words, limit=1)]
            if not found:
                raise error from None
            session = max(found, key=lambda one: one.updated_at)
        await self._open(session.id)


def _split(words: str) -> list[str]:
    try:
        return [one.strip(",") for one in shlex.split(words) if one.strip(",")]
    except ValueError:
        return words.split()
