"""Shared libraries from C: by the machine's compiler, or for other machines by that of Zig's wheel."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from ...errors import OutputError, UnknownNameError, UnsupportedError

PLATFORMS = {
    "x86_64-linux": ("linux64", "so", "x86_64-linux-gnu"),
    "x86_64-windows": ("win64", "dll", "x86_64-windows-gnu"),
    "x86_64-darwin": ("darwin64", "dylib", "x86_64-macos"),
    "aarch64-linux": ("aarch64-linux", "so", "aarch64-linux-gnu"),
    "aarch64-darwin": ("aarch64-darwin", "dylib", "aarch64-macos"),
}
"""Names of machines in FMI 3.0: the same in FMI 2.0, the ending of libraries, and the name that Zig knows."""

LONGEST_TO_OPTIMIZE = 4_000_000
"""Characters of C beyond which compilers are asked for less, because they would take minutes."""


def this_machine() -> str:
    """Return the name of this machine."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{machine}-{platform.system().lower()}"


def check_platform(name: str) -> None:
    """Refuse a machine that is not known, or for which no compiler is there."""
    if name not in PLATFORMS:
        raise UnknownNameError("platform", name, PLATFORMS)
    _compiler(name)


def _compiler(name: str) -> list[str]:
    """Return the command that compiles C for a machine."""
    if name == this_machine():
        for command in ("cc", "gcc", "clang"):
            if shutil.which(command):
                return [command]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc", "-target", PLATFORMS[name][2]]
    where = "there is no C compiler (cc) on this machine" if name == this_machine() else f"this machine is not {name}"
    raise UnsupportedError(f"{where}: Zig's compiler makes the library, pip install 'kinetree[fmu]'")


def shared_library(source: Path, library: Path, name: str) -> None:
    """Compile one file of C to a shared library for a machine.

    Raises
    ------
    OutputError
        If the compiler refuses; the message has its first complaint.
    """
    level = "-O2" if source.stat().st_size <= LONGEST_TO_OPTIMIZE else "-O1"
    options = ["-std=c99", level, "-fPIC", "-shared", "-fvisibility=hidden", "-ffp-contract=off"]
    strip = [] if "darwin" in name else ["-s"]
    mathematics = [] if "windows" in name else ["-lm"]
    command = [*_compiler(name), *options, *strip, "-o", str(library), str(source), *mathematics]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip()[:300])
        raise OutputError(f"the C compiler does not make a library for {name}: {said}")
