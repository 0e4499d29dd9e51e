"""The Acma SR400 of Khalil: one parallelogram, 42 base parameters, operation counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kinetree.export.operation_counts import cost
from kinetree.model.mass import MassProperties
from kinetree.model.pose import Pose
from kinetree.parameters.base_parameters import BaseParameters
from kinetree.robot.mechanism import Mechanism
from kinetree.robot.robot import Robot
from kinetree.spatial.arrays import Array
from kinetree.studies.fact_files import Values, stated
from kinetree.studies.facts import Fact
from kinetree.studies.named_systems import load
from kinetree.studies.plots import Bars, Curve, Curves, PlotPanel
from kinetree.studies.study import Outcome, Study
from kinetree_books import published_counts

from ...analyses.free_fall import free_fall
from ...analyses.inverse_dynamics import inverse
from ...analyses.prescribed import PrescribedMechanism
from ...analyses.replay import replay
from . import table_10_2
from .system import START, close

ACTIVE = tuple(f"joint_{k}" for k in (1, 2, 4, 5, 6, 7))

PARAMETERS = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M")

LENGTHS = (0.15, 0.8, 0.1, 0.4, 1.0)
"""d2, d3, d4, d8 and RL4 of the model."""

GENERAL = MassProperties.of(
    2.0, (0.0625, 0.15625, 0.21875), (0.8125, 0.9375, 0.6875, 0.03125, 0.046875, 0.078125), about="origin"
)
"""All ten numbers different from zero."""

SYMMETRIC = MassProperties.of(2.0, (0.0, 0.0, 0.0), (0.8125, 0.9375, 0.6875, 0.0, 0.0, 0.0))
"""Three planes of symmetry through the joint: no products of inertia, mass center on the joint's axis."""

ON_X = MassProperties.of(2.0, (0.0625, 0.0, 0.0), (0.8125, 0.9375, 0.6875, 0.0, 0.0, 0.0))
"""A weaker symmetry: no products of inertia, mass center on the x axis."""

LONGER = (0.1, 1.1, 0.0)
"""Where joint 4 sits when operations are counted: RL4 is one meter in the model, and nobody multiplies by one."""


def _stated(along: PrescribedMechanism) -> Values:
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
    return {
        "theta3": t3 - np.pi / 2 + t2 - t7, "theta8": t8 - t2 + t7, "by_tree": tau - by_hand,
    }  # fmt: skip


def energy_columns(mechanism: Robot, q: Array, v: Array) -> tuple[list[str], Array]:
    """Return energy per unit of each inertial parameter, minus that in the first state.

    A parameter acts on the motion through its column, and only through how it varies (Khalil section 10.3).

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
    """Return random closed states, the first at rest."""
    rng = np.random.default_rng(0)
    angles, rates = rng.uniform(-np.pi, np.pi, (6, count)), rng.standard_normal((6, count))
    rates[:, 0] = 0.0
    q = np.stack(close(*angles), axis=-1)
    _, r2, _, _, _, r7 = rates
    v = np.stack([rates[0], r2, r7 - r2, *rates[2:5], r7, r2 - r7], axis=-1)
    return q, v


METHODS = {"rules": "by the rules of Khalil", "null_space": "by null spaces and QR", "qr": "by QR"}


def letters(mechanism: Robot) -> dict[str, str]:
    """Return Khalil's names of the parameters: XX1, ..., M8, IA1, ..."""
    found = {
        f"{body}.{symbol}": f"{symbol}{k}" for k, body in enumerate(mechanism.body_names, 1) for symbol in PARAMETERS
    }
    return found | {f"joint_{k}.rotor_inertia": f"IA{k}" for k in range(1, 9)}


def groups(mechanism: Robot, base: BaseParameters) -> dict[str, dict[str, float]]:
    """Return what is grouped into which base parameter, in Khalil's notation."""
    name = letters(mechanism)
    return {
        name[kept]: {name[other]: x for other, x in base.group(kept).items() if other != kept} for kept in base.names
    }


def _difference(stated: table_10_2.Equations, found: dict[str, dict[str, float]]) -> float:
    """Return the largest difference of two sets of coefficients; those not stated are zero."""
    return max(
        abs(stated.get(kept, {}).get(other, 0.0) - found.get(kept, {}).get(other, 0.0))
        for kept in {*stated, *found}
        for other in {*stated.get(kept, {}), *found.get(kept, {})} or {"M1"}
    )


def _parameters(quick: bool) -> Outcome:
    mechanism = load("sr400")
    name, near = letters(mechanism), close(*START)
    facts, shown = [], {}
    for method, how in METHODS.items():
        base = mechanism.base_parameters(method, q_guess=near)
        counts = (len(base.considered), len(base), len(base.without_effect), len(base.grouped))
        found = groups(mechanism, base)
        facts += stated(
            "sr400", "parameters.methods", counts=counts, how=how, kept=" ".join(name[x] for x in base.names),
            stated_kept=" ".join(table_10_2.KEPT), without_effect=" ".join(name[x] for x in base.without_effect),
            stated_without=" ".join(table_10_2.WITHOUT_EFFECT), grouped=" ".join(name[x] for x in base.grouped),
            stated_grouped=" ".join(table_10_2.GROUPED), equations=_difference(table_10_2.equations(*LENGTHS), found),
        )  # fmt: skip
        shown[method] = base
    printed = table_10_2.misprints(*LENGTHS)
    exact = groups(mechanism, shown["rules"])
    for kept, reason in (
        ("ZZ1", "a misprint: d2 and d3 are exchanged before the masses of links 2 to 6; the derivation has them right"),
        ("MY3", "a misprint: the derivation of link 4, eleven lines above, has - d8/d3 MX8, and numbers confirm it"),
    ):
        facts += stated(
            "sr400", "parameters.summary", difference=_difference({kept: printed[kept]}, {kept: exact[kept]}),
            kept=kept, reason=reason,
        )  # fmt: skip
    names, table = energy_columns(mechanism, *_random_states(200 if quick else 600))
    length = np.linalg.norm(table, axis=0)
    values = np.linalg.svd(table / np.where(length < 1e-9, 1.0, length), compute_uv=False)
    rank = int((values > 1e-9 * values[0]).sum())
    facts += stated(
        "sr400", "parameters", rank=rank, gap=values[rank - 1] / values[rank], bound=shown["rules"].upper_bound or 0
    )
    remark = (
        "Four ways: the grouping rules of the source; null spaces handed on from joint to joint, with numbers for what "
        "the loop adds; numbers alone, from torques of random closed states; and the rank of the energy's columns, "
        "since energy is linear in the inertial parameters. All this is for the parallelogram: crossed, the same links "
        "have 50 base parameters."
    )
    columns = {"parameter": names, "length of column": length, "singular value": values}
    base = shown["rules"]
    grouped = {
        "base parameter": [name[x] for x in base.names],
        "value": base.values,
        "grouped into it": [" ".join(f"{x:+.4g} {other}" for other, x in exact[name[k]].items()) for k in base.names],
    }
    figure = Curves(
        np.arange(1, len(values) + 1), [PlotPanel("singular value", [Curve("", np.maximum(values, 1e-17))], log=True)],
        f"Singular values of the energy's columns: {rank} count, the others are rounding.", "number",
    )  # fmt: skip
    return Outcome(facts, {"columns": columns, "groups": grouped}, {}, {"rank": figure}, [remark])


def _counts(quick: bool) -> Outcome:
    measured = {
        "standard parameters": _count(GENERAL, grouped=False),
        "base parameters": _count(GENERAL, grouped=True),
        "standard parameters, symmetric links": _count(SYMMETRIC, grouped=False),
        "base parameters, symmetric links": _count(SYMMETRIC, grouped=True),
    }
    facts = []
    for name, (m, a) in measured.items():
        stated = published_counts.TABLE_10_3[name]
        facts.append(
            Fact(f"{name}: our multiplications and additions, not more than", tuple(float(x) for x in stated), (m, a),
                 holds=m <= stated.multiplications and a <= stated.additions, source="Khalil Table 10.3")
        )  # fmt: skip
    weaker = [_count(ON_X, grouped=grouped) for grouped in (False, True)]
    remark = (
        "Counted is straight-line code: constants folded, zeros skipped, what occurs twice computed once, with the "
        "three additions that turn the tree's torques into the mechanism's, and without rotors, of which each that "
        "stays adds 1M 1A. Grouped links have no extent along their hinge (ZZ = XX + YY) where the source sets YY to "
        "zero, and have mass in place of a first moment where that costs less. Which symmetry the source assumes is "
        "not said; ours has three planes of symmetry through the joint. With the mass center anywhere on x it is "
        f"{weaker[0][0]}M {weaker[0][1]}A with standard and {weaker[1][0]}M {weaker[1][1]}A with base parameters. The "
        "118A of the source are odd: grouping takes 52M and 127A off there, but 126M and 94A off the general case."
    )
    rows = {
        "case": list(published_counts.TABLE_10_3),
        "published M": [float(x.multiplications) for x in published_counts.TABLE_10_3.values()],
        "published A": [float(x.additions) for x in published_counts.TABLE_10_3.values()],
        "kinetree M": [float(measured[name][0]) for name in published_counts.TABLE_10_3],
        "kinetree A": [float(measured[name][1]) for name in published_counts.TABLE_10_3],
    }
    cases = [name.replace(", ", ",\n").replace(" parameters", "\nparameters") for name in published_counts.TABLE_10_3]
    series = {name: column for name, column in rows.items() if name != "case"}
    bars = Bars(cases, series, "operations", "Multiplications (M) and additions (A) of inverse dynamics.")  # type: ignore[arg-type]
    return Outcome(facts, {"operations": rows}, {}, {"operations": bars}, [remark])


def _count(mass: MassProperties, *, grouped: bool) -> tuple[int, int]:
    """Count inverse dynamics of the tree with other masses, and what closing the loop adds."""
    model = load("sr400").model
    bodies = tuple(replace(body, mass_properties=_scaled(mass, 1 + k / 16)) for k, body in enumerate(model.bodies))
    joint = model.joints[3]
    moved = replace(joint, placement=Pose.of(LONGER, rotation=joint.placement.rotation))
    joints = (*model.joints[:3], moved, *model.joints[4:])
    mechanism = Mechanism(replace(model, bodies=bodies, joints=joints), q_guess=close(*START))
    counted = cost((mechanism.grouped() if grouped else mechanism).tree, "inverse_dynamics")
    return counted.multiplications + counted.divisions, counted.additions + 3


def _scaled(mass: MassProperties, factor: float) -> MassProperties:
    """Return different numbers for every link, since equal numbers of two links would be computed only once."""
    return MassProperties.from_parameters(mass.parameters * factor)


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
