"""Shapes in files: read as they were written, in every format, and what is wrong with its line."""

import numpy as np
import pytest

import kinetree as kt
from judges.real_robots import load_quietly, robot_file
from kinetree.errors import FileFormatError, ModelWarning

S = kt.shapes
SURFACE = {"friction": 0.7, "restitution": 0.25, "group": 2, "mask": 2}


def thing(floating=True, **surface):
    """Two bodies with shapes of the kinds that all formats have, turned and shifted."""
    b = kt.Builder("thing", base="world")
    b.body("crate", "world", kt.Free() if floating else kt.Revolute("z"), mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
    b.body("lid", "crate", kt.Revolute("y"), position=(0, 0, 0.5), mass=1.0, inertia=(1, 1, 1))
    b.shape("crate", S.Box((0.2, 0.3, 0.4)), (0.1, 0, 0), rpy=(0.1, 0.2, 0.3), name="wall", **surface)
    b.shape("crate", S.Sphere(0.1), name="ball")
    b.shape("lid", S.Cylinder(0.1, 0.3), (0, 0.2, 0), name="tube")
    b.shape("lid", S.Capsule(0.05, 0.3), rpy=(np.pi / 2, 0, 0), name="bar")
    return b.shape("lid", S.Ellipsoid((0.1, 0.2, 0.3)), name="egg")


def saved(robot, tmp_path, ending, **options):
    path = tmp_path / f"thing.{ending}"
    robot.save(path)
    return kt.load(path, **options)


def assert_same(found, wanted, tolerance=0.0):
    """Shapes by name: kinds, sizes, surfaces, and where they are on their bodies."""
    held = {s.name: s for s in found.shapes}
    assert held.keys() == {s.name for s in wanted.shapes}
    for shape in wanted.shapes:
        own = held[shape.name]
        assert type(own.shape) is type(shape.shape)
        assert np.allclose(own.shape.numbers(), shape.shape.numbers(), rtol=0, atol=tolerance)
        assert own.surface() == shape.surface()
        places = [r.model.frame(s.frame).pose @ s.pose for r, s in ((found, own), (wanted, shape))]
        assert np.allclose(places[0].matrix, places[1].matrix, rtol=0, atol=max(tolerance, 1e-15))


@pytest.mark.parametrize("ending", ["yaml", "urdf", "xml", "sdf"])
def test_shapes_are_read_as_they_were_written(tmp_path, ending):
    if ending == "xml":
        pytest.importorskip("mujoco")
    surface = dict(SURFACE, restitution=0.0) if ending == "xml" else SURFACE
    robot = thing(floating=ending != "sdf", **surface).build()
    assert_same(saved(robot, tmp_path, ending), robot, 0.0 if ending in ("yaml", "urdf") else 1e-12)


def test_yaml_has_everything(tmp_path):
    """To the last bit: ground, hulls, margins, and pairs by name."""
    b = thing(**SURFACE).shape("world", S.HalfSpace(), name="floor")
    b.shape("world", S.HeightGrid((2, 3), [[0, 0.1, 0.2], [0.3, 0.1, 0]]), (5, 0, 0), name="hill")
    b.shape("lid", S.ConvexHull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]), name="wedge", margin=0.01)
    b.shape("lid", S.Mesh("no/such.stl", (1, 2, 3)), torsional_friction=0.1, rolling_friction=1e-3)
    robot = b.exclude_contact("wall", "floor").allow_contact("crate", "lid").build()
    found = saved(robot, tmp_path, "yaml")
    assert found.shapes == robot.shapes
    assert found.model.touching_pairs == robot.model.touching_pairs
    assert saved(found, tmp_path, "yaml").shapes == robot.shapes


def test_mjcf_has_ground_hulls_and_pairs(tmp_path):
    """MuJoCo moves meshes to their centers and stretches heights to 0 ... 1: shapes lie where they lay."""
    mujoco = pytest.importorskip("mujoco")
    b = thing().shape("world", S.HalfSpace(), (0, 0, 0.3), rpy=(0.1, 0, 0), name="floor")
    b.shape("world", S.HeightGrid((2, 3), [[0.1, 0.1, 0.2], [0.3, 0.1, 0.1]]), (5, 0, 0), name="hill")
    b.shape("lid", S.ConvexHull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 2)]), (1, 1, 0), name="wedge", margin=0.01)
    robot = b.exclude_contact("crate", "lid").build()
    found = saved(robot, tmp_path, "xml")
    held, wanted = ({s.name: s for s in r.shapes} for r in (found, robot))
    hill = held["hill"]
    assert np.allclose(np.array(hill.shape.heights) + hill.pose.position[2], wanted["hill"].shape.heights, atol=1e-7)
    wedge = held["wedge"]
    corners = np.array(wedge.shape.hull.vertices) @ wedge.pose.rotation.T + wedge.pose.position
    moved = np.add(wanted["wedge"].shape.vertices, (1, 1, 0))
    assert np.allclose(sorted(corners.tolist()), sorted(moved.tolist()), atol=1e-6)
    assert wedge.margin == 0.01
    names = lambda r: {frozenset((r.shapes[i].name, r.shapes[j].name)) for i, j in r.model.touching_pairs}  # noqa: E731
    assert names(found) == names(robot)
    assert mujoco.MjModel.from_xml_path(str(tmp_path / "thing.xml")).nexclude == 1


def test_what_formats_cannot_hold_is_one_warning(tmp_path):
    robot = (
        thing(margin=0.1, friction=0.5)
        .shape("world", S.HalfSpace(), name="floor")
        .exclude_contact("lid", "floor")
        .build()
    )
    fixed = thing(False, margin=0.1).shape("crate", S.ConvexHull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])).build()
    with pytest.warns(ModelWarning, match="URDF has no word for it: that 'lid' and 'floor' do not touch"):
        robot.save(tmp_path / "thing.urdf")
    with pytest.warns(
        ModelWarning, match="SDF has no word for it: the convex hull 'crate'; margin of shape 'wall'|margin"
    ):
        fixed.save(tmp_path / "thing.sdf")


def test_mjcf_says_who_may_touch(tmp_path):
    """Contact types and affinities, excluded bodies, pairs, friction by the number of its directions."""
    pytest.importorskip("mujoco")
    path = tmp_path / "pairs.xml"
    path.write_text("""<mujoco><worldbody><geom name="floor" type="plane" size="1 1 1" contype="2" conaffinity="0"/>
      <body name="a"><freejoint/><geom name="ga" size="0.1" contype="1" conaffinity="2" friction="0.5 0.1 0.2"/></body>
      <body name="b"><freejoint/><geom name="gb" size="0.1" contype="4" conaffinity="1" condim="4"
        friction="0.5 0.1 0.2"/></body>
      <body name="c"><freejoint/><geom name="gc" size="0.1" contype="1" conaffinity="4" condim="6"
        friction="0.5 0.1 0.2"/></body>
      <body name="d"><freejoint/><geom name="gd" size="0.1" contype="0" conaffinity="0" condim="1"/></body></worldbody>
      <contact><exclude body1="a" body2="b"/><pair geom1="gd" geom2="floor"/></contact></mujoco>""")
    robot = kt.load(path)
    pairs = {(robot.shapes[i].name, robot.shapes[j].name) for i, j in robot.model.touching_pairs}
    assert pairs == {("floor", "ga"), ("gb", "gc"), ("floor", "gd")}
    frictions = [(s.friction, s.torsional_friction, s.rolling_friction) for s in robot.shapes[1:]]
    assert frictions == [(0.5, 0, 0), (0.5, 0.1, 0), (0.5, 0.1, 0.2), (0, 0, 0)]


def yaml(*lines):
    return "\n".join(["kinetree: 1", "bodies:", "  - {name: a, parent: base, joint: free, mass: 1}", *lines]) + "\n"


def flow(text):
    return yaml("shapes:", f"  - {{body: a, {text}}}")


BALL = "  - {body: a, kind: sphere, radius: 1, name: s}"
ROWS = ("  - body: a", "    kind: height_field", "    size: [1, 1]", "    heights:", "      - [0, 0]", "      - [1]")
BAD = {
    "no body": (yaml("shapes:", "  - {kind: sphere, radius: 1}"), 5, "a shape needs the key 'body'"),
    "unknown body": (yaml("shapes:", "  - {body: b, kind: sphere, radius: 1}"), None, "shape 'sphere'.*named 'b'"),
    "kind": (flow("kind: ball, radius: 1"), 5, "no kind of shape named 'ball'"),
    "radius": (flow("kind: sphere"), 5, "a sphere needs 'radius'"),
    "negative": (flow("kind: sphere, radius: -1"), 5, "must not be negative, not -1"),
    "length": (flow("kind: sphere, radius: 1, length: 2"), 5, "a sphere: no key named 'length'"),
    "rows": (yaml("shapes:", *ROWS), 9, "rows of heights have different lengths"),
    "one row": (flow("kind: height_field, size: [1, 1], heights: [[0, 1]]"), 5, r"shape \(nx, ny\)"),
    "friction": (flow("kind: sphere, radius: 1, friction: -0.1"), 5, "friction must be a number that is not negative"),
    "mask": (flow("kind: sphere, radius: 1, mask: 1.5"), 5, "mask of a shape must be an integer"),
    "one name": (yaml("excluded_contacts:", "  - [a]"), 5, "an excluded contact is two names"),
    "stranger": (yaml("excluded_contacts:", "  - [a, x]"), 5, "of an excluded contact.* named 'x'"),
    "twice": (yaml("shapes:", BALL, BALL), 6, "two shapes are named 's'"),
}


@pytest.mark.parametrize("which", BAD)
def test_bad_shapes_are_named_with_their_line(tmp_path, which):
    text, line, said = BAD[which]
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=said) as found:
        kt.load(path)
    assert found.value.line == line


URDF = """<robot name="r"><link name="a"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
{}
</link></robot>"""
ODD = {
    "negative": ('<sphere radius="-1"/>', "radius of a sphere must not be negative, not -1.0"),
    "flat": ('<box size="1 0 1"/>', "size of a box must be positive"),
    "unknown": ('<torus radius="1"/>', "no shape named 'torus'"),
    "missing": ('<cylinder radius="1"/>', "<cylinder> has no attribute 'length'"),
}


@pytest.mark.parametrize("which", ODD)
def test_odd_collisions_are_left_out_with_a_warning(tmp_path, which):
    shape, said = ODD[which]
    path = tmp_path / "odd.urdf"
    path.write_text(URDF.format(f"<collision><geometry>{shape}</geometry></collision>"))
    with pytest.warns(ModelWarning, match=rf"odd.urdf, line 3: a collision shape of link 'a' is left out: .*{said}"):
        assert kt.load(path, floating_base=True).shapes == ()
    with pytest.raises(FileFormatError, match=said):
        kt.load(path, floating_base=True, strict=True)


def test_meshes_are_looked_for_when_they_are_needed(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "pkg" / "meshes").mkdir(parents=True)
    trimesh.creation.box().export(tmp_path / "pkg" / "meshes" / "part.stl")
    path = tmp_path / "pkg" / "robot.urdf"
    found = '<mesh filename="package://pkg/meshes/part.stl" scale="2 1 1"/>'
    lost = '<mesh filename="package://pkg/meshes/lost.stl"/>'
    path.write_text(URDF.format("".join(f"<collision><geometry>{m}</geometry></collision>" for m in (found, lost))))
    one, two = (s.shape for s in kt.load(path, floating_base=True).shapes)
    assert len(one.hull.vertices) == 8
    with pytest.raises(
        kt.MissingFileError, match=r"robot.urdf, line 3: there is no mesh file 'package://pkg/meshes/lost.stl'"
    ):
        _ = two.hull


def test_real_robots_bring_their_shapes():
    """The Panda of example-robot-data: a mesh for each link, and boxes for the fingers."""
    robot = load_quietly(robot_file("panda_description/urdf/panda.urdf"), floating_base=False)
    meshes = [s.shape for s in robot.shapes if s.kind == "mesh"]
    assert {s.kind for s in robot.shapes} == {"mesh", "box"}
    assert len(meshes) >= 9
    assert all(mesh.path.is_file() for mesh in meshes)
