"""Permanent deletion of content and everything derived from it, with a receipt."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.context import EpochService
from atlas_desktop.services.summaries import SummaryService, first_words
from memory.entities import (
    Affected,
    ChosenBy,
    Erased,
    NewReceipt,
    SessionPatch,
    StoredReceipt,
    Target,
    TitleSource,
    chosen_by,
    counts,
    places,
)
from memory.storage.store import Store
from memory.summaries.compaction import Compactor
from models.errors import ModelsError
from models.messages import Role


@dataclass(frozen=True, slots=True)
class Receipt:
    """What was erased: rows of the room, and saved states of the model (`snapshots`).

    `rewritten` counts summaries that were remade without it. `verified`: nothing was found afterwards.
    `backups` were made before, and may contain it. `open_only`: a locked private room was not searched.
    """

    erased: Erased
    snapshots: int
    verified: bool
    rewritten: int = 0
    backups: int = 0
    open_only: bool = False


class ForgettingService:
    """Forgetting in one room. `compactor` is called for each use, because the model can change.

    All methods raise what the store raises, `models.errors.ModelsError`, and `StorageFull` when a saved state
    cannot be removed from the disk; then nothing was forgotten. After an interruption, call it again: nothing
    is half forgotten.
    """

    def __init__(
        self,
        store: Store,
        background: BackgroundService,
        epochs: EpochService,
        summaries: SummaryService,
        compactor: Callable[[], Compactor],
    ) -> None:
        self._store = store
        self._background = background
        self._epochs = epochs
        self._summaries = summaries
        self._compactor = compactor

    async def preview(self, target: Target) -> Affected:
        """Returns what would be erased; changes nothing."""
        return await self._store.forget(target, dry_run=True)

    async def forget(self, target: Target, *, previewed: Affected | None = None) -> Receipt:
        """Erases the target; no reply may be in progress in it. Raises ValueError for an empty target.

        `previewed` is the result of `preview` for the same target, if there is one.
        """
        if target.empty:
            raise ValueError("nothing to forget was specified")
        # A running job could store the erased data again.
        async with self._background.stopped():
            before = previewed or await self.preview(target)
            snapshots = await self._epochs.forget(_sessions(before))
            done = await self._store.forget(target)
            receipt = await self._without_states(done.erased, _sessions(done), snapshots)
            rewritten = await self._rewrite(done.erased.stale)
            await self._title(done.erased.untitled)
        for session_id in await self._sessions_of(done.erased.stale):
            await self._summaries.refresh(session_id)
        receipt = Receipt(receipt.erased, receipt.snapshots, receipt.verified, rewritten)
        await self._keep(receipt, chosen_by(target))
        return receipt

    async def receipts(self, *, limit: int | None = None) -> Sequence[StoredReceipt]:
        """Returns the kept receipts, latest first. They contain nothing of the forgotten content."""
        return await self._store.receipts.list(limit=limit)

    async def _keep(self, receipt: Receipt, by: ChosenBy) -> None:
        """Stores a receipt, unless there was nothing to forget."""
        found, cleared = counts(receipt.erased, receipt.snapshots), places(receipt.erased)
        if any(found.values()) or cleared:
            kept = {name: count for name, count in found.items() if count}
            await self._store.receipts.add(NewReceipt(by, kept, cleared, receipt.rewritten, receipt.verified))

    async def erase_session(self, ref: str) -> Receipt:
        """Erases a session, whether it is in the bin or not. No reply may be in progress in it."""
        session = await self._store.get_session(ref)
        async with self._background.stopped():
            snapshots = await self._epochs.forget([session.id])
            erased = await self._store.erase_session(session.id)
            # The model may also have read its text in the prompts of other sessions.
            receipt = await self._without_states(erased, [session.id, *erased.recalled_in], snapshots)
        await self._keep(receipt, ChosenBy.ITEMS)
        return receipt

    async def _without_states(self, erased: Erased, sessions: Sequence[str], gone: int) -> Receipt:
        snapshots = gone + await self._epochs.forget(sessions)
        left = await self._epochs.forget(sessions)
        return Receipt(erased, snapshots, erased.verified and left == 0)

    async def _rewrite(self, stale: Sequence[str]) -> int:
        """Remakes emptied summaries at once from the remaining text, without asking the model.

        Returns how many.

        If even that fails, they stay empty until they are improved.
        """
        made = 0
        for session_id in await self._sessions_of(stale):
            try:
                remade = await self._compactor().refresh(session_id, quick=True)
            except ModelsError:
                return made
            made += sum(one.id in stale for one in remade)
        return made

    async def _sessions_of(self, summaries: Sequence[str]) -> list[str]:
        found = [await self._store.context.summary(one) for one in summaries]
        return list(dict.fromkeys(one.session_id for one in found))

    async def title_again(self, *, limit: int = 100) -> None:
        """Titles sessions whose titles were erased because of what another device forgot, the latest
        first."""
        found = [
            await self._store.get_session(one) for one in await self._store.sessions_to_title(limit=limit)
        ]
        await self._title([one.id for one in found if not one.title])

    async def _title(self, untitled: Sequence[str]) -> None:
        """Titles sessions by their first remaining words."""
        for session_id in untitled:
            said = [m for m in await self._store.branch(session_id) if m.role is Role.USER and m.content]
            patch = SessionPatch(
                title=first_words(said[0].content if said else ""), title_source=TitleSource.FIRST_WORDS
            )
            await self._store.update_session(session_id, patch)


def _sessions(affected: Affected) -> list[str]:
    """Returns the sessions whose model states contain any of the target."""
    return list(dict.fromkeys([*affected.touched, *affected.erased.recalled_in]))
