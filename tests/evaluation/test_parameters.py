"""Parameters of the robot itself as inputs of algorithms, and derivatives by them."""

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import random_state, random_tree
from kinetree_sweeps.parameter_names import SweptRobot

COUNT = 4


def arm(mass=2.0, length=0.5, gear=10.0, damping=0.3, gravity=(0, 0, -9.81)):
    """A robot whose builder takes what is varied."""
    builder = kt.Builder("arm", gravity=gravity)
    builder.body("upper", "base", kt.Revolute("y"), mass=1.0, com=(0.1, 0, -0.3), inertia=(0.1, 0.1, 0.01))
    builder.body(
        "lower", "upper", kt.Revolute("x"), position=(0, 0.1, -length), rpy=(0.1, 0.2, 0.3), mass=mass,
        com=(0.1, 0.2, -0.3), inertia=(0.05, 0.06, 0.04, 0.01, 0.0, 0.002), joint_name="elbow", rotor_inertia=1e-3,
        gear_ratio=gear, damping=damping, friction=0.2,
    )  # fmt: skip
    builder.frame("tool", "lower", position=(0, 0, -0.2))
    return builder.build()


@pytest.fixture(params=["compiled", "reference"])
def robot(request):
    return arm().with_backend(request.param)


@pytest.fixture
def state():
    return random_state(arm(), np.random.default_rng(2), COUNT)


VARIED = {
    "mass": lambda x: {"bodies": {"lower": {"mass": x}}},
    "length": lambda x: {"joints": {"elbow": {"position": np.stack([0 * x, 0 * x + 0.1, -x], -1)}}},
    "gear": lambda x: {"joints": {"elbow": {"gear_ratio": x}}},
    "damping": lambda x: {"joints": {"elbow": {"damping": x}}},
    "gravity": lambda x: {"gravity": np.stack([0 * x, 0 * x, -x], -1)},
}
COMPUTED = {
    "inverse_dynamics": lambda r, q, v, a, **k: r.inverse_dynamics(q, v, a, friction=True, **k),
    "with wrenches": lambda r, q, v, a, **k: r.inverse_dynamics(
        q, v, a, {"tool": kt.Wrench((1, 2, 3), (0.1, 0, 0), axes="world")}, **k
    ),
    "forward_dynamics": lambda r, q, v, a, **k: r.forward_dynamics(q, v, a, friction=True, **k),
    "composite_body": lambda r, q, v, a, **k: r.forward_dynamics(q, v, a, method="composite_body", **k),
    "mass_matrix": lambda r, q, v, a, **k: r.mass_matrix(q, **k),
    "inverse_mass_matrix": lambda r, q, v, a, **k: r.inverse_mass_matrix(q, **k),
    "bias_force": lambda r, q, v, a, **k: r.bias_force(q, v, **k),
    "gravity_force": lambda r, q, v, a, **k: r.gravity_force(q, **k),
    "coriolis_matrix": lambda r, q, v, a, **k: r.coriolis_matrix(q, v, **k),
    "kinetic_energy": lambda r, q, v, a, **k: r.kinetic_energy(q, v, **k),
    "potential_energy": lambda r, q, v, a, **k: r.potential_energy(q, **k),
    "pose": lambda r, q, v, a, **k: r.pose(q, "tool", **k),
    "jacobian": lambda r, q, v, a, **k: r.jacobian(q, "tool", "world", **k),
    "center_of_mass": lambda r, q, v, a, **k: r.center_of_mass(q, **k),
    "momentum": lambda r, q, v, a, **k: r.momentum(q, v, **k),
}


@pytest.mark.parametrize("what", VARIED)
def test_each_state_has_its_own_robot(robot, state, what):
    """Against robots that were built with the numbers."""
    values = np.array([0.3, 0.7, 1.3, 2.2])
    built = [arm(**{what: (0, 0, -x) if what == "gravity" else x}) for x in values]
    changed = 0
    for name, compute in COMPUTED.items():
        found = compute(robot, *state, parameters=VARIED[what](values))
        wanted = np.stack([compute(own, *(x[k] for x in state)) for k, own in enumerate(built)])
        assert np.allclose(found, wanted, rtol=1e-12, atol=1e-12), name
        changed += not np.allclose(found, compute(robot, *state), rtol=1e-3)
    assert changed >= 2


@pytest.mark.parametrize("kinds", [["revolute", "prismatic"], ["universal", "spherical"]])
def test_the_whole_table_as_an_array(kinds):
    rng = np.random.default_rng(5)
    robot = random_tree(rng, 5, kinds, followers=kinds[0] == "revolute", floating=True)
    q, v, a = random_state(robot, rng, COUNT)
    values = robot.parameters().values * rng.uniform(0.9, 1.1, (COUNT, len(robot.parameters())))
    for way in (robot.with_backend("compiled"), robot.with_backend("reference")):
        found = way.inverse_dynamics(q, v, a, parameters=values, friction=True)
        linear = (robot.regressor(q, v, a, friction=True) @ values[..., None])[..., 0]
        assert np.allclose(found, linear, rtol=1e-11, atol=1e-10)
        back = way.forward_dynamics(q, v, found, parameters=values, friction=True)
        assert np.allclose(back, a, rtol=1e-7, atol=1e-7)
    one = robot.with_parameters(values[1], physical=False)
    assert np.allclose(one.inverse_dynamics(q[1], v[1], a[1], friction=True), found[1], rtol=1e-11, atol=1e-10)


def test_one_value_serves_all_states_and_many_values_one_state(robot, state):
    q, v, a = state
    one = robot.inverse_dynamics(q, v, a, parameters={"lower.MX": 0.7})
    other = robot.with_parameters({"lower.MX": 0.7}, physical=False)
    assert np.allclose(one, other.inverse_dynamics(q, v, a), rtol=1e-12)
    many = robot.inverse_dynamics(q[0], v[0], a[0], parameters={"lower.MX": [0.7, 0.1, -3.0]})
    assert many.shape == (3, 2)
    assert np.allclose(many[0], one[0], rtol=1e-12)
    out = np.empty((COUNT, 2))
    assert robot.inverse_dynamics(q, v, a, parameters={"lower.MX": 0.7}, out=out, threads=2) is out
    assert np.allclose(out, one, rtol=1e-12)


def test_nan_stays_in_its_state(robot, state):
    q, v, a = state
    masses = np.array([1.0, np.nan, 2.0, 3.0])
    found = robot.inverse_dynamics(q, v, a, parameters={"lower.M": masses})
    assert np.isnan(found[1]).any()
    assert np.isfinite(np.delete(found, 1, 0)).all()


def test_massless_bodies_may_get_their_mass_as_a_parameter(state):
    q, v, a = state
    builder = kt.Builder("arm").body("upper", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -1))
    robot = builder.body("lower", "upper", kt.Revolute("x"), position=(0, 0, -1)).build()
    with pytest.raises(kt.SingularError):
        robot.forward_dynamics(q, v, a)
    given = {"bodies": {"lower": {"mass": 2.0, "inertia": (0.1, 0.2, 0.3)}}}
    found = robot.forward_dynamics(q, v, a, parameters=given)
    assert np.allclose(robot.inverse_dynamics(q, v, found, parameters=given), a, rtol=1e-10, atol=1e-10)


@pytest.fixture
def every_tree_is_large(monkeypatch):
    for room in ("compiler", "law_kernels"):
        monkeypatch.setattr(f"kinetree.evaluation.{room}.LARGEST_UNROLLED", 0)


def test_large_trees_do_not_leave_parameters_out(state, every_tree_is_large):
    """Loops over bodies know no other parameters, so that these are straight-line code."""
    q, v, a = state
    robot, given = arm().with_backend("compiled"), {"lower.M": np.array([1.0, 2.0, 3.0, 4.0])}
    found = robot.inverse_dynamics(q, v, a, parameters=given)
    assert np.allclose(found, robot.with_backend("reference").inverse_dynamics(q, v, a, parameters=given), rtol=1e-13)
    assert np.abs(found - robot.inverse_dynamics(q, v, a)).max() > 1e-3
    by = robot.inverse_dynamics_by_parameters(q, v, a, {"lower.M": 2.0})
    assert np.allclose(by, robot.regressor(q, v, a, parameters=["lower.M"]), rtol=1e-10, atol=1e-12)
    compiler = robot.evaluator.compiler
    assert compiler.handles("regressor", {})
    assert any(key[0] == "inverse_dynamics" and key[3] for key in compiler._kernels)


def test_too_many_operations_are_said_once(state, monkeypatch):
    monkeypatch.setattr("kinetree.evaluation.compiler.LONGEST_CODE", 20)
    q, v, a = state
    robot, reference = (arm(mass=2.0317).with_backend(name) for name in ("compiled", "reference"))  # in no cache
    given = {"lower.M": 3.0}
    with pytest.warns(kt.KinetreeWarning, match="with other parameters would be more than 20 operations"):
        found = robot.inverse_dynamics(q, v, a, parameters=given)
    assert np.array_equal(found, reference.inverse_dynamics(q, v, a, parameters=given))
    robot.inverse_dynamics(q, v, a, parameters={"lower.M": 2.0})  # nothing more is said
    with pytest.warns(kt.KinetreeWarning, match="power_regressor of 'arm' would be"):
        found = robot.power_regressor(q, v, a)
    assert np.array_equal(found, reference.power_regressor(q, v, a))


def test_large_trees_are_simulated_with_other_parameters(every_tree_is_large):
    given = {"lower.M": np.array([2.5, 3.0]), "elbow.rotor_inertia": np.array([0.2, 0.1])}
    large = arm().with_backend("compiled")
    both = kt.simulate(large, [0.5, 1.0], time=0.1, step=1e-2, integrator="rk4", parameters=given)
    for k in range(2):
        alone = arm().with_parameters({name: float(x[k]) for name, x in given.items()})
        one = kt.simulate(alone, [0.5, 1.0], time=0.1, step=1e-2, integrator="rk4")
        assert np.allclose(both.q[-1, k], one.q[-1], rtol=0, atol=1e-12)
        assert both.energy.kinetic[-1, k] == pytest.approx(one.energy.kinetic[-1], rel=1e-9)
    for integrator in ("implicit_euler", "variational"):
        with pytest.raises(kt.UnsupportedError, match="'rk4'"):
            kt.simulate(large, [0.5, 1.0], time=0.1, step=1e-2, integrator=integrator, parameters=given)


# ------------------------------------------------------------------ derivatives


def test_derivatives_by_the_table(robot, state):
    q, v, a = state
    names = ["lower.M", "lower.XY", "upper.MX", "elbow.rotor_inertia", "elbow.damping"]
    torque = robot.inverse_dynamics_by_parameters(q, v, a, names)
    assert np.array_equal(torque, robot.regressor(q, v, a, parameters=names))
    table, step = robot.parameters(), 1e-6
    found = robot.forward_dynamics_by_parameters(q, v, a, names, friction=True)
    for k, name in enumerate(names):
        both = [
            robot.forward_dynamics(q, v, a, friction=True, parameters={name: table[name] + h}) for h in (-step, step)
        ]
        assert np.allclose(found[..., k], (both[1] - both[0]) / (2 * step), rtol=1e-5, atol=1e-5), name


def test_derivatives_by_geometry_and_gravity(robot, state):
    q, v, a = state
    place = np.array([0.0, 0.1, -0.5]) + 0.01 * np.arange(COUNT)[:, None]
    given = {"joints": {"elbow": {"position": place, "rpy": (0.1, 0.2, 0.3), "gear_ratio": 9.0}}, "gravity": (0, 1, -9)}
    numbers = [(*x, 0.1, 0.2, 0.3, 9.0, 0.0, 1.0, -9.0) for x in place]

    def at(x):
        joints = {"elbow": {"position": x[:, :3], "rpy": x[:, 3:6], "gear_ratio": x[:, 6]}}
        return {"joints": joints, "gravity": x[:, 7:]}

    for by, plain in (
        (robot.inverse_dynamics_by_parameters, robot.inverse_dynamics),
        (robot.forward_dynamics_by_parameters, robot.forward_dynamics),
    ):
        found, step, center = by(q, v, a, given), 1e-6, np.array(numbers)
        assert found.shape == (COUNT, 2, 10)
        for k in range(10):
            moved = step * np.eye(10)[k]
            change = plain(q, v, a, parameters=at(center + moved)) - plain(q, v, a, parameters=at(center - moved))
            assert np.allclose(found[..., k], change / (2 * step), rtol=1e-5, atol=2e-5), k


# ------------------------------------------------------------------ closed loops


def test_closed_loops_take_inertias_and_friction():
    mechanism = kt.gallery.load("four-bar")
    rng = np.random.default_rng(4)
    q = mechanism.assembled()
    v = mechanism.velocities(q, rng.standard_normal(1))
    a = mechanism.accelerations(q, v, rng.standard_normal(1))
    name = mechanism.body_names[1]
    masses = np.array([1.0, 2.0, 5.0])
    given = {f"{name}.M": masses, f"{mechanism.v_names[0]}.damping": 0.3}
    forces = mechanism.inverse_dynamics(q, v, a, friction=True, parameters=given)
    plain = mechanism.inverse_dynamics(q, v, a, parameters=given)
    back = mechanism.forward_dynamics(q, v, plain, parameters=given)
    for k, mass in enumerate(masses):
        own = mechanism.with_parameters({f"{name}.M": mass, f"{mechanism.v_names[0]}.damping": 0.3}, physical=False)
        assert np.allclose(forces[k], own.inverse_dynamics(q, v, a, friction=True), rtol=1e-9, atol=1e-10)
        assert np.allclose(back[k], a, rtol=1e-8, atol=1e-8)
    with pytest.raises(kt.UnsupportedError, match="loops close"):
        mechanism.inverse_dynamics(q, v, a, parameters={"joints": {mechanism.joint_names[0]: {"position": (0, 0, 1)}}})


# ------------------------------------------------------------------ what cannot be


@pytest.mark.parametrize(
    ("given", "problem", "words"),
    [
        ({"lower.Mass": 1.0}, kt.UnknownNameError, "did you mean"),
        ({"links": {}}, kt.OptionError, "gravity"),
        ({"bodies": 3}, kt.OptionError, "bodies"),
        ({"bodies": {"lower": 3.0}}, kt.OptionError, "lower"),
        ({"lower.M": "heavy"}, kt.ShapeError, "numbers"),
        ({"lower.M": 1.0, "bodies": {"lower": {"mass": 2.0}}}, kt.ModelError, "choose one"),
        ({"elbow.damping": 1.0, "joints": {"elbow": {"damping": 2.0}}}, kt.ModelError, "twice"),
        ({"gravity": 9.81}, kt.ShapeError, "gravity"),
        ({"gravity": (0, 9.81)}, kt.ModelError, "gravity"),
        ({"joints": {"elbow": {"position": (1.0, 2.0)}}}, kt.ModelError, "position"),
        ({"lower.M": np.ones(3)}, kt.ShapeError, "parameters"),
        (np.ones(3), kt.ShapeError, "28"),
    ],
)
def test_parameters_that_cannot_be(state, given, problem, words):
    with pytest.raises(problem, match=words):
        arm().inverse_dynamics(*state, parameters=given)


def sprung(stiffness=1.0, rest=0.0, slack=0.05, at=0.2):
    b, spring = kt.Builder("lamp"), {"stiffness": 0.3, "spring_rest": at}
    for name, parent, place in (("lower", "base", (0, 0, 0)), ("upper", "lower", (0, 0, 0.4))):
        b.body(name, parent, kt.Revolute("y"), position=place, mass=0.5, com=(0.02, 0, 0.2), **spring)
    b.tendon("spring", points=[("base", (0, 0, 0.1)), ("lower", (0, 0, 0.1))], stiffness=stiffness, rest=rest)
    b.tendon("rope", points=[("lower", (0, 0, 0.2)), ("upper", (0.1, 0, 0))], stiffness=200.0, rest=(0.0, slack))
    return b.build()


def test_springs_along_tendons():
    """A batch of springs beside robots that are built with each of them; and one where the ends of a spring meet."""
    robot, rng = sprung().with_backend("compiled"), np.random.default_rng(0)
    q, v, a = rng.normal(size=(3, 3, 2))
    stiff, rest, slack, at = rng.uniform(0.05, 0.3, (4, 3))
    given = {
        "tendons": {"spring": {"stiffness": 900.0 * stiff, "rest": rest}, "rope": {"rest": slack}},
        "joints": {"lower_joint": {"spring_rest": at}, "upper_joint": {"spring_rest": at}},
    }
    built = [sprung(900.0 * stiff[k], rest[k], slack[k], at[k]).with_backend("reference") for k in range(3)]
    expected = [one.inverse_dynamics(q[k], v[k], a[k]) for k, one in enumerate(built)]
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a, parameters=given), expected, atol=1e-12)
    kept = robot.with_springs({"spring": 900.0 * stiff[0], "rope": 200.0}, {"spring": rest[0], "rope": (0.0, slack[0])})
    assert kept.model.tendons == built[0].model.tendons
    still = np.zeros(2)
    stiffer = kt.equilibrium(sprung(), still, held=[], parameters={"tendons": {"spring": {"stiffness": 5e3}}})
    np.testing.assert_allclose(sprung(5e3).inverse_dynamics(stiffer.q, still, still), 0.0, atol=1e-7)
    beside = [sprung(5e3, at=0.0).inverse_dynamics(s * 1e-6 * np.eye(2), still, still) for s in (1, -1)]
    at_zero = sprung(5e3, at=0.0).inverse_dynamics_derivatives(still, still, still)[0]
    np.testing.assert_allclose(at_zero, (beside[0] - beside[1]).T / 2e-6, atol=1e-5)
    known = SweptRobot(robot).numbers()
    assert known["tendons.spring.stiffness"].own == 1.0
    assert known["tendons.rope.rest"].own == 0.05
    assert known["joints.lower_joint.spring_rest"].own == 0.2
    for bad, words in (
        ({"tendons": {"spring": {"damping": 1.0}}}, "no parameter of tendon 'spring' named 'damping'"),
        ({"tendons": {"sprin": {"rest": 1.0}}}, "did you mean 'spring'"),
    ):
        with pytest.raises(kt.UnknownNameError, match=words):
            robot.inverse_dynamics(q, v, a, parameters=bad)
    with pytest.raises(kt.OptionError, match="parameters have a batch"):
        kt.equilibrium(robot, parameters=given)


def hung_at_frames(eye: float, hook: float, stiffness: float = 400.0) -> kt.Robot:
    b = kt.Builder("hung").body("arm", "base", kt.Revolute("y"), mass=1.0, com=(0.02, 0, 0.2))
    b.frame("eye", "arm", (0, 0, eye), rpy=(0.3, 0, 0)).frame("hook", "base", (0.05, 0, hook))
    return b.tendon("s", points=["hook", ("eye", (0, 0.01, 0.02))], stiffness=stiffness, rest=0.03).build()


def test_tendons_go_where_their_frames_are_put(tmp_path):
    """Beside robots that are built with each place; as parameters, with other numbers for good, and out of a file."""
    robot, rng = hung_at_frames(0.12, 0.1), np.random.default_rng(0)
    q, eyes, hooks = rng.normal(size=(3, 1)), [0.08, 0.12, 0.2], [0.1, 0.2, 0.3]
    put = [[(0, 0, eye), (0.05, 0, hook)] for eye, hook in zip(eyes, hooks, strict=True)]
    given = {"frames": {name: {"position": np.array(put)[:, k]} for k, name in enumerate(("eye", "hook"))}}
    built = [hung_at_frames(*places) for places in zip(eyes, hooks, strict=True)]
    expected = [one.inverse_dynamics(q[k], [0.0], [0.0]) for k, one in enumerate(built)]
    robot.save(tmp_path / "hung.yaml")
    still = np.zeros((3, 1))
    for one in (robot, robot.with_backend("compiled"), kt.load(tmp_path / "hung.yaml")):
        np.testing.assert_allclose(one.inverse_dynamics(q, still, still, parameters=given), expected, atol=1e-12)
    energies = robot.potential_energy(q, parameters=given)
    np.testing.assert_allclose(energies, [one.potential_energy(q[k]) for k, one in enumerate(built)], atol=1e-12)
    last = {"frames": {name: {"position": table["position"][2]} for name, table in given["frames"].items()}}
    for good in (robot.with_parameters(last), robot.with_parameters(last | {"tendons": {"s": {"stiffness": 400.0}}})):
        np.testing.assert_allclose(good.inverse_dynamics(q[2], [0.0], [0.0]), expected[2], atol=1e-12)
    softer = robot.with_parameters({"tendons": {"s": {"stiffness": 200.0}}})
    assert softer.model.tendons == hung_at_frames(0.12, 0.1, 200.0).model.tendons
    with pytest.raises(kt.ModelError, match="stiffness of tendon 's' is -1: it cannot be negative"):
        robot.with_parameters({"tendons": {"s": {"stiffness": -1.0}}})
    moved = {"tendons": {"s": {"points": [[0, 0, 0.1], [0, 0, 0.2]]}}}
    for way in (robot.with_parameters, lambda given: robot.inverse_dynamics(q, still, still, parameters=given)):
        with pytest.raises(kt.ModelError, match=r"tendon 's': points .* are not parameters.*frames\.eye\.position"):
            way(moved)


def whole_tables(robot):
    """Two tables of all parameters, of which the second has a negative mass."""
    tables = np.tile(robot.parameters().values, (2, 1))
    tables[1, robot.parameters().index("lower.M")] = -3.0
    return tables


@pytest.mark.parametrize(
    ("says", "given"),
    [
        ("mass of 'lower' is -0.5 kg:", {"bodies": {"lower": {"mass": -0.5}}}),
        ("mass of 'lower' is -2 kg at index 1:", {"bodies": {"lower": {"mass": [1.0, -2.0]}}}),
        ("'upper.M' is -1 kg:", {"upper.M": -1.0, "upper.MX": -3.0, "elbow.damping": 0.1}),
        ("'lower.M' is -3 kg at index 1:", whole_tables),
    ],
)
def test_negative_masses_are_refused(robot, says, given):
    """By whatever name: no body has one."""
    given, q = given(robot) if callable(given) else given, np.ones(2)
    for call in (robot.inverse_dynamics, robot.forward_dynamics):
        with pytest.raises(kt.ModelError, match=f"parameter {says} no body has a negative mass"):
            call(q, q, q, parameters=given)
    with pytest.raises(kt.ModelError, match=says):
        robot.kinetic_energy(q, q, parameters=given)


def test_names_given_before_are_read_again_with_whatever_numbers_follow(robot, state):
    first, second = ([name for name in robot.parameters().names if name.endswith(end)][-1] for end in (".M", ".MX"))
    given, exact = {first: 1.5, second: 0.1}, np.float64(1.5)
    expected = robot.inverse_dynamics(*state, parameters=given)
    for same in ({first: exact, second: 0.1}, {first: np.array(1.5), second: 0.1}, {second: 0.1, first: 1.5}):
        np.testing.assert_array_equal(robot.inverse_dynamics(*state, parameters=same), expected)
    other = robot.inverse_dynamics(*state, parameters={first: 2, second: 0.1})
    np.testing.assert_array_equal(other, robot.inverse_dynamics(*state, parameters={first: 2.0, second: 0.1}))
    assert not np.array_equal(other, expected)
    assert np.isnan(robot.inverse_dynamics(*state, parameters={first: np.nan, second: 0.1})).any()
    with pytest.raises(kt.ModelError, match="no body has a negative mass"):
        robot.inverse_dynamics(*state, parameters={first: -1.0, second: 0.1})
    with pytest.raises(kt.ShapeError, match="must be an array of numbers"):
        robot.inverse_dynamics(*state, parameters={first: "heavy", second: 0.1})


def test_what_is_no_negative_mass_goes_through(robot):
    """Zero and NaN, first moments and products of any sign, and all numbers of a robot whose parameters are grouped."""
    q = np.ones((2, 2))
    tau = robot.inverse_dynamics(q, q, q, parameters={"lower.M": [0.0, np.nan], "lower.MX": -4.0, "lower.XY": -1.0})
    assert np.isfinite(tau[0]).all()
    assert np.isnan(tau[1]).any()
    grouped = robot.with_parameters({"lower.M": -2.0}, physical=False)
    expected = grouped.inverse_dynamics(q, q, q)
    assert np.allclose(grouped.inverse_dynamics(q, q, q, parameters=grouped.parameters()), expected, rtol=1e-13)
    assert np.allclose(robot.regressor(q, q, q) @ grouped.parameters().values, expected, rtol=1e-12)
    with pytest.raises(kt.ModelError, match=r"with_parameters\(\.\.\., physical=False\)"):
        robot.inverse_dynamics(q, q, q, parameters=grouped.parameters())


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("lid.mass", "bodies.lid.mass"), ("lid.com", "bodies.lid.com"), ("gas.rest", "tendons.gas.rest"),
        ("O.position", "joints.O.position"), ("H.position", "frames.H.position"), ("lid.m", "lid.M"),
    ],
)  # fmt: skip
def test_a_property_without_its_table_is_told_its_whole_name(given, meant):
    lid = kt.linkage(
        points={"O": (0, 0), "H": (1, 0), "P": (0.25, 0), "G": (0.1, -0.4)},
        bars={"lid": {"points": "O H P", "mass": 12}},
        springs={"gas": {"between": "G P", "stiffness": 1000.0}}, ground="O G", motor="O",
    )  # fmt: skip
    with pytest.raises(kt.UnknownNameError, match=f"did you mean '{meant}'"):
        lid.mass_matrix([0.0], parameters={given: 1.0})
