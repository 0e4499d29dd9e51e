"""What is measured of a driven motion, and its exact derivatives by dimensions, masses and drives."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.driven_motion import JointWrench, PointMotion, ShakingWrench

SIXTH_ORDER = ((-3, -1 / 60), (-2, 3 / 20), (-1, -3 / 4), (1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
STEP = 2e-4

DESIGN = np.array([0.04, 0.002, 0.0, 0.11, 0.004, 0.0, -0.09, 0.01, 0.0, 4.0, 0.05, 0.01, 0.0])
IN_PLANE = (0, 1, 3, 4, 6, 7, 9, 10, 11)
"""Those of its numbers that leave the four-bar in its plane: elsewhere redundant constraints do not let it move."""

MEASURES = {
    "motion": lambda moved: moved.measure("q", "v", "a", "tau"),
    "path": lambda moved: moved.point("coupler", (0.05, 0.02, 0.0)),
    "rates": lambda moved: moved.measure(*(PointMotion("coupler", (0.05, 0.02, 0.0), order) for order in (1, 2))),
    "direction": lambda moved: moved.direction("coupler", (0.0, 1.0, 0.0)),
    "transmission": lambda moved: moved.angle("rocker", "coupler", ("coupler", (0.1, 0.0, 0.0))),
    "pin": lambda moved: moved.force_at("crank_pin"),
    "bearing": lambda moved: moved.force_at("rocker_joint"),
    "shaking": lambda moved: moved.shaking(),
}


def parameters(design):
    """Return a design (..., 13) as parameters."""
    return {
        "loops": {"crank_pin": {"position": design[..., :3], "seat": design[..., 3:6]}},
        "joints": {"rocker_joint": {"position": design[..., 6:9]}},
        "bodies": {"coupler": {"mass": design[..., 9], "com": design[..., 10:]}},
    }


def crank_turn(count=12):
    """Return drives of a turn that is not uniform."""
    angle = np.linspace(0.0, 2 * np.pi, count)[:, None] + kt.gallery.start("four-bar")[0]
    return angle, 3.0 + np.sin(angle), 4.0 * np.cos(3.0 * angle)


def moving(robot, design, drives=None):
    return robot.driven_motion(*(drives or crank_turn()), parameters(design), q_guess=kt.gallery.start("four-bar"))


@pytest.fixture(scope="module")
def four_bar():
    return kt.Mechanism(kt.load("four-bar").model, backend="compiled")


@pytest.fixture(scope="module")
def moved(four_bar):
    return moving(four_bar, DESIGN)


@pytest.fixture(scope="module")
def beside(four_bar):
    """Motions of designs that differ in one number each: (numbers, steps, samples, ...)."""
    steps = np.array([s * STEP for s, _ in SIXTH_ORDER])
    return moving(four_bar, DESIGN + steps[:, None] * np.eye(len(DESIGN))[list(IN_PLANE), None])


@pytest.mark.parametrize("name", list(MEASURES))
def test_derivatives_by_dimensions_and_masses_are_those_of_differences(moved, beside, name):
    found = MEASURES[name](moved).jacobian()[..., IN_PLANE]
    weights = np.array([c / STEP for _, c in SIXTH_ORDER])
    wanted = np.einsum("s,nstk->tkn", weights, MEASURES[name](beside).values)
    assert np.abs(found - wanted).max() < 1e-9 * np.abs(found).max()


@pytest.mark.parametrize("name", ["motion", "rates", "pin"])
def test_derivatives_by_drives_are_those_of_differences(four_bar, moved, name):
    found = MEASURES[name](moved).jacobian("q", "v", "a")
    drives = crank_turn()
    for i in range(3):
        wanted = 0.0
        for s, c in SIXTH_ORDER:
            other = [x + s * 1e-3 * (k == i) for k, x in enumerate(drives)]
            wanted = wanted + c / 1e-3 * MEASURES[name](moving(four_bar, DESIGN, other)).values
        assert np.abs(found[..., i] - wanted).max() < 1e-9 * np.abs(found).max()


def test_forces_are_those_of_the_mechanism_built_so(moved):
    built = kt.Builder("built", gravity=kt.load("four-bar").model.gravity)
    bodies = {body.name: body.mass_properties for body in kt.load("four-bar").model.bodies}
    built.body("crank", "base", kt.Revolute("z"), mass_properties=bodies["crank"])
    passive = {"actuated": False}
    built.body("rocker", "base", kt.Revolute("z"), position=DESIGN[6:9], mass_properties=bodies["rocker"], **passive)
    pin = kt.load("four-bar").model.joints[2].placement.position
    heavy = {"mass": DESIGN[9], "com": DESIGN[10:], "inertia": bodies["coupler"].inertia}
    built.body("coupler", "rocker", kt.Revolute("z"), position=pin, **heavy, **passive)
    built.loop("crank_pin", "crank", "coupler", kt.Revolute("z"), placement=DESIGN[:3], seat=DESIGN[3:6])
    robot = built.build()
    forces = robot.constraint_forces(moved.q, moved.v, moved.a)
    for joint in ("crank_pin", "crank_joint", "rocker_joint", "coupler_joint"):
        np.testing.assert_allclose(moved.force_at(joint).values, forces.at(joint), atol=1e-11)
    # what the ground feels is what its two bearings carry, backwards
    at, carried = np.array([[0.0, 0.0, 0.0], DESIGN[6:9]]), [forces.at(j) for j in ("crank_joint", "rocker_joint")]
    force = -sum(x[:, 3:] for x in carried)
    moment = -sum(x[:, :3] + np.cross(p, x[:, 3:]) for p, x in zip(at, carried, strict=True))
    np.testing.assert_allclose(moved.shaking(weight=True).values, np.hstack([moment, force]), atol=1e-11)
    point = robot.point_acceleration(moved.q, moved.v, moved.a, "coupler", (0.05, 0.02, 0.0))
    np.testing.assert_allclose(moved.point("coupler", (0.05, 0.02, 0.0), 2).values, point, atol=1e-12)


def test_the_way_back_is_the_columns_weighted_and_summed(moved, four_bar):
    rng = np.random.default_rng(1)
    for measure in MEASURES.values():
        found, one = measure(moved), measure(moved).values
        weights = rng.standard_normal(one.shape)
        wanted = np.einsum("tk,tkp->p", weights, found.jacobian())
        np.testing.assert_allclose(found.gradient(weights), wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())
    by_drives = moved.measure("tau").gradient(np.ones_like(moved.tau), "v")
    np.testing.assert_allclose(by_drives, moved.measure("tau").jacobian("v").sum(axis=-2), atol=1e-12)


def test_designs_that_cannot_move_are_nan_and_alone_so(four_bar, moved):
    designs = np.stack([DESIGN, DESIGN, DESIGN])
    designs[1, 0] = 0.5
    several = moving(four_bar, designs)
    for name, weights in (("transmission", 1.0), ("pin", [0, 0, 0, 1.0, 0, 0])):
        found = MEASURES[name](several)
        assert np.isnan(found.values[1, -1]).all()
        assert np.isnan(found.jacobian()[1, -1]).all()
        weights = np.broadcast_to(weights, found.values.shape)
        alone = MEASURES[name](moved)
        gradient = found.gradient(weights)
        assert np.isnan(gradient[1]).all()
        np.testing.assert_array_equal(gradient[[0, 2]], np.stack([alone.gradient(weights[0])] * 2))
        without = np.where(np.isnan(found.values), 0.0, weights)
        assert np.isfinite(found.gradient(without)).all()


@pytest.mark.parametrize("name", ["motion", "transmission", "bearing", "shaking"])
def test_as_written_and_as_machine_code(moved, name):
    written = MEASURES[name](moving(kt.Mechanism(kt.load("four-bar").model, backend="reference"), DESIGN))
    found = MEASURES[name](moved)
    np.testing.assert_allclose(written.values, found.values, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(written.jacobian(), found.jacobian(), rtol=1e-9, atol=1e-8)
    weights = np.cos(np.arange(found.values.size)).reshape(found.values.shape)
    np.testing.assert_allclose(written.gradient(weights), found.gradient(weights), rtol=1e-9, atol=1e-8)


def test_columns_have_names(moved):
    assert moved.parameters[:4] == (*(f"loops.crank_pin.position[{k}]" for k in range(3)), "loops.crank_pin.seat[0]")
    assert moved.parameters[9] == "bodies.coupler.mass"
    assert len(moved.parameters) == len(DESIGN)


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["stewart-platform", "delta"])
def test_platforms_with_balls_by_places_of_joints(name):
    """Quaternions among what follows, many columns: computed one by one, and backwards at once."""
    robot = kt.Mechanism(kt.load(name).model, backend="compiled")
    start = robot.close(kt.gallery.motion(name).states(0.0)[0])
    independent = [robot.v_names.index(n) for n in robot.independent()]
    entries = [robot.q_names.index(robot.v_names[k]) for k in independent]
    rng, n = np.random.default_rng(2), len(independent)
    drives = start[entries] + 0.01 * rng.standard_normal((3, n)), *rng.standard_normal((2, 3, n))
    joints, loops = robot.model.joints[1:4], robot.model.loops[:2]
    own = np.array([*(j.placement.translation for j in joints), *(x.seat.translation for x in loops)])

    def move(places):
        of_joints = {j.name: {"position": places[..., k, :]} for k, j in enumerate(joints)}
        of_loops = {x.name: {"seat": places[..., len(joints) + k, :]} for k, x in enumerate(loops)}
        return robot.driven_motion(*drives, {"joints": of_joints, "loops": of_loops}, q_guess=start)

    steps = np.array([s * STEP for s, _ in SIXTH_ORDER])[:, None, None]
    every = np.eye(own.size).reshape(own.size, 1, *own.shape)
    weights = np.array([c / STEP for _, c in SIXTH_ORDER])
    moved, beside = move(own), move(own + steps * every)
    what = "q", "a", "tau", JointWrench(loops[0].name), ShakingWrench()
    found = moved.measure(*what)
    wanted, slopes = np.einsum("s,nstk->tkn", weights, beside.measure(*what).values), found.jacobian()
    assert (np.abs(slopes - wanted).max(axis=(0, 2)) <= 1e-9 * np.abs(wanted).max(axis=(0, 2)) + 1e-9).all()
    gradient = found.gradient(np.ones_like(found.values))
    np.testing.assert_allclose(gradient, slopes.sum(axis=(0, 1)), rtol=1e-9, atol=1e-9 * np.abs(gradient).max())


def test_bad_input(moved):
    with pytest.raises(kt.UnknownNameError, match="coupler"):
        moved.point("couplre")
    with pytest.raises(kt.UnknownNameError, match="crank_pin"):
        moved.force_at("crank_pim")
    with pytest.raises(kt.UnknownNameError, match="tau"):
        moved.measure("torque")
    with pytest.raises(kt.OptionError, match="order"):
        moved.point("coupler", order=3)
    with pytest.raises(kt.ShapeError, match="offset"):
        moved.point("coupler", (1.0, 2.0))
    with pytest.raises(kt.UnknownNameError, match="parameters"):
        moved.measure("q").jacobian("masses")
    with pytest.raises(kt.ShapeError, match="weights"):
        moved.measure("q").gradient([1.0, 2.0])


@pytest.mark.parametrize("name", ["motion", "path", "pin", "shaking"])
def test_code_for_older_processors_gives_the_same_designs_and_slopes(moved, name):
    robot = kt.Mechanism(kt.load("four-bar").model, backend="compiled", cpu="x86-64-v3")
    older = moving(robot, DESIGN)
    for x, y in ((older.q, moved.q), (older.tau, moved.tau)):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * np.abs(y).max())
    slopes, wanted = MEASURES[name](older).jacobian(), MEASURES[name](moved).jacobian()
    np.testing.assert_allclose(slopes, wanted, rtol=0, atol=1e-11 * np.abs(wanted).max())
    many = moving(robot, np.tile(DESIGN, (9, 1)))
    np.testing.assert_array_equal(many.q, np.tile(older.q, (9, 1, 1)))  # whichever lane it is in
