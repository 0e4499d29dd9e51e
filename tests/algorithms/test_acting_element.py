"""What acts on a robot: one protocol, users' own objects that answer some of its questions, and books of works."""

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.acting_element import ActingElement, Adapted, as_element
from kinetree.control.base import AdaptedController, as_controller

SOURCE = Path(kt.__file__).parent
SHARP = {"rtol": 1e-11, "atol": 1e-13, "progress": False}


def slider(**options):
    options = {"lower": -0.2, "upper": 0.2} | options
    made = kt.Builder("slider").body("cart", "base", kt.Prismatic("x"), mass=2.0, joint_name="rail", **options)
    return made.build()


def public_elements():
    for room in (kt.forces, kt.control, kt.ground):
        for name in dir(room):
            found = getattr(room, name)
            if isinstance(found, type) and (hasattr(found, "loads") or hasattr(found, "law")):
                yield found


def test_all_that_acts_is_an_element():
    found = set(public_elements())
    assert {kt.ground.Ground, kt.forces.JointStops, kt.forces.Motor, kt.control.PD} <= found
    assert all(issubclass(kind, ActingElement) for kind in found)


def test_nobody_asks_what_an_element_is():
    """Only the border looks at an object to see what it can do; all others ask the questions."""
    asks = re.compile(r"(has|get)attr\([^)]*\"(loads|law|energy|impedance|kinks|span|spots|parameters|contact_forces|"
                      r"initial_states|label|bound|senses|python_function|controller|parts)\"")  # fmt: skip
    border = {"algorithms/acting_element.py", "control/base.py", "forces/characteristics.py"}
    for room in ("simulation", "forces", "contact", "control"):
        for path in (SOURCE / room).rglob("*.py"):
            if str(path.relative_to(SOURCE)) not in border:
                assert not asks.search(path.read_text()), path


class Spring:
    """Has the questions' names, and no base."""

    def __init__(self, stiffness):
        self.stiffness = stiffness

    def loads(self, tree, t, q, v, z=()):
        return None, [-self.stiffness * q[0]], []


class VariedSpring(Spring):
    """Answers further questions."""

    def energy(self, tree, t, q, v, z=()):
        return 0.5 * self.stiffness * q[0] * q[0]

    def parameters(self, tree):
        return {"stiffness": np.asarray(self.stiffness, dtype=float)[..., None]}

    def with_parameters(self, values):
        return VariedSpring(values["stiffness"][0])


def test_an_object_with_loads_alone_acts_like_an_element():
    robot = slider()
    own = kt.simulate(robot, [0.1], time=1.0, forces=Spring(50.0), **SHARP)
    ours = kt.simulate(robot, [0.1], time=1.0, forces=kt.forces.JointSpring("rail", stiffness=50.0), **SHARP)
    assert np.array_equal(own.q, ours.q)
    assert own.info["forces"] == ["Spring"]
    assert np.all(own.energy.stored == 0.0)
    assert isinstance(as_element(Spring(1.0)), Adapted)
    assert as_element(Spring) is None
    assert as_element(3.0) is None


def test_an_object_may_answer_further_questions():
    robot = slider()
    record = kt.simulate(robot, [0.1], time=1.0, forces=VariedSpring(50.0), **SHARP)
    assert record.energy.relative_error < 1e-9
    assert record.energy.stored[0] == pytest.approx(0.25)
    many = {"integrator": "rk4", "step": 1e-3, "progress": False, "time": 0.5}
    batch = kt.simulate(robot, [0.1], forces=VariedSpring(np.array([50.0, 80.0])), **many)
    for lane, stiffness in enumerate((50.0, 80.0)):
        alone = kt.simulate(robot, [[0.1]], forces=VariedSpring(stiffness), **many)
        np.testing.assert_allclose(batch.q[:, lane], alone.q[:, 0], rtol=0, atol=1e-13)


class Servo:
    """A controller with a law and no base."""

    kinks = (0.25,)

    def law(self, tree, t, q, v, z):
        return [kt.where(t < 0.25, 1.0, -1.0) - 2.0 * v[0]], []


def test_an_object_with_a_law_is_a_controller():
    robot, servo = slider(), Servo()
    own = kt.simulate(robot, time=0.5, controller=servo, **SHARP)
    plain = kt.simulate(
        robot, time=0.5, controller=kt.control.Law(lambda t, q, v: servo.law(None, t, q, v, [])[0]), **SHARP
    )
    np.testing.assert_allclose(own.q[-1], plain.q[-1], rtol=0, atol=1e-9)
    assert 0.25 in own.time, "an integrator stops where forces jump"
    assert isinstance(as_controller(servo), AdaptedController)
    assert as_controller(Servo) is None
    assert as_controller(lambda t, q, v: 0.0) is None


def test_works_are_booked_where_an_element_is_given():
    robot, stops = slider(), kt.forces.JointStops()
    options = {"time": 0.3, "integrator": "rk4", "step": 5e-4, "progress": False}
    as_ground = kt.simulate(robot, [0.15], [1.0], ground=stops, **options)
    as_force = kt.simulate(robot, [0.15], [1.0], forces=stops, **options)
    assert np.array_equal(as_ground.q, as_force.q)
    assert np.array_equal(as_ground.energy.ground, as_force.energy.forces)
    assert np.array_equal(as_ground.energy.in_ground, as_force.energy.stored)
    assert as_ground.energy.ground.min() < -0.1
    assert not np.any(as_force.energy.ground)


@dataclass(frozen=True, eq=False)
class Remembered(ActingElement):
    """A force that follows the position with a lag: an element with a state of its own, on a spot."""

    lag: float

    def initial_states(self, tree):
        return np.zeros(1)

    def loads(self, tree, t, q, v, z=()):
        return None, [-40.0 * z[0]], [(q[0] - z[0]) / self.lag]

    def contact_spots(self):
        return (kt.ground.Spot("cart"),)

    def contact_forces(self, tree, t, q, v, z=()):
        return [(-40.0 * z[0], 0.0, 0.0)]


@pytest.mark.parametrize("argument", ["ground", "forces"])
def test_an_element_of_a_new_kind_is_one_class(argument):
    robot = slider()
    record = kt.simulate(robot, [0.1], time=0.5, **{argument: Remembered(1e-2)}, **SHARP)
    assert record.info["contact_spots"] == [["cart", [0.0, 0.0, 0.0]]]
    np.testing.assert_allclose(record.contact_forces[:, 0, 0], -40.0 * record.z[:, 0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(record.a[:, 0] * 2.0, record.contact_forces[:, 0, 0], rtol=0, atol=1e-10)


def test_the_power_of_an_element_is_that_of_its_loads():
    robot = kt.Builder("ball").body("ball", "base", kt.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1)).build()
    ground = kt.ground.Ground(["ball"], kt.ground.HuntCrossley(1e4, 0.5), kt.ground.PseudoCoulomb(0.5, 100.0))
    q, v = robot.neutral().tolist(), [0.1, 0.2, 0.3, 0.4, 0.5, -0.6]
    q[robot.q_names.index(robot.q_names[-1])] = -1e-3
    (force,), (touch,) = ground.contact_forces(robot.model, 0.0, q, v), ground.touches(robot.model, q, v)
    assert ground.power(robot.model, 0.0, q, v) == pytest.approx(force.dot(touch.velocity), rel=1e-12)


def test_rigid_contact_knows_friction_that_builds_up():
    robot = slider(lower=-9.0, upper=9.0, friction=1.0, friction_travel=0.05)
    options = {"time": 0.2, "samples": 21, "progress": False}
    free = kt.simulate(robot, [0.0], [0.5], **options, rtol=1e-11, atol=1e-13)
    far = kt.contact.Contact("cart", surface=kt.ground.Plane(point=(0.0, 0.0, -5.0)))
    rigid = kt.simulate_rigid(robot, [far], [0.0], [0.5], **options, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(rigid.q, free.q, rtol=0, atol=1e-9)
