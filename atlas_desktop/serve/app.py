"""The endpoint: its addresses, which are opened and closed with the room."""

import base64
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from atlas_desktop.errors import DoorRefused
from atlas_desktop.locale import _
from atlas_desktop.serve.access import ClientAccess, Piece
from atlas_desktop.serve.completions import chat_completions, responses
from atlas_desktop.serve.replies import WITH_MEMORY, Replies
from atlas_desktop.serve.server import DoorServer, Guard
from atlas_desktop.serve.wire import (
    DocumentsRequest,
    EmbeddingsRequest,
    RecallRequest,
    bad_request,
    decoded,
    error_response,
    json_response,
)
from atlas_desktop.services.desk import AppContext
from atlas_desktop.services.room import RoomServices
from atlas_desktop.shapes import document_hit, recalled
from memory.clients import AccessKind, Client, Scope
from memory.documents.entities import DocumentKind
from models.errors import NoModel

MOST_EMBEDDED = 256
"""Maximum number of texts to embed in one request."""
Handler = Callable[[Request, ClientAccess], Awaitable[Response]]


class Endpoint:
    """Answers requests for the open room of a desk."""

    def __init__(self, desk: AppContext, room: RoomServices) -> None:
        self._desk = desk
        self._room = room
        self._replies = Replies(desk)

    def app(self, hosts: Callable[[], Collection[str] | None]) -> ASGIApp:
        """Returns the guarded application. `hosts` are its names."""
        routes = [
            Route("/v1/models", self._route(self._models), methods=["GET"]),
            Route("/v1/models/{name:path}", self._route(self._model), methods=["GET"]),
            Route("/v1/chat/completions", self._route(self._chat), methods=["POST"]),
            Route("/v1/responses", self._route(self._responses), methods=["POST"]),
            Route("/v1/embeddings", self._route(self._embeddings), methods=["POST"]),
            Route("/atlas/recall", self._route(self._recall), methods=["POST"]),
            Route("/atlas/documents", self._route(self._documents), methods=["POST"]),
        ]

        @asynccontextmanager
        async def running(app: Starlette) -> AsyncIterator[None]:
            # Imported late: it takes most of a second, and a test of the endpoint alone does not need it.
            from atlas_desktop.serve.mcp_server import McpMount

            mount = McpMount(lambda request: ClientAccess(self._room, request.state.client))
            app.router.routes.append(mount.route)
            async with mount.running():
                yield

        app = Starlette(
            routes=routes, lifespan=running, exception_handlers={404: _nothing_here, 405: _nothing_here}
        )
        app.router.redirect_slashes = False
        return Guard(
            app,
            hosts=hosts,
            authenticate=self._room.clients.authenticate,
            record=self._room.clients.record,
        )

    def _route(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            client: Client = request.state.client
            try:
                return await handler(request, ClientAccess(self._room, client))
            except Exception as error:  # noqa: BLE001 - every error becomes words and a status
                return error_response(error)

        return answer

    # --- models -----------------------------------------------------------------------------------

    async def _names(self, access: ClientAccess) -> list[str]:
        async with access.asked(AccessKind.MODELS):
            names = self._replies.model_names()
            try:
                names.append(self._desk.embed_model_id())
            except NoModel:
                return names
            return names

    async def _models(self, _request: Request, access: ClientAccess) -> Response:
        names = await self._names(access)
        return json_response({"object": "list", "data": [_model(name) for name in names]})

    async def _model(self, request: Request, access: ClientAccess) -> Response:
        names = await self._names(access)
        name = request.path_params["name"]
        if name not in names:
            raise DoorRefused("unknown_model", 404, models=", ".join(names))
        return json_response(_model(name))

    # --- replies and vectors ----------------------------------------------------------------------

    async def _chat(self, request: Request, access: ClientAccess) -> Response:
        return await chat_completions(request, access, self._replies)

    async def _responses(self, request: Request, access: ClientAccess) -> Response:
        return await responses(request, access, self._replies)

    async def _embeddings(self, request: Request, access: ClientAccess) -> Response:
        async with access.asked(AccessKind.EMBEDDINGS, Scope.CHAT) as counted:
            body = decoded(await request.body(), EmbeddingsRequest)
            name = self._desk.embed_model_id()
            if body.model not in (WITH_MEMORY, name):
                raise DoorRefused("unknown_model", 404, models=f"{WITH_MEMORY}, {name}")
            texts = [body.input] if isinstance(body.input, str) else body.input
            if not 1 <= len(texts) <= MOST_EMBEDDED or not all(texts):
                raise bad_request(
                    _("Give between 1 and {most} texts that are not empty.", most=MOST_EMBEDDED)
                )
            embedder = self._desk.model.embedder
            if embedder is None:
                raise self._desk.model.damaged or NoModel("embed")
            vectors = await embedder.embed(texts)
            counted.items = len(vectors)
        data = [
            {
                "object": "embedding",
                "index": at,
                "embedding": vector if body.encoding_format == "float" else _packed(vector),
            }
            for at, vector in enumerate(vectors)
        ]
        # Without `usage`, because the tokens of the embedding model are neither counted nor charged.
        return json_response({"object": "list", "data": data, "model": body.model})

    # --- memory -----------------------------------------------------------------------------------

    async def _recall(self, request: Request, access: ClientAccess) -> Response:
        body = decoded(await request.body(), RecallRequest)
        kinds = ("message", "memory") if body.kinds is None else tuple(body.kinds)
        hits, took_ms = await access.recall(body.query, k=body.k, kinds=kinds, project=body.project)
        return json_response({"took_ms": round(took_ms, 3), "hits": [recalled(hit) for hit in hits]})

    async def _documents(self, request: Request, access: ClientAccess) -> Response:
        body = decoded(await request.body(), DocumentsRequest)
        if (body.query is None) == (body.document is None):
            raise bad_request(_("Give either a query or a document."))
        if body.document is not None:
            document, piece = await access.document(body.document, page=body.page, begin=body.begin)
            return json_response({"document": document.id, "title": document.title, **piece_json(piece)})
        kind = DocumentKind.NOTE if body.notes else DocumentKind.DOCUMENT
        hits, took_ms = await access.search(
            body.query or "", k=body.k, kind=kind, documents=body.documents or (), project=body.project
        )
        return json_response({"took_ms": round(took_ms, 3), "hits": [document_hit(hit) for hit in hits]})


def piece_json(piece: Piece) -> dict[str, object]:
    """Returns a part of a text as JSON; `next` is where the rest begins."""
    return {"text": piece.text, "begin": piece.begin, "total": piece.total, "next": piece.next}


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "atlas"}


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode("ascii")


async def _nothing_here(_request: Request, _error: Exception) -> Response:
    return error_response(DoorRefused("not_found", 404))


class Doors:
    """Lets other programs in."""

    def __init__(self, desk: AppContext, room: RoomServices) -> None:
        self._room = room
        self._endpoint = Endpoint(desk, room)
        self._server: DoorServer | None = None

    @property
    def url(self) -> str | None:
        """The address while the door is open, otherwise None."""
        return None if self._server is None else self._server.url

    async def open(self, listening: socket.socket, path: Path | None = None) -> str:
        """Starts answering on a listening socket; returns its address."""
        await self._room.clients.drop_old()
        server = DoorServer(lambda hosts: self._endpoint.app(hosts))
        url = await server.start(listening, path)
        self._server = server
        return url

    async def close(self, *, at_once: bool = False) -> None:
        """Closes within seconds, or `at_once`."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop(at_once=at_once)
