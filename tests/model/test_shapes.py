"""Shapes as plain data: sizes that cannot be, names, which of them may touch, hulls and meshes."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import FileFormatError, MissingFileError, ModelError, ModelWarning, UnknownNameError

S = kt.shapes
CUBE = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]

WRONG = {
    "negative radius": (lambda: S.Sphere(-0.1), "radius of a sphere must not be negative, not -0.1"),
    "no radius": (lambda: S.Capsule(0.0, 1.0), "radius of a capsule must be positive, not 0.0"),
    "negative length": (lambda: S.Capsule(0.1, -1.0), "length of a capsule must not be negative"),
    "flat box": (lambda: S.Box((1, 2, 0)), "size of a box must be positive"),
    "two edges": (lambda: S.Box((1, 2)), "size of a box must be 3 numbers"),
    "no number": (lambda: S.Cylinder("wide", 1.0), "radius of a cylinder must be numbers, got 'wide'"),
    "infinite": (lambda: S.Ellipsoid((1, np.inf, 1)), "radii of an ellipsoid must be finite"),
    "one row": (
        lambda: S.HeightGrid((1, 1), [[0, 1]]),
        r"heights of a height field must be of shape \(nx, ny\), 2 x 2",
    ),
    "ragged": (lambda: S.HeightGrid((1, 1), [[0, 1], [0]]), "heights of a height field must be numbers"),
    "hole": (lambda: S.HeightGrid((1, 1), [[0, 1], [np.nan, 0]]), r"height \[1, 0\] of a height field is not finite"),
    "flat hull": (lambda: S.ConvexHull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]), "4 points .* are flat"),
    "few points": (lambda: S.ConvexHull([(0, 0, 0), (1, 0, 0)]), "2 points .* are flat"),
    "no points": (lambda: S.ConvexHull([1, 2, 3]), r"vertices of a convex hull must be .* of shape \(n, 3\)"),
    "scale": (lambda: S.Mesh("a.stl", (1, 0, 1)), "scale of a mesh must be three numbers that are not zero"),
    "friction": (
        lambda: S.ContactShape("b", S.Sphere(1), friction=-1),
        "its friction must be a number that is not neg",
    ),
    "bounce": (lambda: S.ContactShape("b", S.Sphere(1), restitution=2), "its restitution must not exceed 1"),
    "mask": (lambda: S.ContactShape("b", S.Sphere(1), mask=-1), r"its mask must be bits of a number below 2\*\*32"),
    "no shape": (lambda: S.ContactShape("b", "box"), "must be one of kinetree.shapes, such as Box, not 'box'"),
}


@pytest.mark.parametrize("which", WRONG)
def test_what_cannot_be_is_named(which):
    make, said = WRONG[which]
    with pytest.raises(ModelError, match=said):
        make()


def test_lengths_may_have_units():
    assert S.Box(("10 cm", "200 mm", 1.0)) == S.Box((0.1, 0.2, 1.0))
    assert S.Capsule("25 mm", 0) == S.Capsule(0.025, 0.0)


def arm(*masks, ground=True):
    """A chain of five bodies with a ball each, and a plane."""
    b = kt.Builder("arm")
    if ground:
        b.shape("base", S.HalfSpace())
    for k in range(5):
        b.body(f"l{k}", f"l{k - 1}" if k else "base", kt.Revolute("y"), position=(0, 0, 1), mass=1, inertia=(1, 1, 1))
        b.shape(f"l{k}", S.Sphere(0.1), group=1 << k if masks else 1, mask=masks[k] if masks else 1)
    return b


def pairs(robot):
    return {(robot.shapes[i].name, robot.shapes[j].name) for i, j in robot.model.touching_pairs}


def test_neighbors_do_not_touch():
    """By hand: of ten pairs of a chain of five, four are neighbors; the ground is a neighbor of nobody."""
    own = {("l0", "l2"), ("l0", "l3"), ("l0", "l4"), ("l1", "l3"), ("l1", "l4"), ("l2", "l4")}
    ground = {("base", f"l{k}") for k in range(5)}
    assert pairs(arm().build()) == own | ground
    assert pairs(arm().exclude_contact("l0", "l4").build()) == (own - {("l0", "l4")}) | ground
    assert pairs(arm().allow_contact("l1", "l0").build()) == own | ground | {("l0", "l1")}
    loose = arm(ground=False).body("ball", "base", kt.Free(), mass=1, inertia=(1, 1, 1)).shape("ball", S.Sphere(1))
    loose.shape("base", S.Box((1, 1, 1)))
    assert {p for p in pairs(loose.build()) if "base" in p} == {(f"l{k}", "base") for k in range(1, 5)} | {
        ("ball", "base")
    }


def test_welded_bodies_and_loops_make_neighbors():
    b = arm(ground=False).body("tool", "l4", kt.Fixed(), position=(0, 0, 1)).shape("tool", S.Sphere(0.1))
    b.loop("pin", "l1", "l4", kt.Revolute("y"))
    assert not {("l4", "tool"), ("l3", "tool"), ("l1", "l4"), ("l1", "tool")} & pairs(b.build())
    assert ("l0", "tool") in pairs(b.build())


def test_groups_and_masks_decide():
    """MuJoCo's rule: the group of one meets the mask of the other, whichever it is."""
    robot = arm(0b100, 0b0, 0b0, 0b1, 0b0, ground=False).build()
    assert pairs(robot) == {("l0", "l2"), ("l0", "l3")}


def test_names_are_unique():
    b = arm().shape("l0", S.Sphere(0.2)).shape("l1", S.Sphere(0.2), name="nose")
    assert [s.name for s in b.build().shapes] == ["base", "l0_1", "l1", "l2", "l3", "l4", "l0_2", "nose"]
    with pytest.raises(ModelError, match="two shapes are named 'nose'"):
        b.shape("l2", S.Sphere(0.2), name="nose")
    with pytest.raises(UnknownNameError, match=r"no body or frame \(of shape 'sphere'\) named 'l9'"):
        arm().shape("l9", S.Sphere(0.2)).build()
    with pytest.raises(UnknownNameError, match=r"no shape or body with a shape .* named 'knee'"):
        arm().exclude_contact("l0", "knee").build()
    with pytest.raises(ModelError, match="the shape on 'l0': a position needs three"):
        arm().shape("l0", S.Sphere(0.2), (1, 2))


def test_a_hull_knows_its_faces():
    """A cube with points inside: six quadrilaterals that look outwards, twelve edges, Euler's formula."""
    hull = S.ConvexHull([*CUBE, (0.5, 0.5, 0.5), (0.5, 0.5, 1.0)])
    assert sorted(hull.vertices) == sorted((float(x), float(y), float(z)) for x, y, z in CUBE)
    assert sorted(map(len, hull.faces)) == [4] * 6
    assert len(hull.edges) == 12
    assert np.allclose(sorted(hull.normals @ (1, 2, 3)), (-3, -2, -1, 1, 2, 3))
    for a, b, left, right in hull.edges:  # seen from outside, the face on the left turns into the other about the edge
        along = np.subtract(hull.vertices[b], hull.vertices[a])
        assert np.allclose(np.cross(hull.normals[left], hull.normals[right]), along)
    assert hull.ball() == ((0.5, 0.5, 0.5), pytest.approx(np.sqrt(0.75)))


def test_a_hull_of_many_points_keeps_those_that_stand_out():
    """On a ball all stand out: what is lost is what a polyhedron of so many corners leaves of it."""
    rng, said = np.random.default_rng(1), []
    many = rng.normal(size=(500, 3))
    many /= np.linalg.norm(many, axis=1)[:, None]
    with pytest.raises(ModelError, match="has 500 vertices, but only 64 are possible"):
        S.ConvexHull(many)
    hull = S.ConvexHull.of(many, 40, lambda *x: said.append(x))
    lost = (
        many @ hull.normals.T - np.array([hull.normals[k] @ hull.vertices[f[0]] for k, f in enumerate(hull.faces)])
    ).max()
    assert len(hull.vertices) == 40
    assert said == [(500, pytest.approx(lost, abs=1e-9))]
    assert 0.0 < lost < 0.15
    with pytest.raises(ModelError, match="between 4 and 64 vertices, not 65"):
        S.ConvexHull.of(many, 65)


# ------------------------------------------------------------------ meshes


def mesh_file(tmp_path, make, name="part.stl"):
    trimesh = pytest.importorskip("trimesh")
    path = tmp_path / name
    make(trimesh).export(path)
    return path


def test_a_mesh_touches_as_its_hull(tmp_path):
    path = mesh_file(tmp_path, lambda t: t.creation.box(extents=(1, 2, 3)))
    mesh = S.Mesh(path, (2, 1, 1))
    assert sorted(mesh.hull.vertices) == sorted(
        (x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.5, 1.5)
    )
    assert mesh.ball() == ((0.0, 0.0, 0.0), pytest.approx(np.sqrt(1 + 1 + 2.25)))
    round_one = S.Mesh(mesh_file(tmp_path, lambda t: t.creation.icosphere(), "ball.stl"), where="arm.urdf, line 7")
    with pytest.warns(
        ModelWarning, match="arm.urdf, line 7: the convex hull of .*ball.stl has 642 vertices: the 64 that"
    ):
        assert len(round_one.hull.vertices) == 64


def test_meshes_that_cannot_be_used_are_named(tmp_path):
    there = "robot.urdf, line 3"
    with pytest.raises(MissingFileError, match=f"{there}: there is no mesh file '.*gone.stl'"):
        _ = S.Mesh(tmp_path / "gone.stl", where=there).hull
    text = tmp_path / "note.txt"
    text.write_text("no mesh")
    with pytest.raises(FileFormatError, match=f"{there}: a mesh is a file .stl, .obj"):
        _ = S.Mesh(text, where=there).hull
    broken = tmp_path / "broken.stl"
    broken.write_bytes(b"solid nothing\n")
    with pytest.raises(FileFormatError, match=f"{there}: the mesh "):
        _ = S.Mesh(broken, where=there).hull
    flat = mesh_file(
        tmp_path, lambda t: t.Trimesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], [(0, 1, 2), (1, 3, 2)])
    )
    with pytest.raises(FileFormatError, match=f"{there}: the 4 points of a convex hull are flat"):
        _ = S.Mesh(flat, where=there).hull


def test_meshes_that_have_no_inside_are_not_divided(tmp_path):
    def opened(t):
        box = t.creation.box()
        return t.Trimesh(box.vertices, box.faces[2:], process=False)

    def turned(t):
        box = t.creation.box()
        return t.Trimesh(box.vertices, box.faces[:, ::-1], process=False)

    with pytest.raises(FileFormatError, match="the mesh is open: it has edges with only one triangle"):
        S.decomposed(mesh_file(tmp_path, opened))
    with pytest.raises(FileFormatError, match="the mesh is inside out"):
        S.decomposed(mesh_file(tmp_path, turned, "turned.stl"))


@pytest.mark.slow
def test_a_mesh_is_divided_once(tmp_path, monkeypatch):
    """An L of two boxes: two convex parts or a few, which cover its volume; the second time they come from the disk."""
    coacd = pytest.importorskip("coacd")
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path / "cache"))

    def ell(t):
        outline = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
        low, high = [(x, y, 0) for x, y in outline], [(x, y, 1) for x, y in outline]
        fan = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
        sides = [f for k in range(6) for f in ((k, (k + 1) % 6, 6 + k), ((k + 1) % 6, 6 + (k + 1) % 6, 6 + k))]
        return t.Trimesh(low + high, [c[::-1] for c in fan] + [tuple(6 + k for k in c) for c in fan] + sides)

    path = mesh_file(tmp_path, ell, "ell.stl")
    parts = S.decomposed(path)
    assert 2 <= len(parts) <= 6
    from scipy.spatial import ConvexHull

    assert sum(ConvexHull(p.vertices).volume for p in parts) == pytest.approx(3.0, rel=0.05)
    monkeypatch.setattr(coacd, "run_coacd", None)
    assert S.decomposed(path) == parts
