"""Every term of printed equations of motion, beside numbers: springs, tendons, rotors, friction, followers, loops.

Numbers are those of the spanning tree's methods, and of energies differentiated along a motion.
"""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt

sp = pytest.importorskip("sympy")

ROD = {"mass": 1.5, "com": (0.25, 0.1, 0.0), "inertia": (0.01, 0.02, 0.03)}
MOTOR = {"rotor_inertia": 0.02, "gear_ratio": 5.0, "damping": 0.3, "friction": 0.2}
SPRING = {"stiffness": 4.0, "spring_rest": 0.3}


def sprung_arm():
    """Hinges and a slide with springs, rotors and friction."""
    b = kt.Builder("sprung arm", gravity=(0.5, -9.81, 0.25))
    b.body("upper", "base", kt.Revolute("z"), **ROD, **MOTOR, **SPRING)
    b.body("lower", "upper", kt.Revolute("y"), position=(0.5, 0, 0), **ROD, **SPRING)
    return b.body("hand", "lower", kt.Prismatic("x"), position=(0.5, 0, 0), mass=0.5, **MOTOR, **SPRING).build()


def sprung_ball():
    """A quaternion with a spring."""
    b = kt.Builder("sprung ball", gravity=(0, 0, -9.81))
    return b.body("ball", "base", kt.Spherical(), **ROD, stiffness=(2.0, 2.0, 2.0)).build()


def arm_with_tendons():
    """A tendon along joints, one between two points, one that is slack between two lengths; springs and dampers."""
    b = kt.Builder("tendons", gravity=(0, -9.81, 0))
    b.body("upper", "base", kt.Revolute("z"), **ROD, **MOTOR)
    b.body("lower", "upper", kt.Revolute("z"), position=(0.5, 0, 0), **ROD, **SPRING)
    b.tendon("belt", joints={"upper_joint": 1.0, "lower_joint": -0.5}, stiffness=3.0, rest=0.1, damping=0.2)
    ends = [("base", (0.1, 0.3, 0)), ("lower", (0.4, 0.1, 0))]
    b.tendon("muscle", points=ends, stiffness=50.0, rest=0.4, damping=0.5)
    return b.tendon("rubber", points=ends, stiffness=20.0, rest=(0.1, 0.2)).build()


def with_a_follower():
    """A joint that mimics another, with a spring and a rotor."""
    b = kt.Builder("follower", gravity=(0, -9.81, 0))
    b.body("upper", "base", kt.Revolute("z"), **ROD, **MOTOR, **SPRING)
    mimic = kt.Mimic("upper_joint", ratio=-2.0, offset=0.1)
    return b.body("lower", "upper", kt.Revolute("z"), position=(0.5, 0, 0), mimic=mimic, **ROD, **SPRING).build()


def sprung_four_bar():
    """A loop, with springs, rotors and a tendon."""
    b = kt.Builder("sprung four-bar", gravity=(0, -9.81, 0))
    b.body("crank", "base", kt.Revolute("z"), **ROD, **MOTOR, **SPRING)
    b.body("coupler", "crank", kt.Revolute("z"), position=(0.4, 0, 0), actuated=False, **ROD, **SPRING)
    b.body("rocker", "base", kt.Revolute("z"), position=(1, 0, 0), actuated=False, **ROD, **MOTOR)
    b.tendon("muscle", points=[("base", (0, 0.5, 0)), ("coupler", (0.4, 0.1, 0))], stiffness=30.0, rest=0.3)
    b.loop("pin", "coupler", "rocker", kt.Revolute("z"), placement=(0.9, 0, 0), seat=(0.7, 0, 0))
    return b.build()


def geared_arm():
    """Two hinges that a gear couples by a polynomial, with springs."""
    b = kt.Builder("geared arm", gravity=(0, -9.81, 0))
    b.body("upper", "base", kt.Revolute("z"), **ROD, **MOTOR, **SPRING)
    b.body("lower", "upper", kt.Revolute("z"), position=(0.5, 0, 0), actuated=False, **ROD, **SPRING)
    return b.coupling("gear", "lower_joint", "upper_joint", polynomial=[0.1, -2.0, 0.3]).build()


MECHANISMS = [sprung_four_bar, geared_arm]
ROBOTS = [sprung_arm, sprung_ball, arm_with_tendons, with_a_follower, *MECHANISMS]


def state_of(robot, seed=3):
    """A random state; of a mechanism it need not be closed, for these are the equations of its spanning tree."""
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), rng.uniform(0.3, 0.9, robot.nv))
    return q, rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def numbers(equations, state, value):
    """Put numbers into an expression, which is as it is printed."""
    symbols = [*equations.q, *equations.v, *equations.a]
    return np.array(sp.lambdify(symbols, value, cse=True)(*np.concatenate(state).tolist()), dtype=float)


@pytest.mark.parametrize("make", ROBOTS)
def test_every_term_is_what_numbers_say(make):
    """Springs were in c and in g."""
    robot = make()
    tree = robot.tree if robot.model.is_constrained else robot
    e, state = robot.equations(simplify=False), state_of(robot)
    q, v, a = state
    wanted = {
        "mass_matrix": tree.mass_matrix(q),
        "coriolis": tree.bias_force(q, v) - tree.gravity_force(q),
        "gravity": tree.gravity_force(q),
        "bias": tree.bias_force(q, v),
        "kinetic_energy": tree.kinetic_energy(q, v),
        "potential_energy": tree.potential_energy(q),
        "coriolis_matrix": tree.coriolis_matrix(q, v),
        "tree_tau" if robot.model.is_constrained else "tau": tree.inverse_dynamics(q, v, a),
    }
    found = {name: numbers(e, state, getattr(e, name)) for name in wanted}
    for name, value in wanted.items():
        shaped = found[name].reshape(np.shape(value))
        np.testing.assert_allclose(shaped, value, rtol=0, atol=1e-12 * np.abs(value).max(), err_msg=name)
    # what is printed is M a + c + g = tau
    whole = found["mass_matrix"] @ a + found["coriolis"].ravel() + found["gravity"].ravel()
    np.testing.assert_allclose(whole, tree.inverse_dynamics(q, v, a), rtol=1e-12)
    np.testing.assert_allclose(found["coriolis"].ravel(), found["coriolis_matrix"] @ v, atol=1e-12)


@pytest.mark.parametrize("make", ROBOTS)
def test_forces_are_slopes_of_energies(make):
    """By work along a motion: g v = dV/dt, and (M a + c) v = dT/dt; what numbers and symbols share is not trusted."""
    robot = make()
    tree = robot.tree if robot.model.is_constrained else robot
    e, state = robot.equations(simplify=False), state_of(robot)
    q, v, a = state
    h = 1e-5
    ahead, behind = (tree.integrate(q, s * h * v + 0.5 * h * h * a) for s in (1.0, -1.0))
    stored = (tree.potential_energy(ahead) - tree.potential_energy(behind)) / (2 * h)
    assert float(numbers(e, state, e.gravity).ravel() @ v) == pytest.approx(stored, rel=1e-7)
    moving = (tree.kinetic_energy(ahead, v + h * a) - tree.kinetic_energy(behind, v - h * a)) / (2 * h)
    pushed = numbers(e, state, e.mass_matrix) @ a + numbers(e, state, e.coriolis).ravel()
    assert float(pushed @ v) == pytest.approx(moving, rel=1e-7)


@pytest.mark.parametrize("make", MECHANISMS)
def test_constraints_are_what_numbers_say(make):
    robot = make()
    e, state = robot.equations(simplify=False), state_of(robot)
    q, v, _ = state
    rows = [robot.constraint_names.index(name) for name in e.constraint_names]
    np.testing.assert_allclose(numbers(e, state, e.constraints).ravel(), robot.loop_gaps(q)[rows], atol=1e-13)
    np.testing.assert_allclose(numbers(e, state, e.jacobian), robot.loop_jacobian(q)[rows], atol=1e-13)
    np.testing.assert_allclose(numbers(e, state, e.drift).ravel(), robot.loop_drift(q, v)[rows], atol=1e-12)


@pytest.mark.parametrize("make", MECHANISMS)
def test_equations_of_a_mechanism_hold_with_springs(make):
    """Of a motion that loops and springs cause: M a + c + g - K^T lambda is what the motors gave."""
    robot = make()
    q = robot.assembled()
    v = robot.velocities(q, [0.7])
    tau = 1.3 * np.eye(robot.nv)[0]
    a = robot.forward_dynamics(q, v, tau)
    pulls = dict(zip(robot.constraint_names, robot.multipliers(q, v, tau), strict=True))
    e = robot.equations(simplify=False)
    given = dict(zip(e.multipliers, (pulls[name] for name in e.constraint_names), strict=True))
    np.testing.assert_allclose(numbers(e, (q, v, a), e.tau.subs(given)).ravel(), tau, atol=1e-11)


@pytest.mark.parametrize("make", [sprung_arm, sprung_four_bar])
def test_every_printed_line_is_one_of_these_terms(make):
    robot = make()
    e = robot.equations()
    page = e.latex()
    for letter, column in (("c", e.coriolis), ("g", e.gravity)):
        for i, term in enumerate(column):
            assert f"{letter}_{{{i + 1}}} &= {e._text(term)}" in page
    state = state_of(robot)
    tree = robot.tree if robot.model.is_constrained else robot
    for name, value in (("gravity", tree.gravity_force(state[0])), ("bias", tree.bias_force(*state[:2]))):
        np.testing.assert_allclose(numbers(e, state, getattr(e, name)).ravel(), value, rtol=1e-10, err_msg=name)


@pytest.mark.parametrize(
    ("typed", "simplified", "said"),
    [
        (["kuka-kr5"], False, "the equations of 6 freedoms are not simplified"),
        (["kuka-kr5", "--simplify"], True, ""),
        (["kuka-kr5", "--locked", "joint_4,joint_5,joint_6"], True, ""),
        (["two-link", "--no-simplify"], False, ""),
    ],
)
def test_the_command_line_simplifies_long_equations_only_on_request(typed, simplified, said, monkeypatch):
    from helpers.cli import invoke

    asked = []
    monkeypatch.setattr(kt.Robot, "equations", lambda robot, numbers, simplify: asked.append(simplify))
    answer = invoke("equations", *typed)
    assert asked == [simplified]
    assert said in answer.stderr
    assert bool(said) == ("simplified" in answer.stderr)


def test_equations_are_printed_as_text_on_the_command_line_too(tmp_path):
    from helpers.cli import invoke

    two = kt.load("two-link")
    text = str(two.equations(numbers="float"))
    lines = dict(line.rpartition(" = ")[::2] for line in text.splitlines() if "[" in line)
    assert set(lines) == {"M[1,1]", "M[1,2] = M[2,1]", "M[2,2]", "c[1]", "c[2]", "g[1]", "g[2]"}
    q, v = np.array([0.3, -0.7]), np.array([0.5, 1.1])
    values = dict(zip(("q1", "q2", "v1", "v2"), (*q, *v), strict=True))
    numbers = {left: float(sp.sympify(right.replace("^", "**")).subs(values)) for left, right in lines.items()}
    mass = two.mass_matrix(q)
    assert numbers["M[1,2] = M[2,1]"] == pytest.approx(mass[0, 1])
    assert numbers["c[1]"] + numbers["g[1]"] == pytest.approx(two.bias_force(q, v)[0])
    assert "q2, v2, a2: " + two.joint_names[1] in text
    assert invoke("equations", "two-link").stdout.strip() == text
    assert invoke("equations", "two-link", "--latex", "--exact").stdout.strip() == two.equations().latex()
    invoke("equations", "two-link", "-o", tmp_path / "two.tex")
    assert (tmp_path / "two.tex").read_text().strip() == two.equations(numbers="float").latex()
    raw = invoke("equations", "kuka-kr5", "--locked", "joint_3,joint_4,joint_5,joint_6", "--no-simplify").stdout
    assert "M(q) a + c(q, v) + g(q) = tau" in raw
    loops = str(kt.load("four-bar").equations(numbers="float"))
    assert "M(q) a + c(q, v) + g(q) = tau + K(q)^T lambda" in loops
    assert "phi[1] = " in loops
    assert "k[1] = " in loops


def test_equations_say_whose_friction_they_leave_out():
    b = kt.Builder("rough").body("a", "base", kt.Revolute("z"), joint_name="joint_a", mass=1, damping=0.3)
    own = b.body("b", "a", kt.Prismatic("x"), joint_name="slide", mass=1, friction=0.1).build()
    assert str(own.equations()).splitlines()[-1] == "friction of joint_a, slide is left out"
    assert r"\text{friction of joint\_a, slide is left out}" in own.equations().latex()
    smooth = own.with_parameters({"joints.joint_a.damping": 0.0, "joints.slide.friction": 0.0})
    assert "friction" not in str(smooth.equations()) + smooth.equations().latex()
