"""MuJoCo's compiler in a separate process.

A file could crash Python if MuJoCo ran in this process: its parser faults on some files, and after an unexpected error
it hangs when called again. So a helper process compiles files and sends the models back as bytes. If it dies or takes
too long, an error about the file is raised.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from ...errors import FileFormatError
from .mjcf_compile import Compiled, import_mujoco
from .mjcf_compile import compiled as compiled_here
from .mjcf_dangers import refuse_dangers
from .source import Source

MOST_SECONDS = 120
"""Seconds that a file may take to compile."""

LONGEST_LINE = 1 << 20
"""The most bytes of an answer, without the model."""

SERVER = """
import sys, types
sys.path[:] = {path!r}
for name, places in {packages!r}.items():  # whose own text would import all of kinetree
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = places
from {module} import serve
serve()
"""
"""The program of the helper process; it imports only what compiling needs, and so starts in half the time."""


def start() -> None:
    """Start the helper process if there is none; MuJoCo may be imported here meanwhile."""
    with _lock:
        _helper().start()


def compiled(mujoco: Any, source: Source) -> Compiled:
    """Compile a file without risk to this process."""
    refuse_dangers(source)
    with _lock:
        answer = _helper().ask(source)
    if answer is None:  # processes cannot be started on this system
        try:
            return compiled_here(mujoco, source)
        except RuntimeError as problem:
            raise FileFormatError(f"MuJoCo cannot compile it: {problem}", source.file) from None
    about, model = answer
    if "error" in about:
        raise FileFormatError(about["error"], source.file, about["line"])
    return Compiled(
        mujoco.MjModel.from_binary_path("model.mjb", {"model.mjb": model}),
        about["missing"],
        [(name, mesh, welded) for name, mesh, welded in about["weightless"]],
    )


# ------------------------------------------------------------------ on this side


class _Helper:
    """The helper process, which is started when it is first needed, and again if it has died."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.process: subprocess.Popen[bytes] | None = None
        self.greeted = False

    def start(self) -> None:
        """Start the process, without waiting until it is ready."""
        if self.process is not None and self.process.poll() is None:
            return
        self.stop()
        parts = __name__.split(".")[:-1]
        names = [".".join(parts[: k + 1]) for k in range(len(parts))]
        packages = {name: list(sys.modules[name].__path__) for name in names}
        command = [sys.executable, "-c", SERVER.format(path=sys.path, packages=packages, module=__name__)]
        with suppress(OSError, TypeError, ValueError):
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )

    def ask(self, source: Source) -> tuple[dict[str, Any], bytes] | None:
        """Return its answer about a file, and the model; None if there can be no such process."""
        self.start()
        process = self.process
        if process is None:
            return None
        timer = threading.Timer(MOST_SECONDS, process.kill)
        timer.start()
        whole = False
        try:
            if not self.greeted and _line(process) != GREETING:
                return None  # something other than Python was started, as if Python is embedded in another program
            self.greeted = True
            answer = _exchange(process, {"path": os.path.abspath(source.path)})
            whole = not answer[0].get("spoilt")
            return answer
        except (OSError, ValueError):
            why = f"it took more than {MOST_SECONDS} s" if not timer.is_alive() else "it died"
            raise FileFormatError(f"MuJoCo cannot compile it: {why}", source.file) from None
        finally:
            timer.cancel()
            if not whole:  # also when the user interrupts
                self.stop()

    def stop(self) -> None:
        """Kill the process."""
        process, self.process, self.greeted = self.process, None, False
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with suppress(OSError):
                    if stream is not None:
                        stream.close()


def _line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline(LONGEST_LINE)


def _exchange(process: subprocess.Popen[bytes], request: dict[str, str]) -> tuple[dict[str, Any], bytes]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    about = json.loads(_line(process))
    model = process.stdout.read(about["bytes"])
    if len(model) != about["bytes"]:
        raise ValueError("the model is incomplete")
    return about, model


GREETING = b"kinetree compiles MJCF\n"

_lock = threading.Lock()
_known: list[_Helper] = []


def _helper() -> _Helper:
    """Return the helper process; after a fork a new one, since the old one listens to the parent."""
    if not _known or _known[0].owner != os.getpid():
        _known[:] = [_Helper()]
    return _known[0]


@atexit.register
def _stop() -> None:
    for helper in _known:
        if helper.owner == os.getpid():
            helper.stop()


# ------------------------------------------------------------------ on the other side


def serve() -> None:
    """Compile files as long as requests come; this runs in the helper process."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # MuJoCo prints its warnings
    mujoco = import_mujoco("MJCF")
    mujoco.set_mju_user_warning(lambda message: None)  # MuJoCo would write them to a file in the user's folder
    answers.write(GREETING)
    answers.flush()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        _answer(answers, mujoco, Source(Path(request["path"]), b""))


def _answer(answers: IO[bytes], mujoco: Any, source: Source) -> None:
    about: dict[str, Any]
    model = b""
    try:
        found = compiled_here(mujoco, source)
        buffer = np.zeros(mujoco.mj_sizeModel(found.model), np.uint8)
        mujoco.mj_saveModel(found.model, None, buffer)
        model = buffer.tobytes()
        about = {"missing": found.missing, "weightless": found.weightless}
    except FileFormatError as problem:
        place = source.file if problem.line is None else f"{source.file}, line {problem.line}"
        about = {"error": str(problem).removeprefix(f"{place}: "), "line": problem.line}
    except (RuntimeError, MemoryError) as problem:  # MuJoCo cannot be trusted after this
        about = {"error": f"MuJoCo cannot compile it: {problem}", "line": None, "spoilt": True}
    answers.write(json.dumps(about | {"bytes": len(model)}).encode() + b"\n" + model)
    answers.flush()
