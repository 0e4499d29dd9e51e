"""Distances of a robot's shapes: batches, gradients, backends, kinds of robots, lists found by sampling."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ModelError, OptionError, UnknownNameError

S = kt.shapes
I1 = (0.01, 0.01, 0.01)


def crane(**options):
    """Three bodies with a ball, a capsule and a box, over ground, next to a table and a post."""
    b = kt.Builder("crane")
    b.shape("base", S.HalfSpace(), (0, 0, -0.4), rpy=(0.1, 0, 0), name="floor")
    b.shape("base", S.Box((0.3, 0.4, 0.2)), (0.7, 0.1, 0.1), rpy=(0.3, 0.2, 0.1), name="table")
    b.body("arm", "base", kt.Spherical(), mass=1, inertia=I1)
    b.shape("arm", S.Capsule(0.05, 0.4), (0.3, 0, 0), rpy=(0, 1.5, 0.1))
    b.body("hand", "arm", kt.Revolute("y"), position=(0.5, 0, 0), mass=1, inertia=I1)
    b.shape("hand", S.Box((0.1, 0.2, 0.15)), (0.1, 0, 0.05))
    b.body("tip", "hand", kt.Prismatic("z"), position=(0.2, 0, 0), mass=1, inertia=I1)
    b.shape("tip", S.Sphere(0.07))
    if options.get("free"):
        b.body("thing", "base", kt.Free(), mass=1, inertia=I1).shape("thing", S.Box((0.1, 0.2, 0.3)))
    if options.get("mimic"):
        b.body("thumb", "arm", kt.Revolute("z"), mass=1, inertia=I1, mimic=kt.Mimic("tip_joint", 0.7, 0.1))
        b.shape("thumb", S.Capsule(0.02, 0.1), (0.1, 0.1, 0.2))
    return b


ROBOTS = {
    "tree": lambda: crane().build(),
    "things": lambda: crane(free=True).build(),
    "mimic": lambda: crane(mimic=True).build(),
    "floating": lambda: crane().build(floating_base=True),
    "loop": lambda: crane().loop("pin", "base", "hand", kt.Spherical(), placement=(0.6, 0, 0)).build(),
}


@pytest.mark.parametrize("kind", ["tree", "things", "mimic", "floating"])
def test_gradients_are_those_of_differences(kind):
    robot, h = ROBOTS[kind](), 1e-6
    q = robot.random_configuration(3, 8)
    found = robot.clearance(q)
    for k in range(robot.nv):
        step = h * np.eye(robot.nv)[k]
        ahead, behind = (robot.clearance(robot.integrate(q, s)).distances for s in (step, -step))
        assert np.allclose((ahead - behind) / (2 * h), found.gradients[..., k], atol=1e-7)
    gap = found.second - found.first - found.distances[..., None] * found.normals
    assert np.abs(gap).max() < 1e-14
    assert found.smallest.shape == (8,)
    assert np.array_equal(found.distances[range(8), found.nearest], found.smallest)


@pytest.mark.parametrize("kind", ROBOTS)
def test_machine_code_computes_what_is_written(kind):
    robot = ROBOTS[kind]()
    q = robot.random_configuration(4, (2, 3))
    code, text = robot.clearance(q), robot.with_backend("reference").clearance(q)
    for what in ("distances", "first", "second", "normals", "gradients"):
        assert np.allclose(getattr(code, what), getattr(text, what), atol=1e-12), what
    alone = robot.clearance(q[1, 2])
    assert np.array_equal(alone.distances, code.distances[1, 2])
    assert np.array_equal(alone.gradients, code.gradients[1, 2])
    assert np.array_equal(robot.clearance(q, threads=2).distances, code.distances)


def test_a_state_that_is_not_known_has_no_distance():
    robot = crane().build()
    q = robot.random_configuration(5, 9)
    clean = robot.clearance(q).distances
    q[4, 5] = np.nan
    found = robot.clearance(q).distances
    tip = [k for k, pair in enumerate(robot.clearance(q).pairs) if "tip" in pair]
    assert np.isnan(found[4, tip]).all()
    assert np.array_equal(np.delete(found, 4, 0), np.delete(clean, 4, 0))


def test_pairs_are_named():
    robot = crane().build()
    q = robot.neutral()
    found = robot.clearance(q, pairs=[("tip", "table"), ("arm", "hand")])
    assert found.pairs == (("tip", "table"), ("arm", "hand"))
    assert np.asarray(found) is not None
    assert "tip - table" in repr(found)
    with pytest.raises(UnknownNameError, match=r"no shape or body with a shape .* named 'elbow'"):
        robot.clearance(q, pairs=[("tip", "elbow")])
    with pytest.raises(OptionError, match="pairs is a list of pairs"):
        robot.clearance(q, pairs="tip")
    bare = kt.Builder("bare").body("b", "base", kt.Revolute("y"), mass=1).build().clearance([0.0])
    assert bare.distances.shape == (0,)
    assert bare.smallest == np.inf
    with pytest.raises(ModelError, match="no pairs"):
        _ = bare.nearest


def test_sampling_finds_pairs_that_never_or_always_meet():
    b = kt.Builder("three")
    for k, (x, size) in enumerate([(0, 1), (0.2, 1), (1.5, 1), (9, 1)]):
        b.body(f"b{k}", "base", kt.Prismatic("x"), mass=1, lower=x, upper=x + 0.5)
        b.shape(f"b{k}", S.Sphere(0.5 * size))
    robot = b.build()
    met = robot.sampled_contacts(2000)
    assert met.always == (("b0", "b1"),)
    assert met.sometimes == (("b1", "b2"),)  # b0 reaches to 1, b2 begins there
    left = robot.without_contacts(met.never + met.always)
    assert left.clearance(left.neutral()).pairs == (("b1", "b2"),)
    with pytest.raises(UnknownNameError):
        robot.without_contacts([("b0", "b9")])


def test_distances_along_a_motion_are_drawn(tmp_path):
    b = kt.Builder("slider").body("head", "base", kt.Prismatic("x"), mass=1.0).shape("head", kt.shapes.Sphere(0.1))
    robot = b.shape("base", kt.shapes.Sphere(0.1), (0.5, 0, 0), name="post").allow_contact("head", "post").build()
    found = robot.clearance(np.linspace(0, 0.4, 11)[:, None])
    figure = found.plot(np.linspace(0, 1, 11), tmp_path / "apart.png", wanted=0.05)
    assert (tmp_path / "apart.png").stat().st_size > 1000
    curve = figure.axes[0].lines[0].get_ydata()
    assert curve == pytest.approx(1e3 * found.distances[:, 0])
    assert [text.get_text() for text in figure.axes[1].get_yticklabels()] == ["head - post"]
    with pytest.raises(OptionError, match="one entry for each of 11 samples"):
        found.plot([0.0, 1.0])
    with pytest.raises(OptionError, match="one motion"):
        robot.clearance([0.0]).plot()


@pytest.mark.slow
def test_gradients_of_curved_shapes_and_hulls_are_those_of_differences():
    """Of shapes that are apart, where all distances are smooth."""
    b = kt.Builder("three").shape("base", S.Ellipsoid((0.3, 0.2, 0.1)), name="egg")
    cube = S.ConvexHull([(x, y, z) for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.1, 0.1)])
    for name, shape in (("can", S.Cylinder(0.1, 0.3)), ("hull", cube)):
        b.body(name, "base", kt.Free(), mass=1, inertia=I1).shape(name, shape)
    robot, h, rng = kt.Robot(b.build().model, backend="compiled"), 1e-6, np.random.default_rng(8)
    q = robot.random_configuration(3, 16)
    q[:, 4:7], q[:, 11:14] = (0.8, 0.1, 0.2), (-0.1, 0.9, 0.3)
    q[:, [4, 5, 6, 11, 12, 13]] += rng.normal(0, 0.05, (16, 6))
    found = robot.clearance(q)
    assert found.distances.min() > 0.0
    for k in range(robot.nv):
        step = h * np.eye(robot.nv)[k]
        ahead, behind = (robot.clearance(robot.integrate(q, s)).distances for s in (step, -step))
        assert np.allclose((ahead - behind) / (2 * h), found.gradients[..., k], atol=1e-6)
