"""Studies of trees: every fact is checked, exactly those fail that we say; the models judged from outside."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import kinetree as kt
from helpers.studies import TIMES, by_study, quick_result
from kinetree import gallery
from kinetree_gallery.analyses import walking
from kinetree_gallery.systems.biped_spatial_fixed.system import upwards
from kinetree_gallery.systems.chain.system import chain
from kinetree_gallery.systems.kuka_kr5.study import TABLE_6_6
from kinetree_gallery.systems.puma.study import TABLE_3
from kinetree_gallery.systems.stanford_arm.study import TABLE_4
from kinetree_gallery.systems.walking_machine import walker

TREES = [name for name in gallery.names() if not gallery.load(name).model.loops]

QUICK = {
    "gripper": ("inverse", "free-fall", "matrices"),
    "kuka-kr5": ("inverse", "free-fall"),
    "biped-spatial-fixed": ("inverse", "forced", "computed-torque"),
    "puma": ("inverse", "free-fall"),
    "stanford-arm": ("inverse", "other-reading", "free-fall"),
    "two-link": ("inverse", "free-fall"),
    "three-link": ("inverse", "free-fall"),
    "rp-robot": ("inverse", "free-fall"),
    "pppr-robot": ("inverse",),
    "crossed-pendulum": ("inverse", "free-fall"),
    "chain": ("inverse", "free-fall", "all-kinds", "cost", "smoothness"),
    "spatial-double-pendulum": ("inverse", "free-fall", "structure"),
    "space-3-link": ("inverse", "forward", "momentum"),
    "space-7-link": ("inverse", "forward", "momentum"),
    "space-dual-arm": ("inverse", "forward", "momentum"),
    "cassie": ("squat", "fall"),
    "humanoid": ("forms", "cost", "inverse", "free-fall"),
}
STEPS = ("inverse", "open-loop", "feedforward", "computed-torque", "disturbed")
WALKING = {
    "biped-planar": (*STEPS, "dusty-ground", "landing", "falling"),
    "biped-spatial": STEPS,
    "quadruped": STEPS,
    "hexapod": (*STEPS, "trunk"),
    "biped-unified": ("inverse", "controlled-walk", "energy", "ground"),
    "biped-fixed-versus-floating": ("compare",),
}
EXCEPTIONS = {  # what the sources say that does not hold, and a word of the reason
    "biped-planar": {
        "vertical reaction of the landing foot, largest": "over-damping",
        "horizontal reaction of the landing foot, smallest": "over-damping",
        "feedforward and computed torque are equally good; smaller error over larger": "stiff",
    },
    "biped-spatial": {
        "at touchdown the torques are smoother than the planar biped's: largest jump between samples of 2.5 ms, over "
        "its": "four spots"
    },
    "quadruped": {
        "mean speed": "0.3 m/s",
        "feedforward is slightly better than computed torque; its error over the other's": "stiff",
    },
    "hexapod": {"largest angle of the trunk": "with 2 kg"},
    "biped-unified": {"torque of the ankle while its foot is on the ground; largest": "not found together"},
    "biped-fixed-versus-floating": {"torque of the standing knee matches; largest difference": "ankle"},
}


def judged(name):
    result, warned = quick_result(name)
    assert warned == []
    assert [str(fact) for fact in result.faults] == []
    exceptions = [fact for fact in result.exceptions if not fact.text.startswith(TIMES)]
    assert {fact.text for fact in exceptions} == set(EXCEPTIONS.get(name, ()))
    for fact in exceptions:
        assert EXCEPTIONS[name][fact.text] in fact.reason
    for fact in result.facts:
        if not isinstance(fact.measured, str):
            assert np.all(np.isfinite(np.asarray(fact.measured, dtype=float))), str(fact)
    for outcome in result.outcomes.values():
        assert outcome.facts
        for table in outcome.tables.values():
            assert len({len(column) for column in table.values()}) == 1
        for record in outcome.records.values():
            assert record.status == "complete"
    return result


def test_every_study_and_analysis_is_here():
    ours = set(TREES)
    assert ours | {"biped-fixed-versus-floating", "cassie"} == set(QUICK) | set(WALKING)
    for name, analyses in (QUICK | WALKING).items():
        assert tuple(gallery.study(name).analyses) == analyses


@by_study(QUICK)
def test_facts_hold(name):
    judged(name)


@by_study(WALKING)
def test_facts_of_walking_machines_hold_but_for_the_known_exceptions(name):
    judged(name)


WALKS = {"biped-planar": 4.0, "biped-spatial": 2.0, "quadruped": 4.0, "hexapod": 2.0, "biped-unified": 4.0}


@pytest.mark.slow
@by_study(WALKS)
def test_walks_of_several_steps_as_long_as_the_sources(name):
    """Whole, not one step: 2 and 4 s of walking under feedforward control (Shah chapter 9, the biped paper)."""
    which = "controlled-walk" if name == "biped-unified" else "feedforward"
    outcome = gallery.study(name).run(analyses=[which]).outcomes[which]
    assert [str(fact) for fact in outcome.facts if not fact.holds] == []
    record = outcome.records["record"]
    assert record.time[-1] == WALKS[name]
    machine = walking.machine(name)
    steps = walking.Trunk.of(machine, record.q).angle_by_step(record.time, machine.walk.gait.period)
    assert len(steps) == round(WALKS[name] / machine.walk.gait.period)
    assert max(steps) < (0.5 if name == "hexapod" else 4.5)


@by_study(["stanford-arm", "space-3-link"])
def test_pictures_can_be_drawn(name):
    figure = pytest.importorskip("matplotlib.figure").Figure
    for outcome in quick_result(name)[0].outcomes.values():
        for draw in outcome.figures.values():
            sheet = figure(layout="constrained")
            draw(sheet)
            assert any(axis.lines for axis in sheet.axes)


# ---------------------------------------------------------------- models


def test_every_tree_says_where_it_comes_from():
    for name in TREES:
        about = gallery.about(name)
        assert about.name in gallery.names()
        assert about.source
        assert about.assumed
        text = gallery.model_text(about.name)
        assert text.startswith("#")
        robot = gallery.load(about.name, strict=True)
        assert robot.name == about.name
        assert not robot.model.loops
        driven = [joint.name for joint in robot.model.joints if joint.actuated]
        assert gallery.motion(about.name).joints == tuple(driven)


@pytest.mark.parametrize("name", TREES)
def test_motions_are_consistent(name):
    """Rates by finite differences, between the changes of legs."""
    robot, motion = gallery.load(name), gallery.motion(name)
    first, last = motion.span
    t, h = first + (last - first) * np.array([0.13, 0.29, 0.41, 0.61, 0.83]), 1e-5
    q, v, a = motion.states(t)
    assert q.shape == (5, robot.nq)
    before, after = motion.states(t - h), motion.states(t + h)
    np.testing.assert_allclose(robot.difference(before.q, after.q) / (2 * h), v, atol=1e-6 * (1 + np.abs(v).max()))
    np.testing.assert_allclose((after.v - before.v) / (2 * h), a, atol=1e-6 * (1 + np.abs(a).max()))
    np.testing.assert_allclose(gallery.start(name), motion.states(first).q, atol=1e-15)


def in_pinocchio(placements, far, kinds, masses, gravity):
    """A chain in Pinocchio: each link's mass in a frame that sits at ``far`` on it."""
    model = pin.Model()
    model.gravity = pin.Motion(np.array(gravity), np.zeros(3))
    joint = 0
    for k, (place, seat, kind, (mass, com, inertia)) in enumerate(zip(placements, far, kinds, masses, strict=True)):
        joint = model.addJoint(joint, kind, place, f"joint{k}")
        model.appendBodyToJoint(joint, pin.Inertia(mass, np.array(com, float), np.diag(inertia)), seat)
    return model


def about_x(alpha):
    return pin.SE3(pin.utils.rotate("x", np.radians(alpha)), np.zeros(3))


def shift(x=0.0, z=0.0):
    return pin.SE3(np.eye(3), np.array([x, 0.0, z]))


def against_pinocchio(name, model):
    robot, data = gallery.load(name), model.createData()
    q, v, a = np.random.default_rng(3).uniform(-1.0, 1.0, (3, 10, robot.nv))
    tau = np.array([pin.rnea(model, data, *state) for state in zip(q, v, a, strict=True)])
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), tau, atol=1e-11 * np.abs(tau).max())


@pytest.mark.parametrize(("name", "table"), [("puma", TABLE_3), ("stanford-arm", TABLE_4)])
def test_arms_of_001_against_pinocchio(name, table):
    """Standard rows: frame i + 1 from frame i at Rz Tz(b) Tx(a) Rx(alpha), masses in frame i + 1 with com = -r."""
    far = [shift(row.a, row.b) * about_x(row.alpha) for row in table]
    kinds = [pin.JointModelRZ() for _ in table]
    if name == "stanford-arm":
        kinds[2] = pin.JointModelPZ()
    masses = [(row.mass, [-x for x in row.r], row.inertia) for row in table]
    against_pinocchio(name, in_pinocchio([pin.SE3.Identity(), *far[:-1]], far, kinds, masses, (0, 0, -9.81)))


def test_kuka_against_pinocchio():
    """Modified rows of Table 6.6, with the mass centers of the authors' program."""
    places = [about_x(alpha) * shift(x=a) * shift(z=b) for a, alpha, b, *_ in TABLE_6_6]
    x = (0.104667, 0.267012, 0.087677, -0.000033, 0, 0)
    y = (0.005077, 0, -0.034263, 0.007634, 0.032618, 0)
    z = (0.059035, 0, 0.007779, -0.109372, -0.009789, 0.111885)
    inertia = [
        (176938.765, 266532.371, 262222.375), (271640.468, 276878.849, 21894.253), (388988.085, 376583.684, 104146.290),
        (4767.354, 10122.217, 12108.860), (760.688, 1783.961, 1801.078), (3.113, 1.512, 1.652),
    ]  # fmt: skip
    masses = [(row[3], com, 1e-6 * np.array(i)) for row, com, i in
              zip(TABLE_6_6, zip(x, y, z, strict=True), inertia, strict=True)]  # fmt: skip
    against_pinocchio(
        "kuka-kr5", in_pinocchio(places, [pin.SE3.Identity()] * 6, [pin.JointModelRZ()] * 6, masses, (0, 0, -9.81))
    )


def test_the_humanoid_against_pinocchio():
    """With every ball joint as three hinges there; mass matrix and torques, which kinetree finds with 17 links."""
    robot, turns = gallery.load("humanoid"), {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ}
    model, last = pin.Model(), {}
    for joint, body in zip(robot.model.joints, robot.model.bodies, strict=True):
        place = pin.SE3(np.eye(3), np.array(joint.placement.translation))
        parent = 0 if joint.parent < 0 else last[joint.parent]
        if joint.name == "base_joint":
            parent = model.addJoint(parent, pin.JointModelFreeFlyer(), place, joint.name)
        else:
            for axis in "yxz"[: joint.nv]:
                parent = model.addJoint(parent, turns[axis](), place, f"{joint.name}_{axis}")
                place = pin.SE3.Identity()
        last[len(last)], mass = parent, body.mass_properties
        inertia = pin.Inertia(mass.mass, np.array(mass.com), mass.inertia_matrix)
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
    data, rng = model.createData(), np.random.default_rng(6)
    q, (v, a) = robot.random_configuration(rng), rng.uniform(-1.0, 1.0, (2, robot.nv))
    theirs = [3, 4, 5, 0, 1, 2, *range(6, robot.nv)]  # linear before angular, place before quaternion
    there_q = np.concatenate([q[4:7], q[:4], q[7:]])
    tau = pin.rnea(model, data, there_q, v[theirs], a[theirs])[theirs]
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), tau, atol=1e-12 * np.abs(tau).max())
    half = np.triu(pin.crba(model, data, there_q))
    mass = (half + np.triu(half, 1).T)[np.ix_(theirs, theirs)]
    for backend in ("reference", "compiled"):
        np.testing.assert_allclose(robot.with_backend(backend).mass_matrix(q), mass, atol=1e-12 * mass.max())
    both = robot.floating_base_inverse_dynamics(q, v, a[6:])
    full = pin.rnea(model, data, there_q, v[theirs], np.concatenate([both[0], a[6:]])[theirs])[theirs]
    np.testing.assert_allclose(full, np.concatenate([np.zeros(6), both[1]]), atol=1e-11 * np.abs(full).max())


def test_the_biped_on_its_foot_is_the_floating_one_held_there():
    """Moved alike, held by a wrench on its foot that leaves nothing to the trunk, it needs the fixed one's torques."""
    fixed, motion = gallery.load("biped-spatial-fixed"), gallery.motion("biped-spatial-fixed")
    free = gallery.load("biped-spatial")
    machine = walker("biped-spatial")
    for t in (0.05, 0.2, 0.33, 0.47):
        legs_q, legs_v, legs_a = (x[None] for x in machine.walk(t))
        trunk = machine.walk.trunk(machine.trunk_above_hip)(t)
        q, v, a = (np.concatenate([np.zeros(3), x, legs[0]]) for x, legs in
                   zip(trunk, (legs_q, legs_v, legs_a), strict=True))  # fmt: skip
        full, jacobian = free.inverse_dynamics(q, v, a), free.jacobian(q, "left_foot")
        np.testing.assert_allclose(jacobian @ v, 0.0, atol=1e-9)  # the foot stands
        wrench = np.linalg.solve(jacobian[:, :6].T, full[:6])
        torques = full[6:] - jacobian[:, 6:].T @ wrench
        expected = fixed.inverse_dynamics(*motion.states(t))
        np.testing.assert_allclose([*upwards(torques[:6]), *torques[6:]], expected, atol=1e-9)


def test_chains():
    long, file = chain(20), gallery.load("chain")
    q, v, a = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 5, 20))
    np.testing.assert_allclose(long.inverse_dynamics(q, v, a), file.inverse_dynamics(q, v, a), atol=1e-15)
    for freedoms in (1, 2, 3):
        robot = chain(4, freedoms)
        assert robot.nv == 4 * freedoms
        planar = np.zeros((5, robot.nv))
        planar[:, ::freedoms] = q[:, :4]
        tip = robot.pose(planar, "link_4")[:, :3, 3]
        turned = np.cumsum(q[:, :3], axis=1)
        expected = 0.03 * np.stack([np.cos(turned).sum(axis=1), np.sin(turned).sum(axis=1), np.zeros(5)], axis=1)
        np.testing.assert_allclose(tip, expected, atol=1e-15)
    for bad, message in (((0,), "at least one link"), ((3, 4), "1, 2 or 3"), ((2.5,), "whole numbers")):
        with pytest.raises(kt.OptionError, match=message):
            chain(*bad)


def test_walkers_by_name():
    assert walker("hexapod").robot.nv == 18
    for bad in ("hexapode", None):
        with pytest.raises(kt.UnknownNameError, match="hexapod"):
            walker(bad)


def test_inverse_dynamics_on_the_ground_is_what_the_equations_say():
    """With the trunk's acceleration from the mass matrix, at instants in the air of a fall and on the ground."""
    machine = walker("biped-planar")
    robot, rng = machine.robot, np.random.default_rng(5)
    law = machine.feedforward()
    q, v = machine.start()
    z = np.concatenate([q[:6], v[:6]])
    z[3:6] += [0.0, 0.0, -0.003]
    z[6:] += rng.uniform(-0.05, 0.05, 6)
    planned_q, planned_v = (np.array(x, dtype=float) for x in law.planned(robot.model, 0.2, list(z)))
    tau = law(robot, 0.2, planned_q, planned_v, z)
    joints = machine.walk(0.2)[2]
    forces = machine.ground(robot, planned_q, planned_v)
    pushed = np.zeros(robot.nv)
    for spot, force in zip(machine.ground.spots, forces, strict=True):
        place = robot.with_frame("spot", spot.frame, kt.Pose.of(spot.point))
        pushed += place.jacobian(planned_q, "spot", "aligned")[3:].T @ force
    mass, bias = robot.mass_matrix(planned_q), robot.bias_force(planned_q, planned_v)
    base = np.linalg.solve(mass[:6, :6], pushed[:6] - bias[:6] - mass[:6, 6:] @ joints)
    expected = mass[6:] @ [*base, *joints] + bias[6:] - pushed[6:]
    assert np.abs(forces).max() > 1.0
    np.testing.assert_allclose(tau[6:], expected, atol=1e-9 * np.abs(expected).max())
    assert not tau[:6].any()


def test_the_touch_of_a_foot_is_found():
    machine = walker("hexapod")
    time = np.linspace(0.0, 0.5, 101)
    feet = np.zeros((101, 6, 3))
    swinging = [k for k, leg in enumerate(machine.walk.legs) if leg.group == 1]
    feet[:20, swinging, 2] = 5.0  # still standing after the start
    feet[90:, swinging[1], 2] = 5.0
    feet[95:, [swinging[0], swinging[2]], 2] = 5.0
    assert walking.first_touch(machine, time, feet) == time[90]
