"""Documents with secrets that are read, searched and asked about: no file may hold anything of them."""

from collections.abc import Sequence

from memory.documents.entities import (
    DocumentQuery,
    DocumentSummary,
    FileFacts,
    NewChunk,
    NewDocument,
    ParsedText,
)
from tests.security.crash import Said, Say, Scenario
from tests.security.stage import Stage

NAMES = ("text", "title", "author", "name", "folder", "query", "question", "summary", "copy")


def _many(begin: int) -> str:
    """Words of every kind, so that no number of their vectors is zero."""
    return " ".join(f"{k:x}" for k in range(begin, begin + 300))


class Reading(Scenario):
    """`given` are the secrets, one a line, in the order of `NAMES`."""

    name = "canaries of documents"
    steps = 3
    moment_s = 0.02
    given = ""

    async def prepare(self) -> str:
        return self.given

    async def act(self, given: str, say: Say) -> None:
        secret = dict(zip(NAMES, given.splitlines(), strict=True))
        stage = await Stage.open(self.place, create=True)
        documents = stage.room.documents
        # The user's own files: beside the home, which is searched.
        folder = self.place.path.parents[2] / secret["folder"]
        folder.mkdir(exist_ok=True)
        file = folder / f"{secret['name']}.md"
        session: str | None = None
        for n in range(10_000):
            file.write_text(f"# {secret['title']}\n\n{secret['text']} {_many(n + 500)}\n")
            added = (await documents.add([file], copy=True)).documents
            await documents.watch(folder)
            put = await stage.store.documents.put([self._made(secret, n)])
            made = DocumentSummary(secret["summary"], fallback=False, model=None)
            assert await stage.store.documents.put_summary(put[0], made, f"{n:064x}")
            await documents.remember()
            await stage.room.background.run()
            await documents.search.load()
            await documents.search.answer(DocumentQuery(secret["query"]))
            if session is None:
                session = (await stage.turn(secret["question"]))[0].session.id
            await stage.store.documents.bind(session, [*added, *put])
            await stage.turn(f"{secret['question']} {secret['text']}", session)
            await stage.room.epochs.keep(session)
            say("told")

    def _made(self, secret: dict[str, str], n: int) -> NewDocument:
        text = f"{secret['text']} {_many(n)}"
        return NewDocument(
            path=f"{secret['folder']}/{n}",
            facts=FileFacts(f"/home/me/{secret['folder']}/{n}-{id(self):x}", len(text), n),
            sha256=f"{n:064x}",
            media_type="text/plain",
            parser="plain-1",
            title=secret["title"],
            parsed=ParsedText(text, author=secret["author"]),
            chunks=(NewChunk(0, len(text), None, (1, 1)),),
            content=secret["copy"].encode(),
        )

    async def look(self, said: Sequence[Said]) -> None:
        store = await self.place.open()
        assert (await store.verify()).problems == ()
        await store.close()
