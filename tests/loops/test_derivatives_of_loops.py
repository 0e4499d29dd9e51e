"""Derivatives of mechanisms along the motions that their loops allow, against differences of closed states."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import five_bar, five_bar_folded
from helpers.mechanisms import CLOSING, closed_state, spatial
from kinetree.loops.loops_class import derivatives

WEIGHTS = np.array([-1, 9, -45, 45, -9, 1]) / 60
STEPS = np.array([-3, -2, -1, 1, 2, 3])


def neighbors(robot, q, moves):
    """The closed configurations whose independent coordinates are moved by so much."""
    free = np.ones(robot.nv, dtype=bool)
    free[list(robot.coordinates.independent)] = False
    return robot.loops.closing.closed_from(robot.integrate(q, moves @ robot.basis(q).T), free, 1e-13)[0]


def differences(function, count, h):
    """Sixth order, all at once; a column per direction."""
    moves = (h * STEPS[:, None, None] * np.eye(count)).reshape(-1, count)
    return np.einsum("k,knr->rn", WEIGHTS / h, function(moves).reshape(6, count, -1))


def assert_near(found, wanted):
    np.testing.assert_allclose(found, wanted, atol=1e-8 * max(1.0, np.abs(wanted).max()))


def judge(robot, q, v, wrenches=None, friction=False):
    ind = list(robot.coordinates.independent)
    n, rates = len(ind), v[ind]
    rng = np.random.default_rng(0)
    y, tau = rng.normal(size=n), rng.normal(size=robot.nv) * 3
    a = robot.accelerations(q, v, y)
    options = {"wrenches": wrenches, "friction": friction}

    def torque(p, dv=0.0, da=0.0):
        w = robot.velocities(p, rates + dv)
        return robot.inverse_dynamics(p, w, robot.accelerations(p, w, y + da), **options)

    found = robot.inverse_dynamics_derivatives(q, v, a, **options)
    assert_near(found[0], differences(lambda x: torque(neighbors(robot, q, x)), n, 2e-4))
    assert_near(found[1], differences(lambda x: torque(q, x), n, 1e-2))
    assert_near(found[2], differences(lambda x: torque(q, 0.0, x), n, 1.0))

    def moved(p, dv=0.0, dtau=0.0):
        return robot.forward_dynamics(p, robot.velocities(p, rates + dv), tau + dtau, **options)

    found = robot.forward_dynamics_derivatives(q, v, tau, **options)
    assert_near(found[0], differences(lambda x: moved(neighbors(robot, q, x)), n, 2e-4))
    assert_near(found[1], differences(lambda x: moved(q, x), n, 1e-2))
    assert_near(found[2], differences(lambda x: moved(q, 0.0, x), robot.nv, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLOSING, ids=lambda k: k.name)
def test_every_loop_joint(kind):
    """All joints have motors, more than there are freedoms: of these forces the least are judged."""
    robot = spatial(kind)
    judge(robot, *closed_state(robot))


def sprung(**root):
    """A leg with a rod on a floating or planar base: motors at hip and crank, springs, dampers, friction, rotors."""
    b = kt.Builder("leg")
    b.body("trunk", "base", root["kind"], mass=3.0, com=(0.05, 0, 0.1), inertia=(0.1, 0.1, 0.1), actuated=False)
    own = {"damping": 0.3, "friction": 0.2, "rotor_inertia": 0.02, "stribeck": 0.1, "stribeck_speed": 1.5}
    turn, solid = kt.Revolute("y"), {"mass": 1.0, "com": (0.02, 0.01, -0.2), "inertia": (0.02, 0.02, 0.01)}
    b.body("thigh", "trunk", turn, **solid, **own)
    b.body("shin", "thigh", turn, position=(0, 0, -0.4), actuated=False, stiffness=5.0, spring_rest=0.4, **solid, **own)
    b.body("crank", "trunk", turn, position=(0.08, 0, 0), **solid, **own)
    b.body("rod", "crank", turn, position=(0.06, 0, 0), actuated=False, **solid)
    b.loop("ankle", "rod", "shin", kt.Spherical(), placement=(-0.06, 0, -0.45), seat=(0.08, 0, -0.05))
    return b.build()


def leg_state(robot, seed=0):
    rng = np.random.default_rng(seed)
    start = rng.normal(size=robot.nq) * 0.2
    start[-4:] = [0.4, -0.3, 0.3, 0.2]
    q = robot.close(robot.normalize(start), fixed=["thigh_joint", "crank_joint"])
    return q, robot.velocities(q, rng.normal(size=robot.coordinates.freedoms))


@pytest.mark.parametrize("kind", [kt.Free(), kt.Planar("y")], ids=lambda k: k.name)
def test_a_leg_on_a_base_that_nothing_drives(kind):
    robot = sprung(kind=kind)
    q, v = leg_state(robot)
    push = {"shin": kt.Wrench((1, 2, 3), (4, 5, 6), (0.1, 0.2, 0.3), axes="world", point_axes="world")}
    judge(robot, q, v, push, friction=True)


def test_large_mechanisms_are_done_in_steps(monkeypatch):
    """As at once, with a lane of a batch that is lost."""
    robot = sprung(kind=kt.Planar("y"))
    q, v = leg_state(robot)
    push = {"shin": kt.Wrench((1, 2, 3), (4, 5, 6), (0.1, 0.2, 0.3), axes="world", point_axes="world")}
    tau = np.random.default_rng(0).normal(size=(3, robot.nv))
    tau[1, 2] = np.nan
    expected = robot.forward_dynamics_derivatives(q, v, tau, push, friction=True)
    monkeypatch.setattr(derivatives, "LARGEST_AT_ONCE", 0)
    found = robot.forward_dynamics_derivatives(q, v, tau, push, friction=True)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x[[0, 2]], y[[0, 2]], rtol=0, atol=1e-11 * np.abs(y[0]).max())
    assert np.isnan(found[0][1]).any()


def test_coupled_joints():
    b = kt.Builder("cam", gravity=(0, -9.81, 1))
    rod = {"mass": 1.0, "com": (0.3, 0.02, 0.05), "inertia": (0.1, 0.2, 0.3)}
    b.body("one", "base", kt.Revolute("z"), **rod)
    b.body("two", "one", kt.Revolute((0, 1, 1)), position=(0.5, 0, 0), actuated=False, **rod)
    b.body("three", "two", kt.Revolute("x"), position=(0.5, 0, 0), **rod)
    b.coupling("cam", {"two_joint": 1.0}, follows={"one_joint": 1.0}, polynomial=(0.1, 0.5, 0.3))
    robot = b.build()
    q = robot.close([0.3, 0.1, 0.2], fixed=["one_joint"])
    judge(robot, q, robot.velocities(q, [1.0, -0.5]))


def test_a_ball_that_rolls():
    """What rolls leaves more freedoms of position than of velocity: derivatives are along motions that it allows."""
    b = kt.Builder("ball", gravity=(3, 1, -9)).body("ball", "base", kt.Free(), mass=2.0, com=(0.02, 0.01, 0.03),
                                                    inertia=(0.01, 0.02, 0.025), actuated=False)  # fmt: skip
    robot = b.loop("plane", "base", "ball", kt.RollingBall(0.1)).build()
    q = robot.close(robot.normalize([0.1, 0.2, -0.3, 1.0, 0.3, 0.2, 0.1]))
    v = robot.velocities(q, [0.4, -0.7, 0.5])
    tau, rates = np.array([0.1, 0.2, 0.3, -0.4, 0.5, 0.6]), v[list(robot.coordinates.independent)]

    def moved(p):
        return robot.forward_dynamics(p, robot.velocities(p, rates), tau)

    found = robot.forward_dynamics_derivatives(q, v, tau)
    along = robot.basis(q).T
    wanted = differences(lambda x: moved(robot.project(robot.integrate(q, x @ along))), 3, 2e-4)
    assert_near(found[0], wanted)


@pytest.mark.slow
def test_batches_machine_code_and_room_for_the_results():
    robot = five_bar()
    compiled = robot.with_backend("compiled")
    starts = np.array([[2.0, -1.0, 1.0, 1.0], [1.9, -0.9, 1.1, 0.9], [2.1, -1.0, 1.0, 1.0]])
    q = robot.close(starts, fixed=["a1_joint", "b1_joint"])
    v = robot.velocities(q, [[0.3, -0.5], [1.0, 2.0], [0.0, 0.0]])
    a = robot.accelerations(q, v, [1.0, -1.0])
    for name, last, shapes in (
        ("inverse_dynamics_derivatives", a, [(3, 4, 2)] * 3),
        ("forward_dynamics_derivatives", 2 * a, [(3, 4, 2), (3, 4, 2), (3, 4, 4)]),
    ):
        compiled.compile(name)
        made = {key[0] for key in compiled.evaluator.entry_points}
        assert f"closed_{name}" in made
        wanted = getattr(robot, name)(q, v, last)
        room = [np.empty(shape) for shape in shapes]
        found = getattr(compiled, name)(q, v, last, out=room)
        for x, y, z in zip(wanted, found, room, strict=True):
            assert y is z
            np.testing.assert_allclose(x, y, atol=1e-11 * np.abs(x).max())
        one = getattr(compiled, name)(q[1], v[1], last[1])
        for x, y in zip(one, found, strict=True):
            np.testing.assert_allclose(x, y[1], atol=1e-12 * np.abs(x).max())
        single = getattr(compiled.with_precision("single"), name)(q, v, last)
        assert single[0].dtype == np.float32
        with pytest.raises(kt.OptionError, match="three arrays"):
            getattr(robot, name)(q, v, last, out=np.empty((3, 3, 4, 2)))
        with pytest.raises(kt.StateError, match="do not allow this configuration"):
            getattr(robot, name)(q + 0.1 * np.eye(4)[0], v, last)
        poisoned = np.array(v)
        poisoned[1] = np.nan
        with_nan = getattr(compiled, name)(q, poisoned, last)[0]
        assert np.isnan(with_nan[1]).any()
        np.testing.assert_array_equal(with_nan[[0, 2]], found[0][[0, 2]])


def test_no_derivatives_where_the_independent_freedoms_do_not_lead():
    robot, folded = five_bar(), five_bar_folded()
    with pytest.raises(kt.SingularError, match=r"does not follow from a1_joint, b1_joint here.*with_independent"):
        robot.forward_dynamics_derivatives(folded, np.zeros(4), np.zeros(4))
    other = robot.with_independent(["a1_joint", "a2_joint"])
    assert np.isfinite(other.forward_dynamics_derivatives(folded, np.zeros(4), np.zeros(4))[0]).all()
