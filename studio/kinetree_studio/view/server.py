"""A server of one page for browsers, which receives user actions and sends updates."""

from __future__ import annotations

import contextlib
import hmac
import io
import ipaddress
import json
import queue
import socket
import sys
import threading
import time as clock
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kinetree.errors import KinetreeError, Message, OptionError, Setting

News = dict[str, Any]

NEXT_PORTS = 100
"""How many ports are tried after one that is taken."""

HEARTBEAT = 5.0
"""Seconds after which an idle browser gets an empty message, to find out whether it is still connected."""

LARGEST_MESSAGE = 1_000_000

PATIENCE = 10.0
"""Seconds within which a whole message must arrive, and within which a browser must accept what it is sent."""

MOST_CONNECTIONS, MOST_PAGES = 64, 32
"""The most simultaneous connections, and the most of these on which pages wait for updates."""

TOKEN = "X-Kinetree-Token"
"""The header with the secret."""

UNKNOWN = "Open the whole address that kinetree printed: what comes after token= is missing or of another session."

PRIVATE = (
    ("Referrer-Policy", "no-referrer"), ("X-Frame-Options", "DENY"), ("X-Content-Type-Options", "nosniff"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)  # fmt: skip
"""Headers of pages with a secret: no other page learns it from a link, or shows the page in a frame."""

EVERY_ADDRESS = ("", "0.0.0.0", "::")
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class PageServer:
    """A small web server with one page.

    Parameters
    ----------
    host, port
        Where to listen; 0 picks any free port; if the given port is taken, the next free one is used.
    page : callable
        Returns the page as HTML.
    state : callable
        Returns the state that is sent to a newly connected browser.
    heard : callable
        Called with a message from a browser; returns the reply.
    token : str
        A secret that is part of the page's address, without which nothing is answered; none if empty.
    largest : int
        Bytes of the largest message.
    """

    def __init__(
        self, host: str, port: int, page: Callable[[], str], state: Callable[[], News], heard: Callable[[News], News],
        *, token: str = "", largest: int = LARGEST_MESSAGE,
    ) -> None:  # fmt: skip
        self.page, self.state, self.heard = page, state, heard
        self.token, self.largest = token, largest
        self.closed = threading.Event()
        self._listeners: dict[str, queue.Queue[News | None]] = {}
        self._lock = threading.Lock()
        self.http = _listening(host, port, self)
        self.host = host
        self.port = int(self.http.server_address[1])
        self._thread = threading.Thread(target=self.http.serve_forever, args=(0.05,), name="kinetree page", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page, with its secret if there is one."""
        return f"{self.place}/?token={self.token}" if self.token else self.place

    @property
    def place(self) -> str:
        """The address without a secret, for messages to anybody."""
        host = "localhost" if self.host in EVERY_ADDRESS else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def knows(self, token: str) -> bool:
        """Return whether whoever asks knows the secret."""
        return not self.token or hmac.compare_digest(token.encode(), self.token.encode())

    def tell(self, news: News, but: str = "") -> None:
        """Send an update to all pages except the one it came from."""
        with self._lock:
            for page, waiting in self._listeners.items():
                if page != but:
                    waiting.put(news)

    def join(self, page: str) -> queue.Queue[News | None] | None:
        """Register a page for updates, replacing its earlier registration; None if there are too many."""
        waiting: queue.Queue[News | None] = queue.Queue()
        with self._lock:
            before = self._listeners.get(page)
            if before is not None:
                before.put(None)
            elif len(self._listeners) >= MOST_PAGES:
                return None
            self._listeners[page] = waiting
        waiting.put(self.state())  # without the lock: whoever tells something may be asked for this at the same time
        return waiting

    def leave(self, page: str, waiting: queue.Queue[News | None]) -> None:
        """Forget a page, unless it has registered again since."""
        with self._lock:
            if self._listeners.get(page) is waiting:
                del self._listeners[page]

    def is_own(self, host: str, reached: str) -> bool:
        """Return whether a host name belongs to this server.

        The owner of a name can make it point to this machine after a page was loaded (DNS rebinding), and a browser
        then takes both for the same site. So only names chosen here are accepted; addresses cannot be misused in this
        way.

        Parameters
        ----------
        host : str
            The host name that the browser uses, with or without a port.
        reached : str
            The address of this machine to which it is connected.
        """
        name, address = _name_and_address(host)
        if name is None:
            return False
        if self.host in EVERY_ADDRESS:
            return address is not None or name in ("localhost", socket.gethostname().lower())
        own = {self.host.lower(), reached}
        if ipaddress.ip_address(reached).is_loopback:
            own.update(LOOPBACK)
        return name in own

    def close(self) -> None:
        """Stop serving."""
        if self.closed.is_set():
            return
        self.closed.set()
        with self._lock:
            for waiting in self._listeners.values():
                waiting.put(None)
        self.http.shutdown()
        self.http.server_close()
        self._thread.join(timeout=5.0)


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # connections that are not accepted yet; with five, one more would wait for a second
    allow_reuse_address = sys.platform != "win32"  # on that system it would share a port that is in use
    owner: PageServer

    def __init__(self, *args: Any) -> None:
        self.busy = 0
        self._counting = threading.Lock()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give a connection a thread; close it immediately if there are too many."""
        with self._counting:
            self.busy += 1
            taken = self.busy <= MOST_CONNECTIONS
        if taken:
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """End a connection; this is called for each one that :meth:`process_request` has counted."""
        super().shutdown_request(request)
        with self._counting:
            self.busy -= 1

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore browsers that open connections in advance and drop them."""


class _Timely(io.RawIOBase):
    """A connection's input with a total time limit, which sending a byte now and then does not extend."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection, self.until = connection, 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.until - clock.monotonic()
        if left <= 0.0:
            raise TimeoutError("the message took too long")
        self.connection.settimeout(left)
        try:
            return self.connection.recv_into(buffer)
        finally:
            self.connection.settimeout(PATIENCE)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(PATIENCE)  # for sending
        self._arriving = _Timely(self.connection)
        self.rfile.close()
        self.rfile = io.BufferedReader(self._arriving)

    def handle_one_request(self) -> None:
        self._arriving.until = clock.monotonic() + PATIENCE
        super().handle_one_request()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""

    def parse_request(self) -> bool:
        """Read a request, and refuse those from foreign pages."""
        if not super().parse_request():
            return False
        hosts, origins = (self.headers.get_all(name, []) for name in ("Host", "Origin"))
        host = hosts[0] if len(hosts) == 1 else ""
        own = self.server.owner.is_own(host, str(self.connection.getsockname()[0]))
        if own and all(origin in (f"http://{host}", f"https://{host}") for origin in origins):
            return True
        self.close_connection = True
        self._answer(
            HTTPStatus.FORBIDDEN, {"message": f"only the viewer's own page is answered: {self.server.owner.place}"}
        )
        return False

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
        if not self.server.owner.knows(query.get("token", [""])[0]):
            self._send(HTTPStatus.FORBIDDEN, UNKNOWN.encode(), "text/plain; charset=utf-8")
        elif path == "/":
            self._send(HTTPStatus.OK, self.server.owner.page().encode(), "text/html; charset=utf-8")
        elif path == "/events":
            self._events(query.get("page", [""])[0])
        else:
            self._send(HTTPStatus.NOT_FOUND, b"There is nothing here.", "text/plain; charset=utf-8")

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        kind = self.headers.get("Content-Type", "").partition(";")[0].strip()
        # pages of other sites may not send JSON without asking first, and would get no answer
        if self.path != "/do" or kind != "application/json":
            self.close_connection = True
            self._answer(HTTPStatus.BAD_REQUEST, {"message": "only the viewer's own page is answered"})
        elif not self.server.owner.knows(self.headers.get(TOKEN, "")):
            self.close_connection = True
            self._answer(HTTPStatus.FORBIDDEN, {"message": UNKNOWN})
        elif not length.isdigit() or int(length) > self.server.owner.largest:
            self.close_connection = True
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"message": "the message is too long"})
        else:
            self._hear(self.rfile.read(int(length)))

    def _hear(self, said: bytes) -> None:
        try:
            news = json.loads(said)
            if not isinstance(news, dict):
                raise ValueError("it is not an object")
        except (ValueError, RecursionError) as problem:
            self._answer(HTTPStatus.BAD_REQUEST, {"message": f"the message cannot be read: {problem}"})
            return
        try:
            self._answer(HTTPStatus.OK, self.server.owner.heard(news))
        except (KinetreeError, ValueError, TypeError, KeyError) as problem:
            self._answer(HTTPStatus.OK, {"message": str(problem)})

    def _events(self, page: str) -> None:
        owner = self.server.owner
        self.close_connection = True
        waiting = owner.join(page)
        if waiting is None:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, {"message": f"{MOST_PAGES} pages already show this robot"})
            return
        self.send_response(HTTPStatus.OK)
        for name, value in (
            ("Content-Type", "text/event-stream"),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
        ):
            self.send_header(name, value)
        self.end_headers()
        try:
            while not owner.closed.is_set():
                try:
                    news = waiting.get(timeout=HEARTBEAT)
                except queue.Empty:
                    self.wfile.write(b": still here\n\n")
                    continue
                if news is None:
                    return
                self.wfile.write(f"data: {json.dumps(news)}\n\n".encode())
        except OSError:
            pass  # the browser has gone
        finally:
            owner.leave(page, waiting)

    def _answer(self, status: HTTPStatus, news: News) -> None:
        self._send(status, json.dumps(news).encode(), "application/json")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            for name, value in PRIVATE if self.server.owner.token else ():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)


def _name_and_address(host: str) -> tuple[str | None, str | None]:
    """Split a host header: the name without the port, in lowercase, and the same as an address if it is one."""
    try:
        parts = urlsplit(f"//{host}")
        name = (parts.hostname or "").rstrip(".")
        _ = parts.port  # refuses anything that is not an address
    except ValueError:
        return None, None
    if not name or parts.netloc != host or "@" in host:
        return None, None
    try:
        return (address := str(ipaddress.ip_address(name))), address
    except ValueError:
        return name, None


def _listening(host: str, port: int, owner: PageServer) -> _Http:
    if not (isinstance(port, int) and 0 <= port < 65536):
        raise OptionError(Message(Setting("port"), f" must be a number from 0 to 65535, not {port!r}"))
    family, address = _address(host)

    class Server(_Http):
        address_family = family

    for tried in range(port, min(port + NEXT_PORTS, 65536)) if port else [0]:
        try:
            server = Server((address, tried), _Handler)
        except (OSError, OverflowError):
            continue
        server.owner = owner
        return server
    raise OptionError(
        Message(f"no port from {port} to {min(port + NEXT_PORTS, 65536) - 1} is free: take ", Setting("port", 0))
    )


def _address(host: str) -> tuple[socket.AddressFamily, str]:
    """Return the address of a host; refuse one at which no server can listen."""
    if not isinstance(host, str):
        raise OptionError(Message(Setting("host"), f" must be the name or address of this machine, not {host!r}"))
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(address)
    except (OSError, UnicodeError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        advice = Message("give an address of this machine, ", Setting("host", "127.0.0.1"), ", or ")
        every = Message(Setting("host", "0.0.0.0"), " for all of them")
        raise OptionError(Message(f"the viewer cannot listen at {host!r} ({reason}): ", advice, every)) from None
    return family, str(address[0])
