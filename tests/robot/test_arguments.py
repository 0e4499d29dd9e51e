"""Arguments of every method: shapes, types, batches, NaN, quaternions; and that inputs are left alone."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import arm, floating_pair, random_state, random_tree, two_links, two_links_state
from kinetree.algorithms.table import FORWARD_METHODS
from kinetree.errors import KinetreeError, ModelError, ShapeError, StateError, UnknownNameError

LOAD = {"f1": kt.Wrench((1, 2, 3), (4, 5, 6), (0.1, 0.2, 0.3), axes="world")}

# Every method of a robot that takes a state. The names of the arguments say which parts it needs.
METHODS = {
    "point_jacobian": lambda r, q: r.point_jacobian(q, "f1", (0.1, 0.2, 0.3)),
    "inverse_dynamics_derivatives": lambda r, q, v, a: r.inverse_dynamics_derivatives(q, v, a)[0],
    "forward_dynamics_derivatives": lambda r, q, v, tau: r.forward_dynamics_derivatives(q, v, tau)[0],
    "linearize": lambda r, q, v, tau: r.linearize(q, v, tau).A,
    "linearize, step": lambda r, q, v, tau: r.linearize(q, v, tau, 0.01).B,
    "integrate": lambda r, q, v: r.integrate(q, v),
    "difference": lambda r, q: r.difference(q, r.neutral()),
    "configuration_rate": lambda r, q, v: r.configuration_rate(q, v),
    "normalize": lambda r, q: r.normalize(q),
    "pose": lambda r, q: r.pose(q, "f1"),
    "velocity": lambda r, q, v: r.velocity(q, v, "f1"),
    "acceleration": lambda r, q, v, a: r.acceleration(q, v, a, "f1"),
    "acceleration, classical": lambda r, q, v, a: r.acceleration(q, v, a, "f1", "aligned", classical=True),
    "point_position": lambda r, q: r.point_position(q, "f1", (1, 2, 3)),
    "point_velocity": lambda r, q, v: r.point_velocity(q, v, "f1", (1, 2, 3)),
    "point_acceleration": lambda r, q, v, a: r.point_acceleration(q, v, a, "f1", (1, 2, 3)),
    "jacobian": lambda r, q: r.jacobian(q, "f1"),
    "jacobian_rate": lambda r, q, v: r.jacobian_rate(q, v, "f1", "world"),
    "center_of_mass": lambda r, q: r.center_of_mass(q),
    "center_of_mass_velocity": lambda r, q, v: r.center_of_mass_velocity(q, v),
    "momentum": lambda r, q, v: r.momentum(q, v),
    "momentum_rate": lambda r, q, v, a: r.momentum_rate(q, v, a),
    "centroidal_momentum_matrix": lambda r, q: r.centroidal_momentum_matrix(q),
    "centroidal_momentum_matrix_rate": lambda r, q, v: r.centroidal_momentum_matrix_rate(q, v),
    "centroidal_momentum_drift": lambda r, q, v: r.centroidal_momentum_drift(q, v),
    "inverse_dynamics": lambda r, q, v, a: r.inverse_dynamics(q, v, a, LOAD),
    "inverse_dynamics, modules": lambda r, q, v, a: r.inverse_dynamics(q, v, a, LOAD, method="modules"),
    "inverse_dynamics, absolute": lambda r, q, v, a: r.inverse_dynamics(q, v, a, LOAD, method="absolute_newton_euler"),
    "inverse_dynamics, friction": lambda r, q, v, a: r.inverse_dynamics(q, v, a, friction=True),
    "joint_wrenches": lambda r, q, v, a: r.joint_wrenches(q, v, a, LOAD),
    "joint_wrenches, bearings": lambda r, q, v, a: r.joint_wrenches(q, v, a, bearings_only=True),
    "actuation": lambda r, q, tau: r.actuation(q, "joints").forces(tau),
    "bias_force": lambda r, q, v: r.bias_force(q, v, LOAD),
    "gravity_force": lambda r, q: r.gravity_force(q),
    "friction_force": lambda r, v: r.friction_force(v),
    **{
        f"forward_dynamics, {m}": lambda r, q, v, tau, m=m: r.forward_dynamics(q, v, tau, LOAD, method=m)
        for m in FORWARD_METHODS
    },
    "forward_dynamics, friction": lambda r, q, v, tau: r.forward_dynamics(q, v, tau, friction=True),
    "mass_matrix": lambda r, q: r.mass_matrix(q),
    "mass_matrix, absolute": lambda r, q: r.mass_matrix(q, method="absolute_composite_body"),
    "inverse_mass_matrix": lambda r, q: r.inverse_mass_matrix(q),
    "mass_matrix_factors, L": lambda r, q: r.mass_matrix_factors(q)[0],
    "mass_matrix_factors, d": lambda r, q: r.mass_matrix_factors(q)[1],
    "mass_matrix_factors, LTL": lambda r, q: r.mass_matrix_factors(q, "LTL")[0],
    "coriolis_matrix": lambda r, q, v: r.coriolis_matrix(q, v),
    "operational_space_inertia": lambda r, q: r.operational_space_inertia(q, "b0"),
    "operational_space_inertia, inverse": lambda r, q: r.operational_space_inertia(q, ["b0", "f1"], inverse=True),
    "operational_space_inertia, handles": lambda r, q: r.operational_space_inertia(q, "b0", method="handles"),
    "handle_response": lambda r, q, v, tau: r.handle_response(q, v, tau, ["b4", "f1"], LOAD).acceleration,
    "motor_forces": lambda r, q, v, a: r.motor_forces(q, v, a, {"j1": np.eye(6)[:, :2] + 0.1}, LOAD)["j1"].bearing,
    "handle_response, inertia": lambda r, q: r.handle_response(q, np.zeros(r.nv), np.zeros(r.nv), "f1")[0],
    "kinetic_energy": lambda r, q, v: r.kinetic_energy(q, v),
    "potential_energy": lambda r, q: r.potential_energy(q),
    "clearance": lambda r, q: r.clearance(q).distances,
    "power": lambda r, q, v, tau: r.power(q, v, tau),
    "power, wrenches": lambda r, q, v, tau: r.power(q, v, tau, LOAD),
    "regressor": lambda r, q, v, a: r.regressor(q, v, a, friction=True),
    "joint_momentum_regressor": lambda r, q, v: r.joint_momentum_regressor(q, v),
    "momentum_regressor": lambda r, q, v: r.momentum_regressor(q, v),
    "kinetic_energy_regressor": lambda r, q, v: r.kinetic_energy_regressor(q, v),
    "potential_energy_regressor": lambda r, q: r.potential_energy_regressor(q),
    "power_regressor": lambda r, q, v, a: r.power_regressor(q, v, a, friction=True),
    "inverse_dynamics_by_parameters": lambda r, q, v, a: r.inverse_dynamics_by_parameters(q, v, a, ["b0.M", "b1.XX"]),
    "forward_dynamics_by_parameters": lambda r, q, v, tau: r.forward_dynamics_by_parameters(
        q, v, tau, {"b0.M": 1.5, "gravity": (1, 2, -9)}
    ),
    "inverse_dynamics, parameters": lambda r, q, v, a: r.inverse_dynamics(q, v, a, LOAD, parameters={"b0.M": 1.5}),
    "forward_dynamics, parameters": lambda r, q, v, tau: r.forward_dynamics(q, v, tau, parameters={"b0.M": 1.5}),
    "hybrid_dynamics": lambda r, q, v: np.concatenate(r.hybrid_dynamics(q, v, a={"j1": [1, 2]}), axis=-1),
    "floating_base_inverse_dynamics": lambda r, q, v: np.concatenate(
        r.floating_base_inverse_dynamics(q, v, np.ones(r.nv - 6), LOAD), axis=-1
    ),
}
each_method = pytest.mark.parametrize("name", METHODS)


def needs(name: str) -> list[str]:
    return [p for p in inspect.signature(METHODS[name]).parameters if p in ("q", "v", "a", "tau")]


def call(name: str, robot: kt.Robot, state: dict) -> np.ndarray:
    return METHODS[name](robot, **{key: state[key] for key in needs(name)})


@pytest.fixture(scope="module")
def robot() -> kt.Robot:
    """A floating tree with Euler, quaternion, user-made and simple joints, friction and rotors."""
    rng = np.random.default_rng(100)
    builder = kt.Builder("zoo", gravity=(1, 2, -9))
    kinds = [kt.Free(), kt.Universal("XY"), kt.EulerSpherical("YXZ"), kt.Spherical(), kt.Helical("x", 0.2)]
    for i, kind in enumerate(kinds):
        parent = "base" if i == 0 else f"b{max(0, i - 2)}"
        box = kt.MassProperties.box(1.0 + i, rng.uniform(0.2, 0.5, 3), rng.uniform(-0.2, 0.2, 3))
        data = {} if i == 0 else {"damping": 0.1, "friction": 0.2, "rotor_inertia": 0.05}
        builder.body(f"b{i}", parent, kind, joint_name=f"j{i}", position=(0.1, 0.2, 0.3), mass_properties=box, **data)
        builder.frame(f"f{i}", f"b{i}", (0.1, 0, 0), rpy=(0.1, 0.2, 0.3))
        builder.shape(f"f{i}", kt.shapes.Capsule(0.02, 0.1))
    return builder.build()


def states(robot: kt.Robot, shape: int | tuple[int, ...], seed: int = 101) -> dict[str, np.ndarray]:
    q, v, a = random_state(robot, np.random.default_rng(seed), shape)
    return {"q": q, "v": v, "a": a, "tau": 2 * a}


def test_the_list_is_complete():
    """A new public method that takes a configuration or a velocity must be added above."""
    listed = {name.partition(",")[0] for name in METHODS} | {
        "denoc",
        "module_quantities",
        "within_limits",
    }  # the first two are for one state, the last answers yes or no
    for name, method in inspect.getmembers(kt.Robot, inspect.isfunction):
        parameters = inspect.signature(method).parameters
        if not name.startswith("_") and {"q", "q0", "v"} & set(parameters):
            assert name in listed, f"Robot.{name} is not tested here"


# Batches


@each_method
def test_batches_are_the_states_one_by_one(name, robot):
    state = states(robot, (2, 3))
    whole = call(name, robot, state)
    assert whole.shape[:2] == (2, 3)
    assert whole.dtype == np.float64
    for i, j in np.ndindex(2, 3):
        one = call(name, robot, {key: x[i, j] for key, x in state.items()})
        assert np.shape(one) == whole.shape[2:]
        assert_close(one, whole[i, j], 1e-9 if "walker_orin_4" in name else 1e-11)


@each_method
def test_empty_batches(name, robot):
    trailing = call(name, robot, states(robot, 1)).shape[1:]
    for shape in ((0,), (2, 0), (0, 3)):
        assert call(name, robot, states(robot, shape)).shape == (*shape, *trailing)


@each_method
def test_batches_broadcast(name, robot):
    wide = states(robot, (4, 3))
    mixed = {"q": wide["q"][:1], "v": wide["v"][:, :1], "a": wide["a"][2, 1], "tau": wide["tau"][3]}
    used = {key: mixed[key] for key in needs(name)}
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in used.values()))
    full = {key: np.broadcast_to(x, (*batch, x.shape[-1])) for key, x in used.items()}
    found, expected = call(name, robot, mixed), call(name, robot, full)
    assert found.shape == expected.shape
    assert found.shape[: len(batch)] == batch
    assert_close(found, expected, 1e-13)


@each_method
def test_batches_that_do_not_fit(name, robot):
    if len(needs(name)) < 2:
        return
    for odd in needs(name):
        state = states(robot, 3) | {odd: states(robot, 4)[odd]}
        with pytest.raises(ShapeError, match=r"do not fit together: .*\(3,\).*\(4,\)|.*\(4,\).*\(3,\)"):
            call(name, robot, state)


def test_other_arguments_take_part_in_the_batch(robot):
    state = states(robot, ())
    q, v, a = state["q"], state["v"], state["a"]
    loads = np.random.default_rng(102).uniform(-1, 1, (5, 6))
    tau = robot.inverse_dynamics(q, v, a, {"b1": loads})
    assert tau.shape == (5, robot.nv)
    assert_close(tau[3], robot.inverse_dynamics(q, v, a, {"b1": loads[3]}), 1e-13)
    points = np.random.default_rng(103).uniform(-1, 1, (5, 3))
    assert_close(robot.point_position(q, "f1", points)[2], robot.point_position(q, "f1", points[2]), 1e-14)
    accelerations = np.ones((5, robot.nv - 6))
    base, _ = robot.floating_base_inverse_dynamics(q, v, accelerations)
    first = robot.joint_names[1]
    place = robot.joint(first).v_slice
    only = np.zeros(robot.nv - 6)
    only[place.start - 6 : place.stop - 6] = 0.3
    given = {first: only[place.start - 6 : place.stop - 6]}
    for found, wanted in zip(
        robot.floating_base_inverse_dynamics(q, v, given), robot.floating_base_inverse_dynamics(q, v, only), strict=True
    ):
        assert np.array_equal(found, wanted)
    with pytest.raises(kt.OptionError, match="nothing drives the base"):
        robot.floating_base_inverse_dynamics(q, v, {robot.joint_names[0]: np.zeros(6)})
    assert base.shape == (5, 6)
    for wrong in ({"b1": np.ones((4, 6))}, {"b1": kt.Wrench(np.ones((4, 3)))}, np.ones((4, 5, 6))):
        with pytest.raises(ShapeError, match="do not fit"):
            robot.inverse_dynamics(np.tile(q, (3, 1)), v, a, wrong)
    with pytest.raises(ShapeError, match=r"do not fit.*point: \(5,\)"):
        robot.point_position(np.tile(q, (3, 1)), "f1", points)
    with pytest.raises(ShapeError, match="do not fit"):
        robot.floating_base_inverse_dynamics(np.tile(q, (3, 1)), v, accelerations)


# Shapes and types


@each_method
def test_wrong_shapes_name_the_argument(name, robot):
    for odd in needs(name):
        size = robot.nq if odd == "q" else robot.nv
        for wrong in (np.zeros(size + 1), np.zeros(size - 1), np.zeros((size, 1)), 0.0, [], np.zeros((3, 0))):
            with pytest.raises(ShapeError, match=rf"{odd}0? must have shape \(\.\.\., {size}\)"):
                call(name, robot, states(robot, ()) | {odd: wrong})


@each_method
def test_wrong_types_name_the_argument(name, robot):
    for odd in needs(name):
        size = robot.nq if odd == "q" else robot.nv
        for wrong in ("abc", None, ["x"] * size, [[1, 2], [3]], {"a": 1}, [None] * size, object()):
            with pytest.raises(ShapeError, match=rf"{odd}0? (cannot be read|must have shape)"):
                call(name, robot, states(robot, ()) | {odd: wrong})


def test_errors_are_also_value_errors(robot):
    with pytest.raises(ValueError, match="q must have shape"):
        robot.mass_matrix([1])
    with pytest.raises(KinetreeError):
        robot.mass_matrix([1])


@pytest.mark.parametrize("kind", [list, tuple, np.float32, np.float16, int, np.int8, bool], ids=lambda k: k.__name__)
def test_lists_integers_and_short_floats_are_accepted(kind):
    robot = arm()
    q = np.array([1, 0, 1])
    given = kind(q.tolist()) if kind in (list, tuple) else q.astype(kind)
    for name in ("mass_matrix", "gravity_force"):
        found = getattr(robot, name)(given)
        assert found.dtype == np.float64
        assert_close(found, getattr(robot, name)(q.astype(float)), 1e-15)


@each_method
def test_inputs_may_be_read_only_strided_or_reversed_and_are_never_changed(name, robot):
    state = states(robot, (4, 3))
    expected = call(name, robot, state)
    frozen = {key: x.copy() for key, x in state.items()}
    for x in frozen.values():
        x.flags.writeable = False
    assert_close(call(name, robot, frozen), expected, 1e-13)
    padded = {key: np.repeat(np.repeat(x, 2, axis=-1), 2, axis=0)[::2, :, ::2] for key, x in state.items()}
    fortran = {key: np.asfortranarray(x) for key, x in state.items()}
    flipped = {key: x[::-1, ::-1].copy()[::-1, ::-1] for key, x in state.items()}
    for odd in (padded, fortran, flipped):
        before = {key: x.copy() for key, x in odd.items()}
        assert_close(call(name, robot, odd), expected, 1e-13)
        for key, x in odd.items():
            np.testing.assert_array_equal(x, before[key])


@each_method
def test_results_are_fresh_arrays(name, robot):
    """Writing into a result changes neither the inputs nor later results."""
    state = states(robot, 3)
    first = np.array(call(name, robot, state))
    result = call(name, robot, state)
    assert not any(np.shares_memory(result, x) for x in state.values())
    if result.flags.writeable:
        result[...] = 77.0
    assert_close(call(name, robot, state), first, 1e-15)


# NaN and infinity


@each_method
@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_poisoned_row_spoils_only_itself(name, poison, robot):
    state = states(robot, (2, 3))
    clean = call(name, robot, state)
    keep = np.ones((2, 3), dtype=bool)
    keep[1, 1] = False
    for odd in needs(name):
        bad = {key: x.copy() for key, x in state.items()}
        bad[odd][1, 1, :] = poison
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # not even a warning from NumPy
            found = call(name, robot, bad)
        assert_close(found[keep], clean[keep], 1e-12)
        if np.isnan(poison):  # what depends on the poisoned part says so
            assert np.isnan(found[1, 1]).any() or _constant_in(name, odd)


def _constant_in(name: str, part: str) -> bool:
    """Results that do not depend on a part of the state at all."""
    return (name, part) in {("power", "q")}


@each_method
def test_a_single_poisoned_number_spoils_only_its_row(name, robot):
    """One row per number of the state, each with that number spoilt; and a clean one among them."""
    state = states(robot, ())
    clean = call(name, robot, state)
    for odd in needs(name):
        size = state[odd].shape[-1]
        bad = state | {odd: np.tile(state[odd], (size + 1, 1))}
        bad[odd][1:][np.eye(size, dtype=bool)] = np.nan
        found = call(name, robot, bad)
        assert_close(found[0], clean, 1e-9 if "walker_orin_4" in name else 1e-11)


def test_poisoned_wrenches_spoil_their_row_only(robot):
    state = states(robot, 3)
    loads = np.random.default_rng(104).uniform(-1, 1, (3, 6))
    clean = robot.forward_dynamics(state["q"], state["v"], state["tau"], {"b1": loads})
    loads[1, 2] = np.nan
    found = robot.forward_dynamics(state["q"], state["v"], state["tau"], {"b1": loads})
    assert_close(found[[0, 2]], clean[[0, 2]], 1e-13)
    assert np.isnan(found[1]).any()


def test_a_single_poisoned_state_gives_nan_and_no_error(robot):
    state = states(robot, ())
    for name in METHODS:
        bad = {key: np.full_like(x, np.nan) for key, x in state.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.isnan(call(name, robot, bad)).any()


# Quaternions


def with_length(robot: kt.Robot, factor: float) -> np.ndarray:
    q = robot.random_configuration(np.random.default_rng(105))
    q[:4] *= factor
    return q


@pytest.mark.parametrize("factor", [1 + 2e-6, 1 - 2e-6, 2.0, 0.5, 0.0])
def test_quaternions_that_are_no_rotations_are_refused(factor):
    robot = floating_pair()
    q = with_length(robot, factor)
    v = np.zeros(robot.nv)
    for method in (robot.mass_matrix, robot.gravity_force, robot.potential_energy, lambda q: robot.pose(q, "nose")):
        with pytest.raises(StateError, match=r"q: the quaternion of joint 'root' .*0:4.*robot\.normalize\(q\)"):
            method(q)
    with pytest.raises(StateError, match="'root'"):
        robot.integrate(q, v)
    with pytest.raises(StateError, match=r"q1: .*'root'"):
        robot.difference(robot.neutral(), q)
    with pytest.raises(StateError, match=r"q0: .*'root'"):
        robot.difference(q, robot.neutral())


@pytest.mark.parametrize("factor", [1 + 9e-7, 1 - 9e-7, 1.0])
def test_quaternions_within_the_tolerance_are_taken(factor):
    robot = floating_pair()
    assert_close(robot.mass_matrix(with_length(robot, factor)), robot.mass_matrix(with_length(robot, 1.0)), 1e-5)


def test_the_offending_joint_and_row_are_named():
    robot = floating_pair()
    q = robot.random_configuration(106, (3, 4))
    q[2, 1, 7:11] *= 1.5
    with pytest.raises(StateError, match=r"'neck' \(x, y, z, w at 7:11, batch index \(2, 1\)\) has length off by 0\.5"):
        robot.mass_matrix(q)
    q[0, 0] = np.nan  # a row of NaN does not hide the other
    with pytest.raises(StateError, match=r"batch index \(2, 1\)"):
        robot.mass_matrix(q)


def test_normalize_scales_quaternions_and_nothing_else():
    robot = floating_pair()
    q = robot.random_configuration(107, 6)
    long = q.copy()
    long[:, :4] *= np.array([2.0, 0.1, 1e-9, 1e9, 1.0, 3.0])[:, None]
    long[:, 7:11] *= 5.0
    before = long.copy()
    found = robot.normalize(long)
    assert_close(found, q, 1e-15)
    np.testing.assert_array_equal(long, before)
    robot.mass_matrix(found)
    long[3, :4] = 0.0
    with pytest.raises(StateError, match="'root' is zero"):
        robot.normalize(long)
    np.testing.assert_array_equal(arm().normalize([1, 2, 3]), [1.0, 2.0, 3.0])


# Wrenches


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ({"force": (1, 2)}, r"force must have shape \(\.\.\., 3\) \(x, y and z\), got \(2,\)"),
        ({"moment": "x"}, "moment cannot be read"),
        ({"point": (1, 2, 3, 4)}, r"point must have shape \(\.\.\., 3\)"),
    ],
)
def test_a_wrench_is_checked_where_it_is_made(numbers, says):
    with pytest.raises(ShapeError, match=says):
        kt.Wrench(**numbers)


def test_wrenches_are_checked(robot):
    state = states(robot, ())
    q, v, a = state["q"], state["v"], state["a"]
    for wrenches, error, says in (
        ({"bb1": np.zeros(6)}, UnknownNameError, "did you mean 'b1'"),
        ({"b1": np.zeros(5)}, ShapeError, r"the wrench on 'b1' must have shape \(\.\.\., 6\) \(moment, then force\)"),
        ({"b1": "push"}, ShapeError, "the wrench on 'b1' cannot be read"),
        (np.zeros((4, 6)), ShapeError, r"wrenches must have shape \(\.\.\., 5, 6\)"),
        ("push", ShapeError, "wrenches cannot be read"),
    ):
        for method in (robot.inverse_dynamics, robot.forward_dynamics, robot.joint_wrenches, robot.power):
            with pytest.raises(error, match=says):
                method(q, v, a, wrenches)
        for method in (robot.bias_force, robot.hybrid_dynamics):
            with pytest.raises(error, match=says):
                method(q, v, wrenches=wrenches)


# Writing into a given array


def test_out_is_written_and_returned(robot):
    state = states(robot, 3)
    q, v, a, tau = (state[k] for k in ("q", "v", "a", "tau"))
    for method, arguments, shape in (
        (robot.inverse_dynamics, (q, v, a), (3, robot.nv)),
        (robot.forward_dynamics, (q, v, tau), (3, robot.nv)),
        (robot.mass_matrix, (q,), (3, robot.nv, robot.nv)),
        (robot.inverse_mass_matrix, (q,), (3, robot.nv, robot.nv)),
        (robot.coriolis_matrix, (q, v), (3, robot.nv, robot.nv)),
    ):
        out = np.full(shape, np.nan)
        assert method(*arguments, out=out) is out
        assert_close(out, method(*arguments), 1e-13)
        with pytest.raises(ShapeError, match="out must have shape"):
            method(*arguments, out=np.zeros((2, *shape[1:])))
        with pytest.raises(ShapeError, match="out must be an array of floats"):
            method(*arguments, out=np.zeros(shape, dtype=int))
        frozen = np.zeros(shape)
        frozen.flags.writeable = False
        with pytest.raises(ShapeError, match="read-only"):
            method(*arguments, out=frozen)
        assert not frozen.any()


@pytest.mark.parametrize("count", [1, 5, 37])
def test_out_may_be_one_of_the_inputs(robot, count):
    state = states(robot, count)
    for method in (robot.inverse_dynamics, robot.forward_dynamics):
        expected = method(state["q"], state["v"], state["a"])
        both = state["a"].copy()
        method(state["q"], state["v"], both, out=both)
        assert_close(both, expected, 1e-13)
        shifted = np.concatenate([np.zeros((1, robot.nv)), state["a"]])
        method(state["q"], state["v"], shifted[1:], out=shifted[:-1])
        assert_close(shifted[:-1], expected, 1e-13)
        strided = np.zeros((count, 2 * robot.nv))
        method(state["q"], state["v"], state["a"], out=strided[:, ::2])
        assert_close(strided[:, ::2], expected, 1e-13)
        assert np.all(strided[:, 1::2] == 0.0)


# Odd robots


def test_methods_of_fixed_robots_say_what_is_missing():
    robot = arm()
    with pytest.raises(ModelError, match="'arm' has no floating base"):
        robot.floating_base_inverse_dynamics([0, 0, 0], [0, 0, 0], [])


def test_huge_angles_are_still_angles():
    """sin and cos of 1e9 are right; whole turns change nothing beyond rounding of the angle itself."""
    robot = arm()
    q = np.array([0.3, -0.4, 0.5])
    turns = 2 * np.pi * np.array([1e4, -1e4, 3e3])
    assert_close(robot.gravity_force(q + turns), robot.gravity_force(q), 1e-10)
    hinge = kt.Builder().body("a", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -1)).build()
    for x in (1e5, 1e9, -1e9, 123456789.0):
        assert_close(hinge.gravity_force([x]), [9.81 * np.sin(x)], 1e-14)


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_take_any_batch(seed):
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 5, followers=True)
    q, v, a = random_state(robot, rng, (2, 1, 3))
    tau = robot.inverse_dynamics(q, v[0], a[0, 0])
    assert tau.shape == (2, 1, 3, robot.nv)
    assert robot.forward_dynamics(q, v[0], tau).shape == (2, 1, 3, robot.nv)
    assert robot.mass_matrix(q).shape == (2, 1, 3, robot.nv, robot.nv)
    assert robot.joint_wrenches(q, v, a).shape == (2, 1, 3, 5, 6)


@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_friction_is_of_the_velocities_given_even_if_they_are_overwritten(backend):
    robot = arm().with_backend(backend)
    q, v, a = random_state(robot, np.random.default_rng(1), 5)
    expected = robot.inverse_dynamics(q, v, a) + robot.friction_force(v)
    assert_close(robot.inverse_dynamics(q, v, a, friction=True, out=v), expected, 1e-15)


@pytest.mark.parametrize("backend", ["compiled", "reference"])
@pytest.mark.parametrize("n", [(), 9])
def test_nan_elsewhere_does_not_hide_a_bad_quaternion(backend, n):
    builder = kt.Builder("two roots")
    for name, kind in (("hinge", kt.Revolute("z")), ("first", kt.Spherical()), ("second", kt.Spherical())):
        builder.body(name, "base", kind, mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1))
    robot = builder.build().with_backend(backend)
    q = random_state(robot, np.random.default_rng(1), n)[0]
    robot.gravity_force(q)
    for broken in (0, 1):  # a hinge, a quaternion
        doubtful = q.copy()
        doubtful[..., broken] = np.nan
        robot.gravity_force(doubtful)  # NaN by itself is no error
        doubtful[..., -4:] *= 2.0
        for _ in range(2):
            with pytest.raises(kt.StateError, match="second"):
                robot.gravity_force(doubtful)


def ball():
    return kt.Builder("ball").body("bob", "base", kt.Spherical(), mass=1.0, com=(0, 0, -0.5)).build()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ([[0.1, 0.2], [0.3]], "q cannot be read .*: its rows have different lengths"),
        ("ab", "q cannot be read .*: it contains text, 'ab'"),
        (["0.1", "0.2"], "q cannot be read .*: it contains text, '0.1'"),
        (None, "q cannot be read .*: it contains None"),
        (np.array([0.1, 0.2], dtype=object), r"its dtype is object; convert it with astype\(float\)"),
    ],
)
def test_what_is_no_array_of_numbers_is_said_in_words(given, reason):
    with pytest.raises(kt.ShapeError, match=reason):
        two_links().gravity_force(given)


def test_symbols_are_sent_to_the_function_that_takes_them():
    sympy = pytest.importorskip("sympy")
    with pytest.raises(
        kt.ShapeError, match=r"it contains symbols of sympy; kinetree.symbolic.function\(robot, name, 'sympy'"
    ):
        two_links().gravity_force(sympy.symbols("a b"))


def test_traced_arrays_of_jax_are_sent_there_too():
    jax = pytest.importorskip("jax")
    with pytest.raises(kt.ShapeError, match="it contains symbols of jax"):
        jax.jit(two_links().gravity_force)(np.zeros(2))


@pytest.mark.parametrize(
    ("out", "reason"), [(np.empty((4, 2), dtype=int), "not int64"), ([[0.0, 0.0]] * 4, "not a list")]
)
def test_an_output_of_another_type_is_told_which(out, reason):
    with pytest.raises(
        kt.ShapeError, match=rf"out must be an array of floats, such as numpy.empty.*\(4, 2\).*, {reason}"
    ):
        two_links().inverse_dynamics(*np.zeros((3, 4, 2)), out=out)


def test_a_quaternion_of_length_zero_is_named_with_its_place_in_the_batch():
    q = np.tile(ball().neutral(), (3, 1))
    q[2] = 0.0
    with pytest.raises(kt.StateError, match=r"'bob_joint' is zero \(batch index 2\)"):
        ball().normalize(q)


@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_an_output_whose_entries_share_memory_is_refused(backend):
    robot = two_links().with_backend(backend)
    state = two_links_state("qva", (5,))
    expected = robot.inverse_dynamics(*state)
    shared = np.lib.stride_tricks.as_strided(np.zeros(6), (5, 2), (8, 8))
    with pytest.raises(kt.ShapeError, match=r"entries of out share memory \(strides \(8, 8\)\)"):
        robot.inverse_dynamics(*state, out=shared)
    room = np.zeros((10, 6))
    for apart in (room[::2, ::3], room[::-2, 1:3], room.T[2:4, :5].T, np.asfortranarray(room[:5, :2])):
        robot.inverse_dynamics(*state, out=apart)
        assert np.array_equal(apart, expected)


def test_masked_entries_are_refused():
    robot = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
    q = np.ma.masked_array([[0.1], [0.2]], mask=[[False], [True]])
    with pytest.raises(kt.ShapeError, match="q has masked entries; fill them"):
        robot.gravity_force(q)
    np.testing.assert_array_equal(robot.gravity_force(q[:1]), robot.gravity_force([[0.1]]))


def test_a_quaternion_in_the_wrong_place_is_noticed():
    builder = kt.Builder("free")
    builder.body("a", "base", kt.Free(), mass=1.0, inertia=(1, 1, 1))
    robot = builder.build()
    with pytest.raises(kt.StateError, match="quaternion comes first"):
        robot.gravity_force([0.3, 0.2, 0.1, 0, 0, 0, 1])
    with pytest.raises(kt.StateError, match="normalize"):
        robot.gravity_force([0, 0, 0.1, 1, 0.3, 0.2, 0.1])


def test_joints_that_have_no_coordinate_are_named():
    b = kt.Builder("gripper")
    b.body("left", "base", kt.Prismatic("y"), mass=1.0)
    b.body("right", "base", kt.Prismatic("-y"), mass=1.0, mimic=kt.Mimic("left_joint"))
    with pytest.raises(kt.ShapeError, match=r"1 = nq; joints that mimic others have no coordinate: right_joint"):
        b.build().mass_matrix([0.1, 0.1])
