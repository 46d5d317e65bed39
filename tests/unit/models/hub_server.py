"""A hub on loopback that speaks as much of the Hugging Face protocol as a download needs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Hub:
    """`files` maps `owner/repo/revision/path` to bytes; `cuts` ends replies after so many bytes each.
    Requests of the methods in `circles` are redirected to where they were."""

    files: dict[str, bytes] = field(default_factory=dict)
    cuts: list[int] = field(default_factory=list)
    ranges: bool = True
    promised: dict[str, str] = field(default_factory=dict)
    plain_etag: bool = False
    denied: str | None = None
    circles: tuple[str, ...] = ()
    requests: list[tuple[str, str | None, str | None]] = field(default_factory=list)
    endpoint: str = ""

    def find(self, url: str) -> tuple[str, bytes] | None:
        owner, repo, _resolve, revision, name = url.split("?")[0].strip("/").split("/", 4)
        key = f"{owner}/{repo}/{revision}/{name}"
        return (key, self.files[key]) if key in self.files else None


@contextmanager
def serve(hub: Hub) -> Iterator[Hub]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keeps the test's output clean."""

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            wanted = self.headers.get("Range")
            hub.requests.append((self.command, wanted, self.headers.get("Authorization")))
            if self.command in hub.circles:
                self.send_response(302)
                self.send_header("Location", self.path if hub.plain_etag else hub.endpoint + self.path)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            found = hub.find(self.path)
            if hub.denied or found is None:
                code = hub.denied or "EntryNotFound"
                self.send_response(403 if hub.denied else 404)
                self.send_header("X-Error-Code", code)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            key, content = found
            start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and hub.ranges else 0
            self.send_response(206 if start else 200)
            digest = hub.promised.get(key) or sha256(content).hexdigest()
            self.send_header("X-Repo-Commit", "c" * 40)
            self.send_header("ETag", '"short"' if hub.plain_etag else f'"{digest}"')
            if not hub.plain_etag:
                self.send_header("X-Linked-Etag", f'"{digest}"')
            self.send_header("X-Linked-Size", str(len(content)))
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            if not body:
                return
            rest = content[start:]
            if hub.cuts:
                self.wfile.write(rest[: hub.cuts.pop(0)])
                self.wfile.flush()
                self.close_connection = True
                return
            self.wfile.write(rest)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
