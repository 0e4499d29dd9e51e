"""Contact of shapes of all kinds with one another: resting, rolling and rocking in closed form, hulls as boxes."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms.clearance.pairs import ORDER
from kinetree.algorithms.clearance.placed_solids import PlacedSolid
from kinetree.algorithms.clearance.touching_points import touching_area
from kinetree.spatial import Matrix3, MatrixRotation, Transform, Vec3

S, G, STIFFNESS = kt.shapes, 9.81, 1e5
UP, ON_ITS_SIDE = (0, 0, 0, 1), (-np.sqrt(0.5), 0, 0, np.sqrt(0.5))


def brick(x, y, z):
    """A hull of the corners of a box with these half lengths."""
    return S.ConvexHull([(i * x, j * y, k * z) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])


SOLIDS = {
    "sphere": S.Sphere(0.1), "capsule": S.Capsule(0.05, 0.2), "box": S.Box((0.2, 0.16, 0.12)),
    "cylinder": S.Cylinder(0.08, 0.2), "ellipsoid": S.Ellipsoid((0.1, 0.06, 0.04)),
    "convex_hull": brick(0.1, 0.07, 0.05),
}  # fmt: skip
PAIRS = [(a, b) for a in SOLIDS for b in SOLIDS]


def inertia(shape):
    n = np.square(shape.numbers())
    if shape.name == "ellipsoid":
        return tuple((n.sum() - n) / 5.0)
    if shape.name == "convex_hull":
        return inertia(S.Box(np.ptp(np.array(shape.vertices), axis=0)))
    if shape.name in ("box", "sphere"):
        return tuple((n.sum() - n) / 3.0) if len(n) == 3 else (0.4 * n[0],) * 3
    across, along = (3.0 * n[0] + 4.0 * n[1]) / 12.0, 0.5 * n[0]
    return across, across, along


def on(ground, shape, slope=0.0, friction=0.6):
    """A body on a shape of the ground whose top is at zero, and which descends along x."""
    top = {"box": 2, "cylinder": 1, "ellipsoid": 2}.get(ground.name)
    top = max(v[2] for v in ground.vertices) if top is None else ground.numbers()[top]
    down = -top * np.sin(slope), 0, -top * np.cos(slope)
    built = (
        kt.Builder("on").shape("base", ground, down, rpy=(0, slope, 0))
        .body("thing", "base", kt.Free(), mass=1.0, inertia=inertia(shape)).shape("thing", shape, friction=friction)
    )  # fmt: skip
    return kt.Robot(built.build().model, backend="compiled")


def run(robot, q, time=2.0, samples=41, v=None, **numbers):
    contact = kt.forces.ShapeContact.of(robot, **numbers)
    return kt.simulate(
        robot, q, v, time=time, ground=contact, samples=samples, integrator="implicit_euler", step=1e-3
    )  # fmt: skip


def placed(kind, turn, place):
    rows = [[float(x) for x in row] for row in turn]
    solid = SOLIDS[kind]
    pose = Transform((MatrixRotation(Matrix3.of(rows)),), Vec3(*map(float, place)))
    return PlacedSolid(kind, solid.numbers(), pose, solid if kind == "convex_hull" else None)


def random_turn(rng):
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return q * np.sign(np.linalg.det(q))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_points_lie_between_the_solids_and_the_order_does_not_matter(first, second):
    """Of pairs that overlap by 1 mm: no point is deeper, and at least one is pressed unless faces meet at a corner."""
    from kinetree.algorithms.clearance.pairs import separation

    rng = np.random.default_rng([1, *map(ord, first + second)])
    turns = random_turn(rng), random_turn(rng)
    way, far = random_turn(rng)[0], 0.5
    for _ in range(8):
        a, b = placed(first, turns[0], (0.1, 0.2, 0.3)), placed(second, turns[1], (0.1, 0.2, 0.3) + way * far)
        gap = separation(a, b).distance
        far -= gap + 1e-3
    area, back = touching_area(a, b), touching_area(b, a)
    assert np.allclose([*area.normal], [-x for x in back.normal], atol=1e-12)
    assert sum(area.shares) == pytest.approx(1.0)
    depths = sorted(p.depth for p in area.points)
    for weigh in (lambda p: p.depth, lambda p: p.depth * np.array([*p.place])):  # force and moment of the pressure
        one, other = (sum(share * weigh(p) for p, share in zip(x.points, x.shares, strict=True)) for x in (area, back))
        assert np.allclose(one, other, atol=1e-12)
    assert 0.0 < depths[-1] < 1.0001e-3
    distance = separation(a, b)
    for point in area.points:
        if point.depth > 0.0:
            off = point.place - (distance.first + distance.second) * 0.5
            assert abs(off.dot(distance.normal)) < 2e-3


RESTING = {
    "cylinder stands on box": (S.Box((1, 1, 0.2)), S.Cylinder(0.1, 0.3), UP, 0.15),
    "cylinder lies on box": (S.Box((1, 1, 0.2)), S.Cylinder(0.1, 0.3), ON_ITS_SIDE, 0.1),
    "hull on hull": (brick(0.5, 0.4, 0.1), brick(0.1, 0.1, 0.1), UP, 0.1),
    "box on cylinder": (S.Cylinder(0.5, 0.2), S.Box((0.2, 0.2, 0.2)), UP, 0.1),
    "cylinder on cylinder": (S.Cylinder(0.3, 0.2), S.Cylinder(0.1, 0.3), UP, 0.15),
    "capsule on cylinder": (S.Cylinder(0.5, 0.2), S.Capsule(0.05, 0.3), ON_ITS_SIDE, 0.05),
    "ellipsoid on hull": (brick(0.3, 0.3, 0.1), S.Ellipsoid((0.1, 0.1, 0.05)), UP, 0.05),
    "capsule on hull": (brick(0.3, 0.3, 0.1), S.Capsule(0.05, 0.1), ON_ITS_SIDE, 0.05),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", RESTING)
def test_what_lies_rests(case):
    ground, shape, turn, height = RESTING[case]
    record = run(on(ground, shape), [*turn, 0, 0, height])
    assert record.q[-1, 6] == pytest.approx(height - G / STIFFNESS, abs=1e-9)
    assert np.abs(record.q[20:] - record.q[-1]).max() < 1e-7


@pytest.mark.slow
def test_a_cylinder_rolls_down_a_box_on_two_points():
    slope, r = 0.2, 0.1
    robot = on(S.Box((40, 1, 0.2)), S.Cylinder(r, 0.3), slope)
    turned = np.sin(slope / 2), np.cos(slope / 2)
    side = ON_ITS_SIDE  # turned about y first, then by the slope: the axis stays along y
    q = [turned[1] * side[0] + turned[0] * 0, turned[0] * side[3], -turned[0] * side[0], turned[1] * side[3]]
    q += [(r - 1e-6) * np.sin(slope), 0, (r - 1e-6) * np.cos(slope)]
    hard = kt.ground.HuntCrossley(1e6, 10.0, exponent=1)  # forces act in the middle of the overlap, below the surface
    record = run(robot, q, time=2.0, samples=21, normal=hard)
    along = record.v[:, 3:6]
    speed = np.linalg.norm(along, axis=1)
    assert (speed[20] - speed[10]) / 1.0 == pytest.approx(2.0 / 3.0 * G * np.sin(slope), rel=1e-4)
    contact = kt.forces.ShapeContact.of(robot, normal=hard)
    deep = [d for *_, d, _ in contact.depths(robot.model, list(record.q[-1])) if d > 0]
    assert len({round(d, 12) for d in deep}) <= 2
    assert len(deep) == 4  # two places, each by two points


@pytest.mark.slow
def test_a_hull_of_the_corners_of_a_box_slides_like_the_box():
    slope = np.radians(35.0)
    ends = []
    for ground, shape in [(S.Box((4, 1, 0.2)), S.Box((0.2, 0.3, 0.1))), (brick(2, 0.5, 0.1), brick(0.1, 0.15, 0.05))]:
        q = [0, np.sin(slope / 2), 0, np.cos(slope / 2), 0.0501 * np.sin(slope), 0, 0.0501 * np.cos(slope)]
        ends.append(run(on(ground, shape, slope, friction=0.4), q, time=0.4, samples=3).q[-1])
    assert np.linalg.norm(ends[0][4:]) > 0.1
    assert ends[1] == pytest.approx(ends[0], abs=1e-8)


@pytest.mark.slow
def test_an_ellipsoid_rocks_as_its_curvature_says():
    """Rolling by a small angle: w^2 = g (R - c) / (k^2 + c^2), with R = a^2 / c."""
    a, c, tilt = 0.1, 0.06, 1e-3
    shape = S.Ellipsoid((a, a, c))
    robot = on(S.Box((2, 2, 0.2)), shape, friction=2.0)
    w = np.sqrt(G * (a * a / c - c) / (inertia(shape)[1] + c * c))
    q = [0, np.sin(tilt / 2), 0, np.cos(tilt / 2), 0, 0, c - G / STIFFNESS]
    record = run(robot, q, time=3.0, samples=3001)
    angle = 2.0 * record.q[:, 1]
    falls = np.flatnonzero((angle[1:] <= 0) & (angle[:-1] > 0))
    at = falls + angle[falls] / (angle[falls] - angle[falls + 1])
    period = 1e-3 * (at[-1] - at[0]) / (len(at) - 1)
    assert 2.0 * np.pi / period == pytest.approx(w, rel=5e-3)


def on_grid(shape, heights, size=(8.0, 8.0), friction=0.6):
    built = (
        kt.Builder("on").shape("base", S.HeightGrid(size, heights))
        .body("thing", "base", kt.Free(), mass=1.0, inertia=inertia(shape)).shape("thing", shape, friction=friction)
    )  # fmt: skip
    return kt.Robot(built.build().model, backend="compiled")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["box", "sphere", "capsule", "cylinder"])
def test_a_slope_of_triangles_is_a_plane(kind):
    """On heights that rise evenly everything moves as on a plane, into which the same points sink."""
    slope = 0.3
    heights = -np.tan(slope) * np.linspace(-4, 4, 9)[:, None] * np.ones(9)
    shape = SOLIDS[kind]
    turned = [0, np.sin(slope / 2), 0, np.cos(slope / 2)]
    high = {"box": 0.06, "sphere": 0.1, "capsule": 0.15, "cylinder": 0.1}[kind] + 0.005
    q = [*turned, 0.13 + high * np.sin(slope), 0.07, -np.tan(slope) * 0.13 + high * np.cos(slope)]
    plane = (
        kt.Builder("on").shape("base", S.HalfSpace(), rpy=(0, slope, 0))
        .body("thing", "base", kt.Free(), mass=1.0, inertia=inertia(shape)).shape("thing", shape, friction=0.6)
    )  # fmt: skip
    ends = [
        run(robot, q, time=0.5, samples=2).q[-1] for robot in (on_grid(shape, heights), kt.Robot(plane.build().model))
    ]
    assert np.linalg.norm(ends[0] - q) > 1e-3
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


@pytest.mark.slow
def test_a_box_comes_to_rest_on_uneven_ground_and_a_ball_in_a_hollow():
    x = np.linspace(-1, 1, 21)
    bowl = 0.5 * (x[:, None] ** 2 + x**2)
    ball = run(on_grid(S.Sphere(0.1), bowl, (2.0, 2.0)), [0, 0, 0, 1, 0.3, 0.1, 0.16], time=1.0)
    places = ball.q[:, 4:6]
    assert np.linalg.norm(places, axis=1).max() < 0.33
    assert places[:, 0].min() < -0.2  # it rolls to the other side
    hills = np.random.default_rng(3).normal(0, 0.02, (9, 9))
    box = run(on_grid(S.Box((0.4, 0.3, 0.1)), hills, (4.0, 4.0), friction=0.9), [0, 0, 0, 1, 0.1, 0.05, 0.12], time=4.0)
    assert np.ptp(box.q[30:], axis=0).max() < 1e-4


@pytest.mark.thorough
def test_ten_cubes_made_of_hulls_stand():
    b = kt.Builder("stack").shape("base", S.HalfSpace(), name="floor")
    cube = brick(0.1, 0.1, 0.05)
    for k in range(10):
        b.body(f"b{k}", "base", kt.Free(), mass=1.0, inertia=inertia(cube)).shape(f"b{k}", cube, friction=0.5)
    robot = kt.Robot(b.build().model, backend="compiled")
    pairs = [("floor", "b0"), *((f"b{k}", f"b{k + 1}") for k in range(9))]
    q = [x for k in range(10) for x in (0, 0, 0, 1, 1e-3 * (k % 2), 0, 0.1 * (k + 0.5))]
    contact = kt.forces.ShapeContact.of(robot, pairs=pairs)
    record = kt.simulate(robot, q, time=10.0, ground=contact, samples=11, integrator="implicit_euler", step=1e-3)
    boxes = record.q.reshape(11, 10, 7)
    assert np.abs(boxes[:, :, 4:6] - boxes[0, :, 4:6]).max() < 5e-4


def test_kinds_have_an_order():
    assert set(SOLIDS) < set(ORDER)
