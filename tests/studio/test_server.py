"""Who is answered by the viewer's server, and how many at a time."""

import contextlib
import http.client
import json
import socket
import threading
import time as clock

import pytest

from kinetree_studio.view import server as served
from kinetree_studio.view.server import PageServer


@pytest.fixture
def heard():
    return []


@pytest.fixture
def server(heard):
    made = PageServer("127.0.0.1", 0, lambda: "<html>secret</html>", dict, lambda news: heard.append(news) or {})
    yield made
    made.close()


def asked(server, method="GET", path="/", *, host=None, origin=None, address="127.0.0.1"):
    """Ask as a browser does that believes to talk to ``host``; return the status and the answer."""
    connection = http.client.HTTPConnection(address, server.port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if host is not None:
            connection.putheader("Host", host)
        if origin is not None:
            connection.putheader("Origin", origin)
        body = json.dumps({"move": {}}).encode() if method == "POST" else b""
        if body:
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.read() if path != "/events" or answer.status != 200 else b""
    finally:
        connection.close()


def is_answered(server):
    try:
        return asked(server, host=f"localhost:{server.port}")[0] == 200
    except (OSError, http.client.HTTPException):  # closed at once
        return False


FOREIGN = [
    "evil.example", "evil.example:{port}", "localhost.evil.example:{port}", "127.0.0.1.evil.example:{port}",
    "10.1.2.3:{port}", "[::2]:{port}", "localhost@evil.example:{port}", "", "[", ":{port}", "localhost:{port}:1", None,
]  # fmt: skip


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/events"), ("POST", "/do")])
def test_a_page_under_a_foreign_name_is_refused(server, heard, method, path, host):
    """A name that its owner lets point to this machine (DNS rebinding) reads nothing and moves nothing."""
    host = host and host.format(port=server.port)
    status, said = asked(server, method, path, host=host, origin=f"http://{host}" if method == "POST" else None)
    assert status == 403
    assert b"secret" not in said
    assert heard == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST", "[::1]", "localhost."])
def test_a_page_of_this_machine_is_answered(server, heard, host):
    assert asked(server, host=f"{host}:{server.port}") == (200, b"<html>secret</html>")
    assert asked(server, "GET", "/events", host=f"{host}:{server.port}")[0] == 200
    status, _ = asked(server, "POST", "/do", host=f"{host}:9999", origin=f"http://{host}:9999")  # by an SSH tunnel
    assert status == 200
    assert len(heard) == 1


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:1", "http://127.0.0.1:{port}", "file://", "localhost:{port}", ""],
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/events"), ("POST", "/do")])
def test_another_pages_script_is_refused(server, heard, method, path, origin):
    there = f"localhost:{server.port}"
    assert asked(server, method, path, host=there, origin=origin.format(port=server.port))[0] == 403
    assert heard == []
    assert asked(server, method, path, host=there, origin=f"http://{there}")[0] == 200


def test_a_server_for_everybody_is_known_by_addresses_and_its_own_name():
    made = PageServer("0.0.0.0", 0, lambda: "secret", dict, lambda news: {})
    try:
        for host in ("localhost", "127.0.0.1", "192.168.7.7", socket.gethostname()):  # containers map addresses
            assert asked(made, host=f"{host}:{made.port}")[0] == 200
        for host in ("evil.example", "1.2.3.4.evil.example", "[fe80::1"):
            assert asked(made, host=f"{host}:{made.port}")[0] == 403
    finally:
        made.close()


def half_sent(server, text):
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    connection.sendall(text.format(host=f"localhost:{server.port}").encode())
    return connection


def waited_for(condition, seconds=10.0):
    until = clock.monotonic() + seconds
    while not (found := condition()) and clock.monotonic() < until:
        clock.sleep(0.01)
    return found


HALF_A_MESSAGE = "POST /do HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{{"
STREAM = "GET /events?page={{}} HTTP/1.1\r\nHost: {host}\r\n\r\n"


def test_many_connections_hold_few_threads_and_end(server, monkeypatch):
    before = threading.active_count()
    monkeypatch.setattr(served, "PATIENCE", 0.3)
    opened = []
    try:
        for k in range(100):
            opened.append(half_sent(server, HALF_A_MESSAGE))
            opened.append(half_sent(server, STREAM.replace("{{}}", str(k))))
            assert threading.active_count() - before <= served.MOST_CONNECTIONS + 8  # some are just ending
        # half-sent messages are given up, so that the page is answered again while streams go on
        assert waited_for(lambda: threading.active_count() - before <= served.MOST_PAGES)
        assert waited_for(lambda: is_answered(server))
        assert len(server._listeners) <= served.MOST_PAGES
    finally:
        for connection in opened:
            connection.close()
    server.tell({"time": 0.0})
    assert waited_for(lambda: not server._listeners)


def test_whoever_comes_too_late_is_not_kept_waiting(server, monkeypatch):
    monkeypatch.setattr(served, "MOST_CONNECTIONS", 1)
    with half_sent(server, HALF_A_MESSAGE):
        assert waited_for(lambda: server.http.busy == 1)
        assert not is_answered(server)
    assert waited_for(lambda: is_answered(server))


def test_a_message_that_trickles_in_is_given_up(server, monkeypatch):
    """A limit for each piece would let one byte now and then hold a connection for ever."""
    monkeypatch.setattr(served, "PATIENCE", 0.4)
    begin = clock.monotonic()
    with half_sent(server, HALF_A_MESSAGE) as connection, contextlib.suppress(OSError):  # closed at the other end
        while clock.monotonic() - begin < 5.0:
            connection.sendall(b" ")
            clock.sleep(0.05)
    assert clock.monotonic() - begin < 3.0


def test_a_page_that_comes_again_takes_the_place_of_itself(server):
    first = server.join("mine")
    second = server.join("mine")
    first.get(timeout=5)
    assert first.get(timeout=5) is None  # the old stream ends
    server.leave("mine", first)
    second.get(timeout=5)
    server.tell({"time": 1.0})
    assert second.get(timeout=5) == {"time": 1.0}
