"""The Acma SR400 of 004: one parallelogram, 42 base parameters, operation counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ....export import published
from ....export.cost import cost
from ....model.mass import MassProperties
from ....robot.mechanism import Mechanism
from ....robot.robot import Robot
from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.loops import sizes
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay
from ...plots import Bars, Curve, Curves, PlotPanel
from ...study import Fact, Outcome, Study
from .. import load
from .system import close

Array = np.ndarray

ACTIVE = tuple(f"joint_{k}" for k in (1, 2, 4, 5, 6, 7))

PARAMETERS = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")

WITHOUT_EFFECT = (
    "XX1", "XY1", "XZ1", "YY1", "YZ1", "MX1", "MY1", "MZ1", "M1", "MZ2", "MZ7",
)  # fmt: skip

GENERAL = MassProperties.of(
    2.0, (0.0625, 0.15625, 0.21875), (0.8125, 0.9375, 0.6875, 0.03125, 0.046875, 0.078125), about="origin"
)
"""All ten numbers different from zero."""

SYMMETRIC = MassProperties.of(2.0, (0.0625, 0.0, 0.0), (0.8125, 0.9375, 0.6875, 0.0, 0.0, 0.0))
"""Axes of symmetry along the link's: no products of inertia, mass center on the x axis."""


def _stated(along: PrescribedMechanism) -> list[Fact]:
    mechanism, (q, v, a) = along.mechanism, along.states
    rng = np.random.default_rng(8)
    some = q[:: max(1, len(q) // 20)]
    closed = mechanism.close(some + 0.1 * rng.standard_normal(some.shape), fixed=list(ACTIVE))
    t2, t3, t7, t8 = closed[:, 1], closed[:, 2], closed[:, 6], closed[:, 7]
    tree, tau = mechanism.tree.inverse_dynamics(q, v, a), along.forces.tau
    by_hand = tree.copy()
    by_hand[:, 1] += tree[:, 7] - tree[:, 2]
    by_hand[:, 6] += tree[:, 2] - tree[:, 7]
    by_hand[:, [2, 7]] = 0.0
    return [
        Fact("moving links, joints, loops", (8, 9, 1), sizes(mechanism), source="004 example 10.1"),
        Fact("closed, theta3 = pi/2 - theta2 + theta7; largest difference", 1e-9,
             float(np.abs(t3 - np.pi / 2 + t2 - t7).max()), "rad", relation="<", source="004 example 7.1"),
        Fact("closed, theta8 = theta2 - theta7; largest difference", 1e-9, float(np.abs(t8 - t2 + t7).max()), "rad",
             relation="<", source="004 example 7.1"),
        Fact("torques are those of the tree, with Gamma2 + Gamma8 - Gamma3 and Gamma7 + Gamma3 - Gamma8; largest "
             "difference", 1e-9, float(np.abs(tau - by_hand).max()), "N m", relation="<",
             source="004 eq. 10.40, example 10.1"),
    ]  # fmt: skip


def energy_columns(mechanism: Mechanism, q: Array, v: Array) -> tuple[list[str], Array]:
    """Return energy per unit of each inertial parameter, less what it is in the first state.

    A parameter acts on the motion through its column, and only through how it varies (004 section 10.3).

    Returns
    -------
    names : list of str
        XX1, ..., M8, then rotors' inertias IA1, ...
    columns : ndarray, shape (states, parameters)
    """
    gravity = np.array(mechanism.model.gravity)
    names, columns = [], []
    for k, body in enumerate(mechanism.body_names, 1):
        twist = np.einsum("nij,nj->ni", mechanism.tree.jacobian(q, body), v)
        w, u = twist[:, :3], twist[:, 3:]
        pose = mechanism.pose(q, body)
        x, y, z = w.T
        columns += [0.5 * x * x, x * y, x * z, 0.5 * y * y, y * z, 0.5 * z * z]
        columns += list((np.cross(u, w) - gravity @ pose[:, :3, :3]).T)
        columns.append(0.5 * (u * u).sum(axis=-1) - pose[:, :3, 3] @ gravity)
        names += [f"{name}{k}" for name in PARAMETERS]
    for name in ACTIVE:
        rate = v[:, mechanism.joint(name).v_slice.start]
        columns.append(0.5 * rate * rate)
        names.append(f"IA{name.removeprefix('joint_')}")
    table = np.stack(columns, axis=-1)
    return names, table - table[:1]


def _random_states(count: int) -> tuple[Array, Array]:
    """Return closed states anywhere, the first at rest."""
    rng = np.random.default_rng(0)
    angles, rates = rng.uniform(-np.pi, np.pi, (6, count)), rng.standard_normal((6, count))
    rates[:, 0] = 0.0
    q = np.stack(close(*angles), axis=-1)
    _, r2, _, _, _, r7 = rates
    v = np.stack([rates[0], r2, r7 - r2, *rates[2:5], r7, r2 - r7], axis=-1)
    return q, v


def _parameters(quick: bool) -> Outcome:
    mechanism = load("sr400")
    assert isinstance(mechanism, Mechanism)
    names, table = energy_columns(mechanism, *_random_states(200 if quick else 600))
    length = np.linalg.norm(table, axis=0)
    without = [name for name, size in zip(names, length, strict=True) if size < 1e-9]
    values = np.linalg.svd(table / np.where(length < 1e-9, 1.0, length), compute_uv=False)
    base = int((values > 1e-9 * values[0]).sum())
    grouped = len(names) - base - len(without)
    facts = [
        Fact("inertial parameters: ten per link and six rotors", 86, len(names), source="004 example 10.2"),
        Fact("base parameters", 42, base, source="004 example 10.2, Table 10.2"),
        Fact("parameters without effect", 11, len(without), source="004 example 10.2"),
        Fact("namely", ", ".join(WITHOUT_EFFECT), ", ".join(without), source="004 L548"),
        Fact("parameters that can be grouped with others", 33, grouped, source="004 example 10.2"),
        Fact("gap between the last singular value that counts and the first that does not", 1e9,
             float(values[base - 1] / values[base]), relation=">"),
    ]  # fmt: skip
    remark = (
        "The energy is linear in the inertial parameters. The rank of its columns, sampled over random closed states, "
        "is the number of parameters that the motion can tell apart: found by numbers here, by grouping rules in the "
        "source."
    )
    shown = {"parameter": names, "length of column": length, "singular value": values}
    figure = Curves(
        np.arange(1, len(values) + 1), [PlotPanel("singular value", [Curve("", np.maximum(values, 1e-17))], log=True)],
        f"Singular values of the energy's columns: {base} count, the others are rounding.", "number",
    )  # fmt: skip
    return Outcome(facts, {"columns": shown}, {}, {"rank": figure}, [remark])


def _counts(quick: bool) -> Outcome:
    tree = load("sr400")
    assert isinstance(tree, Mechanism)
    measured = {
        "standard parameters": _count(tree, GENERAL),
        "standard parameters, symmetric links": _count(tree, SYMMETRIC),
    }
    facts = []
    for name, (m, a) in measured.items():
        stated = published.TABLE_10_3[name]
        facts.append(
            Fact(f"{name}: our multiplications and additions, not more than", tuple(float(x) for x in stated), (m, a),
                 holds=m <= stated.multiplications and a <= stated.additions, source="004 Table 10.3")
        )  # fmt: skip
    remark = (
        "Counted is the code that runs: constants folded, zeros skipped, what occurs twice computed once, with the "
        "three additions that turn the tree's torques into the mechanism's. The source's two rows with base parameters "
        "(304M 326A and 243M 118A) have no counterpart, since a model here has masses and mass centers, not grouped "
        "parameters. Which symmetry the source assumes is not said; ours is a link whose mass center lies on x and "
        "whose products of inertia vanish."
    )
    rows = {
        "case": list(published.TABLE_10_3),
        "published M": [float(x.multiplications) for x in published.TABLE_10_3.values()],
        "published A": [float(x.additions) for x in published.TABLE_10_3.values()],
        "kinetree M": [float(measured[name][0]) if name in measured else np.nan for name in published.TABLE_10_3],
        "kinetree A": [float(measured[name][1]) if name in measured else np.nan for name in published.TABLE_10_3],
    }
    cases = [name.replace(", ", ",\n").replace(" parameters", "\nparameters") for name in published.TABLE_10_3]
    series = {name: column for name, column in rows.items() if name != "case"}
    bars = Bars(cases, series, "operations", "Multiplications (M) and additions (A) of inverse dynamics.")  # type: ignore[arg-type]
    return Outcome(facts, {"operations": rows}, {}, {"operations": bars}, [remark])


def _count(mechanism: Mechanism, mass: MassProperties) -> tuple[int, int]:
    """Count inverse dynamics of the tree with other masses, and what closing the loop adds."""
    model = mechanism.tree.model
    bodies = tuple(replace(body, mass_properties=mass) for body in model.bodies)
    counted = cost(Robot(replace(model, bodies=bodies)), "inverse_dynamics")
    return counted.multiplications + counted.divisions, counted.additions + 3


DEAD = (
    "At 0.77 s the lever comes in line with the upper arm: the parallelogram lies flat, and its loop would let it go "
    "on as an antiparallelogram, too. The simulation ends before."
)

STUDY = Study.of(
    "sr400",
    {
        "inverse": inverse("sr400", _stated),
        "replay": replay("sr400"),
        "free-fall": free_fall("sr400", 0.7, until=DEAD),
        "parameters": _parameters,
        "counts": _counts,
    },
)
