"""Mechanisms as graphs: which joints are cut, joints walked backwards, and that the choice does not matter."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import sympy
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.transform import Rotation

import kinetree as kt
from helpers import loop_models
from helpers.compare import assert_close
from helpers.graphs import CLOSING, Graph, coordinates, pose_of
from helpers.robots import KINDS, random_axis, random_mass, random_pose
from kinetree.algorithms.loop_constraints import constraint_matrix, drift, gaps
from kinetree.errors import ModelError, UnknownNameError
from kinetree.model.graph import GraphError
from kinetree.model.joints import Distance, Fixed, Reversed, reverse
from kinetree.model.spanning import respan
from kinetree.robot import make
from kinetree.spatial import Motion, Transform, Vec3
from kinetree.spatial.rotation import MatrixRotation
from kinetree.spatial.vector import Matrix3

Z = kt.Revolute("z")
SOLID = kt.MassProperties.box(1.0, (0.1, 0.2, 0.3))

# One joint, both ways


@pytest.mark.parametrize("name", KINDS)
def test_a_reversed_joint_is_the_inverse_with_the_same_coordinates(name):
    rng = np.random.default_rng(1)
    kind = KINDS[name](rng)
    back = reverse(kind)
    assert (back.nq, back.nv, back.q_units, back.neutral()) == (kind.nq, kind.nv, kind.q_units, kind.neutral())
    assert back.quaternion == kind.quaternion
    for _ in range(5):
        q, q2 = coordinates(kind, rng), coordinates(kind, rng)
        v = rng.uniform(-1, 1, kind.nv)
        assert_close(pose_of(back, q), np.linalg.inv(pose_of(kind, q)), 1e-14)
        assert_close(np.array(back.integrate(q, v)), np.array(kind.integrate(q, v)))
        assert_close(np.array(back.difference(q, q2)), np.array(kind.difference(q, q2)))
        assert_close(np.array(back.rate(q, v)), np.array(kind.rate(q, v)))
        assert back.singularity(q) == kind.singularity(q)
    assert reverse(back) == kind


@pytest.mark.parametrize("name", ["universal", "spherical", "planar", "free_euler", "custom"])
def test_reversed_joints_over_symbols(name):
    """The same text on SymPy's symbols as on numbers."""
    rng = np.random.default_rng(3)
    kind = KINDS[name](rng)
    back = reverse(kind)
    q, v = coordinates(kind, rng), rng.uniform(-1, 1, kind.nv)
    at = dict(zip(sympy.symbols(f"q:{kind.nq}"), q, strict=True)) | dict(
        zip(sympy.symbols(f"v:{kind.nv}"), v, strict=True)
    )
    symbols = list(at)
    columns = back.subspace(symbols[: kind.nq])
    rates = back.subspace_rate(symbols[: kind.nq], symbols[kind.nq :])
    for found, expected in ((columns, back.subspace(list(q))), (rates, back.subspace_rate(list(q), list(v)))):
        numbers = [[float(sympy.sympify(x).subs(at)) for x in motion] for motion in found]
        assert_close(numbers, np.array([list(m) for m in expected], dtype=float), 1e-12, scale=1.0)


def test_reversed_joints_in_large_trees():
    """More bodies than are unrolled: one step, traced once for all reversed joints."""
    b, n = kt.Builder("rope"), 130
    for i in range(n):
        b.body(f"b{i}", f"b{i - 1}" if i else "base", kt.Universal("XY"), position=(0.1, 0, 0), actuated=False,
               mass=1.0, com=(0.05, 0, 0), inertia=(0.01, 0.01, 0.01))  # fmt: skip
    b.loop("end", f"b{n - 1}", "base", kt.Universal("XY"), placement=(0.1, 0, 0))
    rope = replace(respan(b.model(), ["b0_joint"]), loops=())
    assert isinstance(rope.joints[5].kind, Reversed)
    q, v, a = np.random.default_rng(0).uniform(-0.1, 0.1, (3, rope.nv))
    reference, compiled = (make(rope, backend=k).inverse_dynamics(q, v, a) for k in ("reference", "compiled"))
    assert_close(compiled, reference, 1e-12)


def test_plain_kinds_stay_plain():
    assert reverse(kt.Revolute((0.6, 0.0, 0.8))) == kt.Revolute((-0.6, 0.0, -0.8))
    assert reverse(kt.Continuous("x")) == kt.Continuous("-x")
    assert reverse(kt.Prismatic("-y")) == kt.Prismatic("y")
    assert reverse(kt.Helical("z", 0.2)) == kt.Helical("-z", 0.2)
    assert reverse(kt.Cylindrical("z")) == kt.Cylindrical("-z")
    assert reverse(kt.Fixed()) == kt.Fixed()
    assert isinstance(reverse(kt.Universal("XY")), Reversed)
    assert isinstance(reverse(kt.Custom(1, lambda x: (np.eye(3).tolist(), (x, 0, 0)))), kt.Custom)
    assert "-0.0" not in repr(reverse(kt.Revolute("z")))


@pytest.mark.parametrize("bad", ["revolute", kt.Fixed(), Reversed(kt.Spherical())])
def test_what_cannot_be_reversed(bad):
    with pytest.raises(ModelError, match="reversed"):
        Reversed(bad)


def twist_step(x: Transform, twist: np.ndarray, t: float) -> Transform:
    """The pose after moving with a constant twist, in its own coordinates, for a time."""
    m = np.eye(4)
    m[:3, :3], m[:3, 3] = Rotation.from_rotvec(t * twist[:3]).as_matrix(), t * twist[3:]
    h = np.array(x.homogeneous(), dtype=float) @ m
    return Transform((MatrixRotation(Matrix3.of(h[:3, :3].tolist())),), Vec3(*h[:3, 3]))


@pytest.mark.parametrize("name", CLOSING)
def test_a_reversed_joint_forbids_the_same(name):
    """Gaps are those of the joint as described; their rates are the powers of the forces along the twist."""
    rng = np.random.default_rng(2)
    kind = KINDS[name](rng)
    back = Reversed(kind) if name != "fixed" else kind
    x = kind.transform(list(coordinates(kind, rng)))
    seen = x.inverse()
    forward, backward = kind.constraints(x), back.constraints(seen)
    assert len(backward) == 6 - kind.nv
    assert_close([c.gap for c in backward], np.zeros(6 - kind.nv), 1e-13, scale=1.0)
    assert [c.label for c in backward] == [c.label for c in forward]
    twist, h = rng.uniform(-1, 1, 6), 1e-6
    ahead, behind = back.constraints(twist_step(seen, twist, h)), back.constraints(twist_step(seen, twist, -h))
    measured = [(a.gap - b.gap) / (2 * h) for a, b in zip(ahead, behind, strict=True)]
    assert_close([Motion.of(list(twist)).dot(c.force) for c in backward], measured, 1e-8, scale=1.0)
    rates = back.constraint_rates(seen, Motion.of(list(twist))) or []
    for a, b, r in zip(ahead, behind, rates, strict=True):
        assert_close(np.array(list(r)), (np.array(list(a.force)) - np.array(list(b.force))) / (2 * h), 1e-8, scale=1.0)


# A mechanism and all its trees


def joint_velocities(robot: kt.Robot, graph: Graph, model: kt.Model, v: np.ndarray) -> np.ndarray:
    """The velocities of another tree's joints, from how the bodies move: relative twists along the joints."""
    q = graph.q(robot.model)
    moving = {name: robot.velocity(q, v, name) for name in robot.body_names}
    moving[robot.model.base.name] = np.zeros(6)
    names = {-1: model.base.name} | {i: b.name for i, b in enumerate(model.bodies)}
    result = []
    for i, joint in enumerate(model.joints):
        parent, child = (_world_twist(moving[names[k]], graph.poses[names[k]]) for k in (joint.parent, i))
        own = make(model).pose(graph.q(model), joint_frame(model, i))
        s = np.array([list(c) for c in joint.kind.subspace(list(graph.at[joint.name]))], dtype=float).reshape(-1, 6).T
        seen = _in_frame(child - parent, own)
        found, *_ = np.linalg.lstsq(s, seen, rcond=None)
        assert_close(s @ found, seen, 1e-9, scale=1.0 + np.abs(seen).max())
        result.append(found)
    return np.concatenate(result) if result else np.zeros(0)


def joint_frame(model: kt.Model, i: int) -> str:
    """A name for the moving frame of joint i itself, whatever its body's name stands for."""
    return f"moving_{i}" if f"moving_{i}" in model.frame_table else model.bodies[i].name


def _world_twist(v: np.ndarray, pose: np.ndarray) -> np.ndarray:
    w, u = pose[:3, :3] @ v[:3], pose[:3, :3] @ v[3:]
    return np.concatenate([w, u + np.cross(pose[:3, 3], w)])


def _in_frame(twist: np.ndarray, pose: np.ndarray) -> np.ndarray:
    w = twist[:3]
    return np.concatenate([pose[:3, :3].T @ w, pose[:3, :3].T @ (twist[3:] - np.cross(pose[:3, 3], w))])


def with_moving_frames(model: kt.Model) -> kt.Model:
    extra = tuple(kt.model.tree.Frame(f"moving_{i}", i) for i in range(len(model.bodies)))
    return replace(model, frames=model.frames + extra)


def rank(matrix: np.ndarray) -> int:
    return int(np.linalg.matrix_rank(matrix, tol=1e-8)) if matrix.size else 0


@pytest.mark.parametrize("seed", range(25))
def test_other_cuts_same_mechanism(seed):
    """Poses, energies, closure, mobility and motions are those of the mechanism, whatever is cut."""
    graph = Graph(seed)
    first = make(graph.model)
    q = graph.q(graph.model)
    k = np.array(constraint_matrix(graph.model, list(q)), dtype=float).reshape(-1, graph.model.nv)
    for _ in range(3):
        cuts = graph.random_cuts()
        model = respan(graph.model, cuts)
        assert {c.name for c in model.loops} == set(cuts)
        other = make(model)
        q2 = graph.q(model)
        for name, pose in graph.poses.items():
            assert_close(other.pose(q2, name), pose, 1e-12, scale=1.0)
        assert_close(gaps(model, list(q2)), np.zeros(model.n_constraints), 1e-12, scale=1.0)
        assert_close(other.potential_energy(q2), first.potential_energy(q), 1e-11, scale=50.0)
        k2 = np.array(constraint_matrix(model, list(q2)), dtype=float).reshape(-1, model.nv)
        assert model.nv - rank(k2) == graph.model.nv - rank(k)
        free = np.linalg.svd(k)[2][rank(k) :] if k.size else np.eye(graph.model.nv)
        if len(free):
            v = graph.rng.uniform(-1, 1, len(free)) @ free
            v2 = joint_velocities(first, graph, with_moving_frames(model), v)
            assert_close(k2 @ v2, np.zeros(len(k2)), 1e-9, scale=1.0)
            assert_close(other.kinetic_energy(q2, v2), first.kinetic_energy(q, v), 1e-9, scale=1.0)
            for body in first.body_names:
                assert_close(other.velocity(q2, v2, body), first.velocity(q, v, body), 1e-9, scale=1.0)


@pytest.mark.parametrize("seed", range(8))
def test_drift_is_the_rate_of_the_constraint_matrix_also_backwards(seed):
    graph = Graph(100 + seed)
    model = respan(graph.model, graph.random_cuts())
    robot, q = make(model), graph.q(model)
    v = graph.rng.uniform(-1, 1, model.nv)

    def rows(t: float) -> np.ndarray:
        moved = robot.integrate(q, t * v)
        return np.array(constraint_matrix(model, list(moved)), dtype=float).reshape(-1, model.nv) @ v

    h = 1e-5
    expected = (8 * (rows(h) - rows(-h)) - (rows(2 * h) - rows(-2 * h))) / (12 * h)
    assert_close(np.array(drift(model, list(q), list(v)), dtype=float), expected, 1e-8, scale=1.0 + np.abs(v).max())


@pytest.mark.parametrize("seed", range(5))
def test_there_and_back(seed):
    graph = Graph(200 + seed)
    back = respan(respan(graph.model, graph.random_cuts()), [c.name for c in graph.model.loops])
    for joint in graph.model.joints:  # in another order where that was the order of description in between
        again = back.joint(joint.name)
        assert (again.kind, again.lower, again.actuated) == (joint.kind, joint.lower, joint.actuated)
    assert {(f.name, f.body) for f in respan(back, cut_names(back)).frames} == {(f.name, f.body) for f in back.frames}
    q, robot = graph.q(back), make(back)
    for name, pose in graph.poses.items():
        assert_close(robot.pose(q, name), pose, 1e-12, scale=1.0)
    assert {b.name: b.mass for b in back.bodies} == {b.name: b.mass for b in graph.model.bodies}


def test_limits_of_a_cut_joint_come_back():
    model = four_bar().model(rule="minimum_dof")
    (cut,) = model.loops
    assert (cut.name, cut.lower, cut.upper) == ("j3", (-1.0,), (2.0,))
    joint = respan(model, ["j4"]).joint("j3")
    assert (joint.lower, joint.upper, joint.actuated) == ((-1.0,), (2.0,), False)


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_reversed_joints_in_the_equations(backend):
    """Dynamics of a chain built from its tip: inertia, Coriolis terms and derivatives against its plain twin."""
    rng = np.random.default_rng(3)
    kinds = [kt.Universal("XY"), kt.Spherical(), kt.Planar(random_axis(rng)), kt.Helical("x", 0.1)]
    forward, backward = (kt.Builder("chain", gravity=(1, 2, 3)) for _ in range(2))
    for i, kind in enumerate(kinds):
        mass, place, own = random_mass(rng), random_pose(rng), random_pose(rng)
        parent = f"b{i - 1}" if i else "base"
        for b in (forward, backward):
            b.add_body(f"b{i}", mass)
        data = {"actuated": False}
        forward.joint(f"j{i}", parent, f"b{i}", kind, place, own, **data)
        turned = Reversed(kind) if i < 3 else kt.Helical("-x", 0.1)
        backward.joint(f"j{i}", f"b{i}", parent, turned, own.inverse(), place.inverse(), **data)
    one, two = (make(b.model(), backend=backend) for b in (forward, backward))
    assert [j.kind for j in two.model.joints] == kinds  # turned twice
    loop = forward.loop("weld", "b3", "base", Fixed())
    walked = respan(loop.model(), ["j0"])  # from the weld at b3 to b0
    assert [j.name for j in walked.joints] == ["weld", "j3", "j2", "j1"]
    assert [type(j.kind) for j in walked.joints[2:]] == [Reversed, Reversed]
    third = make(replace(walked, loops=()), backend=backend)
    for robot in (one, two):
        q = robot.random_configuration(np.random.default_rng(4))
        v, a = np.random.default_rng(5).uniform(-1, 1, (2, robot.nv))
        tau = robot.inverse_dynamics(q, v, a)
        assert_close(robot.forward_dynamics(q, v, tau), a, 1e-10)
        if robot is one:
            expected = tau
    assert_close(tau, expected, 1e-10)
    q = third.random_configuration(np.random.default_rng(6), 4)
    v, a = np.random.default_rng(7).uniform(-1, 1, (2, 4, third.nv))
    assert_close(third.forward_dynamics(q, v, third.inverse_dynamics(q, v, a)), a, 1e-9)
    power = np.einsum("bi,bi->b", v, third.inverse_dynamics(q, v, a))
    assert_close(power, energy_rate(third, q, v, a), 1e-7, scale=10.0)


def energy_rate(robot: kt.Robot, q, v, a, h: float = 1e-4) -> np.ndarray:
    def energy(t: float) -> np.ndarray:
        # the path with velocity v and acceleration a at t = 0, to second order in its velocity
        moved, rate = robot.integrate(q, t * v + 0.5 * t * t * a), v + t * a
        return robot.kinetic_energy(moved, rate) + robot.potential_energy(moved)

    return (8 * (energy(h) - energy(-h)) - (energy(2 * h) - energy(-2 * h))) / (12 * h)


# Rules


def four_bar(**crank) -> kt.Builder:
    """Ground, crank, coupler, rocker, as a circle of joints."""
    b = kt.Builder("four-bar", gravity=(0, -9.81, 0))
    for name in ("crank", "coupler", "rocker"):
        b.add_body(name, SOLID)
    b.joint("j1", "base", "crank", Z, **({"actuated": True} | crank))
    b.joint("j2", "crank", "coupler", Z, (0.3, 0, 0), actuated=False)
    b.joint("j3", "coupler", "rocker", Z, (1.0, 0, 0), seat=(0.8, 0, 0), actuated=False, lower=-1.0, upper=2.0)
    return b.joint("j4", "rocker", "base", Z, seat=(1.1, 0, 0), actuated=False)


def cut_names(model: kt.Model) -> list[str]:
    return [loop.name for loop in model.loops]


def test_a_circle_of_joints_is_a_four_bar():
    model = four_bar().model()
    assert cut_names(model) == ["j3"]  # branches of one and two, the later joint of the two is cut
    assert [j.name for j in model.joints] == ["j1", "j2", "j4"]
    assert model.joint("j4").kind == kt.Revolute("-z")  # its coordinate is that of the joint as described
    assert model.parents == (-1, 0, -1)
    assert [b.name for b in model.bodies] == ["crank", "coupler", "rocker"]


@pytest.mark.parametrize("cut", ["j2", "j3", "j4"])
def test_each_passive_joint_of_a_four_bar_may_be_cut(cut):
    closed = make(four_bar().model())
    angles = closed_four_bar()
    model = four_bar().model(cuts=[cut])
    assert cut_names(model) == [cut]
    robot = make(model)
    q = np.array([angles[j.name] for j in model.joints])
    reference = np.array([angles[j.name] for j in closed.model.joints])
    assert_close(gaps(model, list(q)), np.zeros(5), 1e-14, scale=1.0)
    for body in ("crank", "coupler", "rocker", "base", "j1", "j2", "j3", "j4"):
        assert_close(robot.pose(q, body), closed.pose(reference, body), 1e-14, scale=1.0)


def closed_four_bar() -> dict[str, float]:
    """By planar trigonometry: where two circles meet."""
    a1 = 0.7
    pin = 0.3 * np.array([np.cos(a1), np.sin(a1)])
    pivot = np.array([1.1, 0.0])
    # joint 4 sits at the rocker's origin and at (1.1, 0) on the ground; joint 3 at 0.8 along the rocker
    reach = pivot - pin
    d = np.hypot(*reach)
    along = np.arctan2(reach[1], reach[0])
    at_pin = np.arccos((1.0 + d * d - 0.64) / (2 * d))
    coupler = along + at_pin
    tip = pin + np.array([np.cos(coupler), np.sin(coupler)])
    rocker = np.arctan2(*(tip - pivot)[::-1])
    return {"j1": a1, "j2": coupler - a1, "j3": rocker - coupler, "j4": -rocker}


def triangle(ball: kt.JointKind) -> kt.Builder:
    b = kt.Builder("triangle")
    for name in ("a", "b"):
        b.add_body(name, SOLID)
    b.joint("ball", "base", "a", ball, actuated=False)
    b.joint("foot", "base", "b", Z, actuated=False)
    return b.joint("knee", "b", "a", Z, actuated=False)


def test_the_rules_differ_where_freedoms_and_joints_do():
    assert cut_names(triangle(kt.Spherical()).model()) == ["ball"]  # 3 freedoms against 2
    assert cut_names(triangle(kt.Spherical()).model(rule="minimum_dof")) == ["ball"]
    assert cut_names(triangle(kt.Spherical()).model(rule="shortest")) == ["knee"]
    # 2 against 2: the joint with fewer constraints is cut
    assert cut_names(triangle(kt.Universal("XY")).model()) == ["ball"]
    # a weld costs nothing: the loop is closed at the end of the longer branch
    assert cut_names(triangle(Fixed()).model()) == ["knee"]


def test_declared_loops_are_the_cuts_unless_something_else_is_asked_for():
    def build() -> kt.Builder:
        b = kt.Builder("triangle").body("a", "base", kt.Spherical(), actuated=False, mass_properties=SOLID)
        b.body("b", "base", Z, actuated=False, mass_properties=SOLID)
        b.frame("knee_pin", "b", (0, 1, 0))
        return b.loop("knee", "knee_pin", "a", Z, seat=(0, 2, 0))

    assert cut_names(build().model()) == ["knee"]
    assert cut_names(build().model(rule="minimum_dof")) == ["a_joint"]
    model = build().model(cuts=["a_joint"])
    assert cut_names(model) == ["a_joint"]
    assert model.joint("knee").placement == kt.Pose.of((0, 1, 0))
    assert not model.joint("knee").actuated
    assert_close(make(model).pose(np.zeros(2), "a")[:3, 3], [0, -1, 0])


def test_rods_are_always_cut():
    b = triangle(kt.Spherical()).joint("rod", "base", "a", Distance(0.4), actuated=False)
    assert set(cut_names(b.model(rule="shortest"))) == {"rod", "knee"}
    assert set(cut_names(b.model(cuts=["rod"]))) == {"rod", "ball"}


@pytest.mark.parametrize(
    "data",
    [
        {"actuated": True},
        {"actuated": False, "damping": 0.1},
        {"actuated": False, "friction": 0.1},
        {"actuated": False, "rotor_inertia": 0.1},
    ],
    ids=lambda d: list(d)[-1],
)
def test_joints_that_are_more_than_geometry_are_not_cut(data):
    b = kt.Builder("triangle")
    for name in ("a", "b"):
        b.add_body(name, SOLID)
    b.joint("ball", "base", "a", kt.Spherical(), **data)
    b.joint("foot", "base", "b", Z, actuated=False).joint("knee", "b", "a", Z, actuated=False)
    assert cut_names(b.model()) == ["knee"]  # the foot is nearer, the ball must stay
    split = b.model(cuts=["ball"])  # by name: it keeps its coordinates, and the body beside it is cut through
    assert cut_names(split) == ["ball_weld"]
    assert split.joint("ball").nq == 4
    assert [body.mass for body in split.bodies if body.name in ("a", "a_at_ball")] == [SOLID.mass / 2] * 2


def test_joints_of_your_own_are_split():
    own = kt.Custom(1, lambda x: (((1, 0, 0), (0, 1, 0), (0, 0, 1)), (x, 0.0, 0.0)))
    assert cut_names(triangle(own).model()) == ["knee"]
    assert cut_names(triangle(own).model(cuts=["ball"])) == ["ball_weld"]
    b = triangle(kt.Spherical()).loop("slot", "a", "base", own)
    assert "slot_weld" in cut_names(b.model())
    assert "slot" not in cut_names(b.model(rule="shortest"))


def test_rods_have_no_friction():
    b = triangle(kt.Spherical()).joint("rod", "base", "a", Distance(0.4), damping=1.0)
    with pytest.raises(GraphError, match="rod 'rod' has damping"):
        b.model()
    with pytest.raises(GraphError, match="rod 'rod' has damping"):
        triangle(kt.Spherical()).loop("rod", "base", "a", Distance(0.4), damping=1.0).model()


def test_leaders_and_followers_are_not_cut():
    b = kt.Builder("geared triangle")
    for name in ("a", "b"):
        b.add_body(name, SOLID)
    b.joint("top", "base", "a", Z, actuated=False, mimic=kt.Mimic("foot", -1.0))
    b.joint("foot", "base", "b", Z, actuated=False).joint("knee", "b", "a", Z, actuated=False)
    assert cut_names(b.model()) == ["knee"]
    assert cut_names(b.model(cuts=["top"])) == ["top_weld"]
    assert cut_names(b.model(cuts=["foot"])) == ["foot_weld"]


@pytest.mark.parametrize(("seed", "rule"), list(itertools.product(range(20), ["minimum_dof", "shortest"])))
def test_every_body_is_reached_the_shortest_way(seed, rule):
    """Against SciPy's Dijkstra, on random graphs of passive joints."""
    graph, n = Graph(300 + seed, bodies=7, loops=4), 7
    model = respan(graph.model, rule=rule)
    old = graph.model
    edges = [(j.parent, i, j.kind.nv) for i, j in enumerate(old.joints)]
    edges += [(c.predecessor, c.successor, c.kind.nv) for c in old.loops]
    best: dict[tuple[int, int], int] = {}
    for a, b, freedom in edges:
        length = freedom if rule == "minimum_dof" else min(freedom, 1)
        key = (min(a, b) + 1, max(a, b) + 1)
        best[key] = min(best.get(key, 99), length)
    rows, columns = np.array(list(best)).T
    matrix = coo_array((np.array(list(best.values()), float), (rows, columns)), shape=(n + 1, n + 1))
    expected = dijkstra(matrix.tocsr(), directed=False, indices=0)[1:]
    for i, body in enumerate(old.bodies):
        path = model.support(model.body_index[body.name])
        lengths = [model.joints[k].nv if rule == "minimum_dof" else 1 for k in path]
        assert sum(lengths) == expected[i]


@pytest.mark.parametrize("seed", range(10))
def test_motors_stay_in_the_tree(seed):
    rng = np.random.default_rng(seed)
    b = kt.Builder("motors")
    names = ["base", *(f"b{i}" for i in range(6))]
    for name in names[1:]:
        b.add_body(name, SOLID)
    order = rng.permutation(6) + 1
    motors = set()
    for i, k in enumerate(order):  # a tree with some motors, then passive joints across
        other = names[int(rng.choice([0, *order[:i]]))]
        driven = bool(rng.random() < 0.5)
        ends = (names[k], other) if rng.random() < 0.5 else (other, names[k])
        b.joint(f"j{k}", *ends, kt.Spherical() if driven else Z, actuated=driven)
        motors |= {f"j{k}"} if driven else set()
    for k in range(4):
        b.joint(f"c{k}", *map(str, rng.choice(names, 2, replace=False)), Z, actuated=False)
    for rule in ("minimum_dof", "shortest"):
        model = b.model(rule=rule)
        assert len(model.loops) == 4
        assert not motors & set(cut_names(model))


def test_large_trees_are_spanned_in_no_time():
    b = kt.Builder("rope")
    for i in range(1500):
        b.body(f"b{i}", f"b{i - 1}" if i else "base", Z, mass_properties=SOLID)
    assert len(b.model().joints) == 1500


# What is refused


def refused(build, error=ModelError) -> str:
    with pytest.raises(error) as caught:
        build()
    return str(caught.value)


def test_cuts_that_leave_a_body_hanging():
    text = refused(lambda: four_bar().model(cuts=["j3", "j2"]))
    assert "cutting 'j2', 'j3' leaves body 'coupler' unsupported" in text
    text = refused(lambda: four_bar(actuated=False).model(cuts=["j1", "j4"]))
    assert "leaves bodies 'crank', 'coupler', 'rocker' unsupported" in text


def test_cuts_by_wrong_names():
    assert "did you mean 'j4'" in refused(lambda: four_bar().model(cuts=["j44"]), UnknownNameError)
    assert "write ['j3']" in refused(lambda: four_bar().model(cuts="j3"))
    assert "did you mean 'minimum_dof'" in refused(lambda: four_bar().model(rule="minimum_dofs"), UnknownNameError)


def test_a_loop_of_motors_is_cut_beside_one_that_has_none():
    b = kt.Builder("triangle")
    for name in ("a", "b"):
        b.add_body(name, SOLID)
    b.joint("j1", "base", "a", Z).joint("j2", "a", "b", Z, damping=0.1).joint("j3", "b", "base", Z)
    assert cut_names(b.model()) == ["j3_weld"]
    b = kt.Builder("triangle")
    for name in ("a", "b"):
        b.add_body(name, SOLID)
    b.joint("j1", "base", "a", Z).joint("j2", "a", "b", Z, damping=0.1, actuated=False).joint("j3", "b", "base", Z)
    assert cut_names(b.model()) == ["j2_weld"]


def test_what_has_no_mass_cannot_be_cut_through():
    b = kt.Builder("triangle")
    b.add_body("a", SOLID)
    b.add_body("b")
    b.joint("j1", "base", "a", Z).joint("j2", "a", "b", Z).joint("j3", "b", "base", Z)
    assert "neither 'base' nor 'b' has a mass that could be halved" in refused(lambda: b.model(cuts=["j3"]))
    assert cut_names(b.model(cuts=["j2"])) == ["j2_weld"]


def test_bodies_that_hang_on_nothing():
    b = four_bar()
    b.add_body("isolated", SOLID)
    assert "body 'isolated' cannot be reached: no joint joins it to the base 'base'; declare" in refused(b.model)
    b.joint("apart", "isolated", "isolated2", Z)
    b.add_body("isolated2", SOLID)
    assert "bodies 'isolated', 'isolated2' cannot be reached" in refused(b.model)


def test_no_base():
    b = kt.Builder("ring")
    for name in "abc":
        b.add_body(name, SOLID)
    for first, second in ("ab", "bc", "ca"):
        b.joint(first + second, first, second, Z, actuated=False)
    assert "'ring' has no root" in refused(b.model)
    ring = kt.Builder("ring", base="b")
    for name in "abc":
        ring.add_body(name, SOLID)
    for first, second in ("ab", "bc", "ca"):
        ring.joint(first + second, first, second, Z, actuated=False)
    model = ring.model(floating_base=True)
    assert [b.name for b in model.bodies] == ["b", "a", "c"]
    assert cut_names(model) == ["ca"]


def test_a_body_on_rods_only():
    b = kt.Builder("hanging")
    b.add_body("bob", SOLID)
    b.body("arm", "base", Z, mass_properties=SOLID)
    b.joint("rod1", "arm", "bob", Distance(0.4), actuated=False).joint("rod2", "base", "bob", Distance(0.6))
    assert "body 'bob' is held by distance rods only" in refused(b.model)
    b.joint("float", "base", "bob", kt.Free(), actuated=False)
    assert b.model().nv == 7


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda b: b.joint("k", "base", "a", Z, (0, 0), actuated=False), "joint 'k': a position"),
        (lambda b: b.joint("k", "base", "a", Z, child_pose=(0, 0, 0), seat=(0, 0, 0)), "either child_pose or seat"),
        (lambda b: b.joint("k", "base", "a", Z, frcton=1), "no joint property .*'frcton'"),
        (lambda b: b.joint("k", "base", "nowhere", Z).model(), "child of joint 'k'.*'nowhere'"),
        (lambda b: b.joint("k", "a", "a", Z).model(), "joins body 'a' to itself"),
        (lambda b: b.joint("a_joint", "base", "a", Z), "two joints are named"),
        (lambda b: b.loop("l", "base", "a", Z).joint("l", "base", "a", Z), "two joints are named"),
        (lambda b: b.loop("l", "base", "a", Z, dampin=1.0), "property of a cut joint"),
        (lambda b: b.loop("l", "base", "a", Z, lower=(1, 2)), "loop 'l': lower"),
        (lambda b: b.joint("w", "base", "c", Fixed()).joint("w2", "base", "c", Fixed()).model(), "same rigid body"),
    ],
)
def test_bad_descriptions(call, says):
    b = kt.Builder("bot").body("a", "base", Z, mass_properties=SOLID)
    b._bodies["c"] = SOLID
    with pytest.raises((ModelError, UnknownNameError), match=says):
        call(b)


# Welds in graphs


def test_a_weld_walked_backwards():
    """A foot that carries its pedestal: frames and masses end up where they belong."""
    b = kt.Builder("weld")
    b.add_body("foot", kt.MassProperties.of(2.0, (0, 0, 0.5), (0.1, 0.1, 0.1)))
    b.add_body("plate", SOLID)
    b.joint("glue", "foot", "plate", Fixed(), kt.Pose.of((0, 0, 1), rpy=(0.3, 0, 0)))
    b.joint("hinge", "base", "plate", Z, (1, 0, 0))
    robot = make(b.model())
    assert robot.body_names == ["plate"]
    q = np.array([0.5])
    plate = robot.pose(q, "plate")
    assert_close(plate, kt.Pose.of((1, 0, 0), rpy=(0, 0, 0.5)).matrix, 1e-15)
    place = kt.Pose.of((0, 0, 1), rpy=(0.3, 0, 0))
    assert_close(robot.pose(q, "foot") @ place.matrix, plate, 1e-15)
    assert_close(robot.pose(q, "glue"), plate, 1e-15)
    foot = place.inverse().matrix @ [0, 0, 0.5, 1]
    assert_close(robot.center_of_mass(q), (plate @ (2 * foot + [0, 0, 0, 1]) / 3)[:3], 1e-14)


# Whole mechanisms: actuator forces and motions do not depend on the cuts


def transferred(
    first: kt.Mechanism, second: kt.Mechanism, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A state of one tree in another: joints of both as they are, the others from closing the loops."""
    common = [name for name in second.joint_names if name in first.joint_names]
    rng = np.random.default_rng(0)
    for _ in range(40):
        guess = second.random_configuration(rng)
        for name in common:
            guess[second.joint(name).q_slice] = q[first.joint(name).q_slice]
        try:
            q2 = second.close(guess, fixed=common)
            break
        except kt.KinetreeError:
            continue
    k = second.loop_jacobian(q2)
    known = np.zeros(second.nv, dtype=bool)
    for name in common:
        known[second.joint(name).v_slice] = True

    def follow(rates: np.ndarray, rhs: np.ndarray) -> np.ndarray:
        full = np.zeros(second.nv)
        for name in common:
            full[second.joint(name).v_slice] = rates[first.joint(name).v_slice]
        full[~known] = np.linalg.lstsq(k[:, ~known], rhs - k[:, known] @ full[known], rcond=None)[0]
        return full

    v2 = follow(v, np.zeros(len(k)))
    return q2, v2, follow(a, -second.loop_drift(q2, v2))


def stewart() -> tuple[kt.Mechanism, np.ndarray]:
    mechanism = loop_models.stewart()
    pose = kt.Pose.of((0.1, -0.05, 1.2), rpy=(0.1, -0.2, 0.15)).matrix
    return mechanism, loop_models.stewart_at(mechanism, pose)


MECHANISMS = {
    "four-bar": lambda: (loop_models.four_bar(), np.array([0.4, 1.0, 4.3])),
    "five-bar": lambda: (loop_models.five_bar(), loop_models.FIVE_BAR_START),
    "leg": lambda: (loop_models.leg(), loop_models.LEG_START),
    "arm": lambda: (loop_models.parallelogram_arm(), np.array([0.1, -1.0, 0.9, -0.9, 1.1, 0.3, 0.2])),
    "stewart": stewart,
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_forces_and_motions_do_not_depend_on_the_cuts(name):
    mechanism, start = MECHANISMS[name]()
    driven = [j.name for j in mechanism.model.joints if j.actuated]
    q = mechanism.close(start, fixed=driven)
    rng = np.random.default_rng(1)
    count = len(mechanism.independent(q))
    v = mechanism.velocities(q, rng.uniform(-1, 1, count))
    a = mechanism.accelerations(q, v, rng.uniform(-1, 1, count))
    tau = mechanism.inverse_dynamics(q, v, a)
    passive = [j.name for j in mechanism.model.joints if not j.actuated] + mechanism.loop_names
    choices = list(itertools.combinations(passive, len(mechanism.model.loops)))
    tried = 0
    for k in rng.permutation(len(choices)):
        try:
            other = mechanism.with_cuts(list(choices[k]))
        except GraphError:
            continue  # would leave a body hanging
        assert set(other.loop_names) == set(choices[k])
        q2, v2, a2 = transferred(mechanism, other, q, v, a)
        tau2 = other.inverse_dynamics(q2, v2, a2)
        for joint in driven:
            assert_close(
                tau2[other.joint(joint).v_slice], tau[mechanism.joint(joint).v_slice], 1e-9, scale=np.abs(tau).max()
            )
        assert_close(other.forward_dynamics(q2, v2, tau2), a2, 1e-8)
        assert_close(other.kinetic_energy(q2, v2), mechanism.kinetic_energy(q, v), 1e-9)
        tried += 1
        if tried == 6:
            break
    assert tried >= 3


@pytest.mark.parametrize("rule", ["minimum_dof", "shortest", None])
@pytest.mark.parametrize("seed", range(12))
def test_the_order_and_direction_of_description_do_not_matter(seed, rule):
    """The same joints declared in any order, from either side, some bodies welded to others: the same poses."""
    graph = Graph(500 + seed)
    rng, old = graph.rng, graph.model
    b = kt.Builder(old.name, gravity=old.gravity)
    names = {-1: "base"} | {i: body.name for i, body in enumerate(old.bodies)}
    # bodies in the frames of their joints, with their named frames beside them
    for i in rng.permutation(len(old.bodies)):
        b.add_body(f"raw{i}", old.bodies[i].mass_properties)
    raw = {-1: "base"} | {i: f"raw{i}" for i in range(len(old.bodies))}
    edges = [(j.name, j.parent, i, j.kind, j.placement, kt.Pose()) for i, j in enumerate(old.joints)]
    edges += [(c.name, c.predecessor, c.successor, c.kind, c.placement, c.seat) for c in old.loops]
    for k in rng.permutation(len(edges)):
        name, parent, child, kind, placement, seat = edges[k]
        if rng.random() < 0.5:
            parent, child, kind, placement, seat = child, parent, reverse(kind), seat, placement
        b.joint(name, raw[parent], raw[child], kind, placement, seat=seat, actuated=False)
    for i in rng.permutation(len(old.bodies)):
        frame = old.frame(names[i])
        b.add_body(names[i])
        ends = (f"raw{i}", names[i])
        if rng.random() < 0.5:
            b.joint(f"weld{i}", *ends, Fixed(), frame.pose)
        else:
            b.joint(f"weld{i}", *ends[::-1], Fixed(), seat=frame.pose)
    model = b.model(rule=rule)
    robot = make(model)
    q = graph.q(model)
    for name in names.values():
        assert_close(robot.pose(q, name), graph.poses[name], 1e-12, scale=1.0)
    assert_close(gaps(model, list(q)), np.zeros(model.n_constraints), 1e-12, scale=1.0)
    twin = make(old)
    assert_close(robot.potential_energy(q), twin.potential_energy(graph.q(old)), 1e-11, scale=50.0)
    assert model.nv - rank(np.array(constraint_matrix(model, list(q)), dtype=float).reshape(-1, model.nv)) == (
        old.nv - rank(np.array(constraint_matrix(old, list(graph.q(old))), dtype=float).reshape(-1, old.nv))
    )
