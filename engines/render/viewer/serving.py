"""The loopback server of the viewer's page, and the desk over which commands and answers pass between threads."""

from __future__ import annotations

import hmac
import json
import shutil
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from task import executor_error

# The page asks again after this, so that a connection that has died quietly is noticed.
POLL_S = 20.0
# A page that lives asks for work all the time, and the first time when Chromium has opened it. Many times what that takes on a
# slow and busy machine: its process may have died before there was a connection to notice it by.
TAKE_DEADLINE_S = 300.0
# A picture of 8192 × 8192 takes 256 MiB, the geometry of a large surface less than this.
MAX_ANSWER_BYTES = 1 << 30
MIME_TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
PAGE_NAMES = ("index.html", "viewer.js")


class Desk:
    """One command at a time, and its answer. Safe for concurrent use; ask is called by one thread."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.commands = 0
        self.command: dict[str, Any] | None = None
        self.taken = False
        self.answer: memoryview | None = None
        self.broken: str | None = None

    def ask(self, command: dict[str, Any], deadline_s: float) -> memoryview:
        """Gives the page a command and waits for the answer. Raises a Failure when the browser has ended, its tab has crashed or
        never came, or the deadline has passed."""
        with self.changed:
            self.commands += 1
            self.command, self.taken, self.answer = {**command, "id": self.commands}, False, None
            self.changed.notify_all()
            taken = self.changed.wait_for(lambda: self.taken or self.broken is not None, min(TAKE_DEADLINE_S, deadline_s))
            if not taken and TAKE_DEADLINE_S < deadline_s:
                self.broken = f"its page did not ask for work within {TAKE_DEADLINE_S:.0f} seconds"
            done = self.changed.wait_for(lambda: self.answer is not None or self.broken is not None, deadline_s)
            answer, self.answer, self.command = self.answer, None, None
            if answer is not None:
                return answer
            if done:
                raise executor_error(
                    "VIEWER_CRASHED", f"The viewer ended while it worked: {self.broken}. The scene may need more memory."
                )
            self.broken = "it had been given up"
            raise executor_error("VIEWER_HUNG", f"The viewer did not answer within {deadline_s:.0f} seconds.")

    def next(self) -> dict[str, Any] | None:
        """The command that the page is to do next; None when there is none for now."""
        with self.changed:
            self.changed.wait_for(lambda: (self.command is not None and not self.taken) or self.broken is not None, POLL_S)
            if self.command is None or self.taken or self.broken:
                return None
            self.taken = True
            self.changed.notify_all()
            return self.command

    def put(self, number: int, answer: bytearray) -> None:
        with self.changed:
            if self.command and self.command["id"] == number:
                self.answer = memoryview(answer)
                self.changed.notify_all()

    def break_off(self, reason: str) -> None:
        """Tells the waiting thread that no answer will come."""
        with self.changed:
            self.broken = self.broken or reason
            self.changed.notify_all()


class QuietServer(ThreadingHTTPServer):
    """A browser that is ended breaks its connections, which is nothing to tell of."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Server:
    """Serves the given files, and nothing else, until it is closed."""

    def __init__(self, token: str, files: dict[str, Path], desk: Desk, content_policy: str) -> None:
        handler = type(
            "PageHandler", (Handler,), {"prefix": f"/{token}/", "files": files, "desk": desk, "content_policy": content_policy}
        )
        self.server = QuietServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/{token}"
        self.thread = threading.Thread(target=self.server.serve_forever, name="viewer-server", daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Handler(BaseHTTPRequestHandler):
    """Answers requests below the secret prefix; all others as if there were nothing."""

    protocol_version = "HTTP/1.1"
    prefix: str
    files: dict[str, Path]
    desk: Desk
    content_policy: str

    def do_GET(self) -> None:  # noqa: N802
        route = self._route()
        if route in self.files:
            self._file(route)
        elif route == "command":
            self._command()
        elif route == "alive":
            self._alive()
        else:
            self._reply(404)

    def do_POST(self) -> None:  # noqa: N802
        route = self._route() or ""
        length = int(self.headers.get("Content-Length") or -1)
        if not route.startswith("answer/") or not route[7:].isdecimal() or not 4 <= length <= MAX_ANSWER_BYTES:
            self.close_connection = True
            self._reply(404)
            return
        content = bytearray(length)
        view, filled = memoryview(content), 0
        while filled < length:
            count = self.rfile.readinto(view[filled:])
            if not count:
                return
            filled += count
        self._reply(204)
        self.desk.put(int(route[7:]), content)

    def _route(self) -> str | None:
        """The path below the prefix; None when the prefix is another one. It only ever selects from what is known."""
        given = self.path.encode("utf-8", "replace")
        prefix = self.prefix.encode()
        return self.path[len(prefix) :] if hmac.compare_digest(given[: len(prefix)], prefix) else None

    def _file(self, route: str) -> None:
        path = self.files[route]
        with open(path, "rb") as file:
            self.send_response(200)
            kind = MIME_TYPES.get(path.suffix) if route in PAGE_NAMES else None
            self.send_header("Content-Type", kind or "application/octet-stream")
            self.send_header("Content-Length", str(path.stat().st_size))
            self.send_header("Content-Security-Policy", self.content_policy)
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            shutil.copyfileobj(file, self.wfile, 1 << 20)

    def _command(self) -> None:
        command = self.desk.next()
        if command is None:
            self._reply(204)
        else:
            self._reply(200, json.dumps(command).encode(), "application/json")

    def _alive(self) -> None:
        """Holds the connection. The page never writes on it, so it ends when the tab does."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b":\n\n")
        try:
            self.connection.recv(1)
        except OSError:
            pass
        self.desk.break_off("its tab has crashed")

    def _reply(self, status: int, content: bytes = b"", kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Every request is one of ours; they are not worth a line each."""
