"""Programs in processes of their own."""

import os
import subprocess
import sys
import textwrap


def run_alone(program: str, **environment: str | None) -> tuple[str, str]:
    """Run a program in a process of its own; return its last line and its errors. A crash or a hang fails."""
    settings = {k: v for k, v in {**os.environ, "KINETREE_BACKEND": "compiled", **environment}.items() if v is not None}
    folder = os.path.dirname(os.path.dirname(__file__))
    text = f"import sys; sys.path.insert(0, {folder!r})\n" + textwrap.dedent(program)
    done = subprocess.run(
        [sys.executable, "-c", text], env=settings, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip().splitlines()[-1], done.stderr
