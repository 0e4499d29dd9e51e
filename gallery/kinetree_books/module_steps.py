"""The recursions over modules for readers: intermediate results, and the order of the steps (Shah tables 6.3, 6.4).

The numbers are those of :mod:`kinetree.algorithms.module_recursion` for one state, as arrays. The order of execution
is text in the style of the book's example of a gripper, but for any robot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algorithms import springs
from kinetree.algorithms.module_recursion import (
    ForwardStep,
    InverseStep,
    accelerations,
    forces_left,
    forward_steps,
    inverse_steps,
    move_modules,
)
from kinetree.algorithms.newton_euler import Wrenches
from kinetree.errors import refuse_unknown
from kinetree.model.denoc_modules import Modules, equal_groups
from kinetree.model.tree import BASE, Model
from kinetree.spatial.arrays import Array, pack, split

DYNAMICS = ("inverse_dynamics", "forward_dynamics")


@dataclass(frozen=True)
class ModuleQuantities:
    """Results of the recursions for one module; wrenches are moment and force in the links' own axes."""

    name: str
    """``M1``, ``M2``, ..."""
    links: tuple[str, ...]
    """From the first to the last."""
    own: Array  # (links, 6)
    total: Array  # (links, 6)
    """w* and w~: the wrench that each link's motion requires alone, and with everything it carries (Shah eq. 6.3,
    6.5)."""
    tau: Array
    """Joint forces of the module (eq. 6.6)."""
    pivot: Array
    u: Array
    d: Array
    """I^, and its factors U D U^T; empty in inverse dynamics."""
    phi_hat: Array
    phi_tilde: Array
    """Forces that remain for the module's freedoms, and the inverse pivot times them (eq. 6.10)."""
    eta_tilde: Array  # (6,)
    """The wrench that carried modules pass to the last link; zero if there are none (eq. 6.11)."""
    a: Array
    """Joint accelerations (eq. 6.12)."""


def inverse(
    model: Model, parts: Modules, q: Array, v: Array, a: Array, loads: Wrenches | None = None
) -> list[ModuleQuantities]:
    """Return the results of inverse dynamics for each module, with or without loads on bodies."""
    x, y, z = split(q), split(v), split(a)
    moving = move_modules(model, parts, x, y, z, model.gravity)
    steps = _holding_springs(model, parts, x, inverse_steps(model, parts, moving, z, loads))
    own = [a[_freedoms(model, chain)] for chain in parts.bodies]
    return [_shown(parts.names[i], i, step, None, own[i]) for i, step in enumerate(steps)]


def _freedoms(model: Model, chain: Sequence[int]) -> list[int]:
    """Return the indices of a module's freedoms in ``v``."""
    slices = [model.links[k].v_slice for k in chain]
    return [place for own in slices for place in range(own.start, own.stop)]


def _holding_springs(model: Model, parts: Modules, q: Any, steps: Sequence[InverseStep]) -> list[InverseStep]:
    """Return the same steps with joint forces that also hold the springs."""
    held = springs.held_too(model, q, [0.0] * model.nv)
    return [
        step._replace(tau=[t + held[p] for t, p in zip(step.tau, _freedoms(model, chain), strict=True)])
        for chain, step in zip(parts.bodies, steps, strict=True)
    ]


def forward(
    model: Model, parts: Modules, q: Array, v: Array, tau: Array, loads: Wrenches | None = None
) -> list[ModuleQuantities]:
    """Return the results of forward dynamics for each module; wrenches and forces are those without accelerations."""
    x, y = split(q), split(v)
    moving = move_modules(model, parts, x, y, None, model.gravity)
    unmoved = _holding_springs(model, parts, x, inverse_steps(model, parts, moving, None, loads))
    steps = forward_steps(model, parts, moving, forces_left(model, parts, split(tau), unmoved))
    own = accelerations(model, parts, moving, steps)
    return [_shown(parts.names[i], i, *three) for i, three in enumerate(zip(unmoved, steps, own, strict=True))]


def _shown(
    links: tuple[str, ...], i: int, required: InverseStep, solved: ForwardStep | None, a: Any
) -> ModuleQuantities:
    nothing: list[Any] = []
    none = ForwardStep(nothing, nothing, nothing, nothing, None, nothing, nothing)
    step = none if solved is None else solved
    eta = np.zeros(6) if step.eta_tilde is None else pack(step.eta_tilde, ())
    pivot, u, d, phi_hat, phi_tilde = (
        np.array(x, dtype=float) for x in (step.pivot, step.u, step.d, step.phi_hat, step.phi_tilde)
    )
    return ModuleQuantities(
        f"M{i + 1}",
        links,
        np.array([pack(w, ()) for w in required.own]),
        np.array([pack(w, ()) for w in required.total]),
        np.array(required.tau, dtype=float),
        pivot, u, d, phi_hat, phi_tilde, eta, np.array(a, dtype=float),
    )  # fmt: skip


# ------------------------------------------------------------------ the order of execution


def execution_order(model: Model, parts: Modules, dynamics: str) -> str:
    """Return the steps of an algorithm as text, in their order, between modules and within each.

    ``N_1`` is N with a bar of module 1, ``p[x]`` the axes of link x, ``'`` a rate, ``^T`` a transpose, ``rho`` gravity.
    """
    refuse_unknown("dynamics", dynamics, DYNAMICS)
    table = _inverse_order(model, parts) if dynamics == "inverse_dynamics" else _forward_order(model, parts)
    return "\n".join([*table, *_equal_modules(model, parts)])


def _equal_modules(model: Model, parts: Modules) -> Iterator[str]:
    """Yield text about modules that take equal steps with equal numbers: one description serves each group."""
    for group in equal_groups(model, parts):
        first, *others = (f"M{m + 1}" for m in group)
        yield f"Equal modules: {', '.join(others)} as {first}, except for their states and where they are mounted"


def _inverse_order(model: Model, parts: Modules) -> Iterator[str]:
    yield "Step 1. Forward recursion (eq. 6.2, 6.3)"
    for i in range(1, len(parts) + 1):
        p = parts.parents[i - 1] + 1
        yield f"M{i}: t_{i} = {_carried(f'A_{i},{p} t_{p}', p)}N_{i} q'_{i}"
        given = f"A_{i},{p} t'_{p} + A'_{i},{p} t_{p}"
        yield f"    t'_{i} = {_carried(given, p)}N'_{i} q'_{i} + N_{i} q''_{i}" + ("" if p else " + rho")
        yield f"    w*_{i} = M_{i} t'_{i} + Omega_{i} M_{i} E_{i} t_{i}"
        for k in parts.bodies[i - 1]:
            name, carrier = _link(model, k), model.parents[k]
            c = "" if carrier == BASE else _link(model, carrier)
            yield f"  {name}: t[{name}] = " + (f"A[{name},{c}] t[{c}] + " if c else "") + f"p[{name}] q'[{name}]"
            yield (
                f"    t'[{name}] = "
                + (f"A[{name},{c}] t'[{c}] + A'[{name},{c}] t[{c}] + " if c else "")
                + f"p'[{name}] q'[{name}] + p[{name}] q''[{name}]"
                + ("" if c else " + rho")
            )
            yield f"    w*[{name}] = M[{name}] t'[{name}] + Omega[{name}] M[{name}] E[{name}] t[{name}]"
    yield "Step 2. Backward recursion (eq. 6.5, 6.6)"
    for i in reversed(range(1, len(parts) + 1)):
        carried = [j + 1 for j, p in enumerate(parts.parents) if p == i - 1]
        yield (
            f"M{i}: w~_{i} = w*_{i}"
            + "".join(f" + A_{j},{i}^T w~_{j}" for j in carried)
            + f"; tau_{i} = N_{i}^T w~_{i}"
        )
        for k in reversed(parts.bodies[i - 1]):
            name = _link(model, k)
            from_children = "".join(
                f" + A[{_link(model, c)},{name}]^T w~[{_link(model, c)}]" for c in model.children[k]
            )
            yield f"  {name}: w~[{name}] = w*[{name}]{from_children}; tau[{name}] = p[{name}]^T w~[{name}]"


def _forward_order(model: Model, parts: Modules) -> Iterator[str]:
    yield "Step 1. Backward recursion (eq. 6.10, 6.11), phi = tau - h"
    for i in reversed(range(1, len(parts) + 1)):
        carried = [j + 1 for j, p in enumerate(parts.parents) if p == i - 1]
        less = f" - N_{i}^T eta~_{i}" if carried else ""
        yield f"M{i}: phi^_{i} = phi_{i}{less}; phi~_{i} = I^_{i}^-1 phi^_{i}"
        if carried:
            yield f"    eta~_{i} = " + " + ".join(f"A_{j},{i}^T eta_{j}" for j in carried)
        if parts.parents[i - 1] != BASE:
            yield f"    eta_{i} = Psi_{i} phi^_{i}" + (f" + eta~_{i}" if carried else "")
        for k in reversed(parts.bodies[i - 1]):
            name, children = _link(model, k), [_link(model, c) for c in model.children[k]]
            less = f" - p[{name}]^T eta~[{name}]" if children else ""
            yield f"  {name}: phi^[{name}] = phi[{name}]{less}; phi~[{name}] = m^[{name}]^-1 phi^[{name}]"
            if children:
                yield f"    eta~[{name}] = " + " + ".join(f"A[{c},{name}]^T eta[{c}]" for c in children)
            if model.parents[k] != BASE:
                yield f"    eta[{name}] = Psi[{name}] phi^[{name}]" + (f" + eta~[{name}]" if children else "")
    yield "Step 2. Forward recursion (eq. 6.12, 6.13)"
    for i in range(1, len(parts) + 1):
        p = parts.parents[i - 1] + 1
        yield f"M{i}: q''_{i} = phi~_{i}" + (f" - Psi_{i}^T mu~_{i}; mu~_{i} = A_{i},{p} mu_{p}" if p else "")
        yield f"    mu_{i} = N_{i} q''_{i}" + (f" + mu~_{i}" if p else "")
        for k in parts.bodies[i - 1]:
            name, carrier = _link(model, k), model.parents[k]
            c = "" if carrier == BASE else _link(model, carrier)
            yield f"  {name}: q''[{name}] = phi~[{name}]" + (
                f" - Psi[{name}]^T mu~[{name}]; mu~[{name}] = A[{name},{c}] mu[{c}]" if c else ""
            )
            yield f"    mu[{name}] = p[{name}] q''[{name}]" + (f" + mu~[{name}]" if c else "")


def _carried(term: str, parent: int) -> str:
    return f"{term} + " if parent else ""


def _link(model: Model, k: int) -> str:
    return model.bodies[k].name
