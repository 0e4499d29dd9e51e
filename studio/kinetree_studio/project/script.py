"""Python code that does what was done in the studio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kinetree.model.formats import yaml as yaml_format
from kinetree.model.formats.source import Options, Source
from kinetree.robot.make import make
from kinetree.robot.robot import Robot

from .runs import StudioRun

HEAD = '''"""What was done in kinetree's studio."""
{imports}
import numpy as np

import kinetree as kt
'''

KEPT = "folder = Path(tempfile.mkdtemp())"


def script(text: str, runs: Sequence[StudioRun], known: Mapping[str, str]) -> str:
    """Return Python code that loads the robot and repeats the runs.

    Parameters
    ----------
    text : str
        The robot as it is now.
    runs : sequence of StudioRun
    known : mapping of str to str
        Texts of robots that :func:`kinetree.load` finds, with what it is called with; others are part of the code.
    """
    texts = list(dict.fromkeys([*(run.text for run in runs), text]))
    blocks, unknown = list[str](), [own for own in texts if own not in known]
    names = {own: f"robot_{k + 1}" if len(texts) > 1 else "robot" for k, own in enumerate(texts)}
    names[text] = "robot"
    robots: dict[str, Robot] = {}
    for own in texts:
        file = f"folder / {names[own] + '.yaml'!r}"
        if own in known:
            blocks.append(f"{names[own]} = kt.load({known[own]!r})")
        else:
            blocks.append(f"({file}).write_text({_literal(own)})\n{names[own]} = kt.load({file})")
        robots[own] = make(yaml_format.read(Source(Path("robot.yaml"), own.encode()), Options()))
        blocks += ["\n".join(run.lines(names[own], robots[own])) for run in runs if run.text == own]
    head = HEAD.format(imports="\nimport tempfile\nfrom pathlib import Path\n" if unknown else "")
    return "\n\n".join([head.rstrip(), *([KEPT] if unknown else []), *blocks]) + "\n"


def _literal(text: str) -> str:
    """Return a text as Python writes it, on several lines if it can be."""
    inside = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\\\n{inside}"""' if text.endswith("\n") else repr(text)
