"""What a newcomer stumbles over: typing errors, wrong shapes, and answers that only look right."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.simulation.records.energy import Energies

ROD = kt.MassProperties.rod(1.0, (0, 0, 0), (0, 0, -1))


def pendulum(n: int = 2, **data: float) -> kt.Robot:
    b = kt.Builder("pendulum")
    for k in range(n):
        place = (0, 0, -1) if k else (0, 0, 0)
        b.body(f"b{k}", f"b{k - 1}" if k else "base", kt.Revolute("y"), position=place, mass_properties=ROD, **data)
    return b.build()


def four_bar() -> kt.Mechanism:
    robot = kt.gallery.load("four-bar")
    assert isinstance(robot, kt.Mechanism)
    return robot


GOAL = kt.trajectories.Cycloid([0.0, 0.0], [0.5, -0.3], 1.0).held()


# ------------------------------------------------------------------ making a robot


def test_a_mistyped_property_is_found_among_those_of_bodies_and_joints():
    with pytest.raises(kt.UnknownNameError, match="did you mean 'mass'"):
        kt.Builder("r").body("b", "base", kt.Revolute("z"), mas=1.0)
    with pytest.raises(kt.UnknownNameError, match="did you mean 'damping'"):
        kt.Builder("r").body("b", "base", kt.Revolute("z"), mass=1.0, damped=0.1)


@pytest.mark.parametrize(
    "twice",
    [{"com": (0, 0, -0.5)}, {"inertia": (0.1, 0.1, 0.1)}, {"placement": (1, 0, 0), "position": (2, 0, 0)},
     {"placement": (1, 0, 0), "rpy": (0, 0, 1)}],
    ids=["com", "inertia", "position", "rpy"],
)  # fmt: skip
def test_what_is_said_twice_is_refused_instead_of_ignored(twice):
    with pytest.raises(kt.ModelError, match="body 'b'"):
        kt.Builder("r").body("b", "base", kt.Revolute("z"), mass_properties=ROD, **twice)


def test_a_mechanism_is_not_said_to_have_the_freedoms_of_its_tree():
    robot = four_bar()
    assert "3 degrees of freedom before the loops are closed" in robot.describe()
    assert pendulum(1).describe().startswith("pendulum: 1 body, 1 degree of freedom (nq = 1")


def test_joints_that_have_no_coordinate_are_named():
    b = kt.Builder("gripper")
    b.body("left", "base", kt.Prismatic("y"), mass=1.0)
    b.body("right", "base", kt.Prismatic("-y"), mass=1.0, mimic=kt.Mimic("left_joint"))
    with pytest.raises(kt.ShapeError, match=r"1 = nq; joints that mimic others have no coordinate: right_joint"):
        b.build().mass_matrix([0.1, 0.1])


# ------------------------------------------------------------------ inverse kinematics


def test_inverse_kinematics_does_not_tear_loops_open():
    with pytest.raises(kt.UnsupportedError, match=r"robot\.platform"):
        kt.inverse_kinematics(four_bar(), "coupler", [0.0, 0.1, 0.0], what="position")


# ------------------------------------------------------------------ what a simulation is given


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"controller": kt.control.GravityCompensation}, r"make one, GravityCompensation\(\.\.\.\)"),
        ({"controller": kt.control.PD([0.1, 0.2], 1.0, 1.0)}, r"trajectories\.Constant"),
        ({"controller": lambda t, q, v: None}, "returned None"),
        ({"controller": lambda t, q, v: [0.0]}, r"wanted are 2 forces, one per .* \(b0_joint, b1_joint\)"),
        ({"controller": kt.control.PD(GOAL, np.ones(50), 1.0)}, r"50 simulations are kp\[:, None\]"),
        ({"ground": "b0"}, "not 'b0'"),
        ({"ground": kt.stops.JointStops}, "force elements"),
        ({"ground": [kt.contact.Contact("b0")]}, "simulate_rigid"),
    ],
    ids=["class", "array for a trajectory", "None", "one force", "gains", "name", "class of ground", "rigid contact"],
)  # fmt: skip
def test_what_cannot_be_is_explained(options, says):
    with pytest.raises(kt.KinetreeError, match=says):
        kt.simulate(pendulum(), time=0.1, **options)


def test_a_path_that_is_no_trajectory():
    with pytest.raises(kt.OptionError, match=r"trajectories\.Constant"):
        kt.control.OperationalSpace("b1", [0.0, 0.0, -1.0], 1.0, 1.0)


def test_gains_and_grounds_of_many_simulations_go_together():
    b = kt.Builder("leg").body("trunk", "base", kt.Prismatic("z"), mass=1.0, actuated=False)
    robot = b.body("foot", "trunk", kt.Prismatic("z"), mass=0.1).build()
    kp, stiffness = np.array([100.0, 200.0, 400.0]), np.array([1e3, 2e3, 5e3])
    hold = kt.trajectories.Constant([-0.5])

    def run(kp, stiffness):
        ground = kt.ground.Ground(["foot"], kt.ground.HuntCrossley(stiffness, 0.5))
        law = kt.control.PD(hold, kp, 5.0)
        return kt.simulate(
            robot, [0.5, -0.5], time=0.1, controller=law, ground=ground, integrator="rk4", step=1e-3, output=3
        )

    together = run(kp[:, None], stiffness)
    assert together.batch == (3,)
    assert together.q[-1, 1] == pytest.approx(run(200.0, 2e3).q[-1], abs=1e-12)


def test_gains_of_many_simulations_as_the_message_says():
    kp = np.linspace(1.0, 50.0, 5)
    options = {"time": 0.05, "integrator": "rk4", "step": 0.01, "output": 2}
    together = kt.simulate(pendulum(), controller=kt.control.PD(GOAL, kp[:, None], 1.0), **options)
    alone = kt.simulate(pendulum(), controller=kt.control.PD(GOAL, kp[3], 1.0), **options)
    assert together.q[:, 3] == pytest.approx(alone.q, abs=1e-12)


def test_the_shape_of_gains_for_many_simulations_is_said():
    """Whatever the message tells to give, shape and all, works."""
    options = {"time": 0.05, "integrator": "rk4", "step": 0.01, "output": 2}
    for name, gains in (("kp", [np.linspace(1.0, 50.0, 5), 1.0]), ("kd", [1.0, np.linspace(1.0, 2.0, 7)])):
        n = max(map(np.size, gains))
        with pytest.raises(
            kt.ShapeError, match=rf"{name} must be .* in front; got shape \({n},\); one for each"
        ) as caught:
            kt.simulate(pendulum(), controller=kt.control.PD(GOAL, *gains), **options)
        advice, shape = re.search(r"simulations are (k.\[:, None\]), shape (\(\d, 1\))", str(caught.value)).groups()
        given = eval(advice, {name: max(gains, key=np.size)})  # as a user would type it
        assert str(given.shape) == shape
        told = [given if np.size(x) > 1 else x for x in gains]
        assert kt.simulate(pendulum(), controller=kt.control.PD(GOAL, *told), **options).batch == (n,)


def test_batches_that_differ_are_named():
    b = kt.Builder("leg").body("trunk", "base", kt.Prismatic("z"), mass=1.0, actuated=False)
    robot = b.body("foot", "trunk", kt.Prismatic("z"), mass=0.1).build()
    ground = kt.ground.Ground(["foot"], kt.ground.HuntCrossley([1e3, 2e3, 3e3], 0.5))
    law = kt.control.PD(kt.trajectories.Constant([-0.5]), [[100.0], [200.0]], 5.0)
    with pytest.raises(
        kt.OptionError, match=r"differ: kp of PD \(2,\), stiffness of Ground \(3,\)\. A batch comes first"
    ):
        kt.simulate(robot, time=0.1, controller=law, ground=ground, integrator="rk4", step=1e-3)
    masses = {"bodies": {"foot": {"mass": [0.1, 0.2, 0.3, 0.4]}}}
    with pytest.raises(kt.OptionError, match=r"differ: q0 \(2,\), bodies\.foot\.mass \(4,\)\."):
        kt.simulate(robot, np.zeros((2, 2)), time=0.1, parameters=masses, integrator="rk4", step=1e-3)
    both = law + kt.control.PD(kt.trajectories.Constant([-0.5]), 1.0, [[1.0], [2.0], [3.0]])
    with pytest.raises(kt.OptionError, match=r"differ: kp of Sum \(2,\), kd of Sum \(3,\)\."):
        kt.simulate(robot, time=0.1, controller=both, integrator="rk4", step=1e-3)


def test_friction_compensation_makes_computed_torque_exact():
    robot = pendulum(damping=0.8, friction=0.5)
    law = kt.control.ComputedTorque(GOAL, 49.0, 14.0)
    options = {"time": 1.0, "output": 21, "friction_speed": 0.05}
    left = kt.simulate(robot, controller=law, **options)
    exact = kt.simulate(robot, controller=law + kt.control.FrictionCompensation(friction_speed=0.05), **options)
    desired = GOAL(left.time)[0]
    assert np.abs(left.q - desired).max() > 1e-3  # friction is felt
    assert np.abs(exact.q - desired).max() < 1e-6
    assert exact.energy.friction[-1] < -0.1  # and it still acts
    with pytest.raises(kt.OptionError, match="friction_speed"):
        kt.control.FrictionCompensation(0.0)


def test_one_rigid_contact_needs_no_list_and_is_named_in_the_record():
    robot = kt.Builder("ball").body("ball", "base", kt.Prismatic("z"), mass=2.0).build()
    record = kt.simulate_rigid(robot, kt.contact.Contact("ball"), [0.0], time=0.1)
    assert record.contact_forces[-1, 0, 2] == pytest.approx(2.0 * 9.81)
    assert record.info["contact_spots"] == [["ball", [0.0, 0.0, 0.0]]]
    with pytest.raises(kt.OptionError, match="force elements"):
        kt.simulate_rigid(robot, kt.contact.Contact("ball"), [0.0], time=0.1, ground="ball")


# ------------------------------------------------------------------ what a record says


def test_works_that_nobody_integrated_are_not_known_rather_than_zero():
    robot, options = pendulum(damping=0.1), {"time": 0.05, "integrator": "rk4", "step": 0.01, "output": 3}
    law = kt.control.PD(GOAL, 10.0, 1.0)
    batch = kt.simulate(robot, np.zeros((2, 2)), controller=law, **options)
    assert np.isnan(batch.energy.actuators).all()
    assert np.isnan(batch.energy.friction).all()
    assert not batch.energy.ground.any()  # there is none
    assert np.isnan(batch.energy.relative_error)
    known = kt.simulate(robot, [[0.5, 0.2]], controller=law, works=True, **options)
    assert known.energy.relative_error < 1e-6
    free = kt.simulate(pendulum(), [[1.0, 0.5]], **options)  # nothing acts: nothing to integrate
    assert free.energy.relative_error < 1e-6
    function = kt.simulate(robot, controller=lambda t, q, v: -v, friction=False, works=False, **options)
    assert np.isnan(function.energy.actuators).all()
    assert not function.energy.friction.any()


def test_rest_has_no_error_of_energy():
    noise = np.array([0.0, 1e-16, -1e-16])
    zero = np.zeros(3)
    assert Energies(zero, 1.0 + 2 * noise, zero, zero, zero).relative_error == 0.0
    assert Energies(zero + 1e-3, 1.0 + 1e11 * noise, zero, zero, zero).relative_error > 1e-3  # more than rounding
    assert np.isnan(Energies(zero, zero + 1.0, zero * np.nan, zero, zero).relative_error)


def test_lanes_that_were_lost_are_counted():
    kd = np.array([1.0, 1e6, 2.0])[:, None]  # the middle one is far too stiff for the step
    law = kt.control.PD(GOAL, 10.0, kd)
    record = kt.simulate(pendulum(), [0.3, 0.1], time=0.5, controller=law, integrator="rk4", step=0.01, output=3)
    assert record.lost.tolist() == [False, True, False]
    assert "batch (3,) of which 1 lost (NaN)" in repr(record)
    assert "lost" not in repr(record.lane(0))
    assert not record.lane(2).lost


def test_a_record_of_nonsense_says_so_when_it_is_printed():
    b = kt.Builder("ball").body("ball", "base", kt.Prismatic("z"), mass=1.0)
    ground = kt.ground.Ground(["ball"], kt.ground.HuntCrossley(1e5, 0.5))
    options = {"time": 1.0, "ground": ground, "integrator": "rk4"}
    coarse = kt.simulate(b.build(), [0.1], step=0.05, **options)
    assert coarse.energy.relative_error > 0.01
    assert f"energy off by {100 * coarse.energy.relative_error:.3g} %" in repr(coarse)
    assert "energy" not in repr(kt.simulate(b.build(), [0.1], step=1e-3, **options))


def test_curves_of_contacts_and_loops_are_named(tmp_path):
    pytest.importorskip("matplotlib")
    b = kt.Builder("block").body("block", "base", kt.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    robot = b.frame("toe", "block", (0.1, 0, 0)).build()
    spots = ["toe", *kt.ground.line("block", 0.2)]
    ground = kt.ground.Ground(spots, kt.ground.HuntCrossley(1e4, 0.5))
    record = kt.simulate(robot, time=0.02, ground=[ground, kt.stops.JointStops()], output=3)
    assert record.info["contact_spots"] == [["toe", [0, 0, 0]], ["block", [-0.1, 0, 0]], ["block", [0.1, 0, 0]]]
    record.save(tmp_path / "r.npz")
    for known in (record, kt.Record.load(tmp_path / "r.npz")):
        legend = [text.get_text() for text in known.plot("reactions").axes[0].get_legend().get_texts()]
        assert legend[::3] == ["toe x", "block 1 x", "block 2 x"]
    robot = four_bar()
    q, v, _ = kt.gallery.motion("four-bar").states(0.0)
    drawn = kt.simulate(robot, q, v, time=0.01, output=2).plot("reactions").axes[0]
    assert [text.get_text() for text in drawn.get_legend().get_texts()] == list(robot.constraint_names)


def test_importing_kinetree_imports_neither_simulation_nor_scipy():
    """What a script that only computes torques would wait for in vain."""
    late = ("scipy", "kinetree.simulation", "kinetree.gallery")
    code = f"import sys, kinetree; print([m for m in {late} if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
    assert {"simulate", "gallery", "trajectories"} <= set(dir(kt))
    assert kt.simulate is kt.simulation.simulate
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = kt.simulat
