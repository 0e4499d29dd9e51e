"""Machine code against the reference: every algorithm, every kind of joint, real robots."""

import copy
import gc
import inspect
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import KINDS, floating_pair, gripper, random_state, random_tree
from kinetree.algorithms.table import ALGORITHMS
from kinetree.engine.kernels.loop_kernel import RolledKernel
from kinetree.engine.llvm import host
from kinetree.run import compiler
from kinetree.run.direct import DirectMethod
from kinetree.run.wrenches import each_body

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
        from kinetree.engine.llvm import host as machine
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


@pytest.mark.parametrize("name", [n for n, method in vars(kt.Robot).items() if isinstance(method, DirectMethod)])
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


# ---------------------------------------------------------------- derivatives, straight to machine code

DERIVATIVES = ("inverse_dynamics_derivatives", "forward_dynamics_derivatives")


def walker():
    """Seven velocities on a floating base, so that rows have 147 numbers; friction in the leg."""
    builder = kt.Builder("walker")
    builder.body("trunk", "base", kt.Free(), mass=3.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.3))
    builder.body(
        "leg", "trunk", kt.Revolute("y"), position=(0.1, 0.2, 0), mass=0.5, com=(0, 0.1, -0.2), inertia=(0.02,) * 3,
        damping=0.3, friction=0.2,
    )  # fmt: skip
    return builder.build().with_backend("compiled")


def prepared(method):
    """A robot whose derivatives no longer go through Python, its reference, and a batch."""
    robot = walker()
    state = random_state(robot, np.random.default_rng(2), 140)
    getattr(robot, method)(*state)
    getattr(robot, method)(*(x[0] for x in state))
    assert (method, (), ()) in robot.evaluator.entry_points
    return getattr(robot, method), getattr(robot.with_backend("reference"), method), state


def message(call, *arguments, **options):
    with pytest.raises(kt.KinetreeError) as caught:
        call(*arguments, **options)
    return f"{type(caught.value).__name__}: {caught.value}"


def assert_three(found, expected, tolerance=1e-11):
    for a, b in zip(found, expected, strict=True):
        assert_close(a, b, tolerance)


@pytest.mark.parametrize("method", DERIVATIVES)
def test_direct_derivatives_of_all_kinds_of_batches(method):
    direct, reference, (q, v, a) = prepared(method)
    expected = reference(q, v, a)
    whole = direct(q, v, a)
    assert_three(whole, expected)
    for count in (1, 8, 9, 63, 64, 65, 128, 140):
        for threads in (1, 2, 3):
            part = direct(q[:count], v[:count], a[:count], threads=threads)
            assert_three(part, [w[:count] for w in whole], 0.0)
    assert_three(direct(q[5], v[5], a[5]), [w[5] for w in whole], 0.0)
    assert_three(direct(q[5], v, a), reference(q[5], v, a))
    assert_three(direct(q[:1], v, a[3]), reference(q[:1], v, a[3]))
    assert_three(direct(q[:, None], v[:3], a[:3]), reference(q[:, None], v[:3], a[:3]))
    assert_three(direct(q[::-1], np.asfortranarray(v[::-1]), a[::-1].tolist()), [w[::-1] for w in whole], 0.0)
    assert [w.shape for w in direct(q[:0], v[:0], a[:0])] == [(0, 7, 7)] * 3


@pytest.mark.parametrize("method", DERIVATIVES)
def test_direct_derivatives_into_all_kinds_of_outputs(method):
    direct, _, (q, v, a) = prepared(method)
    whole = np.stack(direct(q, v, a), axis=1)
    memory = np.zeros(whole.nbytes + 64, dtype=np.uint8)
    outputs = [np.frombuffer(memory.data, float, whole.size, k).reshape(whole.shape) for k in (0, 1, 4, 8, 24, 60)]
    outputs += [np.zeros((280, 3, 7, 7))[::2], np.zeros(whole.shape, order="F"), np.zeros(whole.shape, ">f8")]
    for out in outputs:
        for part in (slice(0, 70), slice(0, 140)):
            out[...] = 0.0
            three = direct(q[part], v[part], a[part], out=out[part])
            assert all(np.shares_memory(matrix, out) for matrix in three)
            assert_close(out[part], whole[part], 0.0)
            assert not out[part.stop :].any()
    narrow = np.zeros(whole.shape, np.float32)
    direct(q, v, a, out=narrow)
    assert_close(narrow, whole.astype(np.float32), 0.0)
    flat = np.zeros(whole.size)
    for shift in (0, 3, flat.size - v.size):  # the output lies over an input
        over = flat[shift : shift + v.size].reshape(v.shape)
        over[...] = v
        direct(q, over, a, out=flat.reshape(whole.shape))
        assert_close(flat.reshape(whole.shape), whole, 0.0)


@pytest.mark.parametrize("method", DERIVATIVES)
def test_direct_derivatives_complain_as_the_first_call_does(method):
    direct, _, (q, v, a) = prepared(method)
    read_only = np.zeros((140, 3, 7, 7))
    read_only.flags.writeable = False
    off = q.copy()
    off[100, :4] *= 1.01
    beside_nan = off.copy()
    beside_nan[3, 0] = np.nan
    wrong = [
        ((q[:, :-1], v, a), {}), ((q, v[:, :-1], a), {}), ((q, v, a[:, :-1]), {}), ((q[:3], v[:4], a[:4]), {}),
        ((q, v, "x"), {}), ((q[0], v[0], a[0, :3]), {}), ((off, v, a), {}), ((off, v, a), {"threads": 2}),
        ((off[100], v[100], a[100]), {}), ((off[100], v, a), {}), ((beside_nan, v, a), {}),
        ((off, v, a), {"out": np.zeros((140, 3, 7, 7))}),
        *(((q, v, a), {"threads": t}) for t in (0, -1, 1.5, True, "2")),
        *(((q, v, a), {"out": o}) for o in (np.zeros((140, 3, 7, 6)), np.zeros((139, 3, 7, 7)), read_only, [1])),
        ((q, v, a), {"out": np.zeros((140, 3, 7, 7), int)}), ((q[0], v[0], a[0]), {"out": np.zeros((1, 3, 7, 7))}),
    ]  # fmt: skip
    for arguments, options in wrong:
        assert message(direct, *arguments, **options) == message(getattr(walker(), method), *arguments, **options)
    assert "batch index 100" in message(direct, off, v, a)


@pytest.mark.parametrize("method", DERIVATIVES)
def test_options_and_other_numbers_after_direct_derivatives(method):
    direct, reference, (q, v, a) = prepared(method)
    whole = direct(q, v, a)
    for loads in ({"leg": np.ones((140, 6))}, {"leg": kt.Wrench(force=(1, 2, 3))}, np.ones((2, 6)), {}):
        assert_three(direct(q, v, a, loads), reference(q, v, a, loads))
    assert_three(direct(q, v, a, friction=True), reference(q, v, a, friction=True))
    assert_three(direct(q + 0j, v, a), whole, 1e-11)
    assert_three(direct(q, v, a), whole, 0.0)
    for array, column in ((0, 7), (0, 2), (0, 5), (1, 6), (2, 0)):  # nothing depends on the position, 5
        state = [q.copy(), v.copy(), a.copy()]
        state[array][77, column] = np.nan
        found = direct(*state)
        assert_three([np.delete(f, 77, axis=0) for f in found], [np.delete(w, 77, axis=0) for w in whole], 0.0)
        assert any(np.isnan(f[77]).any() for f in found)
        assert (array, column) != (0, 5) or all(np.isnan(f[77]).all() for f in found)
        for alone, f in zip(direct(*(s[77] for s in state)), found, strict=True):
            np.testing.assert_array_equal(alone, f[77])


@pytest.mark.parametrize("method", DERIVATIVES)
def test_copies_and_subclasses_after_direct_derivatives(method):
    direct, _, (q, v, a) = prepared(method)
    whole = direct(q, v, a)
    robot = direct.__self__
    for other in (pickle.loads(pickle.dumps(robot)), copy.copy(robot), copy.deepcopy(robot)):
        assert not other.evaluator.entry_points
        assert_three(getattr(other, method)(q, v, a), whole, 0.0)

    class Asked(kt.Robot):
        calls = 0

        def inverse_dynamics_derivatives(self, *arguments, **options):
            self.calls += 1
            return super().inverse_dynamics_derivatives(*arguments, **options)

    asked = Asked(robot.model, backend="compiled")
    for _ in range(3):
        assert_three(getattr(asked, method)(q, v, a), whole, 0.0)
    assert asked.calls == (3 if method == "inverse_dynamics_derivatives" else 0)


def test_one_robot_in_many_threads_from_its_first_call_on():
    _, reference, state = prepared("inverse_dynamics_derivatives")
    expected, robot, problems = reference(*state), walker(), []

    def work(threads):
        try:
            for count in (1, 31, 33, 64, 140) * 4:
                part = (x[:count] for x in state)
                assert_three(robot.inverse_dynamics_derivatives(*part, threads=threads), [e[:count] for e in expected])
        except Exception as problem:
            problems.append(problem)

    workers = [threading.Thread(target=work, args=(1 + k % 3,)) for k in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not problems


def test_robots_that_went_direct_are_forgotten_when_nobody_needs_them():
    robot = walker()
    state = random_state(robot, np.random.default_rng(2), 40)
    robot.inverse_dynamics_derivatives(*state)
    robot.inverse_dynamics(*state)
    gone = weakref.ref(robot)
    del robot
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("links", [9, 50, 56])
def test_long_rows_of_trees_that_are_loops(monkeypatch, links):
    """Loops do not send their results while they compute, but these are written in whole lines, too."""
    monkeypatch.setattr(compiler, "LARGEST_UNROLLED", 0)
    builder = kt.Builder("chain")
    for k in range(links):
        builder.body(
            f"b{k}", f"b{k - 1}" if k else "base", kt.Revolute("xyz"[k % 3]), position=(0.1, 0, 0.01 * (k % 4)),
            mass=0.5 + 0.01 * k, com=(0.05, 0.01, 0), inertia=(0.001, 0.002, 0.002),
        )  # fmt: skip
    robot = builder.build().with_backend("compiled")
    assert robot.evaluator.compiler.rolled
    state = random_state(robot, np.random.default_rng(links), 135)
    expected = robot.with_backend("reference").inverse_dynamics(*state)
    whole = robot.inverse_dynamics(*state)
    assert_close(whole, expected, 1e-10)
    for shift in range(8):
        for count, threads in ((1, 1), (64, 2), (65, 1), (135, 3)):
            area = np.full(16 + count * links, -7.0)
            out = area[shift : shift + count * links].reshape(count, links)
            robot.inverse_dynamics(*(x[:count] for x in state), out=out, threads=threads)
            assert_close(out, whole[:count], 0.0)
            assert (area[:shift] == -7.0).all()
            assert (area[shift + count * links :] == -7.0).all()


@pytest.mark.parametrize("name", ["center_of_mass", "momentum", ("operational_space_inertia", {"frames": "a"})])
def test_what_divides_by_zero_is_said_when_compiling(name):
    robot = kt.Builder("ghost", strict=False).body("a", "base", kt.Revolute("z"), mass=0.0).build()
    with pytest.raises(kt.SingularError):
        robot.with_backend("compiled").compile(name)


# ---------------------------------------------------------------- other processors

OTHER_PROCESSOR = """
import sys
import numpy as np
import kinetree as kt
from kinetree.engine.llvm import host as machine
from helpers.compare import assert_close
from helpers.robots import random_state, random_tree

robot = random_tree(np.random.default_rng(4), 2, floating=True).with_backend("compiled")
reference = robot.with_backend("reference")
q, v, a = random_state(robot, np.random.default_rng(0), 70)
for name, state in (
    ("inverse_dynamics", (q, v, a)), ("forward_dynamics", (q, v, a)), ("mass_matrix", (q,)),
    ("inverse_dynamics_derivatives", (q, v, a)), ("forward_dynamics_derivatives", (q, v, a)),
):
    expected = getattr(reference, name)(*state)
    for _ in range(2):
        found = getattr(robot, name)(*state)
        assert_close(np.asarray(found), np.asarray(expected), 1e-10)
        for count in (1, 7, 8, 9, 66):
            part = getattr(robot, name)(*(x[:count] for x in state), threads=1 + count % 2)
            np.testing.assert_array_equal(np.asarray(part), np.asarray(found)[..., :count, :, :]
                                          if isinstance(found, tuple) else found[:count])
        alone = np.asarray(getattr(robot, name)(*(x[3] for x in state)))
        np.testing.assert_array_equal(alone, np.asarray(found)[:, 3] if isinstance(found, tuple) else found[3])
    narrow = np.asarray(getattr(robot.with_precision("single"), name)(*state))
    assert narrow.dtype == np.float32
    assert_close(narrow, np.asarray(expected), 2e-3)
assert robot.evaluator.compiler.kernel("mass_matrix").target.cpu == sys.argv[1]
"""


@pytest.mark.skipif(not host.host().supported, reason="no machine code here")
@pytest.mark.parametrize("name", host.targets()[1:])
def test_code_for_other_processors(tmp_path, name):
    """What older processors would run, as far as ours can stand in for them: shorter vectors, nothing fused."""
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "KINETREE_BACKEND": "compiled", "KINETREE_CACHE": str(tmp_path), "PYTHONPATH": path}
    environment["KINETREE_CPU"] = name
    subprocess.run([sys.executable, "-c", OTHER_PROCESSOR, host.target(name).cpu], check=True, env=environment)
    assert list(tmp_path.glob("*.code"))


USUAL, MATRICES = "articulated_body", "walker_orin_1"


class TestCodeThatWouldBeTooLong:
    """Nobody waits minutes for a compiler: what is too long becomes loops, or is left to the reference, and said."""

    @pytest.fixture
    def robot(self, monkeypatch):
        monkeypatch.setattr(compiler, "LONGEST_CODE", 1500)
        monkeypatch.setenv("KINETREE_CACHE", "off")
        return long_chain(12).with_backend("compiled")

    def test_what_cannot_be_a_loop_comes_from_the_reference_with_one_warning(self, robot):
        q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 5, robot.nv))
        with pytest.warns(kt.KinetreeWarning, match="forward_dynamics of .* more than 1,500 operations"):
            found = robot.forward_dynamics(q, v, a, method=MATRICES)
        expected = robot.with_backend("reference").forward_dynamics(q, v, a, method=MATRICES)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(robot.forward_dynamics(q, v, a, method=MATRICES), expected)  # no further word

    @pytest.mark.parametrize("name", ["inverse_dynamics_derivatives", "forward_dynamics_derivatives"])
    def test_derivatives_go_through_loops(self, robot, name):
        state = np.random.default_rng(0).uniform(-1, 1, (3, 5, robot.nv))
        expected = getattr(robot.with_backend("reference"), name)(*state)
        for _ in range(2):
            for found, judge in zip(getattr(robot, name)(*state), expected, strict=True):
                np.testing.assert_allclose(found, judge, rtol=1e-9, atol=1e-9 * np.abs(judge).max())

    def test_the_inverse_of_the_mass_matrix_goes_through_loops(self, robot):
        q = np.random.default_rng(0).uniform(-1, 1, (3, robot.nv))
        expected = robot.with_backend("reference").inverse_mass_matrix(q)
        for _ in range(2):
            np.testing.assert_allclose(robot.inverse_mass_matrix(q), expected, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(robot.inverse_mass_matrix(q[0]), expected[0], rtol=1e-10, atol=1e-10)

    def test_compiling_ahead_says_it_once_and_goes_on(self, robot):
        with pytest.warns(kt.KinetreeWarning, match="too many to compile") as said:
            robot.compile(("forward_dynamics", {"method": MATRICES}), "inverse_mass_matrix", "gravity_force")
        assert len(said) == 1
        assert robot.cost("forward_dynamics_derivatives").multiplications > 1500  # counting needs no code

    def test_a_method_that_is_too_long_says_so_and_leaves_the_others_alone(self, monkeypatch):
        monkeypatch.setenv("KINETREE_CACHE", "off")
        robot = long_chain(9).with_backend("compiled")
        q, v, tau = np.random.default_rng(0).uniform(-1, 1, (3, 4, robot.nv))
        sizes = [
            len(robot.evaluator.compiler.trace("forward_dynamics", {"method": m}).graph.kinds)
            for m in (USUAL, MATRICES)
        ]
        monkeypatch.setattr(compiler, "LONGEST_CODE", sum(sizes) // 2)
        assert sizes[0] < sizes[1]
        expected = robot.with_backend("reference").forward_dynamics(q, v, tau)
        with pytest.warns(kt.KinetreeWarning, match=f"forward_dynamics of 'chain' by '{MATRICES}' would be more than"):
            found = robot.forward_dynamics(q, v, tau, method=MATRICES)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(robot.forward_dynamics(q, v, tau), expected, rtol=1e-8, atol=1e-8)
        straight = robot.evaluator.compiler.kernel("forward_dynamics", {"method": USUAL})
        assert not isinstance(straight, RolledKernel)

    def test_wrenches_along_world_axes_where_poses_are_too_long(self, robot, monkeypatch):
        monkeypatch.setattr(compiler, "LONGEST_CODE", 30)
        q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 4, robot.nv))
        push = {"l7": kt.Wrench(force=(1, 2, 3), axes="world")}
        found = robot.inverse_dynamics(q, v, a, push)
        expected = robot.with_backend("reference").inverse_dynamics(q, v, a, push)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)

    def test_another_thread_gives_up_while_loads_are_gathered(self, robot, monkeypatch):
        """The loop takes wrenches on all bodies, what was gathered for straight-line code are those on some."""
        q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, 4, robot.nv))
        push = {"l3": np.random.default_rng(1).uniform(-1, 1, (4, 6))}
        expected = robot.with_backend("reference").inverse_dynamics(q, v, a, push)
        make = compiler.Compiler.kernel

        def meanwhile(compiler, name, options=None, loaded=()):
            compiler.give_up(name, options)
            return make(compiler, name, options, loaded)

        monkeypatch.setattr(compiler.Compiler, "kernel", meanwhile)
        np.testing.assert_allclose(robot.inverse_dynamics(q, v, a, push), expected, rtol=1e-10, atol=1e-10)
        assert {loaded for _, _, loaded in robot.evaluator.compiler._kernels} == {each_body(robot.model)}


def long_chain(n):
    builder = kt.Builder("chain")
    for i in range(n):
        parent = f"l{i - 1}" if i else "base"
        body = kt.MassProperties.of(0.5 + 0.01 * i, (0.05, 0.01, 0), (0.001, 0.002, 0.002))
        builder.body(f"l{i}", parent, kt.Revolute("xyz"[i % 3]), position=(0.1, 0, 0.02), mass_properties=body)
    return builder.build()
