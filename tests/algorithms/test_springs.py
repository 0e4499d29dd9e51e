"""Springs of joints: against MuJoCo, energy, closed forms, Lagrange's equations, and algorithms against one another."""

import warnings

import numpy as np
import pytest
import sympy

import kinetree as kt
from helpers.robots import KINDS, random_state, random_tree
from kinetree.algorithms.table import FORWARD_METHODS

TREES = {
    "every kind of joint": lambda rng: random_tree(rng, len(KINDS), list(KINDS), in_turn=True, springs=True),
    "floating": lambda rng: random_tree(rng, 6, ["revolute", "universal", "spherical"], floating=True, springs=True),
    "followers": lambda rng: random_tree(rng, 8, ["revolute", "prismatic"], followers=True, springs=True),
}


def without_springs(robot):
    model = robot.model.with_joints(
        type(j)(**{**{f: getattr(j, f) for f in j.__dataclass_fields__}, "stiffness": (), "spring_rest": ()})
        for j in robot.model.joints
    )
    return type(robot)(model)


def slope(function, robot, q, step=1e-6):
    """Central differences along every freedom, one per column."""
    moves = step * np.eye(robot.nv)
    return np.stack(
        [(function(robot.integrate(q, e)) - function(robot.integrate(q, -e))) / (2 * step) for e in moves], axis=-1
    )


@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_what_holds_a_spring_is_the_slope_of_its_energy(tree, backend):
    rng = np.random.default_rng(21)
    robot = TREES[tree](rng).with_backend(backend)
    q, v, a = random_state(robot, rng)
    loose = without_springs(robot).with_backend(backend)
    held = robot.inverse_dynamics(q, v, a) - loose.inverse_dynamics(q, v, a)
    stored = lambda x: robot.potential_energy(x) - loose.potential_energy(x)  # noqa: E731
    assert np.abs(held).max() > 1.0
    assert np.allclose(held, slope(stored, robot, q), rtol=1e-6, atol=1e-6)
    assert np.allclose(robot.gravity_force(q), slope(robot.potential_energy, robot, q), rtol=1e-6, atol=1e-6)
    assert np.allclose(robot.bias_force(q, v), robot.inverse_dynamics(q, v, np.zeros(robot.nv)), atol=1e-11)


@pytest.mark.parametrize("tree", TREES)
def test_every_way_of_forward_dynamics(tree):
    rng = np.random.default_rng(22)
    robot = TREES[tree](rng)
    q, v, a = random_state(robot, rng, 3)
    tau = robot.inverse_dynamics(q, v, a)
    for method in FORWARD_METHODS:
        assert np.allclose(robot.forward_dynamics(q, v, tau, method=method), a, rtol=1e-7, atol=1e-7), method


@pytest.mark.parametrize("tree", TREES)
def test_hybrid_dynamics(tree):
    rng = np.random.default_rng(23)
    robot = TREES[tree](rng)
    q, v, a = random_state(robot, rng, 2)
    tau = robot.inverse_dynamics(q, v, a)
    joints = [j for j in robot.model.joints if not j.mimic]
    found_a, found_tau = robot.hybrid_dynamics(
        q, v, a={j.name: a[..., j.v_slice] if j.nv > 1 else a[..., j.v_slice.start] for j in joints[::2]},
        tau={j.name: tau[..., j.v_slice] if j.nv > 1 else tau[..., j.v_slice.start] for j in joints[1::2]},
    )  # fmt: skip
    assert np.allclose(found_a, a, rtol=1e-8, atol=1e-8)
    assert np.allclose(found_tau, tau, rtol=1e-8, atol=1e-8)


def test_a_floating_base_on_springs():
    rng = np.random.default_rng(24)
    robot = TREES["floating"](rng)
    q, v, a = random_state(robot, rng, 2)
    base, tau = robot.floating_base_inverse_dynamics(q, v, a[..., 6:])
    whole = np.concatenate([np.zeros((2, 6)), tau], axis=-1)
    reached = robot.forward_dynamics(q, v, whole)
    assert np.allclose(reached, np.concatenate([base, a[..., 6:]], axis=-1), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("tree", TREES)
def test_derivatives(tree):
    rng = np.random.default_rng(25)
    robot = TREES[tree](rng)
    q, v, a = random_state(robot, rng)
    tau = robot.inverse_dynamics(q, v, a)
    by_q = robot.inverse_dynamics_derivatives(q, v, a)[0]
    assert np.allclose(by_q, slope(lambda x: robot.inverse_dynamics(x, v, a), robot, q), rtol=1e-6, atol=1e-5)
    if not robot.model.has_followers:
        by_q = robot.forward_dynamics_derivatives(q, v, tau)[0]
        assert np.allclose(by_q, slope(lambda x: robot.forward_dynamics(x, v, tau), robot, q), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("tree", TREES)
def test_stiffness_is_a_parameter(tree):
    rng = np.random.default_rng(26)
    robot = TREES[tree](rng)
    q, v, a = random_state(robot, rng, 4)
    table = robot.parameters()
    assert np.allclose(robot.regressor(q, v, a) @ table.values, robot.inverse_dynamics(q, v, a), rtol=1e-12, atol=1e-10)
    assert sum(name.endswith(".stiffness") for name in table) == sum(j.kind.nv for j in robot.model.joints)
    name = next(n for n in table if n.endswith(".stiffness"))
    other = robot.with_parameters({name: 33.0})
    assert other.parameters()[name] == 33.0
    change = other.inverse_dynamics(q, v, a) - robot.inverse_dynamics(q, v, a)
    assert np.allclose(robot.regressor(q, v, a, parameters=[name])[..., 0] * (33.0 - table[name]), change, atol=1e-9)
    with pytest.raises(kt.ModelError, match=r"stiffness of joint .* must not be negative"):
        robot.with_parameters({name: -1.0})


def test_the_matrices_of_the_denoc():
    rng = np.random.default_rng(27)
    robot = random_tree(rng, 4, ["revolute", "prismatic"], springs=True)
    q, v, a = random_state(robot, rng)
    natural = robot.denoc(q, v)
    assert np.allclose(natural.inverse_dynamics(a), robot.inverse_dynamics(q, v, a), atol=1e-10)


def chain(n, **data):
    builder = kt.Builder("chain")
    for k in range(n):
        own = {key: x[k] if isinstance(x, list) else x for key, x in data.items()}
        kind = kt.Spherical() if k % 5 == 3 else kt.Revolute("y" if k % 2 else "x")
        builder.body(
            f"b{k}", "base" if k == 0 else f"b{k - 1}", kind, position=(0, 0, -0.1), mass=0.2,
            com=(0, 0, -0.05), inertia=(1e-3, 1e-3, 1e-4), **own,
        )  # fmt: skip
    return builder.build()


def test_large_trees():
    stiffness = [0.5 + 0.01 * k if k % 3 else 0.0 for k in range(130)]
    large = chain(130, stiffness=stiffness)
    rng = np.random.default_rng(28)
    q, v, a = random_state(large, rng, 2)
    tau = large.inverse_dynamics(q, v, a)
    plain = large.with_backend("reference")
    assert np.allclose(tau, plain.inverse_dynamics(q, v, a), rtol=1e-10, atol=1e-10)
    assert np.abs(tau - without_springs(large).inverse_dynamics(q, v, a)).max() > 0.1
    assert np.allclose(large.forward_dynamics(q, v, tau), a, rtol=1e-5, atol=1e-5)
    assert np.allclose(large.potential_energy(q), plain.potential_energy(q), rtol=1e-12)
    by_q = large.inverse_dynamics_derivatives(q, v, a)[0]
    assert np.allclose(by_q, plain.inverse_dynamics_derivatives(q, v, a)[0], rtol=1e-9, atol=1e-9)


MJCF = """
<mujoco>
  <option timestep="0.0005"/>
  <worldbody>
    <body pos="0 0 1">
      <freejoint name="free"/>
      <inertial pos="0 0.1 0" mass="1.5" diaginertia="0.02 0.03 0.04"/>
      <body pos="0.3 0 0">
        <joint name="hinge" axis="0 1 0.3" stiffness="7" springref="25" ref="10" armature="0.01"/>
        <inertial pos="0.1 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/>
        <body pos="0.3 0 0">
          <joint name="ball" type="ball" stiffness="3" pos="0.02 0 0.1"/>
          <inertial pos="0.1 0 0.1" mass="0.4" diaginertia="0.01 0.02 0.015"/>
          <body pos="0.3 0 0">
            <joint name="slide" type="slide" axis="1 0 0" stiffness="40" springref="0.05"/>
            <inertial pos="0.1 0 0" mass="0.3" diaginertia="0.01 0.01 0.01"/>
            <body pos="0.1 0 0">
              <joint name="auto" type="hinge" axis="1 0 0" springdamper="0.2 0.7"/>
              <inertial pos="0 0.1 0" mass="0.3" diaginertia="0.01 0.01 0.01"/>
            </body>
          </body>
        </body>
      </body>
    </body>
    <body pos="2 0 1">
      <joint name="loose" type="free" stiffness="11"/>
      <inertial pos="0 0.1 0" mass="1.5" diaginertia="0.02 0.03 0.04"/>
    </body>
  </worldbody>
</mujoco>
"""


def test_against_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    path = tmp_path / "springs.xml"
    path.write_text(MJCF)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = kt.load(path)
    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    loose = without_springs(robot)
    rng = np.random.default_rng(29)
    for q in robot.random_configuration(rng, (5,)):
        turns = []
        for j in robot.model.joints:
            x, first = q[j.q_slice], m.jnt_qposadr[mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_JOINT, j.name)]
            if j.kind.nq == 1:
                d.qpos[first] = x[0]
            else:
                d.qpos[first : first + j.kind.nq] = [*x[4:], x[3], *x[:3]]
            turns.append(kt.spatial.Transform() if j.kind.nq < 7 else j.kind.transform(list(x)))
        mujoco.mj_forward(m, d)
        held = robot.gravity_force(q) - loose.gravity_force(q)
        for j, turn in zip(robot.model.joints, turns, strict=True):
            first = m.jnt_dofadr[mujoco.mj_name2id(m, mujoco.mjtObj.mjOBJ_JOINT, j.name)]
            theirs = -d.qfrc_passive[first : first + j.kind.nv]
            if j.kind.nv == 6:  # force in world axes, then moment in body axes
                rotation = np.array([[float(x) for x in row] for row in turn.matrix().rows])
                theirs = np.concatenate([theirs[3:], rotation.T @ theirs[:3]])
            assert np.allclose(held[j.v_slice], theirs, rtol=1e-9, atol=1e-9), j.name
        assert np.isclose(robot.potential_energy(q), mujoco_potential(mujoco, m, d), rtol=1e-9)


def mujoco_potential(mujoco, m, d):
    m.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    mujoco.mj_forward(m, d)
    return d.energy[0]


def test_a_mass_on_a_spring_swings_as_the_closed_form_says():
    builder = kt.Builder("swing", gravity=(0, 0, 0))
    builder.body("mass", "base", kt.Prismatic("x"), mass=2.0, stiffness=50.0, spring_rest=0.3)
    robot = builder.build()
    times = np.linspace(0.0, 2.0, 41)
    record = kt.simulate(robot, [0.8], [0.0], time=2.0, samples=times, rtol=1e-11, atol=1e-12)
    assert np.allclose(record.q[:, 0], 0.3 + 0.5 * np.cos(5.0 * times), atol=1e-8)
    assert np.allclose(record.energy.kinetic + record.energy.potential, 0.5 * 50.0 * 0.5**2, rtol=1e-9)


def test_free_motion_keeps_energy():
    rng = np.random.default_rng(30)
    robot = TREES["floating"](rng)
    q, v, _ = random_state(robot, rng)
    record = kt.simulate(robot, q, 0.2 * v, time=0.2)
    assert record.energy.relative_error < 1e-6
    assert np.ptp(record.energy.potential) > 1e-2


def test_lagrange():
    """A pendulum whose pivot slides, both on springs: the equations of a Lagrangian, by SymPy."""
    builder = kt.Builder("pair")
    builder.body("cart", "base", kt.Prismatic("x"), mass=1.3, stiffness=20.0, spring_rest=0.1)
    builder.body("bob", "cart", kt.Revolute("y"), mass=0.7, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.01), stiffness=4.0,
                 spring_rest=-0.2)  # fmt: skip
    robot = builder.build()
    t = sympy.Symbol("t")
    x, p = sympy.Function("x")(t), sympy.Function("p")(t)
    bx, bz = x - 0.5 * sympy.sin(p), -0.5 * sympy.cos(p)
    kinetic = 1.3 * x.diff(t) ** 2 / 2 + 0.7 * (bx.diff(t) ** 2 + bz.diff(t) ** 2) / 2 + 0.01 * p.diff(t) ** 2 / 2
    potential = 0.7 * 9.81 * bz + 10.0 * (x - 0.1) ** 2 + 2.0 * (p + 0.2) ** 2
    lagrangian = kinetic - potential
    equations = [sympy.diff(lagrangian.diff(c.diff(t)), t) - lagrangian.diff(c) for c in (x, p)]
    q, v, a = [0.3, 0.7], [0.4, -1.1], [2.0, 0.5]
    values = {}
    for c, position, rate, acceleration in zip((x, p), q, v, a, strict=True):
        values |= {c.diff(t, 2): acceleration, c.diff(t): rate, c: position}
    wanted = [float(e.subs(values)) for e in equations]
    assert np.allclose(robot.inverse_dynamics(q, v, a), wanted, atol=1e-12)
    symbolic = kt.symbolic.expression(robot, "inverse_dynamics")
    symbols = [s for own in symbolic.inputs.values() for s in own]
    numbers = dict(zip(symbols, (*q, *v, *a), strict=True))
    assert np.allclose([float(entry.subs(numbers)) for entry in symbolic.value], wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"stiffness": -1.0}, "stiffness must not be negative"),
        ({"stiffness": np.inf}, "stiffness must be finite"),
        ({"stiffness": np.nan}, "stiffness is not a number"),
        ({"spring_rest": 0.3}, "give its stiffness"),
        ({"stiffness": 1.0, "spring_rest": np.inf}, "spring_rest must be finite"),
        ({"stiffness": [1.0, 2.0]}, "stiffness needs one number or 1"),
    ],
)
def test_bad_springs_are_refused(data, message):
    with pytest.raises(kt.ModelError, match=message):
        kt.Builder().body("bob", "base", kt.Revolute("y"), mass=1.0, **data)


def test_a_quaternion_at_rest_has_length_one():
    with pytest.raises(kt.ModelError, match="length is not one"):
        kt.Builder().body("bob", "base", kt.Spherical(), mass=1.0, stiffness=1.0, spring_rest=(0, 0, 0, 2.0))


def test_files_keep_them(tmp_path):
    rng = np.random.default_rng(31)
    kinds = [k for k in KINDS if k != "custom"]
    robot = random_tree(rng, len(kinds), kinds, in_turn=True, springs=True)
    robot.save(tmp_path / "springs.yaml")
    again = kt.load(tmp_path / "springs.yaml")
    q, v, a = random_state(robot, rng)
    assert np.array_equal(again.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a))
    assert [j.stiffness for j in again.model.joints] == [j.stiffness for j in robot.model.joints]
    free = kt.Builder().body("bob", "base", kt.Free(), mass=1.0, inertia=(1, 1, 1), stiffness=1.0).build()
    with pytest.raises(kt.KinetreeError, match=r"cannot express the spring of joint .*write \.yaml"):
        free.save(tmp_path / "springs.urdf")
    second = chain(2).joint_names[1]
    simple = chain(2).with_springs({second: 3.0}, {second: 0.2})
    with pytest.warns(kt.ModelWarning, match="springs, of joint .* only kinetree reads"):
        simple.save(tmp_path / "springs.urdf")
    again = kt.load(tmp_path / "springs.urdf", strict=True)
    assert again.parameters()[f"{second}.stiffness"] == 3.0
    q, v, a = random_state(simple, rng)
    assert np.allclose(again.inverse_dynamics(q, v, a), simple.inverse_dynamics(q, v, a), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axis", ["wx", "wy", "wz"])
def test_stiffness_of_one_turn_may_vary_from_state_to_state(axis):
    b = kt.Builder("ball").body("b", "base", kt.Spherical(), mass=1.0, inertia=(1, 2, 3), stiffness=4.0, joint_name="j")
    robot = b.build()
    q = robot.random_configuration(np.random.default_rng(0), 3)
    given = np.array([1.0, 4.0, 9.0])
    for one in (robot.with_backend("reference"), robot.with_backend("compiled")):
        found = one.inverse_dynamics(q, np.zeros(3), np.zeros(3), parameters={f"j.{axis}.stiffness": given})
        for k in range(3):
            alone = robot.with_parameters({f"j.{axis}.stiffness": given[k]})
            np.testing.assert_allclose(
                found[k], alone.inverse_dynamics(q[k], np.zeros(3), np.zeros(3)), rtol=1e-10, atol=1e-12
            )


def test_robots_get_springs_and_lose_them():
    plain = chain(3)
    first, second, _ = plain.joint_names
    sprung = plain.with_springs({first: 2.0, second: 3.0}, {second: 0.4})
    assert [j.stiffness for j in sprung.model.joints] == [(2.0,), (3.0,), ()]
    assert [j.spring_rest for j in sprung.model.joints] == [(0.0,), (0.4,), ()]
    q, v, a = random_state(plain, np.random.default_rng(3))
    pulled = np.array([2.0 * q[0], 3.0 * (q[1] - 0.4), 0.0])
    assert np.allclose(sprung.inverse_dynamics(q, v, a), plain.inverse_dynamics(q, v, a) + pulled, atol=1e-12)
    assert sprung.with_springs({first: 0.0, second: 0.0}) == plain
    with pytest.raises(kt.UnknownNameError, match="joint"):
        plain.with_springs({"nowhere": 1.0})
    with pytest.raises(kt.ModelError, match="its stiffness is not given"):
        plain.with_springs({first: 1.0}, {second: 0.1})
    with pytest.raises(kt.ModelError, match="must not be negative"):
        plain.with_springs({first: -1.0})
