"""A follower of a plan as C: its law, and a table with the plan's actions, states and gains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.export.c_law import CLaw
from kinetree.spatial import Scalar, clip
from kinetree.spatial.arrays import Array

if TYPE_CHECKING:
    from .tracking import Follower

NO_LIMIT = 1e300
"""Stands for no limit of an action: C constants cannot be infinite."""

NAME = "follow"

EARLY = 1e-9
"""By how much of a step a sample may come before its node."""


def rows(follower: Follower) -> dict[str, Array]:
    """Return what the law of a follower takes at each node: actions, gains, states and limits, (nodes, n) each."""
    plan, nodes = follower.plan, len(follower.plan.u)
    lower, upper = plan.problem.action_limits_of(())
    given = {
        "u": plan.u, "k": follower.gains.reshape(nodes, -1), "q_plan": plan.q[:-1], "v_plan": plan.v[:-1],
        "least": np.maximum(lower, -NO_LIMIT), "most": np.minimum(upper, NO_LIMIT),
    }  # fmt: skip
    return {name: np.broadcast_to(x, (nodes, np.shape(x)[-1])) for name, x in given.items()}


def law(follower: Follower, robot: Any) -> CLaw:
    """Return the law of a follower at one node; what is the same for a node is among its gains."""
    d, every = follower.plan.problem.dynamics, rows(follower)
    nd = follower.gains.shape[-1]
    motors = np.asarray(d.motor_freedoms).tolist()

    def function(*vectors: list[Scalar]) -> list[Scalar]:
        u, k, q_plan, v_plan, least, most, q, v, _ = vectors
        way = d.apart([*q_plan, *v_plan], [*q, *v])
        forces: list[Scalar] = [0.0 * v[0]] * robot.nv
        for i, motor in enumerate(motors):
            asked = u[i]
            for j in range(nd):
                asked = asked + k[i * nd + j] * way[j]
            forces[motor] = clip(asked, least[i], most[i])
        return forces

    def sample(rng: np.random.Generator) -> list[Array]:
        near = robot.integrate(every["q_plan"][0], rng.uniform(-0.1, 0.1, robot.nv))
        return [near, rng.uniform(-1.0, 1.0, robot.nv), rng.uniform(0.0, 1.0, 1)]

    said = [
        f"Joint forces that follow a plan of {len(follower.plan.u)} nodes: u + k (way from the planned state).",
        "The header with the plan has the numbers of all nodes.",
    ]
    gains = {name: np.array(x[0]) for name, x in every.items()}
    return CLaw(said, gains, (("q", robot.nq), ("v", robot.nv), ("t", 1)), function, {"TAU": 0}, sample)


def write(follower: Follower, folder: str | Path, prefix: str) -> Path:
    """Write ``prefix.c``, ``prefix.h``, ``prefix_test.c`` and ``prefix_plan.h`` with the plan; return that header."""
    robot, nodes = follower.plan.problem.robot, len(follower.plan.u)
    robot.codegen(folder, [], prefix=prefix, controllers={NAME: follower})
    every, kind, big = rows(follower), f"{prefix}_{NAME}_gains", prefix.upper()
    table = ",\n".join(
        "    {" + ", ".join("{" + ", ".join(repr(float(x)) for x in part[k]) + "}" for part in every.values()) + "}"
        for k in range(nodes)
    )
    step = float(follower.plan.problem.step)
    text = f"""/* A plan of {robot.name!r}: {nodes} nodes, {step!r} s apart, as constants; see {prefix}.h. */
#ifndef {big}_PLAN_H
#define {big}_PLAN_H

#include "{prefix}.h"

#define {big}_PLAN_NODES {nodes}
#define {big}_PLAN_STEP {step!r}

static const {kind} {prefix}_plan_nodes[{big}_PLAN_NODES] = {{
{table}
}};

/* Joint forces at a time since the plan's beginning; after its end, by the last node. */
static inline void {prefix}_plan(double t, const double *q, const double *v, double *tau)
{{
    double place = t / {big}_PLAN_STEP + {EARLY!r};
    int node = place < 0.0 ? 0 : place < {big}_PLAN_NODES - 1 ? (int)place : {big}_PLAN_NODES - 1;
    {prefix}_{NAME}(&{prefix}_plan_nodes[node], q, v, tau);
}}

#endif
"""
    found = Path(folder) / f"{prefix}_plan.h"
    beside = found.with_suffix(".h.part")
    beside.write_text(text, encoding="utf-8")
    beside.replace(found)
    return found
