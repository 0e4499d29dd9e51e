"""What is drawn: the file's own shapes where it has any, and shapes from the robot's numbers where it has none."""

import mujoco
import numpy as np
import pinocchio as pin
import pytest
import trimesh

import kinetree as kt
from helpers.robots import arm, random_state, random_tree
from helpers.view_models import FOUR_BAR, FOUR_BARS, JANSEN, drawn_four_bar, jansen_leg, jansen_points
from judges.real_robots import FIXED, FLOATING, load_quietly, robot_file
from kinetree.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Sphere
from kinetree.view import view
from kinetree_studio.view import skeleton
from kinetree_studio.view.displayed_robot import appearance, extent
from kinetree_studio.view.geometry import Facets, MeshFile, read_visuals
from kinetree_studio.view.mjcf_geometry import read_geoms
from kinetree_studio.view.motion import Poses, rotate
from kinetree_studio.view.scene import connectors
from kinetree_studio.view.triangles import triangles

URDF = """<robot name="shapes">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="root">
    <visual><origin xyz="0 0 0.5" rpy="0 0 1.5707963267948966"/><geometry><box size="1 2 3"/></geometry>
      <material name="red"/></visual>
  </link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><geometry><cylinder radius="0.1" length="0.4"/></geometry>
      <material name="green"><color rgba="0 1 0 0.5"/></material></visual>
    <visual><geometry><mesh filename="{mesh}" scale="0.001 0.002 -0.003"/></geometry></visual>
  </link>
  <link name="tool"><visual><geometry><sphere radius="0.2"/></geometry><material name="green"/></visual></link>
  <joint name="shoulder" type="revolute"><parent link="root"/><child link="arm"/><axis xyz="0 1 0"/>
    <origin xyz="0 0 1"/><limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
  <joint name="weld" type="fixed"><parent link="arm"/><child link="tool"/><origin xyz="0.3 0 0"/></joint>
</robot>"""


@pytest.fixture
def robot_folder(tmp_path):
    """A ROS package with a robot and a mesh of a box, 100 by 200 by 300 units."""
    package = tmp_path / "my_robot"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    trimesh.creation.box(extents=(100, 200, 300)).export(package / "meshes" / "part.stl")

    def write(mesh="package://my_robot/meshes/part.stl", text=URDF):
        path = package / "urdf" / "robot.urdf"
        path.write_text(text.replace("{mesh}", mesh))
        return path, kt.load(path)

    return write


def test_every_shape_pose_and_color_of_a_file(robot_folder):
    path, robot = robot_folder()
    looks, problems = read_visuals(path, robot.model)
    assert problems == []
    box, cylinder, mesh, ball = looks
    assert (box.body, box.shape, box.color) == (-1, Box((1, 2, 3)), (1, 0, 0, 1))
    np.testing.assert_allclose(box.pose.rotation @ (1, 0, 0), (0, 1, 0), atol=1e-15)
    np.testing.assert_allclose(box.pose.position, (0, 0, 0.5))
    assert (cylinder.body, cylinder.shape, cylinder.color) == (0, Cylinder(0.1, 0.4), (0, 1, 0, 0.5))
    assert (mesh.body, mesh.shape.scale, mesh.color) == (0, (0.001, 0.002, -0.003), None)
    assert (ball.body, ball.shape, ball.color) == (0, Sphere(0.2), (0, 1, 0, 0.5))  # welded on, color by name
    np.testing.assert_allclose(ball.pose.position, (0.3, 0, 0))


@pytest.mark.parametrize(
    "mesh",
    ["package://my_robot/meshes/part.stl", "../meshes/part.stl", "file://{there}", "model://my_robot/meshes/part.stl"],
)
def test_meshes_are_found_from_the_robot_file(robot_folder, tmp_path, mesh):
    there = tmp_path / "my_robot" / "meshes" / "part.stl"
    path, robot = robot_folder(mesh.replace("{there}", str(there)))
    looks, problems = read_visuals(path, robot.model)
    assert problems == []
    assert looks[2].shape.path.samefile(there)


@pytest.mark.parametrize("how", ["argument", "ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"])
def test_packages_elsewhere(robot_folder, tmp_path, monkeypatch, how):
    there = tmp_path / "elsewhere" / "share" / "parts" / "a.stl"
    there.parent.mkdir(parents=True)
    trimesh.creation.box().export(there)
    path, robot = robot_folder("package://parts/a.stl")
    assert len(read_visuals(path, robot.model)[1]) == 1
    share = tmp_path / "elsewhere" / "share"
    if how != "argument":
        monkeypatch.setenv(how, str(share if how == "ROS_PACKAGE_PATH" else share.parent))
    looks, problems = read_visuals(path, robot.model, [share] if how == "argument" else [])
    assert problems == []
    assert looks[2].shape.path == there


def test_a_mesh_is_scaled_and_its_faces_still_look_outward(robot_folder):
    path, robot = robot_folder()
    mesh = read_visuals(path, robot.model)[0][2]
    (part,) = triangles(mesh.shape)
    np.testing.assert_allclose(np.ptp(part.vertices, axis=0), (0.1, 0.4, 0.9), rtol=1e-6)
    drawn = trimesh.Trimesh(part.vertices, part.faces)
    assert drawn.volume == pytest.approx(0.1 * 0.4 * 0.9)  # negative if inside out


@pytest.mark.parametrize(
    ("broken", "line", "reason"),
    [
        ('<box size="1 2"/>', 5, "3 numbers for size"),
        ('<box size="1 2 nan"/>', 5, "3 numbers for size"),
        ('<cone radius="1"/>', 5, "<cone> is not a shape"),
        ('<mesh filename="package://my_robot/meshes/gone.stl"/>', 5, "gone.stl' is not there"),
        ('<mesh filename="http://somewhere/part.stl"/>', 5, "only files can be read"),
    ],
)
def test_what_cannot_be_drawn_is_named_with_its_line(robot_folder, broken, line, reason):
    path, robot = robot_folder(text=URDF.replace('<box size="1 2 3"/>', "\n" + broken))
    looks, problems = read_visuals(path, robot.model)
    assert len(looks) == 3  # the others are drawn
    assert len(problems) == 1
    assert f"line {line}" in problems[0]
    assert reason in problems[0]


def test_a_wrong_color_is_named_and_the_shape_still_drawn(robot_folder):
    path, robot = robot_folder(text=URDF.replace("0 1 0 0.5", "0 255 0 1"))
    looks, problems = read_visuals(path, robot.model)
    assert len(looks) == 4
    assert looks[1].color is None
    assert problems == ["line 9: rgba must be from 0 to 1, not 0 255 0 1"]


def test_a_file_that_is_no_mesh_gives_one_warning_and_a_drawing_from_the_joints(robot_folder, tmp_path):
    (tmp_path / "my_robot" / "meshes" / "part.stl").write_bytes(b"solid nothing")
    only_mesh = URDF.replace('<box size="1 2 3"/>', '<mesh filename="{mesh}"/>')
    path, _ = robot_folder(text=only_mesh)
    with pytest.warns(kt.ModelWarning, match="part.stl") as seen, view(path, port=0) as viewer:
        assert any(part.role == "link" for part in viewer.scene.parts)
    assert len(seen) == 1


def test_meshes_can_be_left_out(robot_folder):
    path, robot = robot_folder()
    with view(path, port=0, meshes=False) as viewer, view(robot, port=0) as plain:
        assert len(viewer.scene.corners) == len(plain.scene.corners)
        assert viewer.shown["joints"]
    with view(robot, port=0, geometry=path) as dressed:
        assert not dressed.shown["joints"]
        assert sum(part.role == "link" for part in dressed.scene.parts) == 3  # two of one body and color are one


def visual_corners(robot, path, q):
    """Boxes around all visuals in the world: lowest and highest corner."""
    looks, problems = read_visuals(path, robot.model)
    assert problems == []
    poses = Poses.of(robot.model, q)
    found = []
    for look in looks:
        points = np.concatenate([p.vertices for p in triangles(look.shape)]) @ look.pose.rotation.T + look.pose.position
        if look.body >= 0:
            points = rotate(poses.wxyz[look.body], points) + poses.position[look.body]
        found.append((points.min(axis=0), points.max(axis=0)))
    return np.array(found)


def pinocchio_corners(path, robot, q):
    model = pin.buildModelFromUrdf(str(path))
    packages = next(p for p in path.parents if p.name == "example-robot-data").parent
    shapes = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.VISUAL, package_dirs=[str(packages)])
    data, placed = model.createData(), shapes.createData()
    configuration = pin.neutral(model)
    for joint in robot.model.joints:
        at = model.joints[model.getJointId(joint.name)]
        angle = q[joint.q_slice][0]
        configuration[at.idx_q : at.idx_q + at.nq] = angle if at.nq == 1 else (np.cos(angle), np.sin(angle))
    pin.updateGeometryPlacements(model, data, shapes, placed, configuration)
    found = []
    for shape, at in zip(shapes.geometryObjects, placed.oMg, strict=True):
        points = np.asarray(shape.geometry.vertices()) @ at.rotation.T + at.translation
        found.append((points.min(axis=0), points.max(axis=0)))
    return np.array(found)


@pytest.mark.parametrize("name", ["ur5", "double_pendulum", "xarm7"])
def test_meshes_of_real_robots_are_where_pinocchio_has_them(name):
    path = robot_file(FIXED[name])
    robot = load_quietly(path)
    q = robot.random_configuration(np.random.default_rng(5))
    ours, theirs = visual_corners(robot, path, q), pinocchio_corners(path, robot, q)
    assert len(ours) == len(theirs) >= 3
    for corners in theirs:  # the order differs
        assert np.abs(ours - corners).max(axis=(1, 2)).min() < 1e-6


MJCF = """<mujoco model="all shapes">
  <asset><mesh name="part" file="part.stl" scale="0.001 0.002 0.001"/><material name="gold" rgba="1 0.8 0 1"/></asset>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="arm" pos="0.1 0.2 0.3" euler="20 30 40"><joint name="hinge" axis="1 2 3" pos="0.1 0 0.05"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.1 0 0" euler="10 0 50" rgba="1 0 0 0.5"/>
      <geom type="sphere" size="0.2" pos="0 0.3 0"/><geom type="ellipsoid" size="0.1 0.2 0.3" euler="0 20 0"/>
      <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0.2 0.1" material="gold"/>
      <geom type="box" size="1 1 1" group="3"/>
      <body pos="0 0 0.4"><geom type="cylinder" size="0.1 0.2" euler="60 0 0"/>
        <body name="hand" pos="0 0.1 0"><joint name="slide" type="slide"/>
          <geom type="mesh" mesh="part" pos="0.2 0.1 0" euler="0 0 30"/></body></body>
    </body>
  </worldbody>
</mujoco>"""


def test_geoms_of_mjcf_are_where_mujoco_has_them(tmp_path):
    block = trimesh.creation.box(extents=(100, 200, 300))
    block.apply_translation((40, 0, 10))
    block.export(tmp_path / "part.stl")
    path = tmp_path / "robot.xml"
    path.write_text(MJCF)
    robot = kt.load(path)
    looks, problems = read_geoms(path, robot.model)
    assert problems == []
    assert [type(look.shape) for look in looks] == [Box, Sphere, Ellipsoid, Capsule, Cylinder, Facets]
    assert looks[0].color == pytest.approx((1, 0, 0, 0.5))
    assert looks[3].color == pytest.approx((1, 0.8, 0, 1))
    compiled = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(compiled)
    data.qpos[:] = q = np.array([0.7, -0.2])
    mujoco.mj_forward(compiled, data)
    poses = Poses.of(robot.model, q)
    drawn = [i for i in range(compiled.ngeom) if compiled.geom_type[i] != 0 and compiled.geom_group[i] < 3]
    for look, i in zip(looks, drawn, strict=True):
        (part,) = triangles(look.shape)
        local = part.vertices @ look.pose.rotation.T + look.pose.position
        ours = rotate(poses.wxyz[look.body], local) + poses.position[look.body]
        back = (ours - data.geom_xpos[i]) @ data.geom_xmat[i].reshape(3, 3)  # into MuJoCo's frame of the geom
        np.testing.assert_allclose(back, part.vertices, atol=1e-12)
        low, high = (
            compiled.geom_aabb[i, :3] - compiled.geom_aabb[i, 3:],
            compiled.geom_aabb[i, :3] + compiled.geom_aabb[i, 3:],
        )
        np.testing.assert_allclose(part.vertices.min(axis=0), low, atol=2e-3)
        np.testing.assert_allclose(part.vertices.max(axis=0), high, atol=2e-3)
    with view(path, port=0) as viewer:
        assert not viewer.shown["joints"]
        assert viewer.scene.problems == []


# ------------------------------------------------------------------ from the robot's numbers


def test_the_box_of_a_boxs_inertia_is_the_box():
    turned = kt.Pose.of((0.3, -0.2, 0.1), rpy=(0.4, -0.7, 1.1))
    mass = kt.MassProperties.box(2.5, (0.3, 0.1, 0.7)).moved(turned)
    edges, axes = skeleton.equivalent_box(mass)
    np.testing.assert_allclose(np.sort(edges), (0.1, 0.3, 0.7), rtol=1e-12)
    np.testing.assert_allclose(axes.T @ axes, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) > 0
    spread = axes @ np.diag(2.5 / 12 * (np.sum(edges**2) - edges**2)) @ axes.T
    np.testing.assert_allclose(spread, mass.inertia_matrix, atol=1e-12)


def test_an_impossible_inertia_is_drawn_all_the_same():
    bad = kt.MassProperties.of(1.0, (0, 0, 0.1), (1.0, 0.1, 0.1))
    edges, _ = skeleton.equivalent_box(bad)
    assert np.isfinite(edges).all()


def test_a_hand_with_the_inertia_of_a_house_does_not_bury_the_robot():
    b = kt.Builder("odd").body("arm", "base", kt.Revolute("y"), mass=1, com=(0.5, 0, 0))
    house = kt.MassProperties.of(1.0, (0, 0, 0), (30.0, 20.0, 25.0))
    b.body("hand", "arm", kt.Revolute("y"), position=(1, 0, 0), mass_properties=house)
    (look,) = skeleton.links(b.build().model, 1.0, [1])
    assert max(look.shape.size) == pytest.approx(skeleton.PLAUSIBLE)


def test_whatever_has_mass_is_drawn_even_between_joints_in_one_place():
    b = kt.Builder("wrist").body("roll", "base", kt.Revolute("x"), mass=1, inertia=(1, 1, 1))
    b.body("pitch", "roll", kt.Revolute("y"), mass=1, com=(0.2, 0, 0), inertia=(0.001, 0.01, 0.01))
    b.body("empty", "pitch", kt.Revolute("z"))
    b.body("yaw", "empty", kt.Revolute("y"), mass=1)
    model = b.build().model
    (roll,) = skeleton.links(model, 1.0, [0])
    assert max(roll.shape.size) == pytest.approx(skeleton.PLAUSIBLE)  # its inertia is absurd
    assert skeleton.links(model, 1.0, [2]) == []  # no mass, no extent
    assert skeleton.links(model, 1.0, [3]) != []


def test_a_trunk_whose_legs_sit_at_its_own_origin_is_drawn_as_its_inertia():
    size = (0.3, 0.2, 0.1)
    b = kt.Builder("walker").body("trunk", "base", kt.Planar("y"), mass_properties=kt.MassProperties.box(5.0, size))
    for side in ("left", "right"):
        b.body(side, "trunk", kt.Revolute("y"), mass_properties=kt.MassProperties.rod(1, (0, 0, 0), (0, 0, -1)))
    (trunk,) = skeleton.links(b.build().model, 1.2, [0])
    edges = np.abs(trunk.pose.rotation @ np.array(trunk.shape.size))
    np.testing.assert_allclose(edges, size)


@pytest.mark.parametrize("name", ["puma", "kuka-kr5", "biped-planar", "four-bar", "quadruped", "stewart-platform"])
def test_every_body_with_mass_of_the_gallery_is_drawn(name):
    model = kt.gallery.load(name).model
    drawn = {look.body for look in skeleton.links(model, 1.0, range(len(model.bodies)))}
    assert drawn >= {i for i, body in enumerate(model.bodies) if body.mass > 0.0}


def ends(look):
    """The two ends of a capsule's axis, in body coordinates."""
    half = look.pose.rotation @ (0, 0, 0.5 * look.shape.length)
    return look.pose.position - half, look.pose.position + half


def test_links_are_capsules_from_joint_to_joint():
    robot = arm()
    looks = skeleton.links(robot.model, 1.2, [0, 1, 2])
    upper = [look for look in looks if look.body == 0]
    assert [type(look.shape) for look in upper] == [Capsule]
    np.testing.assert_allclose(ends(upper[0]), [(0, 0, 0), (0, 0, 0.4)], atol=1e-15)  # to the elbow
    lower = [look for look in looks if look.body == 2]
    np.testing.assert_allclose(ends(lower[0]), [(0, 0, 0), (0, 0, 0.4)], atol=1e-15)  # to the tool


@pytest.mark.parametrize("seed", range(5))
def test_capsules_of_a_random_tree_reach_the_joints_they_carry(seed):
    rng = np.random.default_rng(seed)
    robot = random_tree(rng, 8, gravity=(0, 0, -9.81))
    q, _, _ = random_state(robot, rng)
    size = extent(robot, Poses.of(robot.model, q))
    looks, problems = appearance(robot, size, None, ())
    assert problems == []
    for joint in robot.model.joints:
        place = joint.placement.position
        if joint.parent >= 0 and np.linalg.norm(place) > 1e-2 * size:
            tips = [end for look in looks if look.body == joint.parent and isinstance(look.shape, Capsule)
                    for end in ends(look)]  # fmt: skip
            assert np.linalg.norm(np.array(tips) - place, axis=1).min() < 1e-3 * size + 1e-12
    for look in looks:
        for part in triangles(look.shape):
            assert np.isfinite(part.vertices).all()


def test_a_free_body_and_a_point_mass_are_drawn():
    box = kt.Builder("box").body("b", "base", kt.Free(), mass_properties=kt.MassProperties.box(1, (0.2, 0.3, 0.4)))
    (look,) = [x for x in appearance(box.build(), 0.5, None, ())[0] if x.body == 0]
    np.testing.assert_allclose(sorted(look.shape.size), (0.2, 0.3, 0.4), rtol=1e-12)
    bob = kt.Builder("pendulum").body("bob", "base", kt.Revolute("y"), mass=1, com=(0, 0, -1))
    looks = [x for x in appearance(bob.build(), 1.0, None, ())[0] if x.body == 0 and x.role == "link"]
    assert {type(x.shape) for x in looks} == {Capsule, Sphere}
    np.testing.assert_allclose(ends(looks[0]), [(0, 0, 0), (0, 0, -1)], atol=1e-15)


def drawn(robot, q):
    """Bars in the world, by body, each as its two ends, and the solid parts."""
    poses = Poses.of(robot.model, q)
    size = extent(robot, poses)
    bars, solids = {}, {}
    for look in skeleton.links(robot.model, size, range(len(robot.model.bodies))):
        name = robot.body_names[look.body]
        if isinstance(look.shape, Capsule):
            bars.setdefault(name, []).append([poses.point(look.body, end) for end in ends(look)])
        else:
            solids.setdefault(name, []).append(look.shape)
    return bars, solids


def assert_same_segments(found, expected):
    def sorted_ends(pairs):
        return np.array(sorted(sorted(np.round(end, 6).tolist() for end in pair) for pair in pairs))

    np.testing.assert_allclose(sorted_ends(found), sorted_ends(expected), atol=1e-6)


@pytest.mark.parametrize(
    ("make", "points", "links"),
    [(drawn_four_bar, FOUR_BAR, FOUR_BARS), (jansen_leg, jansen_points(), JANSEN)],
    ids=["four-bar", "Jansen"],
)
def test_bars_are_where_the_pins_are_and_nowhere_else(make, points, links):
    """Not to the origin of the coordinates in which a body is described."""
    place = {name: np.array([*p, 0.0]) for name, p in points.items()}
    robot = make()
    bars, solids = drawn(robot, robot.neutral())  # as drawn, all angles are zero
    for link, pins in links.items():
        rim = [(pins[k], pins[(k + 1) % len(pins)]) for k in range(len(pins) if len(pins) > 2 else 1)]
        assert_same_segments(bars[link], [(place[a], place[b]) for a, b in rim])
    assert {link: len(shapes) for link, shapes in solids.items()} == {
        link: 1 for link, pins in links.items() if len(pins) == 3
    }


def test_a_ternary_link_is_a_plate():
    robot, place = jansen_leg(), jansen_points()
    _, solids = drawn(robot, robot.neutral())
    (foot,) = solids["foot"]
    (part,) = triangles(foot)
    plate = trimesh.Trimesh(foot.vertices, foot.faces)
    a, b, c = (place[p] for p in "UWT")
    area = 0.5 * abs(np.cross([*(b - a), 0], [*(c - a), 0])[2])
    radius = skeleton.thickness(robot.model, extent(robot, Poses.of(robot.model, robot.neutral())))
    assert plate.is_watertight
    assert plate.volume == pytest.approx(2.0 * skeleton.PLATE * radius * area)  # positive: seen from outside
    assert np.isfinite(part.vertices).all()


@pytest.mark.parametrize("joint", [kt.Planar("z"), kt.Free(), kt.EulerFree()], ids=lambda kind: kind.name)
def test_bodies_that_float_are_drawn_between_their_pins(joint):
    """Every link floats, and pins alone hold the mechanism together."""
    place = {name: np.array([*p, 0.0]) for name, p in FOUR_BAR.items()}
    b = kt.Builder("floating four-bar", gravity=(0, -9.81, 0))
    for link, pins in FOUR_BARS.items():
        com = np.mean([place[p] for p in pins], axis=0)
        b.body(link, "base", joint, mass_properties=kt.MassProperties.of(1.0, com, (0, 0, 0)), actuated=False)
    for p, pair in {"A": ("base", "crank"), "B": ("crank", "coupler"), "C": ("coupler", "rocker"),
                    "D": ("rocker", "base")}.items():  # fmt: skip
        b.loop(p, *pair, kt.Revolute("z"), placement=place[p], seat=place[p])
    robot = b.build()
    bars, solids = drawn(robot, robot.neutral())
    assert solids == {}
    for link, (first, second) in FOUR_BARS.items():
        assert_same_segments(bars[link], [(place[first], place[second])])
    assert not [look for look in skeleton.joints(robot.model, 1.0) if look.role == "joint"]


@pytest.mark.parametrize("seed", range(6))
def test_bars_of_random_bodies_end_at_what_is_attached(seed):
    rng = np.random.default_rng(seed)
    b = kt.Builder("random")
    names = ["base"]
    for k in range(7):
        b.add_body(f"b{k}", kt.MassProperties.box(1.0, (0.1, 0.2, 0.3)).moved(kt.Pose.of(rng.normal(size=3))))
        at, seat = rng.normal(size=3), rng.normal(size=3)
        b.joint(f"j{k}", names[rng.integers(len(names))], f"b{k}", kt.Revolute("z"), at, seat=seat)
        names.append(f"b{k}")
    robot = b.frame("tip", "b6", (0.3, 0.2, 0.9)).build()
    allowed = {i: {(0.0, 0.0, 0.0)} for i in range(7)}
    for joint in robot.model.joints:
        if joint.parent >= 0:
            allowed[joint.parent].add(tuple(np.round(joint.placement.position, 6) + 0.0))
    tip = robot.model.frame("tip")
    allowed[tip.body].add(tuple(np.round(tip.pose.position, 6) + 0.0))
    size = extent(robot, Poses.of(robot.model, robot.neutral()))
    count = 0
    for look in skeleton.links(robot.model, size, range(7)):
        if isinstance(look.shape, Capsule) and len(allowed[look.body]) > 1:
            count += 1
            assert {tuple(np.round(end, 6) + 0.0) for end in ends(look)} <= allowed[look.body]
    assert count


def test_loop_joints_are_shown_on_both_their_bodies():
    model = kt.gallery.load("four-bar").model
    (loop,) = model.loops
    shown = [look for look in skeleton.joints(model, 1.0) if look.role == "loop"]
    assert [look.body for look in shown] == [loop.predecessor, loop.successor]
    np.testing.assert_allclose(shown[0].pose.position, loop.placement.position)
    np.testing.assert_allclose(shown[1].pose.position, loop.seat.position)
    assert all(look.color == skeleton.LOOP_COLOR for look in shown)
    assert [color for _, _, color in connectors(model)] == [skeleton.LOOP_COLOR]


@pytest.mark.parametrize("name", ["rolling-ball", "rolling-coin"])
def test_loop_joints_without_axes_are_balls(name):
    """What rolls has no coordinates and no axes in its own frame."""
    model = kt.gallery.load(name).model
    shown = [look for look in skeleton.joints(model, 1.0) if look.role == "loop"]
    assert len(shown) == 2
    assert all(isinstance(look.shape, Sphere) for look in shown)
    assert not [color for _, _, color in connectors(model) if color == skeleton.LOOP_COLOR]


def test_hinges_are_pins_along_their_axis_and_slides_are_blocks():
    b = kt.Builder("both").body("turns", "base", kt.Revolute((0, 3, 4)), mass=1, com=(0.1, 0, 0))
    b.body("slides", "turns", kt.Prismatic("x"), position=(1, 0, 0), mass=1, com=(0.1, 0, 0))
    pin_, block = skeleton.joints(b.build().model, 1.0)
    assert isinstance(pin_.shape, Cylinder)
    np.testing.assert_allclose(np.abs(pin_.pose.rotation[:, 2]), (0, 0.6, 0.8), atol=1e-15)
    assert isinstance(block.shape, Box)
    np.testing.assert_allclose(np.abs(block.pose.rotation[:, 2]), (1, 0, 0), atol=1e-15)


def test_colors_of_a_mesh_come_along(tmp_path):
    mesh = trimesh.creation.box()
    mesh.visual = trimesh.visual.ColorVisuals(mesh, face_colors=np.tile((200, 10, 20, 255), (12, 1)))
    mesh.export(tmp_path / "a.ply")
    (part,) = triangles(MeshFile(tmp_path / "a.ply"))
    np.testing.assert_allclose(part.color, np.array((200, 10, 20, 255)) / 255, atol=1e-4)


@pytest.mark.parametrize("name", ["talos", "solo12"])
def test_floating_robots_have_looks_for_every_visual(name):
    path = robot_file(FLOATING[name])
    robot = load_quietly(path, floating_base=True)
    looks, problems = read_visuals(path, robot.model)
    assert problems == []
    assert len(looks) > 10
    assert all(look.body >= 0 for look in looks)
