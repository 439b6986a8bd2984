"""A server on this machine that files are downloaded from: well, or broken in the way that the path names."""

from __future__ import annotations

import hashlib
import sys
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from seal_ir.formats.io.downloads import Download

DATA = bytes(range(256)) * 5000


class Server(ThreadingHTTPServer):
    """Serves `content` in the way that the path names; remembers what ranges were asked for."""

    daemon_threads = True
    content = DATA
    breaks = 2  # times that /breaks ends early
    stalls = 1  # times that /stalls says no more after 1000 bytes

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str | None]] = []

        self.done = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of those who have gone before they were answered."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def of(self, path: str, content: bytes | None = None) -> Download:
        known = self.content if content is None else content
        url = f"http://127.0.0.1:{self.server_address[1]}{path}"
        return Download(url, hashlib.sha256(known).hexdigest(), len(known))


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *words: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:  # noqa: N802 - its name there
        asked, content = self.headers.get("Range"), self.server.content
        self.server.asked.append((self.path, asked))
        if self.path == "/gone":
            return self.send_error(404)
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/file")
            return self.end_headers()
        if self.path == "/elsewhere":
            self.send_response(302)
            self.send_header("Location", "file:///etc/passwd")
            return self.end_headers()
        if self.path == "/loop":
            self.send_response(302)
            self.send_header("Location", "/loop")
            return self.end_headers()
        if self.path == "/other":
            content = bytes(len(content))
        if self.path == "/slow":
            self.server.done.wait(5)
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.path != "/whole" else 0
        if start >= len(content):
            return self.send_error(416)
        body = content[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body) + (1 if self.path == "/longer" else 0)))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.end_headers()
        if self.path == "/breaks" and self.server.breaks:
            self.server.breaks -= 1
            body = body[: len(content) // 3]
        if self.path == "/always-breaks":
            body = b""
        if self.path == "/stalls" and self.server.stalls:
            self.server.stalls -= 1
            self.wfile.write(body[:1000])
            self.server.done.wait(5)
            return None
        if self.path == "/dribbles":
            for start in range(0, len(body), len(content) // 8):
                self.wfile.write(body[start : start + len(content) // 8])
                time.sleep(0.1)
            return None
        self.wfile.write(body + (b"!" if self.path == "/longer" else b""))
        return None


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield made
        made.done.set()
        made.shutdown()
        thread.join()


def archive(path: Path, add: Callable[[tarfile.TarFile], object], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as made:  # type: ignore[call-overload]
        add(made)
    return path
