"""Build the wheel, install it where nothing else is, and do what a stranger does first.

    python tools/check_wheel.py             dist/ holds the wheel afterwards

Needs pip and a way to the packages that kinetree depends on.  Neither the clone nor its environment is seen by what
is run: another folder, an environment of its own, no PYTHONPATH, a cache of its own.
"""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "src/kinetree", "gallery/kinetree_gallery", "programs/kinetree_programs", "studio/kinetree_studio",
    "learning/kinetree_learning", "optimize/kinetree_optimize", "design/kinetree_design", "sweeps/kinetree_sweeps",
    "gallery/kinetree_books",
)  # fmt: skip
COMMANDS = (
    ("--version",), ("list",), ("info", "kuka-kr5"), ("doctor",),
    ("simulate", "kuka-kr5", "--time", "0.1", "-o", "motion.csv"),
)  # fmt: skip
"""What is tried of the command line with nothing installed but the core."""


def main() -> None:
    """Build, look into it, install, run."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        wheel = build(place / "dist")
        look_into(wheel)
        python = install(wheel, place / "environment")
        try_it(python, place / "elsewhere")
        (ROOT / "dist").mkdir(exist_ok=True)
        shutil.copy2(wheel, ROOT / "dist")
    print(f"dist/{wheel.name}: built, installed alone, and used")


def build(folder: Path) -> Path:
    """Build the wheel of the clone."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    return next(folder.glob("kinetree-*.whl"))


def look_into(wheel: Path) -> None:
    """Require that it holds what the repository holds of the packages, and a description that can be read elsewhere."""
    archive = zipfile.ZipFile(wheel)
    held = {name for name in archive.namelist() if ".dist-info/" not in name}
    command = ["git", "ls-files", *PACKAGES]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    kept = {line.partition("/")[2] for line in listed.stdout.splitlines() if (ROOT / line).exists()}
    demand(held >= kept, f"the wheel lacks {sorted(kept - held)[:5]}")
    demand(not held - kept, f"the wheel holds what is not in the repository: {sorted(held - kept)[:5]}")
    metadata = email.message_from_bytes(archive.read(next(n for n in archive.namelist() if n.endswith("/METADATA"))))
    relative = re.findall(r"\]\((?!https?://|#)[^)]*\)", str(metadata.get_payload()))
    demand(not relative, f"links of the description that lead nowhere without the clone: {relative[:5]}")


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel into an empty environment; return its Python."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
    return python


def try_it(python: Path, folder: Path) -> None:
    """Run the README's first example and the command line, far from the clone."""
    folder.mkdir()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    demand(example is not None, "the README has no example")
    run(python, "-c", example[1] if example else "", folder=folder)
    for command in COMMANDS:
        run(python, "-m", "kinetree.cli", *command, folder=folder)
    demand((folder / "motion.csv").exists(), "kinetree simulate wrote nothing")


def run(*command: object, folder: Path | None = None) -> None:
    """Run a program that must succeed; what it printed is shown only if it does not."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KINETREE"))}
    if folder is not None:
        environment["KINETREE_CACHE"] = str(folder.parent / "cache")
    words = [str(word) for word in command]
    ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    demand(ended.returncode == 0, f"{' '.join(words)[:200]}\n{ended.stdout}{ended.stderr}")


def demand(holds: bool, otherwise: str) -> None:
    """Leave with a reason if something does not hold."""
    if not holds:
        sys.exit(f"check_wheel: {otherwise}")


if __name__ == "__main__":
    main()
