"""The algorithms on JAX arrays, CasADi symbols and SymPy symbols, against the NumPy reference."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, reduce
from operator import add, mul

import casadi
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import kinetree as kt
from helpers.compare import assert_close, derivative
from helpers.mechanisms import four_bar
from helpers.robots import floating_pair, random_mass, random_state, random_tree
from judges.real_robots import load_quietly, robot_file
from kinetree.algorithms.table import ALGORITHMS, FORWARD_METHODS, find
from kinetree.engine.graph import CALL, CONST, FMA, GATHER, INPUT, KINDS
from kinetree.evaluation.algorithm_options import needed_options
from kinetree.export import symbolic
from kinetree.export.symbolic import on_casadi, on_jax
from kinetree.export.symbolic.simplify import postorder, tidy
from kinetree.spatial import arctan2
from kinetree.spatial.arrays import flatten

jax.config.update("jax_enable_x64", True)

TOLERANCE = 1e-12


# ------------------------------------------------------------------ robots, states, references


@cache
def small_arm() -> kt.Robot:
    """A hinge with a rotor and a screw that is tilted against it; small enough for SymPy and XLA to be quick."""
    builder = kt.Builder("small arm", gravity=(1.0, -2.0, -9.0))
    builder.body(
        "upper", "base", kt.Revolute("y"), joint_name="shoulder", mass=2.0, com=(0, 0.1, 0.3), inertia=(0.3, 0.2, 0.1),
        position=(0.1, 0, 0), rotor_inertia=0.01, gear_ratio=3.0,
    )  # fmt: skip
    builder.body(
        "lower", "upper", kt.Helical("x", 0.3), joint_name="elbow", mass=1.5, com=(0.2, 0, 0.1),
        inertia=(0.05, 0.06, 0.07), position=(0, 0, 0.5), rpy=(0, 0.4, 0),
    )  # fmt: skip
    return builder.frame("tool", "lower", (0.1, 0.2, 0), rpy=(0, 0, 0.5)).build()


@cache
def screw() -> kt.Robot:
    """One body on a screw: XLA compiles any algorithm of it in a moment."""
    builder = kt.Builder("screw", gravity=(1.0, -2.0, -9.0))
    builder.body("nut", "base", kt.Helical("x", 0.3), mass=1.5, com=(0.2, 0, 0.1), inertia=(0.05, 0.06, 0.07))
    return builder.build()


@cache
def floating() -> kt.Robot:
    """A free body with a ball joint and a hinge."""
    return floating_pair()


ROBOTS = {"fixed": small_arm, "floating": floating}


def options_for(robot: kt.Robot, name: str) -> dict[str, object]:
    """Whatever an algorithm must be told."""
    frame = robot.frame_names[0]
    known = tuple(k % 2 == 0 for k in range(len(robot.joint_names)))
    values = {"frame": frame, "frames": (frame,), "known": known}
    options = {o: values[o] for o in needed_options(name)}
    if name == "operational_space_inertia" and not robot.is_floating:
        options["inverse"] = True  # two joints cannot move a frame in all six directions
    return options


def complete(robot: kt.Robot, name: str, options: dict[str, object]) -> dict[str, object]:
    from kinetree.evaluation.algorithm_options import complete_options

    return complete_options(robot.model, name, options)


def states(robot: kt.Robot, name: str, seed: int = 5, shape: tuple[int, ...] = ()) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    q, v, a = random_state(robot, rng, shape)
    known = {"q": q, "v": v, "a": a, "tau": a, "q0": q, "q1": random_state(robot, rng, shape)[0]}
    return {n: known[n] for n in find(name).inputs}


def reference(robot: kt.Robot, name: str, state: dict[str, np.ndarray], **options: object) -> np.ndarray:
    chosen = complete(robot, name, options)
    return robot.with_backend("reference").evaluator.run(name, chosen, **state)


def applies(robot: kt.Robot, name: str) -> bool:
    return robot.is_floating or name != "floating_base_inverse_dynamics"


CASES = [(kind, name) for kind, name in itertools.product(ROBOTS, ALGORITHMS) if applies(ROBOTS[kind](), name)]
every_algorithm = pytest.mark.parametrize(("kind", "name"), CASES)

# what quaternions change, and what only a floating base has; the rest would take SymPy and XLA minutes
WITH_QUATERNIONS = (
    "integrate", "difference", "configuration_rate", "pose", "velocity", "inverse_dynamics", "mass_matrix",
    "floating_base_inverse_dynamics", "potential_energy",
)  # fmt: skip
QUICK_CASES = [(kind, name) for kind, name in CASES if kind == "fixed" or name in WITH_QUATERNIONS]


FUNCTIONS = {sp.sin: np.sin, sp.cos: np.cos, sp.atan2: np.arctan2, sp.Abs: np.abs}


def evaluated(expressions: list[sp.Basic], table: dict[sp.Basic, float]) -> np.ndarray:
    """SymPy expressions with numbers put in, every part once."""
    values: dict[sp.Basic, object] = {s: np.float64(x) for s, x in table.items()}
    with np.errstate(all="ignore"):  # of branches that are not taken
        for whole in expressions:
            for e in postorder(sp.sympify(whole), lambda x: () if x in values else x.args):
                if e not in values:
                    values[e] = one_step(e, [values[x] for x in e.args])
    return np.array([float(values[sp.sympify(e)]) for e in expressions])


def one_step(e: sp.Basic, parts: list[object]) -> object:
    if e.is_Number:
        return np.float64(e)
    if e in (sp.true, sp.false):
        return bool(e)
    if e.is_Add or e.is_Mul:
        return reduce(add if e.is_Add else mul, parts)
    if e.is_Pow:
        return parts[0] ** parts[1]
    if isinstance(e, (sp.StrictLessThan, sp.StrictGreaterThan)):
        return parts[0] < parts[1] if isinstance(e, sp.StrictLessThan) else parts[0] > parts[1]
    if isinstance(e, sp.ITE):
        return parts[1] if parts[0] else parts[2]
    if isinstance(e, sp.Piecewise):
        return next(value for value, condition in parts if condition)
    if e.func.__name__ == "ExprCondPair":
        return tuple(parts)
    return FUNCTIONS[e.func](*parts)


def numbers_in(found: symbolic.on_sympy.Expression, state: dict[str, np.ndarray], **more: float) -> np.ndarray:
    table = {s: x for n in found.inputs for s, x in zip(found.inputs[n], np.ravel(state[n]), strict=True)}
    table |= {sp.Symbol(name): x for name, x in more.items()}
    return evaluated(list(sp.flatten(found.value)) if hasattr(found.value, "shape") else [found.value], table)


# ------------------------------------------------------------------ every algorithm, every scalar


EVERYDAY = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "jacobian", "integrate")


@pytest.mark.parametrize(
    ("robot", "name"), [(screw, n) for kind, n in CASES if kind == "fixed"] + [(small_arm, n) for n in EVERYDAY]
)
def test_on_jax_under_jit(robot, name):
    options = options_for(robot(), name)
    state = states(robot(), name, shape=(3,))
    found = symbolic.function(robot(), name, "jax", **options)(*state.values())
    assert found.dtype == np.float64
    assert_close(found, reference(robot(), name, state, **options), TOLERANCE)


@pytest.mark.parametrize(("kind", "name"), QUICK_CASES)
def test_on_jax(kind, name):
    """Operation by operation, which takes less time than compiling does."""
    robot = ROBOTS[kind]()
    options = options_for(robot, name)
    state = states(robot, name)
    f = symbolic.function(robot, name, "jax", **options)
    with jax.disable_jit():
        found = f(**state)
    assert_close(found, reference(robot, name, state, **options), TOLERANCE)


@pytest.mark.parametrize("name", ["integrate", "difference"])
def test_on_jax_under_jit_with_quaternions(name):
    robot = floating()
    state = states(robot, name, shape=(2,))
    assert_close(symbolic.function(robot, name, "jax")(**state), reference(robot, name, state), TOLERANCE)


@every_algorithm
def test_on_casadi(kind, name):
    robot = ROBOTS[kind]()
    options = options_for(robot, name)
    state = states(robot, name)
    f = symbolic.function(robot, name, "casadi", **options)
    assert isinstance(f, casadi.Function)
    assert f.name() == name
    assert f.name_in() == list(find(name).inputs)
    outputs = f(*state.values())
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    expected = reference(robot, name, state, **options)
    found = np.concatenate([x.full().ravel() for x in outputs])
    assert_close(found, expected.ravel(), TOLERANCE)
    shape = (*expected.shape, 1, 1)[:2] if expected.ndim < 3 else expected.shape[1:]
    assert all(x.shape == shape for x in outputs)


@pytest.mark.parametrize(("kind", "name"), QUICK_CASES)
def test_on_sympy(kind, name):
    robot = ROBOTS[kind]()
    options = options_for(robot, name)
    state = states(robot, name)
    found = symbolic.function(robot, name, "sympy", simplify=False, **options)
    expected = reference(robot, name, state, **options)
    assert_close(numbers_in(found, state), expected.ravel(), TOLERANCE)
    shape = getattr(found.value, "shape", ())
    assert shape == ((*expected.shape, 1)[:2] if 0 < expected.ndim < 3 else expected.shape)


PLAIN = {
    "jax": ("integrate", "difference", "pose", "forward_dynamics", "mass_matrix", "kinetic_energy"),
    "casadi": tuple(n for kind, n in CASES if kind == "floating"),
    "sympy": ("integrate", "difference", "pose", "inverse_dynamics", "potential_energy"),
}


@pytest.mark.parametrize(("backend", "name"), [(b, n) for b, names in PLAIN.items() for n in names])
def test_texts_run_on_plain_scalars(backend, name):
    """Without any of the helpers: JAX numbers, SX elements and SymPy symbols straight into the recursions."""
    robot = small_arm() if backend == "sympy" else floating()
    options = options_for(robot, name)
    state = states(robot, name)
    expected = reference(robot, name, state, **options).ravel()
    options = complete(robot, name, options)
    algorithm = find(name)
    loads = [[None] * len(robot.body_names)] if algorithm.loads else []

    def run(vectors: list[list[object]]) -> list[object]:
        return list(leaves(flatten(algorithm.function(robot.model, *vectors, *loads, **options))))

    if backend == "jax":
        with jax.disable_jit():
            found = [float(x) for x in run([[jnp.asarray(x) for x in s] for s in state.values()])]
    elif backend == "casadi":
        columns = [casadi.SX.sym(n, len(s)) for n, s in state.items()]
        results = run([casadi.vertsplit(c) for c in columns])
        found = casadi.Function("f", columns, [casadi.vertcat(*results)])(*state.values()).full().ravel()
    else:
        symbols = [sp.symbols(f"{n}_:{len(s)}", real=True) for n, s in state.items()]
        table = dict(zip(itertools.chain(*symbols), np.concatenate(list(state.values())), strict=True))
        found = evaluated(run(list(map(list, symbols))), table)
    assert_close(found, expected, TOLERANCE)


def leaves(nested: object) -> Iterator[object]:
    if isinstance(nested, list):
        for x in nested:
            yield from leaves(x)
    else:
        yield nested


@cache
def humanoid() -> kt.Robot:
    """Talos on a free joint: 33 bodies, 38 degrees of freedom."""
    return load_quietly(robot_file("talos_data/robots/talos_reduced.urdf"), floating_base=True)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
def test_a_humanoid_on_casadi(name):
    state = states(humanoid(), name)
    found = symbolic.function(humanoid(), name, "casadi")(*state.values()).full()[:, 0]
    assert_close(found, reference(humanoid(), name, state), TOLERANCE)


@pytest.mark.slow
def test_a_humanoid_on_jax_under_jit():
    """Without fusing operations, over which XLA would spend most of its time."""
    state = states(humanoid(), "inverse_dynamics")
    lowered = symbolic.function(humanoid(), "inverse_dynamics", "jax").lower(*state.values())
    found = lowered.compile(compiler_options={"xla_disable_hlo_passes": "fusion"})(*state.values())
    assert_close(found, reference(humanoid(), "inverse_dynamics", state), TOLERANCE)


def test_forward_dynamics_of_a_humanoid_on_jax():
    """Operation by operation: XLA takes ten seconds and more to compile as much."""
    state = states(humanoid(), "forward_dynamics")
    f = symbolic.function(humanoid(), "forward_dynamics", "jax")
    with jax.disable_jit():
        found = f(*state.values())
    assert_close(found, reference(humanoid(), "forward_dynamics", state), TOLERANCE)


@pytest.mark.parametrize("table", [on_jax.operations(jnp), on_casadi.operations(casadi)], ids=["jax", "casadi"])
def test_operations_are_complete(table):
    assert set(table) | {CONST, INPUT, FMA, GATHER, CALL} == set(KINDS)  # tables and calls are of simulations only


def test_plain_numbers_beside_symbols():
    x = sp.Symbol("x", real=True)
    assert arctan2(1.0, x) == sp.atan2(1.0, x)
    s = casadi.SX.sym("s")
    assert float(casadi.Function("f", [s], [arctan2(2.0, s)])(-1.0)) == pytest.approx(np.arctan2(2.0, -1.0))
    assert float(arctan2(2.0, jnp.asarray(-1.0))) == pytest.approx(np.arctan2(2.0, -1.0))
    assert arctan2(2.0, -1.0) == np.arctan2(2.0, -1.0)


@pytest.mark.parametrize("backend", symbolic.BACKENDS)
@pytest.mark.parametrize("seed", [0, 1])
def test_random_trees(backend, seed):
    """Joints of all kinds, followers, rotors."""
    robot = random_tree(np.random.default_rng(seed), 4, followers=seed == 1)
    state = states(robot, "inverse_dynamics", seed)
    expected = reference(robot, "inverse_dynamics", state)
    if backend == "sympy":
        found = numbers_in(symbolic.function(robot, "inverse_dynamics", backend, simplify=False), state)
    else:
        with jax.disable_jit():
            found = symbolic.function(robot, "inverse_dynamics", backend)(*state.values())
        found = found.full()[:, 0] if backend == "casadi" else found
    assert_close(found, expected, TOLERANCE)


@pytest.mark.parametrize("method", FORWARD_METHODS)
def test_methods_of_forward_dynamics(method):
    robot = random_tree(np.random.default_rng(3), 3)
    state = states(robot, "forward_dynamics")
    found = symbolic.function(robot, "forward_dynamics", "casadi", method=method)(*state.values())
    assert_close(found.full()[:, 0], reference(robot, "forward_dynamics", state, method=method), TOLERANCE)


@pytest.mark.parametrize("name", ["loop_gaps", "loop_jacobian", "loop_drift"])
@pytest.mark.parametrize("backend", symbolic.BACKENDS)
def test_closed_loops(backend, name):
    robot = four_bar()
    state = states(robot, name)
    expected = robot.with_backend("reference").evaluator.run(name, **state).ravel()
    assert expected.size
    if backend == "sympy":
        found = numbers_in(symbolic.expression(robot, name, simplify=False), state)
    else:
        with jax.disable_jit():
            found = symbolic.function(robot, name, backend)(*state.values())
        found = (found.full() if backend == "casadi" else np.asarray(found)).ravel()
    assert_close(found, expected, TOLERANCE)
    with pytest.raises(kt.ModelError, match=f"robot 'small arm' has no closed loops, so it has no {name}"):
        symbolic.function(small_arm(), name, backend)


@pytest.mark.parametrize("name", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("backend", symbolic.BACKENDS)
def test_dynamics_with_loops_closed(backend, name):
    """Two sliders at right angles, joined by a rod: a trammel."""
    b = kt.Builder("trammel", gravity=(0, -9.81, 0)).body("a", "base", kt.Prismatic("x"), mass=2.0)
    b.body("b", "base", kt.Prismatic("y"), mass=3.0, actuated=False)
    robot = b.loop("rod", "a", "b", kt.Distance(1.0)).build()
    q = np.array([0.6, 0.8])
    v = robot.velocities(q, [1.3])
    last = robot.accelerations(q, v, [0.7]) if name == "inverse_dynamics" else np.array([0.4, 0.1])
    state = {"q": q, "v": v, "a" if name == "inverse_dynamics" else "tau": last}
    expected = getattr(robot, name)(q, v, last)
    if backend == "sympy":
        found = numbers_in(symbolic.expression(robot, name, simplify=False), state)
    else:
        with jax.disable_jit():
            found = symbolic.function(robot, name, backend)(*state.values())
        found = (found.full() if backend == "casadi" else np.asarray(found)).ravel()
    assert_close(found, expected, 1e-10)


def trammel():
    """Two sliders at right angles, joined by a rod and by a second one that says the same."""
    b = kt.Builder("trammel", gravity=(0, -9.81, 0)).body("a", "base", kt.Prismatic("x"), mass=2.0)
    b.body("b", "base", kt.Prismatic("y"), mass=3.0, actuated=False)
    b.loop("twin", "a", "b", kt.Distance(1.0), placement=(0, 0, 0.5), seat=(0, 0, 0.5))
    return b.loop("rod", "a", "b", kt.Distance(1.0)).build()


def geared_bars():
    """A five-bar with one motor, and a wheel that is geared to it: fewer motors than freedoms, and a coupling."""
    b = kt.Builder("geared", gravity=(0, -9.81, 0))
    turn, link = kt.Revolute("z"), kt.MassProperties.rod
    b.body("left", "base", turn, mass_properties=link(1.0, (0, 0, 0), (0.4, 0, 0)))
    b.body(
        "right", "base", turn, position=(0.5, 0, 0), actuated=False, mass_properties=link(1.0, (0, 0, 0), (0.4, 0, 0))
    )
    b.body("up", "left", turn, position=(0.4, 0, 0), actuated=False, mass_properties=link(1.0, (0, 0, 0), (0.6, 0, 0)))
    b.body(
        "down", "right", turn, position=(0.4, 0, 0), actuated=False, mass_properties=link(1.0, (0, 0, 0), (0.6, 0, 0))
    )
    b.body("wheel", "base", turn, position=(-1, 0, 0), actuated=False, mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.loop("pin", "up", "down", turn, placement=(0.6, 0, 0), seat=(0.6, 0, 0))
    return b.gear("mesh", "left_joint", "wheel_joint", (1, 2)).build()


OF_LOOPS = {
    "multipliers": lambda robot, q, v, a, tau: robot.multipliers(q, v, tau),
    "basis": lambda robot, q, v, a, tau: robot.basis(q),
    "reduced_mass_matrix": lambda robot, q, v, a, tau: robot.reduced_mass_matrix(q),
    "reduced_bias_force": lambda robot, q, v, a, tau: robot.reduced_bias_force(q, v),
    "reduced_inverse_dynamics": lambda robot, q, v, a, tau: robot.basis(q).T @ tau,
    "joint_wrenches": lambda robot, q, v, a, tau: robot.constraint_forces(q, v, a).joint_wrenches,
    "forward_dynamics": lambda robot, q, v, a, tau: robot.forward_dynamics(q, v, tau),
}


def moving(robot, seed=3):
    """A state that the loops allow, motor forces, and how it moves under these."""
    rng = np.random.default_rng(seed)
    q = robot.close([0.6, 0.8] if robot.name == "trammel" else robot.assembled())
    v = robot.velocities(q, rng.standard_normal(len(robot.independent())))
    tau = np.where(robot.driven, rng.standard_normal(robot.nv), 0.0)
    return {"q": q, "v": v, "a": robot.forward_dynamics(q, v, tau), "tau": tau}


def on_symbols(robot, name, backend, state, **options):
    if backend == "sympy":
        return numbers_in(symbolic.expression(robot, name, simplify=False, **options), state)
    with jax.disable_jit():
        found = symbolic.function(robot, name, backend, **options)(*(state[n] for n in find(name).inputs))
    return (found.full() if backend == "casadi" else np.asarray(found)).ravel()


@pytest.mark.parametrize("name", OF_LOOPS)
@pytest.mark.parametrize(
    ("backend", "make"),
    [("casadi", trammel), ("jax", trammel), ("sympy", trammel), ("casadi", geared_bars), ("jax", four_bar)],
)
def test_forces_of_loops(backend, make, name):
    robot = make()
    state = moving(robot)
    expected = np.ravel(OF_LOOPS[name](robot, **state))
    assert_close(on_symbols(robot, name, backend, state), expected, 1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["space-five-bar", "bricard", "delta"])
def test_forces_of_loops_of_the_gallery(name):
    """A floating base, redundant constraints that are not zero, and loops in space."""
    robot = kt.load(name)
    state = moving(robot)
    for asked, compute in OF_LOOPS.items():
        assert_close(on_symbols(robot, asked, "casadi", state), np.ravel(compute(robot, **state)), 1e-9)


@pytest.mark.parametrize(("backend", "make"), [("casadi", geared_bars), ("jax", trammel), ("sympy", trammel)])
def test_hybrid_dynamics_with_loops_closed(backend, make):
    """One joint is moved, all others are pushed; joints that are moved need not be those with motors."""
    robot = make()
    state = moving(robot)
    moved = robot.joint_names[1]
    place = robot.joint(moved).v_slice
    rng = np.random.default_rng(0)
    state["tau"] = rng.standard_normal(robot.nv)
    pushed = {j: state["tau"][robot.joint(j).v_slice] for j in robot.joint_names if j != moved}
    a, tau = robot.hybrid_dynamics(state["q"], state["v"], a={moved: state["tau"][place]}, tau=pushed)
    found = on_symbols(robot, "hybrid_dynamics", backend, state, known=[moved])
    assert_close(found, np.concatenate([a, tau]), 1e-10)
    flags = [name == moved for name in robot.joint_names]
    assert_close(on_symbols(robot, "hybrid_dynamics", backend, state, known=flags), found, 0.0)


@pytest.mark.slow
def test_derivatives_of_loop_forces():
    """JAX and CasADi agree on how pin forces change with motor forces, and both with differences."""
    robot = four_bar()
    state = moving(robot)
    q, v, tau = (state[n] for n in ("q", "v", "tau"))
    by_tau = jax.jacfwd(symbolic.function(robot, "multipliers", "jax"), argnums=2)(q, v, tau)
    f = symbolic.function(robot, "multipliers", "casadi")
    u = casadi.SX.sym("u", robot.nv)
    slope = casadi.Function("slope", [u], [casadi.jacobian(f(q, v, u), u)])(tau).full()
    assert_close(slope, np.asarray(by_tau), 1e-12)
    differences = np.stack(
        [robot.multipliers(q, v, tau + e) - robot.multipliers(q, v, tau) for e in np.eye(3)], axis=-1
    )
    assert_close(slope, differences, 1e-10)  # forces are linear in forces


def test_symbols_do_not_leave_couplings_out():
    b = kt.Builder("gears", gravity=(0, -9.81, 0))
    for name, mass in (("small", 1.0), ("large", 2.0)):
        b.body(name, "base", kt.Revolute("z"), mass=mass, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    robot = b.gear("mesh", "small_joint", "large_joint", (1, 2)).build()
    state = moving(robot)
    assert_close(on_symbols(robot, "forward_dynamics", "casadi", state), state["a"], 1e-12)


def test_motors_where_freedoms_follow():
    robot = geared_bars()
    with pytest.raises(
        kt.UnsupportedError, match="reduced_inverse_dynamics has the forces on the independent freedoms"
    ):
        symbolic.function(robot, "inverse_dynamics", "casadi")
    b = (
        kt.Builder("braced")
        .body("a", "base", kt.Prismatic("x"), mass=2.0)
        .body("b", "base", kt.Prismatic("y"), mass=3.0)
    )
    both = b.loop("rod", "a", "b", kt.Distance(1.0)).build()
    with pytest.raises(kt.UnsupportedError, match="b_joint of 'braced' has a motor, but its motion follows"):
        symbolic.function(both, "joint_wrenches", "casadi")
    with pytest.raises(kt.SingularError, match="motion of 2 is given"):
        symbolic.function(both, "hybrid_dynamics", "casadi", known=["a_joint", "b_joint"])
    with pytest.raises(kt.UnknownNameError, match="no joint named 'c'"):
        symbolic.function(both, "hybrid_dynamics", "casadi", known=["c"])
    with pytest.raises(kt.OptionError, match="hybrid_dynamics needs the known"):
        symbolic.function(both, "hybrid_dynamics", "casadi")
    with pytest.raises(kt.ModelError, match="has no closed loops, so it has no multipliers"):
        symbolic.function(small_arm(), "multipliers", "casadi")


def test_equations_of_a_mechanism_have_multipliers():
    """By actuator and loop forces that are found on numbers; redundant constraints are left out."""
    robot = four_bar()
    q = robot.assembled()
    v = robot.velocities(q, [1.3])
    a = robot.accelerations(q, v, [0.7])
    judge = robot.constraint_forces(q, v, a)
    equations = robot.equations(simplify=False)
    assert equations.constraint_names == ("cut: force along x", "cut: force along y")
    pulls = [judge.multipliers[judge.names.index(name)] for name in equations.constraint_names]
    symbols = [*equations.q, *equations.v, *equations.a, *equations.multipliers]
    parts = [equations.tau, equations.constraints, equations.jacobian * sp.Matrix(equations.a) + equations.drift]
    numbers = sp.lambdify(symbols, parts)(*q, *v, *a, *pulls)
    assert_close(numbers[0].ravel(), judge.tau, 1e-12)
    assert_close(np.concatenate(numbers[1:]).ravel(), np.zeros(4), 1e-14, scale=1.0)
    page = equations.latex()
    assert r"= \tau + K(q)^T \lambda" in page
    assert r"K_{2,3} &= \frac{72}{625}" in page
    assert repr(equations) == "<ConstrainedEquations of 'four-bar': 3 degrees of freedom, 2 constraints>"
    own = robot.equations(symbols={"multipliers": sp.symbols("f_x f_y")})
    assert own.multipliers == sp.symbols("f_x f_y")
    with pytest.raises(kt.OptionError, match="2 symbols are needed for multipliers, got 1"):
        robot.equations(symbols={"multipliers": sp.symbols("f,")})


@pytest.mark.parametrize("backend", symbolic.BACKENDS)
def test_loop_forces_are_not_left_out_in_silence(backend):
    robot = four_bar()
    with pytest.raises(kt.UnsupportedError, match=r"forces of its closed loops.*\.tree"):
        symbolic.function(robot, "inverse_mass_matrix", backend)
    with pytest.raises(kt.OptionError, match="takes no options on symbols"):
        symbolic.function(robot, "forward_dynamics", backend, method="udu")
    moved = symbolic.with_parameters(robot, joints={"crank_joint": {"position": (0.1, 0, 0)}})
    with pytest.raises(kt.UnsupportedError, match="determine where the loops"):
        symbolic.function(moved, "forward_dynamics", backend)
    symbolic.function(robot.tree, "gravity_force", backend)


# ------------------------------------------------------------------ JAX


def test_jax_batches_and_vmap():
    robot = small_arm()
    f = symbolic.function(robot, "inverse_dynamics", "jax")
    rng = np.random.default_rng(7)
    q, _, _ = random_state(robot, rng, (3, 1))
    _, v, a = random_state(robot, rng, (4,))
    expected = robot.inverse_dynamics(q, v, a)
    assert expected.shape == (3, 4, 2)
    assert_close(f(q, v, a), expected, TOLERANCE)
    assert_close(f(a=a, q=q, v=v), expected, TOLERANCE)
    mapped = jax.vmap(jax.vmap(f, in_axes=(None, 0, 0)), in_axes=(0, None, None))
    assert_close(mapped(q[:, 0], v, a), expected, TOLERANCE)
    assert_close(jax.jit(lambda x: f(x, v[0], a[0]) * 2.0)(q[0, 0]), 2.0 * expected[0, 0], TOLERANCE)
    # what does not depend on the state is as wide as the batch, too
    matrix = symbolic.function(robot, "pose", "jax", frame="base")(q)
    assert_close(matrix, np.broadcast_to(np.eye(4), (3, 1, 4, 4)), TOLERANCE)


def test_jax_derivatives_against_finite_differences():
    robot = small_arm()
    f = symbolic.function(robot, "inverse_dynamics", "jax")
    q, v, a = random_state(robot, np.random.default_rng(8))
    with jax.disable_jit():
        by_q, by_v, by_a = jax.jacfwd(f, argnums=(0, 1, 2))(q, v, a)
    for k in range(robot.nv):
        e = np.eye(robot.nv)[k]
        steps = derivative(lambda t, e=e: robot.inverse_dynamics(q + t[:, None] * e, v, a))
        assert_close(by_q[:, k], steps, 1e-9)
        assert_close(by_v[:, k], derivative(lambda t, e=e: robot.inverse_dynamics(q, v + t[:, None] * e, a)), 1e-9)
    assert_close(by_a, robot.mass_matrix(q), TOLERANCE)
    assert_close(jax.jit(jax.grad(lambda q: f(q, v, a)[1]))(q), by_q[1], TOLERANCE)
    energy = symbolic.function(robot, "potential_energy", "jax")
    assert_close(jax.grad(energy)(q), robot.gravity_force(q), TOLERANCE)
    assert_close(jax.vmap(jax.grad(energy))(np.stack([q, -q])), robot.gravity_force(np.stack([q, -q])), TOLERANCE)


def test_jax_derivatives_along_motions_of_quaternions():
    """d/de potential(integrate(q, e u)) at e = 0, where the exponential is at its branch."""
    robot = floating()
    integrate = symbolic.function(robot, "integrate", "jax")
    energy = symbolic.function(robot, "potential_energy", "jax")
    q, _, _ = random_state(robot, np.random.default_rng(9))
    with jax.disable_jit():
        found = jax.grad(lambda step: energy(integrate(q, step)))(np.zeros(robot.nv))
    assert_close(found, robot.gravity_force(q), TOLERANCE)


def test_jax_wrenches():
    robot = small_arm()
    rng = np.random.default_rng(10)
    q, v, a = random_state(robot, rng, (3,))
    wrenches = rng.uniform(-3, 3, (3, 2, 6))
    f = symbolic.function(robot, "inverse_dynamics", "jax", wrenches=True)
    assert_close(f(q, v, a, wrenches), robot.inverse_dynamics(q, v, a, wrenches), TOLERANCE)
    with pytest.raises(kt.ShapeError, match=r"wrenches must have shape \(\.\.\., 2, 6\), got \(3, 6\)"):
        f(q, v, a, wrenches[:, 0])


def without_x64() -> contextlib.AbstractContextManager[None]:
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(False)
    return jax.experimental.disable_x64()


def test_jax_precision():
    robot = small_arm()
    q, v, a = random_state(robot, np.random.default_rng(11))
    expected = robot.inverse_dynamics(q, v, a)
    double = symbolic.function(robot, "inverse_dynamics", "jax")
    with without_x64(), pytest.raises(kt.OptionError, match="jax_enable_x64"):
        double(q, v, a)
    single = symbolic.function(robot.with_precision("single"), "inverse_dynamics", "jax")
    with without_x64():
        assert single(q, v, a).dtype == np.float32
        assert_close(single(q, v, a), expected, 1e-5)
    assert single(q, v, a).dtype == np.float32
    whole = np.array([1, 2])
    assert_close(double(whole, whole, whole), robot.inverse_dynamics(whole, whole, whole), TOLERANCE)


def test_jax_arguments():
    f = symbolic.function(small_arm(), "inverse_dynamics", "jax")
    zero = np.zeros(2)
    with pytest.raises(kt.ShapeError, match=r"v must have shape \(\.\.\., 2\), got \(3,\)"):
        f(zero, np.zeros(3), zero)
    with pytest.raises(kt.ShapeError, match=r"q must have shape \(\.\.\., 2\), got \(\)"):
        f(1.0, zero, zero)
    with pytest.raises(kt.ShapeError, match=r"batches do not fit together: q: \(3,\), v: \(\), a: \(4,\)"):
        f(np.zeros((3, 2)), zero, np.zeros((4, 2)))
    with pytest.raises(kt.ShapeError, match="a must be real"):
        f(zero, zero, zero + 1j)
    with pytest.raises(TypeError, match="missing a required argument: 'a'"):
        f(zero, zero)


def test_jax_batches_are_not_computed_over_and_over():
    """XLA fuses carelessly: see on_jax._joined. The bound is a hundred times what it takes."""
    builder = kt.Builder("chain")
    rng = np.random.default_rng(12)
    for k in range(6):
        builder.body(
            f"b{k}", f"b{k - 1}" if k else "base", kt.Revolute("xyz"[k % 3]), position=(0.1, 0, 0.3),
            mass_properties=random_mass(rng),
        )  # fmt: skip
    robot = builder.build()
    state = states(robot, "inverse_dynamics", shape=(2000,))
    f = symbolic.function(robot, "inverse_dynamics", "jax")
    assert_close(f(**state), reference(robot, "inverse_dynamics", state), TOLERANCE)
    begin = time.perf_counter()
    f(**state).block_until_ready()
    assert time.perf_counter() - begin < 2000 * 100e-6


# ------------------------------------------------------------------ CasADi


def test_casadi_function():
    robot = small_arm()
    q, v, a = random_state(robot, np.random.default_rng(13))
    f = symbolic.function(robot, "inverse_dynamics", "casadi")
    assert f.name_out() == ["tau"]
    assert f.is_a("SXFunction")
    assert_close(f(q=q, v=v, a=a)["tau"].full()[:, 0], robot.inverse_dynamics(q, v, a), TOLERANCE)
    x, y, z = (casadi.SX.sym(n, 2) for n in "xyz")
    slope = casadi.Function("slope", [x, y, z], [casadi.jacobian(f(x, y, z), casadi.vertcat(x, y, z))])
    expected = np.concatenate(robot.inverse_dynamics_derivatives(q, v, a), axis=-1)
    assert_close(slope(q, v, a).full(), expected, 1e-11)
    along = derivative(lambda t: robot.inverse_dynamics(q + t[:, None] * v, v, a))
    assert_close(slope(q, v, a).full()[:, :2] @ v, along, 1e-9)
    assert symbolic.function(robot, "forward_dynamics", "casadi").name_out() == ["a"]
    assert symbolic.function(robot, "mass_matrix", "casadi").name_out() == ["mass_matrix"]


def test_casadi_wrenches():
    robot = small_arm()
    rng = np.random.default_rng(14)
    q, v, a = random_state(robot, rng)
    wrenches = rng.uniform(-3, 3, (2, 6))
    f = symbolic.function(robot, "inverse_dynamics", "casadi", wrenches=True)
    assert f.name_in() == ["q", "v", "a", "wrenches"]
    assert_close(f(q, v, a, wrenches).full()[:, 0], robot.inverse_dynamics(q, v, a, wrenches), TOLERANCE)


def test_casadi_parameters_must_be_sx():
    robot = small_arm()
    for wrong in (casadi.MX.sym("m"), casadi.SX.sym("m", 2), sp.Symbol("m")):
        changed = symbolic.with_parameters(robot, bodies={"upper": {"mass": wrong}})
        with pytest.raises(kt.ModelError, match=r"not a scalar of type casadi\.SX"):
            symbolic.function(changed, "mass_matrix", "casadi")
    clash = symbolic.with_parameters(robot, bodies={"upper": {"mass": casadi.SX.sym("q")}})
    with pytest.raises(kt.ModelError, match="names q, q, mass_matrix are the same"):
        symbolic.function(clash, "mass_matrix", "casadi")
    number = symbolic.with_parameters(robot, bodies={"upper": {"mass": casadi.DM(robot.body("upper").mass)}})
    f = symbolic.function(number, "mass_matrix", "casadi")
    assert_close(f([0.3, 0.4]).full(), robot.mass_matrix([0.3, 0.4]), TOLERANCE)


# ------------------------------------------------------------------ parameters


def cardan(p: dict[str, object]) -> dict[str, dict[str, dict[str, object]]]:
    """Parameters of :func:`two_bodies` in the form that with_parameters takes."""
    return {
        "bodies": {
            "upper": {"mass": p["m1"], "com": (p["x"], 0.1, p["z"])},
            "lower": {"mass": p["m2"], "inertia": (p["i"], 0.06, 0.07, p["xy"], 0.002, -0.003)},
        },
        "joints": {
            "root": {"rotor_inertia": (p["j"], 0.01), "gear_ratio": (p["n"], 2.0)},
            "elbow": {"position": (p["l"], 0.2, 0.0), "rpy": (p["roll"], 0, p["yaw"])},
        },
        "frames": {"tool": {"position": (0, p["t"], 0)}},
        "gravity": (0.5, -1.0, p["g"]),
    }


NAMES = ("m1", "x", "z", "m2", "i", "xy", "j", "n", "l", "roll", "yaw", "t", "g")
BEFORE = dict(zip(NAMES, (1.0, 0.2, 0.3, 2.0, 0.05, 0.001, 0.02, 3.0, 0.5, 0.3, -0.7, 0.4, -9.81), strict=True))
AFTER = dict(zip(NAMES, (1.7, -0.1, 0.2, 0.9, 0.08, -0.004, 0.05, 1.5, 0.8, -1.1, 0.4, -0.2, -3.7), strict=True))
ALGORITHMS_WITH_PARAMETERS = [
    ("inverse_dynamics", {}), ("forward_dynamics", {}), ("mass_matrix", {}), ("coriolis_matrix", {}),
    ("pose", {"frame": "tool"}), ("center_of_mass_velocity", {}), ("kinetic_energy", {}),
    ("inverse_dynamics_derivatives", {}), ("floating_base_inverse_dynamics", {}),
]  # fmt: skip


def two_bodies(p: dict[str, float], floating_base: bool = False) -> kt.Robot:
    """The robot those parameters describe, built from numbers."""
    given = cardan(p)
    builder = kt.Builder("two bodies", gravity=given["gravity"])
    root = kt.EulerFree() if floating_base else kt.Universal("XY")
    rotor = {} if floating_base else given["joints"]["root"]
    upper, lower = given["bodies"]["upper"], given["bodies"]["lower"]
    builder.body("upper", "base", root, joint_name="root", inertia=(0.03, 0.04, 0.05), **upper, **rotor)
    builder.body(
        "lower", "upper", kt.Revolute("z"), joint_name="elbow", com=(0.1, 0.0, 0.2), **lower, **given["joints"]["elbow"]
    )
    return builder.frame("tool", "lower", **given["frames"]["tool"]).build()


@pytest.mark.parametrize(("name", "options"), ALGORITHMS_WITH_PARAMETERS, ids=lambda x: x if isinstance(x, str) else "")
@pytest.mark.parametrize("backend", symbolic.BACKENDS)
def test_parameters_take_the_place_of_numbers(backend, name, options):
    """Another robot's numbers put in give that robot's results."""
    floats = name == "floating_base_inverse_dynamics"
    before, after = two_bodies(BEFORE, floats), two_bodies(AFTER, floats)
    state = states(after, name)
    expected = reference(after, name, state, **options).ravel()
    makers = {"jax": lambda n: jnp.asarray(AFTER[n]), "casadi": casadi.SX.sym, "sympy": sp.Symbol}
    given = cardan({n: makers[backend](n) for n in NAMES})
    if floats:
        del given["joints"]["root"]
    used = [n for n in NAMES if not floats or n not in ("j", "n")]
    changed = symbolic.with_parameters(before, **given)
    if backend == "jax":
        with jax.disable_jit():
            found = symbolic.function(changed, name, "jax", **options)(*state.values())
    elif backend == "casadi":
        f = symbolic.function(changed, name, "casadi", **options)
        assert sorted(f.name_in()) == sorted([*state, *used])
        outputs = f.call({**state, **{n: AFTER[n] for n in used}})
        found = np.concatenate([outputs[n].full().ravel() for n in f.name_out()])
    else:
        e = symbolic.expression(changed, name, simplify=False, **options)
        found = numbers_in(e, state, **AFTER)
    assert_close(np.ravel(found), expected, TOLERANCE)


def test_parameters_of_a_robot_without_mass():
    """Placeholders may be zero: what counts is what takes their place."""
    builder = kt.Builder().body("bob", "base", kt.Revolute("y"))
    m, r = sp.symbols("m r", positive=True)
    changed = symbolic.with_parameters(builder.build(), bodies={"bob": {"mass": m, "com": (0, 0, -r)}})
    f = symbolic.expression(changed, "forward_dynamics")
    q, tau = f.inputs["q"][0], f.inputs["tau"][0]
    expected = tau / (m * r**2) - sp.Rational(981, 100) * sp.sin(q) / r
    assert sp.simplify(f.value[0] - expected) == 0
    for backend in symbolic.BACKENDS:
        useless = symbolic.with_parameters(builder.build(), bodies={"bob": {"com": (0, 0, 1.0)}})
        with pytest.raises(kt.SingularError, match="bob"):
            symbolic.function(useless, "forward_dynamics", backend)
    x = {"jax": jnp.asarray(1.0), "casadi": casadi.SX.sym("x"), "sympy": sp.Symbol("x")}
    for backend in symbolic.BACKENDS:  # a mass on the axis
        on_axis = symbolic.with_parameters(builder.build(), bodies={"bob": {"mass": x[backend]}})
        with pytest.raises(kt.SingularError, match="forward_dynamics of robot 'robot' divides by zero"):
            symbolic.function(on_axis, "forward_dynamics", backend)


def test_jax_derivatives_by_parameters():
    robot = small_arm()
    state = states(robot, "inverse_dynamics")

    def torque(mass):
        changed = symbolic.with_parameters(robot, bodies={"lower": {"mass": mass}})
        return symbolic.function(changed, "inverse_dynamics", "jax")(*state.values())

    def by_number(mass):
        own = robot.body("lower").mass_properties
        bodies = tuple(
            kt.model.tree.Body(b.name, kt.MassProperties(float(mass), own.com, own.inertia)) if b.name == "lower" else b
            for b in robot.model.bodies
        )
        return kt.Robot(replace(robot.model, bodies=bodies)).inverse_dynamics(*state.values())

    m = robot.body("lower").mass
    assert_close(torque(m + 0.5), by_number(m + 0.5), TOLERANCE)
    slope = jax.jit(jax.jacfwd(torque))(m)
    assert_close(slope, derivative(lambda t: np.stack([by_number(m + x) for x in t])), 1e-9)
    # a batch of robots in one call
    masses = np.array([0.5, 1.0, 3.0])
    assert_close(torque(masses), np.stack([by_number(x) for x in masses]), TOLERANCE)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"bodies": {"uper": {}}}, kt.UnknownNameError, "no body named 'uper'; did you mean 'upper'"),
        ({"joints": {"upper": {}}}, kt.UnknownNameError, "no joint named 'upper'"),
        ({"frames": {"upper": {}}}, kt.UnknownNameError, "no frame named 'upper'; known: tool"),
        ({"bodies": {"upper": {"weight": 1}}}, kt.UnknownNameError, "no parameter of body 'upper' named 'weight'"),
        ({"bodies": {"upper": 3.0}}, kt.ModelError, "parameters of body 'upper' must be a mapping"),
        ({"bodies": {"upper": {"com": 1}}}, kt.ModelError, "com of body 'upper' needs 3 numbers, got 1"),
        ({"bodies": {"upper": {"inertia": (1, 2)}}}, kt.ModelError, "inertia of body 'upper' needs 3 or 6 numbers"),
        (
            {"joints": {"elbow": {"rotor_inertia": (1, 2)}}},
            kt.ModelError,
            "rotor_inertia of joint 'elbow' needs 1 numb",
        ),
        ({"gravity": (1, 2)}, kt.ModelError, "gravity needs 3 numbers"),
    ],
)
def test_parameters_that_cannot_be(given, error, message):
    with pytest.raises(error, match=message):
        symbolic.with_parameters(small_arm(), **given)


def test_parameters_come_in_any_container():
    robot = small_arm()
    q = np.array([0.3, -0.4])
    expected = None
    for com in ([0.1, 0.2, 0.3], np.array([0.1, 0.2, 0.3]), jnp.array([0.1, 0.2, 0.3]), (0.1, 0.2, jnp.float64(0.3))):
        changed = symbolic.with_parameters(robot, bodies={"upper": {"com": com}}, joints={"elbow": {"gear_ratio": 2}})
        found = symbolic.function(changed, "gravity_force", "jax")(q)
        expected = found if expected is None else expected
        assert_close(found, expected, TOLERANCE)
    assert float(np.max(np.abs(expected - robot.gravity_force(q)))) > 1e-3
    column = casadi.SX.sym("c", 3)
    changed = symbolic.with_parameters(robot, bodies={"upper": {"com": column}})
    f = symbolic.function(changed, "gravity_force", "casadi")
    assert f.name_in() == ["q", "c_0", "c_1", "c_2"]
    assert_close(f(q, 0.1, 0.2, 0.3).full()[:, 0], expected, TOLERANCE)
    changed = symbolic.with_parameters(robot, bodies={"upper": {"com": sp.Matrix(sp.symbols("c:3"))}})
    e = symbolic.expression(changed, "gravity_force", simplify=False)
    assert_close(numbers_in(e, {"q": q}, c0=0.1, c1=0.2, c2=0.3), expected, TOLERANCE)
    changed = symbolic.with_parameters(robot, bodies={"upper": {"mass": sp.Symbol("m")}})
    with pytest.raises(kt.ModelError, match="parameter m is not a number or array that JAX understands"):
        symbolic.function(changed, "gravity_force", "jax")(q)


# ------------------------------------------------------------------ SymPy: the two-link arm of the textbooks

M1, M2, L1, L2, R1, R2, I1, I2, G = sp.symbols("m1 m2 l1 l2 r1 r2 I1 I2 g", positive=True)
Q1, Q2, V1, V2, A1, A2 = sp.symbols("q1 q2 v1 v2 a1 a2", real=True)


@cache
def two_link() -> symbolic.Parametric:
    builder = kt.Builder("two-link", gravity=(0, -9.81, 0))
    builder.body("upper", "base", kt.Revolute("z"), joint_name="shoulder")
    builder.body("lower", "upper", kt.Revolute("z"), joint_name="elbow")
    builder.frame("tool", "lower")
    return symbolic.with_parameters(
        builder.build(),
        bodies={
            "upper": {"mass": M1, "com": (R1, 0, 0), "inertia": (0, 0, I1)},
            "lower": {"mass": M2, "com": (R2, 0, 0), "inertia": (0, 0, I2)},
        },
        joints={"elbow": {"position": (L1, 0, 0)}},
        frames={"tool": {"position": (L2, 0, 0)}},
        gravity=(0, -G, 0),
    )


@cache
def two_link_equations() -> symbolic.on_sympy.Equations:
    return symbolic.equations(two_link())


def same(found: object, expected: object) -> bool:
    """Whether two matrices are the same: their difference is zero, exactly, at rational points."""
    difference = (sp.Matrix(found) - sp.Matrix(expected)).applyfunc(sp.expand_trig)
    return all(at_rational_point(difference, seed).is_zero_matrix for seed in range(3))


def at_rational_point(e: sp.Matrix, seed: int) -> sp.Matrix:
    """Numbers for all symbols; sines and cosines become those of Pythagorean triangles."""
    rng = np.random.default_rng(seed)
    table: dict[sp.Basic, sp.Rational] = {}
    for s in sorted(e.free_symbols, key=str):
        tangent = sp.Rational(*map(int, rng.integers(1, 50, 2)))
        table |= {sp.sin(s): 2 * tangent / (1 + tangent**2), sp.cos(s): (1 - tangent**2) / (1 + tangent**2)}
    e = e.xreplace(table)
    return e.xreplace({s: sp.Rational(*map(int, rng.integers(1, 50, 2))) for s in sorted(e.free_symbols, key=str)})


def test_two_link_arm_as_in_the_textbooks():
    e = two_link_equations()
    assert (*e.q, *e.v, *e.a) == (Q1, Q2, V1, V2, A1, A2)
    m12 = I2 + M2 * (R2**2 + L1 * R2 * sp.cos(Q2))
    m11 = I1 + I2 + M1 * R1**2 + M2 * (L1**2 + R2**2 + 2 * L1 * R2 * sp.cos(Q2))
    mass = sp.Matrix([[m11, m12], [m12, I2 + M2 * R2**2]])
    h = M2 * L1 * R2 * sp.sin(Q2)
    coriolis = sp.Matrix([-h * (2 * V1 * V2 + V2**2), h * V1**2])
    weight = sp.Matrix(
        [(M1 * R1 + M2 * L1) * G * sp.cos(Q1) + M2 * R2 * G * sp.cos(Q1 + Q2), M2 * R2 * G * sp.cos(Q1 + Q2)]
    )
    assert same(e.mass_matrix, mass)
    assert same(e.coriolis, coriolis)
    assert same(e.gravity, weight)
    assert same(e.bias, coriolis + weight)
    assert same(e.tau, mass * sp.Matrix([A1, A2]) + coriolis + weight)
    christoffel = sp.Matrix([[-h * V2, -h * (V1 + V2)], [h * V1, 0]])
    assert same(e.coriolis_matrix, christoffel)
    motion = sp.Matrix([V1, V2])
    assert same([e.kinetic_energy], motion.T * mass * motion / 2)
    height = M1 * R1 * sp.sin(Q1) + M2 * (L1 * sp.sin(Q1) + R2 * sp.sin(Q1 + Q2))
    assert same([e.potential_energy], [G * height])


def test_two_link_arm_is_simplified():
    """Not only right but short: written as one would write it."""
    e = two_link_equations()
    assert e.mass_matrix[0, 0] == I1 + I2 + M1 * R1**2 + M2 * (L1**2 + 2 * L1 * R2 * sp.cos(Q2) + R2**2)
    assert e.mass_matrix[0, 1] == e.mass_matrix[1, 0] == I2 + M2 * R2 * (L1 * sp.cos(Q2) + R2)
    assert e.mass_matrix[1, 1] == I2 + M2 * R2**2
    assert e.coriolis[0] == -L1 * M2 * R2 * V2 * (2 * V1 + V2) * sp.sin(Q2)
    assert e.coriolis[1] == L1 * M2 * R2 * V1**2 * sp.sin(Q2)
    assert e.gravity[0] == G * (M2 * R2 * sp.cos(Q1 + Q2) + (L1 * M2 + M1 * R1) * sp.cos(Q1))
    assert e.gravity[1] == G * M2 * R2 * sp.cos(Q1 + Q2)


def test_two_link_arm_fits_on_a_page():
    text = two_link_equations().latex()
    lines = text.splitlines()
    assert lines[0] == r"\begin{align*}"
    assert lines[-1] == r"\end{align*}"
    assert len(lines) == 10
    assert max(map(len, lines)) < 170
    assert lines[1] == r"M(q)\, \ddot{q} + c(q, \dot{q}) + g(q) &= \tau \\"
    assert lines[4] == r"M_{22} &= I_{2} + m_{2} r_{2}^{2} \\"
    assert lines[5].startswith(
        r"c_{1} &= - l_{1} m_{2} r_{2} \dot{q}_{2} \left(2 \dot{q}_{1} + \dot{q}_{2}\right) \sin"
    )
    assert all(line.count("{") == line.count("}") for line in lines)
    assert all(line.count(r"\left(") == line.count(r"\right)") for line in lines)
    assert all(line.endswith(r" \\") for line in lines[1:-2])
    assert two_link_equations()._repr_latex_() == text
    assert "two-link" in repr(two_link_equations())


def test_equations_of_a_robot():
    assert small_arm().equations(numbers="float").tau == symbolic.equations(small_arm(), numbers="float").tau


def test_two_link_arm_other_algorithms():
    pose = symbolic.expression(two_link(), "pose", frame="tool").value
    assert pose[0, 3] == L1 * sp.cos(Q1) + L2 * sp.cos(Q1 + Q2)
    assert pose[1, 3] == L1 * sp.sin(Q1) + L2 * sp.sin(Q1 + Q2)
    jacobian = symbolic.expression(two_link(), "jacobian", frame="tool", axes="aligned")
    assert same(jacobian.value[3:5, :], pose[:2, 3].jacobian([Q1, Q2]))
    assert jacobian.latex().startswith(r"\left[\begin{matrix}0 & 0")
    assert jacobian._repr_latex_() == f"$\\displaystyle {jacobian.latex()}$"
    inverse = symbolic.expression(two_link(), "inverse_mass_matrix").value
    assert same(inverse * two_link_equations().mass_matrix, sp.eye(2))
    forward = symbolic.expression(two_link(), "forward_dynamics")
    t1, t2 = forward.inputs["tau"]
    e = two_link_equations()
    assert same(e.mass_matrix * forward.value + e.bias, [t1, t2])
    at_rest = forward([0, 0], [0, 0], [0, 0])
    assert same(e.mass_matrix.subs(Q2, 0) * at_rest, -e.gravity.subs({Q1: 0, Q2: 0}))
    with pytest.raises(kt.OptionError, match="v needs 2 entries, got 3"):
        forward([0, 0], [0, 0, 0], [0, 0])


# ------------------------------------------------------------------ SymPy: other robots


def test_equations_are_lagranges():
    """d/dt dT/dv - dT/dq + dV/dq for a spatial arm with a slider, from the energies derived here."""
    builder = kt.Builder("crane", gravity=(0, 0, -10))
    builder.body("mast", "base", kt.Revolute("z"), mass=2, com=(0.25, 0, 0), inertia=(0.5, 0.5, 0.25))
    builder.body(
        "jib", "mast", kt.Revolute("y"), position=(0, 0, 1), mass=1, com=(0.5, 0, 0), inertia=(0, 0.125, 0.125)
    )
    builder.body("trolley", "jib", kt.Prismatic("x"), mass=0.5, inertia=(0.1, 0.1, 0.2))
    e = symbolic.equations(builder.build())
    kinetic, potential = e.kinetic_energy, e.potential_energy
    momenta = [kinetic.diff(v) for v in e.v]
    for k, p in enumerate(momenta):
        rate = sum(p.diff(q) * v + p.diff(v) * a for q, v, a in zip(e.q, e.v, e.a, strict=True))
        force = rate - kinetic.diff(e.q[k]) + potential.diff(e.q[k])
        assert sp.simplify(sp.expand(force - e.tau[k])) == 0
        assert sp.simplify(sp.expand(p.diff(e.v[0]) - e.mass_matrix[k, 0])) == 0
    rate = sum((e.mass_matrix.diff(q) * v for q, v in zip(e.q, e.v, strict=True)), sp.zeros(3))
    skew = rate - 2 * e.coriolis_matrix
    assert same(skew, -skew.T)
    assert not e.tau.atoms(sp.Float)  # every number here is a short decimal


@pytest.mark.parametrize(("kind", "bodies"), [("revolute", 2), ("universal", 2), ("planar", 1), ("spherical", 1)])
def test_simplified_equations_have_the_same_values(kind, bodies):
    robot = random_tree(np.random.default_rng(21), bodies, [kind])
    for name in ("mass_matrix", "inverse_dynamics"):
        state = states(robot, name)
        found = symbolic.expression(robot, name)
        assert_close(numbers_in(found, state), reference(robot, name, state).ravel(), TOLERANCE)


def pendulum_of_mass(mass):
    builder = kt.Builder(gravity=(0, 0, -10))
    return builder.body("bob", "base", kt.Revolute("y"), mass=mass, com=(0, 0, -0.3)).build()


def test_equations_show_one_kind_of_numbers():
    exact, decimal = (str(pendulum_of_mass(1 / 3).equations(numbers=numbers)) for numbers in ("exact", "float"))
    assert "." not in exact
    assert "M[1,1] = 3/100" in exact
    assert "M[1,1] = 0.03\n" in decimal  # without zeros at the end
    assert "/" not in decimal


def test_numbers():
    builder = kt.Builder(gravity=(0, 0, -10))
    builder.body("bob", "base", kt.Revolute("y"), mass=0.1, com=(0, 0, -0.3), inertia=(0, 1 / 3, 1 / 3))
    robot = builder.build()
    q = sp.Symbol("q1", real=True)
    assert symbolic.expression(robot, "gravity_force").value[0] == sp.Rational(3, 10) * sp.sin(q)
    third = symbolic.expression(robot, "mass_matrix").value[0]
    assert third == sp.Rational(1, 3) + sp.Rational(9, 1000)
    long = symbolic.expression(pendulum_of_mass(0.123456789012345), "gravity_force").value[0]
    assert long == sp.Rational(123456789012345, 10**15) * 3 * sp.sin(q)  # as written, however long
    root = symbolic.expression(pendulum_of_mass(2**0.5), "gravity_force").value[0]
    assert not root.atoms(sp.Float)
    assert float(root.coeff(sp.sin(q))) == pytest.approx(3 * 2**0.5, rel=1e-15)
    shown = symbolic.expression(robot, "gravity_force", numbers="float").value[0]
    assert str(shown) == "0.3*sin(q1)"
    rounded = symbolic.expression(robot, "mass_matrix", numbers=lambda x: sp.nsimplify(x, tolerance=1e-10)).value[0]
    assert rounded == sp.Rational(1, 3) + sp.Rational(9, 1000)
    with pytest.raises(kt.UnknownNameError, match="no way to write numbers named 'exactly'; did you mean 'exact'"):
        symbolic.equations(robot, numbers="exactly")


def test_ways_to_simplify():
    found = [symbolic.expression(two_link(), "mass_matrix", simplify=s) for s in (True, False, sp.simplify)]
    assert same(found[0].value, found[1].value)
    assert same(found[0].value, found[2].value)
    assert found[0].value.count_ops() < found[1].value.count_ops()
    assert found[2].value[1, 1] == sp.simplify(found[1].value[1, 1])


def test_symbols_of_ones_own():
    alpha, beta = sp.symbols("alpha beta")
    t = sp.Symbol("t")
    spin = [sp.Function("omega_1")(t), sp.Function("omega_2")(t)]
    e = symbolic.equations(two_link(), symbols={"q": (alpha, beta), "v": spin})
    assert e.gravity[1] == G * M2 * R2 * sp.cos(alpha + beta)
    assert e.coriolis[1] == L1 * M2 * R2 * spin[0] ** 2 * sp.sin(beta)
    assert e.a == (A1, A2)
    assert r"\ddot{\beta}" not in e.latex()  # no acceleration in the parts
    plain = symbolic.equations(two_link(), symbols={"q": (alpha, beta)})
    assert r"\dot{\alpha}^{2}" in plain.latex()
    with pytest.raises(kt.OptionError, match="2 symbols are needed for q, got 1"):
        symbolic.equations(two_link(), symbols={"q": (alpha,)})
    with pytest.raises(kt.UnknownNameError, match="no input to have symbols named 'tau'"):
        symbolic.expression(two_link(), "mass_matrix", symbols={"tau": (alpha, beta)})
    with pytest.raises(kt.OptionError, match="symbols must map input names"):
        symbolic.equations(two_link(), symbols=(alpha, beta))


def test_latex_of_quaternion_joints():
    """There v is not the rate of q, and is not written as such."""
    robot = kt.Builder().body("a", "base", kt.Spherical(), mass=1, com=(0, 0, 1), inertia=(1, 2, 3)).build()
    text = symbolic.equations(robot).latex()
    assert "v_{1}" in text
    assert r"\dot{q}_{1}" not in text


def test_sympy_wrenches():
    robot = small_arm()
    rng = np.random.default_rng(22)
    q, v, a = random_state(robot, rng)
    wrenches = rng.uniform(-3, 3, (2, 6))
    f = symbolic.function(robot, "inverse_dynamics", "sympy", wrenches=True, simplify=False)
    assert [str(s) for s in f.inputs["wrenches"][:2]] == ["w1", "w2"]
    found = numbers_in(f, {"q": q, "v": v, "a": a, "wrenches": wrenches})
    assert_close(found, robot.inverse_dynamics(q, v, a, wrenches), TOLERANCE)


X, Y, K = sp.symbols("x y k", real=True)
ATOMS = [
    sp.sin(X),
    sp.cos(X),
    sp.sin(Y),
    sp.cos(Y),
    sp.sin(X + Y),
    sp.cos(2 * X),
    K,
    sp.Rational(2, 3),
    sp.sqrt(K**2 + 1),
]
trees = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: st.tuples(st.sampled_from(["+", "-", "*", "/", "^"]), inner, inner),
    max_leaves=7,
)


def built(tree: object) -> sp.Expr:
    if not isinstance(tree, tuple):
        return tree
    operation, a, b = tree[0], built(tree[1]), built(tree[2])
    if operation == "/":
        return a / (2 + b**2)
    return {"+": a + b, "-": a - b, "*": a * b, "^": a**2 * b}[operation]


@settings(max_examples=40)
@given(tree=trees)
def test_tidy_expressions_have_the_same_values(tree):
    e = built(tree)
    for values in ((0.3, -1.2, 0.7), (2.1, 0.4, -1.3)):
        table = dict(zip((X, Y, K), values, strict=True))
        expected, found = evaluated([e, tidy(e)], table)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("long", "short"),
    [
        (sp.sin(X) ** 2 + sp.cos(X) ** 2, 1),
        (sp.sin(X) ** 4 - sp.cos(X) ** 4 + 2 * sp.cos(X) ** 2, 1),
        (sp.cos(X) * sp.cos(Y) - sp.sin(X) * sp.sin(Y), sp.cos(X + Y)),
        (K * sp.sin(X) * sp.cos(Y) - K * sp.sin(Y) * sp.cos(X), K * sp.sin(X - Y)),
        (K - K * sp.cos(X) ** 2, K * sp.sin(X) ** 2),
        ((K**2 - 1) / (K + 1), K - 1),
        (K / (-K * X - K), -1 / (X + 1)),
        (K * (X + 1) - K * X, K),
        (sp.Rational(1, 2) + sp.Rational(1, 3), sp.Rational(5, 6)),
        (sp.Piecewise((X, X < 1), (Y, True)), sp.Piecewise((X, X < 1), (Y, True))),
    ],
)
def test_tidy_expressions_are_short(long, short):
    assert tidy(long) == short


# ------------------------------------------------------------------ what cannot be


@pytest.mark.parametrize("backend", symbolic.BACKENDS)
def test_unknown_names_and_options(backend):
    robot = small_arm()
    with pytest.raises(kt.UnknownNameError, match="no algorithm named 'inverse_dynamic'"):
        symbolic.function(robot, "inverse_dynamic", backend)
    with pytest.raises(kt.UnknownNameError, match="no option of mass_matrix named 'frame'"):
        symbolic.function(robot, "mass_matrix", backend, frame="tool")
    with pytest.raises(kt.OptionError, match="jacobian needs the frame"):
        symbolic.function(robot, "jacobian", backend)
    with pytest.raises(kt.UnknownNameError, match="no body or frame named 'toll'"):
        symbolic.function(robot, "jacobian", backend, frame="toll")
    with pytest.raises(kt.UnsupportedError, match="mass_matrix does not take external wrenches"):
        symbolic.function(robot, "mass_matrix", backend, wrenches=True)
    with pytest.raises(kt.ModelError, match="no floating base"):
        symbolic.function(robot, "floating_base_inverse_dynamics", backend)


def test_unknown_backend():
    with pytest.raises(kt.UnknownNameError, match="no backend named 'jacks'; did you mean 'jax'"):
        symbolic.function(small_arm(), "mass_matrix", "jacks")


@pytest.mark.parametrize("backend", symbolic.BACKENDS)
def test_joints_that_look_at_their_coordinates(backend):
    def stop(x):
        return ((1, 0, 0), (0, 1, 0), (0, 0, 1)), (x if x > 0 else 0.5 * x, 0, 0)

    robot = kt.Builder().body("a", "base", kt.Custom(1, stop, coordinate_kinds=("m",)), mass=1.0).build()
    with pytest.raises(
        kt.UnsupportedError, match=r"inverse_dynamics of robot 'robot' cannot be run on symbols: .*where"
    ):
        symbolic.function(robot, "inverse_dynamics", backend)


@pytest.mark.parametrize(("module", "extra"), [("jax", "jax"), ("casadi", "casadi"), ("sympy", "symbolic")])
def test_missing_extras(module, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(kt.UnsupportedError, match=rf"needs the package '{module}': pip install 'kinetree\[{extra}\]'"):
        symbolic.function(small_arm(), "mass_matrix", module)


def test_extras_are_imported_only_when_asked_for():
    code = """
import sys
import kinetree
from kinetree import symbolic
robot = kinetree.Builder().body("a", "base", kinetree.Revolute("z"), mass=1, com=(1, 0, 0)).build()
symbolic.with_parameters(robot, bodies={"a": {"mass": 2.0}})
assert not {"jax", "casadi", "sympy"} & set(sys.modules), set(sys.modules)
symbolic.function(robot, "mass_matrix", "casadi")
assert not {"jax", "sympy"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
