"""Couplings of joints: gears, belts, cams and differentials against closed forms and against MuJoCo."""

import warnings

import mujoco
import numpy as np
import pytest

import kinetree as kt
from kinetree.algorithms import independent_motion

CAM = np.polynomial.Polynomial([0.1, 0.5, 0.3, -0.2, 0.05])


def arm(joints=3, **data):
    """Make a builder with a chain of hinges about different axes, j0, j1, ..."""
    b = kt.Builder("arm")
    for i in range(joints):
        b.body(
            f"b{i}", f"b{i - 1}" if i else "base", kt.Revolute("yxz"[i % 3]), joint_name=f"j{i}",
            position=(0.3, 0.0, 0.1) if i else (0, 0, 0), mass=1.0 + i, com=(0.1, 0.02, 0.05), inertia=(0.1, 0.2, 0.15),
            **data,
        )  # fmt: skip
    return b


@pytest.fixture(scope="module")
def cam():
    """A chain in which the last joint follows the first by a polynomial, past one that is free."""
    return arm().coupling("cam", "j2", "j0", CAM.coef).build()


def embedded(robot, q, v, tau):
    """Accelerations in the coordinates j0 and j1, by substitution of the cam into the tree's equations."""
    slope, bend = CAM.deriv()(q[0]), CAM.deriv(2)(q[0])
    g, drift = np.array([[1, 0], [0, 1], [slope, 0]]), np.array([0, 0, bend * v[0] ** 2])
    m, h = robot.tree.mass_matrix(q), robot.tree.bias_force(q, v)
    return g @ np.linalg.solve(g.T @ m @ g, g.T @ (tau - h - m @ drift)) + drift, g


def test_a_cam_moves_as_substitution_says(cam):
    """Positions, velocities, accelerations with the second derivative, torques, forces in the cam; one and many."""
    rng = np.random.default_rng(1)
    guess = rng.uniform(-1, 1, (5, 3))
    q = cam.close(guess, fixed=["j0", "j1"])
    assert np.allclose(q[:, :2], guess[:, :2])
    assert np.allclose(q[:, 2], CAM(q[:, 0]), atol=1e-12)
    v = np.stack([[a, b, CAM.deriv()(x) * a] for (a, b), x in zip(rng.normal(size=(5, 2)), q[:, 0], strict=True)])
    tau = rng.normal(size=(5, 3))
    many = cam.forward_dynamics(q, v, tau)
    for k in range(5):
        a, g = embedded(cam, q[k], v[k], tau[k])
        for found in (
            many[k],
            cam.forward_dynamics(q[k], v[k], tau[k]),
            cam.forward_dynamics(q[k], v[k], tau[k], method="reduced"),
        ):
            assert np.allclose(found, a, rtol=1e-10, atol=1e-10)
        forces = cam.constraint_forces(q[k], v[k], a)
        # all joints have motors, so that the cam's force is not determined: the least torques that make the motion
        assert np.allclose(g.T @ forces.tau, g.T @ tau[k], atol=1e-9)
        need = cam.tree.inverse_dynamics(q[k], v[k], a)
        row = np.array([-CAM.deriv()(q[k, 0]), 0.0, 1.0])
        assert np.allclose(forces.tau + row * forces.multipliers, need, atol=1e-9)
    assert cam.mobility(q[0]).freedoms == 2
    assert forces.names == ("cam: coupling",)
    holed = np.where(np.arange(5)[:, None] == 2, np.nan, q)
    assert np.isnan(cam.forward_dynamics(holed, v, tau)).any(axis=1).tolist() == [False, False, True, False, False]


def test_a_cam_keeps_its_energy_and_stays_closed(cam):
    """In free motion nothing is lost, and the relation holds to rounding."""
    q = cam.close([0.4, 0.2, 0.0], fixed=["j0", "j1"])
    record = kt.simulate(cam, q, cam.project(q, [1.0, -1.0, 0.0])[1], time=0.5)
    assert np.abs(record.q[:, 2] - CAM(record.q[:, 0])).max() < 1e-12
    energy = cam.kinetic_energy(record.q, record.v) + cam.potential_energy(record.q)
    assert np.ptp(energy) < 1e-6


def test_a_planetary_gear_has_the_ratio_of_textbooks():
    """Sun, ring and planets on a carrier: w_sun + (z_ring/z_sun) w_ring = (1 + z_ring/z_sun) w_carrier (Willis)."""
    b = kt.Builder("planetary", gravity=(0, 0, 0))
    for name, parent, inertia in (("sun", "base", 0.3), ("ring", "base", 2.0), ("carrier", "base", 1.0)):
        b.body(name, parent, kt.Revolute("z"), mass=1, inertia=(1, 1, inertia), joint_name=name)
    b.body("planet", "carrier", kt.Revolute("z"), position=(0.3, 0, 0), mass=0.5, inertia=(0.1, 0.1, 0.04),
           joint_name="planet")  # fmt: skip
    # wheels mesh as seen from the carrier: the planet turns by its joint, sun and ring by what they turn beyond it
    b.coupling("sun and planet", {"sun": 20, "carrier": -20, "planet": 10})
    b.coupling("ring and planet", {"ring": 40, "carrier": -40, "planet": -10})
    gear = b.build()
    sun, ring, carrier, planet = gear.project(np.zeros(4), [3.0, 0.5, 2.0, 1.0])[1]
    assert sun + 2 * ring == pytest.approx(3 * carrier)
    assert planet == pytest.approx(-2 * (sun - carrier))
    # by hand: inertias felt at sun and ring, of L(sun, ring) = T
    jac = np.array([[1, 0], [0, 1], [1 / 3, 2 / 3], [-2 * (1 - 1 / 3), 2 * 2 / 3]])
    spin = jac[2] + jac[3]  # of the planet in space
    felt = jac.T @ np.diag([0.3, 2.0, 1.0 + 0.5 * 0.09, 0.0]) @ jac + 0.04 * np.outer(spin, spin)
    tau = np.array([1.0, -2.0, 0.5, 0.0])
    expected = jac @ np.linalg.solve(felt, jac.T @ tau)
    assert np.allclose(gear.forward_dynamics(np.zeros(4), np.zeros(4), tau), expected, atol=1e-12)
    assert gear.mobility(np.zeros(4)).freedoms == 2


def test_gears_and_belts_turn_the_way_wheels_do():
    """Meshing wheels turn opposite ways, unless one is a ring; a belt turns both the same way, unless it is crossed."""
    signs = {}
    for name, add in {
        "gear": lambda b: b.gear("g", "a", "b", (20, 40)),
        "ring": lambda b: b.gear("g", "a", "b", (20, 40), internal=True),
        "belt": lambda b: b.belt("g", "a", "b", (0.1, 0.2)),
        "crossed": lambda b: b.belt("g", "a", "b", (0.1, 0.2), crossed=True),
    }.items():
        b = kt.Builder("wheels")
        for wheel in "ab":
            b.body(f"wheel_{wheel}", "base", kt.Revolute("z"), mass=1, inertia=(1, 1, 1), joint_name=wheel)
        v = add(b).build().project(np.zeros(2), [1.0, 0.0])[1]
        signs[name] = v[1] / v[0]
    assert signs == pytest.approx({"gear": -0.5, "ring": 0.5, "belt": 0.5, "crossed": -0.5})


def test_many_couplings_go_by_clusters():
    """Coupled joints with free ones between, so many that articulated bodies go through them as through joints."""
    b = arm(12)
    for k in range(0, 12, 4):
        b.coupling(f"c{k}", {f"j{k}": 1.0, f"j{k + 1}": 0.3}, f"j{k + 3}", [0.0, 0.7, 0.2])
    robot = b.build()
    rng = np.random.default_rng(3)
    q = robot.close(rng.uniform(-0.6, 0.6, 12))
    v = robot.project(q, rng.normal(size=12))[1]
    tau = rng.normal(size=12)
    k, m = robot.loop_jacobian(q), robot.tree.mass_matrix(q)
    system = np.block([[m, -k.T], [k, np.zeros((3, 3))]])
    known = np.r_[tau - robot.tree.bias_force(q, v), -robot.loop_drift(q, v)]
    expected = np.linalg.solve(system, known)[:12]
    state, pivots = (list(x) for x in (q, v, tau)), robot.coordinates.pivots
    a, _, _ = independent_motion.forward_dynamics(robot.model, *state, robot.model.gravity, None, pivots)
    assert np.allclose(a, expected, atol=1e-9)
    assert np.allclose(robot.forward_dynamics(q, v, tau), expected, atol=1e-9)
    h = 1e-6
    rate = (robot.loop_jacobian(robot.integrate(q, v * h)) - robot.loop_jacobian(robot.integrate(q, -v * h))) / (2 * h)
    assert np.allclose(robot.loop_drift(q, v), rate @ v, atol=1e-8)


def test_subsystems_take_couplings():
    """Torques of driven joints, one system after the other, are those found at once."""
    b = arm(4, actuated=False)
    b.coupling("cam", "j2", "j0", CAM.coef)
    b.coupling("sum", {"j1": 1.0, "j3": -2.0})
    for name in ("j0", "j1"):
        b._joints[name].data["actuated"] = True
    robot = b.build()
    q = robot.close([0.3, 0.2, 0.0, 0.0], fixed=["j0", "j1"])
    v = robot.project(q, [1.0, 0.5, 0.0, 0.0])[1]
    a = robot.forward_dynamics(q, v, [1.0, 2.0, 0.0, 0.0])
    for method in ("reduced", "subsystems"):
        found = robot.constraint_forces(q, v, a, method=method)
        assert np.allclose(found.tau, [1.0, 2.0, 0.0, 0.0], atol=1e-10)
        assert np.allclose(
            found.tau + robot.loop_jacobian(q).T @ found.multipliers, robot.tree.inverse_dynamics(q, v, a), atol=1e-10
        )


def test_a_coupled_joint_keeps_its_coordinate_where_a_loop_is_closed():
    """A four-bar whose crank drives a wheel by the joint that closes the loop."""
    b = kt.Builder("four-bar", gravity=(0, -9.81, 0))
    for name, length in {"crank": 0.3, "coupler": 1.0, "rocker": 0.8}.items():
        b.add_body(name, kt.MassProperties.rod(1.0, (0, 0, 0), (length, 0, 0)))
    z = kt.Revolute("z")
    b.joint("j1", "base", "crank", z)
    b.joint("j2", "crank", "coupler", z, (0.3, 0, 0), actuated=False)
    b.joint("j4", "base", "rocker", z, (1.1, 0, 0), actuated=False)
    b.loop("j3", "coupler", "rocker", z, placement=(1.0, 0, 0), seat=(0.8, 0, 0))
    b.body("wheel", "base", z, mass=1, inertia=(1, 1, 1), joint_name="wheel", actuated=False)
    b.coupling("belt", "wheel", {"j3": 2.0})
    robot = b.build()
    assert "j3" in robot.joint_names
    q = robot.assembled()
    assert robot.mobility(q).freedoms == 1
    v = robot.project(q, np.ones(robot.nv))[1]
    places = [robot.joint(name).v_slice.start for name in ("wheel", "j3")]
    assert v[places[0]] == pytest.approx(2.0 * v[places[1]])
    again = robot.with_cuts(["j2"])
    assert [c.name for c in again.model.couplings] == ["belt"]


MJCF = """<mujoco model="m"><compiler angle="radian"/><option><flag contact="disable"/></option><worldbody>
  <body name="a"><joint name="ja" axis="0 1 0" ref="0.2"/><geom size=".05 .1" type="capsule" pos="0.2 0 0" mass="1"/>
    <body name="b" pos="0.3 0 0"><joint name="jb" axis="0 1 0" armature="0.01"/>
      <geom size=".05 .1" type="capsule" pos="0.1 0 0" mass="2"/>
      <body name="c" pos="0.3 0 0"><joint name="jc" axis="1 1 0" ref="-0.3"/>
        <geom size=".05 .1" type="capsule" pos="0.1 0 0" mass="1.5"/></body></body></body>
  <body name="d" pos="1 0 1"><joint name="jd" type="slide" axis="0 1 0"/>
    <geom size=".05 .1" type="capsule" mass="1"/></body></worldbody>
  <tendon><fixed name="t1"><joint joint="ja" coef="1.5"/><joint joint="jd" coef="-0.5"/></fixed>
    <fixed name="t2"><joint joint="jb" coef="0.7"/></fixed></tendon>
  <equality><joint name="poly" joint1="jc" joint2="ja" polycoef="0.1 0.5 0.3 -0.2 0.05"/>
    <tendon name="sum" tendon1="t1" tendon2="t2" polycoef="0.05 1.2 0.2 0 0"/></equality>
</mujoco>"""


@pytest.fixture(scope="module")
def from_mjcf(tmp_path_factory):
    """Read relations of joints and of fixed tendons from an MJCF file."""
    path = tmp_path_factory.mktemp("couplings") / "m.xml"
    path.write_text(MJCF)
    return kt.load(path, strict=True)


def test_relations_of_mujoco_are_the_same(from_mjcf):
    """Gaps, their Jacobian and accelerations held exactly agree with MuJoCo's residuals and matrices."""
    model = mujoco.MjModel.from_xml_string(MJCF)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(5)
    for q in rng.uniform(-1, 1, (4, 4)):
        data.qpos[:] = q
        mujoco.mj_forward(model, data)
        assert np.allclose(from_mjcf.loop_gaps(q), data.efc_pos, atol=1e-13)
        assert np.allclose(from_mjcf.loop_jacobian(q), np.array(data.efc_J).reshape(2, 4), atol=1e-13)
    q = from_mjcf.assembled()
    v = from_mjcf.project(q, rng.normal(size=4))[1]
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    mass = np.zeros((4, 4))
    mujoco.mj_fullM(model, data, mass)
    k, h = from_mjcf.loop_jacobian(q), 1e-6
    rate = (from_mjcf.loop_jacobian(q + h * v) - from_mjcf.loop_jacobian(q - h * v)) / (2 * h)
    system = np.block([[mass, -k.T], [k, np.zeros((2, 2))]])
    expected = np.linalg.solve(system, np.r_[-data.qfrc_bias, -rate @ v])[:4]
    assert np.allclose(from_mjcf.forward_dynamics(q, v, np.zeros(4)), expected, atol=1e-8)


def test_couplings_are_written_and_read(from_mjcf, tmp_path):
    """A YAML file gives the same model back, and other cuts keep the couplings."""
    from_mjcf.save(tmp_path / "m.yaml")
    assert kt.load(tmp_path / "m.yaml", strict=True).model == from_mjcf.model
    assert "1.5 ja - 0.5 jd = " in from_mjcf.describe()


def test_a_mimic_can_be_a_coupling(tmp_path):
    """Dynamics are the same whether a follower has a coordinate or not; with one, the gear's force is known."""
    b = arm(3)
    b._joints["j2"].data["mimic"] = kt.Mimic("j0", -2.0, 0.3)
    follows = b.build()
    follows.save(tmp_path / "m.yaml")
    coupled = kt.load(tmp_path / "m.yaml", mimic="couple")
    q, v, tau = np.array([0.4, 0.2]), np.array([1.0, -0.5]), np.array([1.0, 2.0])
    wide = np.array([[q[0], q[1], -2 * q[0] + 0.3], [v[0], v[1], -2 * v[0]], [tau[0], tau[1], 0.0]])
    a = coupled.forward_dynamics(*wide)
    assert np.allclose(a[:2], follows.forward_dynamics(q, v, tau), atol=1e-11)
    assert a[2] == pytest.approx(-2 * a[0])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("c", {}), "at least one joint"),
        (("c", "j0", "j1", [0.0, np.nan]), "finite numbers"),
        (("c", "j0", None, [0.0, 1.0]), "the joint it depends on"),
        (("c", {"j0": 0.0}), "not zero"),
        (("c", "j0", "elbow"), "elbow"),
        (("", "j0"), "needs a name"),
    ],
)
def test_bad_couplings_are_refused(arguments, words):
    """Errors say what is wrong."""
    with pytest.raises(kt.KinetreeError, match=words):
        arm().coupling(*arguments).build()


def test_joints_of_several_freedoms_cannot_be_coupled():
    """A coordinate of a ball joint is no number that a gear could hold."""
    b = arm().body("ball", "b2", kt.Spherical(), mass=1, inertia=(1, 1, 1), joint_name="ball")
    with pytest.raises(kt.KinetreeError, match="degrees of freedom, where one is needed"):
        b.coupling("c", "ball", "j0").build()


def test_what_a_tendon_equality_through_points_says_is_named(tmp_path):
    """Only lengths that are sums of coordinates can be coupled; others are named with their line."""
    text = MJCF.replace(
        '<fixed name="t2"><joint joint="jb" coef="0.7"/></fixed>',
        '<spatial name="t2"><site site="s1"/><site site="s2"/></spatial>',
    ).replace("<worldbody>", '<worldbody><site name="s1" pos="1 1 1"/>')
    text = text.replace('<body name="d" pos="1 0 1">', '<body name="d" pos="1 0 1"><site name="s2"/>')
    (tmp_path / "m.xml").write_text(text)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kt.load(tmp_path / "m.xml")
    assert "'sum' (tendon that goes through points)" in str(caught[-1].message)


def test_a_joint_that_mujoco_holds_stays_where_it_is(tmp_path):
    """A relation of one joint is a constant."""
    text = MJCF.replace('joint2="ja" polycoef="0.1 0.5 0.3 -0.2 0.05"', 'polycoef="0.1 0 0 0 0"')
    (tmp_path / "m.xml").write_text(text)
    robot = kt.load(tmp_path / "m.xml", strict=True)
    assert robot.assembled()[2] == pytest.approx(0.1 - 0.3)


def test_couplings_are_written_to_urdf(cam, tmp_path):
    """In an element of our own; what a tendon pulls with cannot be said there."""
    cam.save(tmp_path / "cam.urdf")
    again = kt.load(tmp_path / "cam.urdf")
    assert again.model.couplings == cam.model.couplings
    q = cam.close([0.4, 0.2, 0.0], fixed=["j0", "j1"])
    v = cam.project(q, [1.0, -1.0, 0.0])[1]
    assert np.allclose(again.forward_dynamics(q, v, [1, 2, 3]), cam.forward_dynamics(q, v, [1, 2, 3]), atol=1e-11)
    pulled = arm().tendon("t", {"j0": 1.0}, stiffness=1.0, rest=0.0).build()
    with pytest.raises(kt.UnsupportedError, match="along tendon 't'"):
        pulled.save(tmp_path / "pulled.urdf")
