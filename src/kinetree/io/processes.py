"""Helper processes that compute calls.

They are connected by pipes, which nobody else can open: a local port would be open to every account on the machine, and
whoever sends a function to it could run code as its owner. They are started as separate programs and not as copies of
this one, so a script needs no ``if __name__ == "__main__":``. They end when this process ends, for whatever reason.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import IO, Any

from ..errors import KinetreeError

TRIES = 4
"""How many processes may die on a call before it fails."""

PROGRAM = "import sys; sys.path[:] = {path!r}\nfrom {module} import serve\nserve()"

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables that limit linear algebra to one thread, since there is one process per processor."""

Call = tuple[Future[Any], bytes]


class ProcessesDiedError(Exception):
    """Raised if every process that tried a call died."""


class Processes(Executor):
    """Processes of this machine, each started when there is work for it.

    At the end of a ``with`` block they are killed, and calls that have not been computed are dropped.

    count: The most processes.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._calls: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._started: set[_Process] = set()
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """Compute ``function(*args, **named)`` in one of the processes, which must be able to import all of them."""
        future: Future[Any] = Future()
        call = pickle.dumps((function, args, named), pickle.HIGHEST_PROTOCOL)
        with self._lock:
            if self._closed:
                raise RuntimeError("these processes have ended")
            self._calls.put((future, call))
            if len(self._threads) < self.count:
                self._threads.append(threading.Thread(target=self._work, name="kinetree process", daemon=True))
                self._threads[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Kill the processes."""
        with self._lock:
            self._closed = True
            for _ in self._threads:
                self._calls.put(None)
            for process in self._started:
                process.kill()
        if wait:
            for thread in self._threads:
                thread.join()

    def _work(self) -> None:
        """Pass calls to one process, and to a new one when it dies."""
        process: _Process | None = None
        while (call := self._calls.get()) is not None:
            future, request = call
            if self._closed or not future.set_running_or_notify_cancel():
                continue
            try:
                for _ in range(TRIES):
                    process = process or self._start()
                    answer = process.ask(request)
                    if answer is not None:
                        break
                    code, process = process.stop(), None
                else:
                    raise ProcessesDiedError(f"{TRIES} processes ended while computing it, the last with code {code}")
                is_result, found = pickle.loads(answer)
                if not is_result:
                    raise found
            except BaseException as problem:
                future.set_exception(problem)
            else:
                future.set_result(found)
        if process is not None:
            process.stop()

    def _start(self) -> _Process:
        with self._lock:
            if self._closed:
                raise RuntimeError("these processes have ended")
            made = _Process()
            self._started = {old for old in self._started if old.is_alive()} | {made}
            return made


class _Process:
    """One of the processes."""

    def __init__(self) -> None:
        program = PROGRAM.format(path=sys.path, module=__name__)
        self.process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**dict.fromkeys(ONE_THREAD, "1"), **os.environ}, start_new_session=True,
        )  # fmt: skip

    def is_alive(self) -> bool:
        return self.process.poll() is None

    def ask(self, request: bytes) -> bytes | None:
        """Return the answer; None if the process has died."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            _send(self.process.stdin, request)
            return _received(self.process.stdout)
        except (OSError, ValueError):  # it died, or was stopped
            return None

    def kill(self) -> None:
        """Kill it without waiting."""
        self.process.kill()

    def stop(self) -> int:
        """Kill it; return its exit code."""
        self.kill()
        code = self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        return code


def _send(stream: IO[bytes], message: bytes) -> None:
    stream.write(len(message).to_bytes(8, "little"))
    stream.write(message)
    stream.flush()


def _received(stream: IO[bytes]) -> bytes | None:
    """Return the next message; None at the end."""
    head = stream.read(8)
    length = int.from_bytes(head, "little")
    message = stream.read(length) if len(head) == 8 else b""
    return message if len(head) == 8 and len(message) == length else None


# ------------------------------------------------------------------ on the other side


def serve() -> None:
    """Compute calls until the parent process has ended; this runs in the helper processes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Windows; the parent also gets Ctrl-C, and ends this process
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # output of the functions
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(asked, calls), daemon=True).start()
    while True:
        _send(answers, _answer(calls.get()))


def _listen(asked: IO[bytes], calls: queue.SimpleQueue[bytes]) -> None:
    while (request := _received(asked)) is not None:
        calls.put(request)
    os._exit(0)  # the parent has ended: stop even in the middle of a computation


def _answer(request: bytes) -> bytes:
    try:
        function, args, named = pickle.loads(request)
        return pickle.dumps((True, function(*args, **named)), pickle.HIGHEST_PROTOCOL)
    except Exception as problem:
        try:
            said = pickle.dumps((False, problem), pickle.HIGHEST_PROTOCOL)
            pickle.loads(said)
        except Exception:
            said = pickle.dumps((False, KinetreeError(f"{type(problem).__name__}: {problem}")))
        return said
