"""``kinetree cost``: operation counts of every algorithm, with published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from .shared import GivenRobot, Json, make_console, messages, new_table, print_json, takes_robot

if TYPE_CHECKING:
    from .. import costs
    from ..robot.robot import Robot


@takes_robot
def cost(
    given: GivenRobot,
    formulas: Annotated[
        bool, typer.Option(help="Also find formulas in n, by counting general chains; takes a few seconds.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Count the operations of every algorithm, and compare with published counts.

    Multiplications (M), additions (A) and other operations are counted after everything known about this robot, such as
    zeros in its geometry, has been used; its parameters are not regrouped. Published formulas are for robots in
    general.

    For example:

        kinetree cost kuka-kr5
    """
    from .. import costs
    from ..studies.sources import cited

    robot = given.load()
    counted, compared = costs.all_costs(robot), costs.published(robot)
    fits = _fits() if formulas else []
    if as_json:
        print_json(_cost_data(robot, counted, compared, fits))
        return
    console = make_console()
    console.print(_counted_table(robot, counted))
    for row in counted:
        if row.operations is None:
            console.print(f"[dim]{row.name}: {escape(row.reason)}[/]", soft_wrap=True)
    if robot.loops is not None:
        closed = (
            "inverse and forward dynamics include the closed loops; everything else, and the published counts, "
            "do not. robot.tree.cost(...) counts what only the opened tree has, such as derivatives"
        )
        console.print(f"[dim]{closed}[/]", soft_wrap=True)
    console.print(_published_table(robot, counted, compared))
    if any(row.without_bias for row, _ in compared):
        console.print("[dim]* with the bias force given, which takes one more inverse dynamics[/]")
    for word, title in cited(*(row.source for row, _ in compared)).items():
        console.print(f"[dim]{word}: {escape(title)}[/]", soft_wrap=True, highlight=False)
    if fits:
        console.print(_fitted_table(fits))


def _fits() -> list[costs.Fitted]:
    from .. import costs

    status = messages()
    if not status.is_terminal:
        return costs.all_fits()
    with status.status("counting general chains"):
        return costs.all_fits()


def _options(options: Mapping[str, Any]) -> str:
    shown = {k: ", ".join(v) if k == "frames" else v for k, v in options.items() if k != "known"}
    return ", ".join(f"{k}={v}" for k, v in shown.items())


def _counted_table(robot: Robot, counted: Sequence[costs.Costed]) -> Table:
    columns = ("algorithm", ">M", ">A", ">divisions", ">sines", ">roots", ">others", ">total")
    table = new_table(f"Operations of one evaluation on {escape(robot.name)}", *columns)
    for name, options, count, _ in counted:
        label = name + (f" [dim]{escape(_options(options))}[/]" if options else "")
        if count is None:
            table.add_row(label, *["-"] * 7)
            continue
        numbers = (
            count.multiplications, count.additions, count.divisions, count.sines, count.square_roots, count.others,
            count.total,
        )  # fmt: skip
        table.add_row(label, *(str(x) for x in numbers))
    return table


def _published_table(robot: Robot, counted: Sequence[costs.Costed], compared: Sequence[costs.Compared]) -> Table:
    from .. import costs

    v = costs.joint_variables(robot)
    base = "floating base" if robot.is_floating else "fixed base"
    title = (
        f"Published for revolute joints, {base}, n = {v.n} (n1 = {v.n1}, n2 = {v.n2}, n3 = {v.n3}); M with divisions"
    )
    table = new_table(title, "algorithm", "by", "M", "A", "for this n", "printed in")
    for algorithm in dict.fromkeys(row.algorithm for row, _ in compared):
        for name, options, count, _ in counted:
            if name == algorithm and count is not None:
                ours = f"{count.multiplications + count.divisions}M {count.additions}A"
                table.add_row(name, f"kinetree {escape(_options(options))}", "", "", ours, "counted", style="bold")
        for row, value in compared:
            if row.algorithm == algorithm:
                star = "*" if row.without_bias else ""
                formulas = str(row.multiplications), str(row.additions)
                table.add_row(algorithm + star, row.author, *formulas, str(value), row.source)
    return table


def _fitted_table(fits: Sequence[costs.Fitted]) -> Table:
    title = "kinetree on general chains, n joint variables"
    table = new_table(title, "algorithm", "joints", "M", "A", "divisions", "for n from")
    for f in fits:
        joint = f.joint + (" as hinges" if f.single else "")
        formulas = (f.multiplications, f.additions, f.divisions)
        table.add_row(f.algorithm, joint, *(str(x) for x in formulas), str(f.valid_from))
    return table


def _cost_data(
    robot: Robot, counted: Sequence[costs.Costed], compared: Sequence[costs.Compared], fits: Sequence[costs.Fitted]
) -> dict[str, Any]:
    from .. import costs
    from ..studies.sources import cited

    return {
        "robot": robot.name,
        "joint_variables": costs.joint_variables(robot)._asdict(),
        "floating_base": robot.is_floating,
        "algorithms": [
            {"name": c.name, "options": dict(c.options)}
            | (c.operations.to_dict() if c.operations is not None else {"unavailable": c.reason})
            for c in counted
        ],
        "sources": cited(*(row.source for row, _ in compared)),
        "published": [
            {
                "algorithm": row.algorithm, "author": row.author, "source": row.source, "note": row.note,
                "without_bias": row.without_bias,
                "formulas": {"M": str(row.multiplications), "A": str(row.additions)},
                "M": float(value.multiplications), "A": float(value.additions),
            }
            for row, value in compared
        ],
        "fitted": [
            {
                "algorithm": f.algorithm, "joint": f.joint, "as_hinges": f.single, "valid_from": f.valid_from,
                "checked_to": f.checked_to,
                "formulas": {"M": str(f.multiplications), "A": str(f.additions), "divisions": str(f.divisions)},
            }
            for f in fits
        ],
    }  # fmt: skip
