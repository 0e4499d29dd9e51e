"""Machine code against the reference: every algorithm, every kind of joint, real robots."""

import inspect
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import KINDS, floating_pair, gripper, random_state, random_tree
from kinetree.catalogue import ALGORITHMS
from kinetree.compiled import DIRECT

CALLS = {
    "integrate": lambda r, q, v, a: r.integrate(q, v),
    "difference": lambda r, q, v, a: r.difference(q, r.integrate(q, v)),
    "configuration_rate": lambda r, q, v, a: r.configuration_rate(q, v),
    "pose": lambda r, q, v, a: r.pose(q, r.frame_names[-1]),
    "velocity": lambda r, q, v, a: r.velocity(q, v, r.body_names[-1], "aligned"),
    "acceleration": lambda r, q, v, a: r.acceleration(q, v, a, r.body_names[-1], classical=True),
    "jacobian": lambda r, q, v, a: r.jacobian(q, r.body_names[-1], "world"),
    "jacobian_rate": lambda r, q, v, a: r.jacobian_rate(q, v, r.body_names[-1], "aligned"),
    "center_of_mass": lambda r, q, v, a: r.center_of_mass(q),
    "center_of_mass_velocity": lambda r, q, v, a: r.center_of_mass_velocity(q, v),
    "momentum": lambda r, q, v, a: r.momentum(q, v),
    "momentum_rate": lambda r, q, v, a: r.momentum_rate(q, v, a),
    "centroidal_momentum_matrix": lambda r, q, v, a: r.centroidal_momentum_matrix(q),
    "centroidal_momentum_matrix_rate": lambda r, q, v, a: r.centroidal_momentum_matrix_rate(q, v),
    "centroidal_momentum_drift": lambda r, q, v, a: r.centroidal_momentum_drift(q, v),
    "inverse_dynamics": lambda r, q, v, a: r.inverse_dynamics(q, v, a),
    "joint_wrenches": lambda r, q, v, a: r.joint_wrenches(q, v, a),
    "joint_subspaces": lambda r, q, v, a: r.joint_wrenches(q, v, a, bearings_only=True),
    "bias_force": lambda r, q, v, a: r.bias_force(q, v),
    "gravity_force": lambda r, q, v, a: r.gravity_force(q),
    "forward_dynamics": lambda r, q, v, a: r.forward_dynamics(q, v, a),
    "mass_matrix": lambda r, q, v, a: r.mass_matrix(q),
    "inverse_mass_matrix": lambda r, q, v, a: r.inverse_mass_matrix(q),
    "mass_matrix_factors": lambda r, q, v, a: r.mass_matrix_factors(q)[0],
    "coriolis_matrix": lambda r, q, v, a: r.coriolis_matrix(q, v),
    "kinetic_energy": lambda r, q, v, a: r.kinetic_energy(q, v),
    "potential_energy": lambda r, q, v, a: r.potential_energy(q),
    "power": lambda r, q, v, a: r.power(q, v, a),
    "inverse_dynamics_derivatives": lambda r, q, v, a: r.inverse_dynamics_derivatives(q, v, a)[0],
    "forward_dynamics_derivatives": lambda r, q, v, a: r.forward_dynamics_derivatives(q, v, a)[1],
}
FLOATING = {
    "floating_base_inverse_dynamics": lambda r, q, v, a: r.floating_base_inverse_dynamics(q, v, a[..., 6:])[1],
    "hybrid_dynamics": lambda r, q, v, a: r.hybrid_dynamics(q, v, a={r.joint_names[0]: a[..., :6]})[1],
    "operational_space_inertia": lambda r, q, v, a: r.operational_space_inertia(q, r.body_names[0], inverse=True),
}


def compare(robot, calls, n=11, tolerance=1e-11):
    compiled = robot.with_backend("compiled")
    reference = robot.with_backend("reference")
    q, v, a = random_state(robot, np.random.default_rng(5), n)
    for name, call in calls.items():
        expected = call(reference, q, v, a)
        batch = call(compiled, q, v, a)
        try:
            assert_close(batch, expected, tolerance, scale=max(float(np.abs(expected).max()), 1e-2))
            assert_close(call(compiled, q, v, a), batch, 0.0)  # now through the entry point, where there is one
            single = call(compiled, q[3], v[3], a[3])
            assert_close(single, batch[3], 1e-15 if name in ("joint_subspaces", "power") else 0.0)
        except AssertionError as problem:
            raise AssertionError(f"{name}: {problem}") from None


def test_every_algorithm_of_the_catalogue_is_compared():
    assert set(CALLS) | set(FLOATING) == set(ALGORITHMS)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_joint(kind):
    rng = np.random.default_rng(3)
    compare(random_tree(rng, 2, [kind]), CALLS)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_random_trees(seed):
    rng = np.random.default_rng(seed)
    compare(random_tree(rng, 4, floating=True, followers=seed == 1), CALLS | FLOATING)


def test_every_forward_method():
    robot = random_tree(np.random.default_rng(1), 4, ["revolute", "prismatic", "universal"])
    for method in ("articulated_body", "composite_body", "udu", "walker_orin_1", "walker_orin_2"):
        compare(robot, {method: lambda r, q, v, a, m=method: r.forward_dynamics(q, v, a, method=m)})


def test_wrenches_friction_and_threads():
    robot = random_tree(np.random.default_rng(8), 5, floating=True)
    rng = np.random.default_rng(0)
    moving = rng.standard_normal((11, 6))
    push = kt.Wrench(force=(1, 2, 3), moment=(0.1, 0, 0), point=(0.2, 0, 0), axes="world")

    def loads(q):
        return {"f4": moving if q.ndim > 1 else moving[3], "b2": push, "base": push}

    compare(robot, {
        "inverse": lambda r, q, v, a: r.inverse_dynamics(q, v, a, loads(q)),
        "forward": lambda r, q, v, a: r.forward_dynamics(q, v, a, loads(q), friction=True),
        "threads": lambda r, q, v, a: r.inverse_dynamics(q, v, a, threads=3),
    })  # fmt: skip


def test_followers_keep_to_their_leaders():
    compare(random_tree(np.random.default_rng(4), 6, ["revolute", "prismatic"], followers=True), CALLS)


def test_quaternion_and_gimbal_lock_are_watched_in_machine_code_too():
    builder = kt.Builder("two balls")
    builder.body("a", "base", kt.Spherical(), mass=1.0, com=(0, 0, 1), inertia=(1, 1, 1))
    builder.body("b", "a", kt.EulerSpherical("ZYZ"), mass=1.0, com=(0, 0, 1), inertia=(1, 1, 1))
    robot = builder.build().with_backend("compiled")
    q, v, a = random_state(robot, np.random.default_rng(0), 30)
    robot.inverse_dynamics(q, v, a)
    robot.inverse_dynamics(q[0], v[0], a[0])
    assert type(robot.inverse_dynamics).__name__ == "builtin_function_or_method"
    long = q.copy()
    long[17, :4] *= 1.0 + 3e-6
    with pytest.raises(kt.StateError, match=r"'a_joint'.*batch index 17"):
        robot.inverse_dynamics(long, v, a)
    with pytest.raises(kt.StateError, match="a_joint"):
        robot.inverse_dynamics(long[17], v[17], a[17])
    robot.inverse_dynamics(robot.normalize(long), v, a)
    locked = q.copy()
    locked[5, 5] = 1e-5
    with pytest.warns(kt.SingularityWarning, match=r"b_joint.*index 5"):
        tau = robot.inverse_dynamics(locked, v, a)
    assert np.isfinite(tau).all()
    with pytest.warns(kt.SingularityWarning, match="b_joint"):
        robot.inverse_dynamics(locked[5], v[5], a[5])


def test_out_and_bad_arguments():
    robot = gripper().with_backend("compiled")
    q, v, a = random_state(robot, np.random.default_rng(0), 6)
    out = np.zeros((6, 4))
    for _ in range(2):  # through Python, then straight
        assert robot.inverse_dynamics(q, v, a, out=out) is out
        with pytest.raises(kt.ShapeError, match=r"\(6, 4\)"):
            robot.inverse_dynamics(q, v, a, out=np.zeros((4, 6)))
        with pytest.raises(kt.ShapeError, match="v must have shape"):
            robot.inverse_dynamics(q, v[:, :3], a)
        with pytest.raises(kt.ShapeError, match="batches do not fit"):
            robot.inverse_dynamics(q, v[:4], a)
        assert robot.inverse_dynamics(list(q[0]), v[0].tolist(), a[0]).shape == (4,)
        assert robot.inverse_dynamics(q.astype(np.float32), v, a).dtype == float
        with pytest.raises(TypeError):
            robot.inverse_dynamics(q, v)


def test_single_precision():
    robot = random_tree(np.random.default_rng(2), 5, floating=True)
    q, v, a = random_state(robot, np.random.default_rng(0), 20)
    narrow = robot.with_backend("compiled").with_precision("single")
    tau = narrow.inverse_dynamics(q, v, a)
    assert tau.dtype == np.float32
    assert_close(tau, robot.inverse_dynamics(q, v, a), 1e-5)
    assert_close(narrow.mass_matrix(q[0].astype(np.float32)), robot.mass_matrix(q[0]), 1e-5)


def test_pickling_and_ahead_of_time():
    robot = gripper().with_backend("compiled")
    robot.compile()
    q, v, a = random_state(robot, np.random.default_rng(0), 3)
    tau = robot.inverse_dynamics(q, v, a)
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert_close(again.inverse_dynamics(q, v, a), tau, 0.0)


def test_complex_numbers_go_to_the_reference():
    robot = gripper().with_backend("compiled")
    q, v, a = random_state(robot, np.random.default_rng(0))
    step = robot.inverse_dynamics(q + 1e-30j * np.eye(4)[0], v, a)
    assert np.iscomplexobj(step)


def test_a_processor_without_vectors_falls_back_with_one_warning():
    program = textwrap.dedent("""
        import warnings, numpy as np
        from kinetree.engine import machine
        machine.host = lambda: machine.Machine("i486", "", 0, "1")
        import kinetree as kt
        robot = kt.Builder("p").body("b", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1)).build()
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert abs(abs(robot.gravity_force([np.pi / 2])[0]) - 9.81) < 1e-12
            robot.gravity_force([0.1])
        assert len(found) == 1 and "i486" in str(found[0].message), [str(f.message) for f in found]
    """)

    environment = {**os.environ, "KINETREE_BACKEND": "compiled"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


def test_nan_in_a_coordinate_that_nothing_depends_on():
    robot = gripper().with_gravity((0, 0, -9.81)).with_backend("compiled")  # gravity along the hinges: nothing to hold
    q = np.zeros((3, 4))
    q[1, 0] = np.nan
    force = robot.gravity_force(q)
    assert np.isnan(force[1]).all()
    assert not np.isnan(force[[0, 2]]).any()


@pytest.mark.parametrize("name", [n for n in DIRECT if n in ALGORITHMS])
def test_built_in_methods_say_what_they_take(name):
    robot = floating_pair().with_backend("compiled")
    method = getattr(robot, name)
    expected = [p.replace(annotation=p.empty) for p in inspect.signature(method).parameters.values()]
    doc = method.__doc__
    q, v, a = random_state(robot, np.random.default_rng(6))
    CALLS[name](robot, q, v, a)
    quick = getattr(robot, name)
    assert inspect.isbuiltin(quick)
    assert list(inspect.signature(quick).parameters.values()) == expected
    assert inspect.getdoc(quick) == inspect.cleandoc(doc)


@pytest.mark.parametrize("arctan2", [np.arctan2, kt.arctan2])
def test_a_users_joint_with_an_arctangent(arctan2):
    """A lid that is pushed open by a rod: its angle is that of a point which moves along a line."""

    def lid(x):
        angle = arctan2(x, -0.3)
        c, s = kt.cos(angle), kt.sin(angle)
        return ((c, -s, 0), (s, c, 0), (0, 0, 1)), (0, 0, 0)

    builder = kt.Builder().body(
        "lid", "base", kt.Custom(1, lid, coordinate_kinds=("m",)), mass=2.0, com=(0.4, 0.1, 0), inertia=(0.1, 0.2, 0.3)
    )
    robot = builder.build()
    compare(robot, {n: CALLS[n] for n in ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix")})
    moment = 0.3 + 2.0 * (0.4**2 + 0.1**2)
    x = np.array([0.5])
    rate = 0.3 / (0.3**2 + 0.5**2)  # of the angle by x, up to its sign
    assert_close(robot.with_backend("compiled").mass_matrix(x), [[moment * rate**2]], 1e-14)
