"""``kinetree equations``: the equations of motion, as text or as LaTeX."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from ..io.atomic_files import beside
from .shared import GivenRobot, make_console, note, takes_robot

MANY = 3
"""The most freedoms of robots whose equations are simplified without asking; six take more than 200 s."""


@takes_robot
def equations(
    given: GivenRobot,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write.", show_default="none: they are printed")
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Write LaTeX instead of plain text.")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="Write fractions instead of decimals: 981/100.")] = False,
    simplify: Annotated[
        bool | None,
        typer.Option(
            "--simplify/--no-simplify",
            help="Simplify; long equations take minutes for that.",
            show_default=f"up to {MANY} freedoms",
        ),
    ] = None,
) -> None:
    """Show the equations of motion of a small robot, as text or as LaTeX.

    They are M(q) a + c(q, v) + g(q) = tau, entry by entry; q1, q2, ... are the positions of the joints in the order of
    `kinetree info`, v1, v2, ... their rates, a1, a2, ... accelerations. For a mechanism with loops, phi(q) = 0 are its
    loops, K is their derivative, and lambda are the forces that close them. A file that ends in .tex is LaTeX; the
    lines need the package amsmath. SymPy must be installed: pip install 'kinetree[symbolic]'.

    For example:

        kinetree equations two-link
        kinetree equations arm.urdf --locked wrist,finger --latex
        kinetree equations four-bar -o four-bar.tex
    """
    robot = given.load()
    if simplify is None and robot.nv > MANY:
        note(f"the equations of {robot.nv} freedoms are not simplified, which can take minutes; --simplify does it")
    found = robot.equations(
        numbers="exact" if exact else "float", simplify=robot.nv <= MANY if simplify is None else simplify
    )
    text = found.latex() if latex or (output is not None and output.suffix.lower() == ".tex") else str(found)
    if output is None:
        make_console().print(escape(text), soft_wrap=True)
        return
    with beside(output) as place:
        place.write_text(f"{text}\n", encoding="utf-8", newline="\n")
    make_console().print(f"wrote {escape(str(output))}", soft_wrap=True)
