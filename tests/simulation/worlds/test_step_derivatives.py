"""Derivatives of whole steps and of rollouts: closed forms, differences, and matrices against gradients."""

import numpy as np
import pytest

import kinetree as kt

PERIOD = {"step": 1e-3, "substeps": 4}
FEET = [f"{end}_{side}_tip" for end in ("front", "rear") for side in ("left", "right")]


def compiled(builder):
    return kt.Robot(builder.build().model, backend="compiled")


def cart():
    return compiled(kt.Builder("cart").body("cart", "base", kt.Prismatic("x"), mass=2.0))


def hopper(integrator="semi_implicit_euler", **options):
    """A foot in the ground below a floating trunk, with numbers of all kinds that may vary."""
    b = kt.Builder("hopper").body("trunk", "base", kt.Free(), mass=2.0, inertia=(0.02, 0.03, 0.04), com=(0.02, 0, 0.01))
    b.body("leg", "trunk", kt.Revolute("y"), mass=0.4, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.002), damping=0.1)
    robot = compiled(b.frame("foot", "leg", (0, 0, -0.4)))
    ground = kt.ground.Ground(["foot"], kt.ground.HuntCrossley(1e5, 0.5), kt.ground.PseudoCoulomb(0.7, 100.0))
    q, v = robot.integrate(robot.neutral(), [0.1, -0.2, 0.3, 0, 0, 0, 0.4]), np.linspace(-0.6, 0.5, 7)
    q[6] -= robot.pose(q, "foot")[2, 3] + 6e-3
    defaults = {
        "action": kt.control.Commanded("position", kp=30.0, kd=1.0),
        "parameters": {"bodies": {"leg": {"mass": 0.4}}},
    }
    return kt.World(robot, integrator=integrator, ground=ground, q0=q, v0=v, **PERIOD, **(defaults | options))


def balls(integrator):
    b = kt.Builder("balls").body("a", "base", kt.Spherical(), mass=1.0, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.01))
    b.body("b", "a", kt.Universal("XY"), position=(0, 0, -0.6), mass=0.5, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.01))
    b.body("c", "b", kt.Spherical(), position=(0, 0, -0.4), mass=0.3, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.01),
           stiffness=2.0)  # fmt: skip
    robot, rng = compiled(b), np.random.default_rng(1)
    return kt.World(robot, integrator=integrator, **PERIOD, q0=robot.random_configuration(rng),
                    v0=rng.standard_normal(robot.nv))  # fmt: skip


def follower():
    b = kt.Builder("follower")
    b.body("a", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.01), joint_name="lead")
    b.body("b", "a", kt.Revolute("y"), position=(0, 0, -0.5), mass=0.5, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.01),
           mimic=kt.Mimic("lead", 2.0))  # fmt: skip
    return kt.World(compiled(b), q0=[0.3], v0=[0.5], **PERIOD)


def sprung():
    """An arm with a controller that has states, a spring between two of its bodies, and stops."""
    b = kt.Builder("arm")
    for k, parent in enumerate(("base", "body_0", "body_1")):
        b.body(f"body_{k}", parent, kt.Revolute("xyx"[k]), position=(0.3, 0, 0), mass=1.0 + k, com=(0.1, 0.02, 0.05),
               inertia=(0.02, 0.03, 0.01), lower=-0.2, upper=0.2)  # fmt: skip
    spring = kt.forces.PointSpring(("body_2", (0.1, 0, 0)), ("body_0", (0.2, 0, 0.1)), stiffness=500.0, damping=5.0)
    held = kt.control.PID(kt.trajectories.Constant(np.zeros(3)), kp=5.0, ki=2.0, kd=0.1)
    forces = [spring, kt.forces.JointStops()]
    return kt.World(compiled(b), integrator="implicit_euler", controller=held, forces=forces, **PERIOD,
                    q0=[0.1, 0.21, -0.3], v0=[0.4, -0.5, 0.1])  # fmt: skip


def mechanism(name, **options):
    return kt.World(kt.load(name).with_backend("compiled"), q0=kt.gallery.start(name), **PERIOD, **options)


def quadruped():
    ground = kt.ground.Ground(FEET, kt.ground.HuntCrossley(5e3, 1.0, exponent=1), kt.ground.PseudoCoulomb(0.8, 50.0))
    standing = [0, 0, 0, 0, 0, 0.6 * np.cos(0.5) - 0.01, *[0.0, -0.5, 1.0] * 4]
    return kt.World(
        kt.load("quadruped").with_backend("compiled"), integrator="implicit_euler", **PERIOD, ground=ground,
        action=kt.control.Commanded("position", kp=200.0, kd=8.0), q0=standing, v0=np.full(18, 0.1),
    )  # fmt: skip


def crate():
    """A box with one edge in the ground, which slides and turns."""
    b = kt.Builder("crate").shape("base", kt.shapes.HalfSpace(), rpy=(0.1, 0.2, 0))
    b.body("crate", "base", kt.Free(), mass=2.0, inertia=(0.02, 0.03, 0.04))
    robot = compiled(b.shape("crate", kt.shapes.Box((0.3, 0.2, 0.1)), friction=0.5, torsional_friction=0.01))
    contact = kt.forces.ShapeContact.of(robot, normal=kt.ground.HuntCrossley(2e4, 0.5, exponent=1), shear_time=5e-3)
    q = robot.integrate(robot.neutral(), [0.1, 0.25, 0.3, 0, 0, 0.07])
    return kt.World(robot, integrator="implicit_euler", ground=contact, q0=q, v0=np.linspace(-0.6, 0.5, 6), **PERIOD)


WORLDS = {
    "a hopper": (hopper, ("kp", "motor_strength", "ground.friction", "bodies.leg.mass"), 1e-6),
    "a hopper, implicit": (lambda: hopper("implicit_euler"), ("kd", "ground.stiffness", "bodies.leg.mass"), 1e-6),
    "a hopper, rk4": (lambda: hopper("rk4"), ("kp", "ground.friction"), 1e-6),
    "balls": (lambda: balls("semi_implicit_euler"), (), 1e-8),
    "balls, dopri5": (lambda: balls("dopri5"), (), 1e-8),
    "a follower": (follower, (), 1e-8),
    "springs": (sprung, ("controller.kp", "controller.ki", "forces[0].stiffness"), 1e-5),
    "a four-bar": (lambda: mechanism("four-bar"), (), 1e-8),
    "a four-bar, implicit": (lambda: mechanism("four-bar", integrator="implicit_euler"), (), 1e-8),
    "a crate": (crate, ("ground.stiffness", "ground.shear_time"), 1e-6),
    "a quadruped": (quadruped, ("kp",), 1e-6),
    "a delta": (lambda: mechanism("delta"), (), 1e-7),
}  # fmt: skip
SLOW = ("a quadruped", "a crate", "a delta", "a hopper, rk4", "balls, dopri5")


def moved(world, state, dx):
    """Return a state moved along its freedoms, velocities and further states."""
    nq, nv = world.robot.nq, world.robot.nv
    q = world.robot.integrate(state[..., :nq], dx[..., :nv])
    return np.concatenate([q, state[..., nq:] + dx[..., nv:]], axis=-1)


def apart(world, a, b):
    nq = world.robot.nq
    return np.concatenate([world.robot.difference(a[..., :nq], b[..., :nq]), b[..., nq:] - a[..., nq:]], axis=-1)


def changed(world, numbers):
    """Make numbers of a world others, as its own steps read them."""
    for name, more in numbers.items():
        world._numbers[:, world._named[name]] += more


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in WORLDS])
def test_matrices_are_what_differences_and_gradients_come_to(name):
    make, parameters, tolerance = WORLDS[name]
    world, rng, eps = make(), np.random.default_rng(0), 1e-6
    x, u = world.state[0].copy(), world._resting(world.q)[0] + 0.1 * rng.standard_normal(world.action_size)
    found = world.transition(x, u, parameters=parameters)
    for _ in range(3):
        dx, du = rng.standard_normal(found.by_state.shape[-1]), rng.standard_normal(u.shape)
        dp = {key: rng.uniform(0.5, 1.0) * world.numbers[key][0] for key in parameters}
        ends = []
        for sign in (eps, -eps):
            changed(world, {key: sign * d for key, d in dp.items()})
            ends.append(apart(world, found.state, world.transition(moved(world, x, sign * dx), u + sign * du).state))
            changed(world, {key: -sign * d for key, d in dp.items()})
        expected = (ends[0] - ends[1]) / (2.0 * eps)
        got = found.by_state @ dx + found.by_action @ du + sum(found.by_parameters[key] @ d for key, d in dp.items())
        assert np.abs(got - expected).max() < tolerance * np.abs(expected).max()
    weights = rng.standard_normal((1, found.by_state.shape[-1]))
    back = world.rollout(u[None]).gradient(states=weights, parameters=parameters)
    pairs = [(back.start, found.by_state), (back.actions[0], found.by_action)]
    pairs += [(back.parameters[key], found.by_parameters[key]) for key in parameters]
    for gradient, matrix in pairs:
        assert np.allclose(gradient, weights @ matrix, rtol=1e-10, atol=1e-11 * np.abs(matrix).max(initial=1.0))


@pytest.mark.parametrize(("integrator", "travel"), [("semi_implicit_euler", 0.5 * 4 * 5), ("rk4", 0.5 * 4 * 4)])
def test_a_cart_goes_as_far_as_its_integrator_says(integrator, travel):
    h, n = 0.01, 4
    world = kt.World(cart(), batch=3, step=h, substeps=n, integrator=integrator, q0=[0.3], v0=[0.2])
    stepped, by_state, by_action = world.step_with_derivatives([1.5])
    assert np.allclose(by_state, [[1.0, n * h], [0.0, 1.0]], atol=1e-15)
    assert np.allclose(by_action, [[travel * h * h / 2.0], [n * h / 2.0]], atol=1e-15)
    assert not stepped.ended.any()
    assert np.isclose(world.v[0, 0], 0.2 + n * h * 1.5 / 2.0)


@pytest.mark.parametrize("make", [hopper, lambda **options: mechanism("four-bar", **options)])
def test_steps_have_the_same_bits_with_derivatives_and_without_in_any_batch(make):
    one, many, plain, threads = (make(**o) for o in ({}, {"batch": 21}, {"batch": 21}, {"batch": 21, "threads": 2}))
    actions = 0.1 * np.random.default_rng(0).standard_normal((2, 21, plain.action_size))
    for action in actions:
        stepped = plain.step(action)
        found, wide = many.step_with_derivatives(action), threads.step_with_derivatives(action)
        alone = one.step_with_derivatives(action[:1])
        for x, y, z in zip(found[1:], wide[1:], alone[1:], strict=True):
            assert np.array_equal(x, y)
            assert np.array_equal(x[:1], z)
        assert np.array_equal(many.state, plain.state)
        assert np.array_equal(threads.state, plain.state)
        assert np.array_equal(found.stepped.ended, stepped.ended)
    kept, again = (make(batch=21).rollout(actions, keep=keep).gradient(states=np.ones(found.by_state.shape[-1]))
                   for keep in (True, False))  # fmt: skip
    assert np.array_equal(kept.actions, again.actions)
    assert np.array_equal(kept.start, again.start)


def test_nodes_of_a_plan_are_one_call():
    world, rng = hopper(), np.random.default_rng(1)
    x = moved(world, np.tile(world.state, (2, 5, 1)), 1e-2 * rng.standard_normal((2, 5, 14)))
    u = rng.standard_normal((5, 1))
    found = world.transition(x, u)
    before = world.state.copy()
    assert found.by_state.shape == (2, 5, 14, 14)
    assert found.by_action.shape == (2, 5, 14, 1)
    alone = world.transition(x[1, 3], u[3])
    assert np.array_equal(alone.by_state, found.by_state[1, 3])
    assert np.array_equal(alone.state, found.state[1, 3])
    assert np.array_equal(world.state, before)


def rewarded(**options):
    return hopper(
        reward=lambda m: m.place("foot").z * m.v[3] - 0.1 * m.action[0] ** 2 + 0.2 * m.action[0] * m.previous_action[0],
        **options,
    )


@pytest.mark.parametrize("delay", [0.0, 0.0021, 0.0065])
def test_the_gradient_of_a_rollout_is_what_differences_of_rollouts_come_to(delay):
    rng, eps = np.random.default_rng(3), 1e-6
    servo = kt.control.Commanded("position", kp=30.0, kd=1.0, delay=delay)
    actions, weights = 0.4 + 0.1 * rng.standard_normal((5, 2, 1)), rng.standard_normal((6, 2, 14))
    world = rewarded(batch=2, action=servo)
    begin = world.state.copy()
    rollout = world.rollout(actions)
    found = rollout.gradient(weights, rewards=0.7, parameters=("kp", "bodies.leg.mass"))
    dx, du, dp = rng.standard_normal(14), rng.standard_normal(actions.shape), {"kp": 3.0, "bodies.leg.mass": 0.1}
    sums = []
    for sign in (eps, -eps):
        world.reset()
        world._state[:] = moved(world, begin, sign * dx)  # but not what servos hold until the first action arrives
        changed(world, {key: sign * d for key, d in dp.items()})
        other = world.rollout(actions + sign * du)
        changed(world, {key: -sign * d for key, d in dp.items()})
        sums.append((weights * apart(world, rollout.states, other.states)).sum((0, 2)) + 0.7 * other.rewards.sum(0))
    expected = (sums[0] - sums[1]) / (2.0 * eps)
    got = found.start @ dx + (found.actions * du).sum((0, 2))
    got += sum(found.parameters[key][:, 0] * d for key, d in dp.items())
    assert np.allclose(got, expected, rtol=1e-5)


def test_actions_that_arrive_late_have_their_share():
    world, eps = hopper(batch=2, action=kt.control.Commanded("position", kp=30.0, delay=0.0065)), 1e-6
    actions, begin = np.array([[0.3], [0.5], [0.2]]), None

    def end(ago, change):
        world.reset()
        for k, action in enumerate(actions[:2]):
            world.step(action + change * (k == 2 - ago))
        if begin is not None:  # only what is still on its way differs
            world._state[:] = begin
        return world.step_with_derivatives(actions[2])

    world.reset()
    for action in actions[:2]:
        world.step(action)
    begin = world.state.copy()
    found = end(0, 0.0)
    assert not found.by_action.any()
    assert found.by_earlier.shape == (2, 2, 14, 1)
    for ago in (1, 2):
        ends = []
        for sign in (eps, -eps):
            end(ago, sign)
            ends.append(world.state.copy())
        change = apart(world, ends[1], ends[0]) / (2.0 * eps)
        assert np.abs(change).max() > 1e-4
        assert np.abs(found.by_earlier[:, ago - 1, :, 0] - change).max() < 1e-6 * np.abs(change).max()


def test_a_policy_is_differentiated_through():
    world, eps = kt.World(cart(), q0=[0.3], v0=[0.2], step=0.01, substeps=2), 1e-6

    def end(gain):
        world.reset()
        return world.rollout(lambda k, state: -gain * state[:, :1] - 0.5 * state[:, 1:], steps=8)

    gain, rollout, by_gain = 2.0, end(2.0), []

    def policy(k, by_action):
        by_gain.append(-by_action * rollout.states[k, :, :1])
        return np.concatenate([-gain * by_action, -0.5 * by_action], axis=-1)

    rollout.gradient(states=[1.0, 0.0], policy=policy)
    expected = (end(gain + eps).states[-1, 0, 0] - end(gain - eps).states[-1, 0, 0]) / (2.0 * eps)
    assert np.isclose(np.sum(by_gain), expected, rtol=1e-7)


def test_worlds_that_are_lost_have_no_derivatives_and_others_do():
    world = kt.World(cart(), batch=2)
    found = world.step_with_derivatives([[np.nan], [1.0]])
    assert np.isnan(found.by_action[0]).any() or found.stepped.lost[0]
    assert np.isfinite(found.by_state[1]).all()
    assert world.rollout([[[0.0], [1.0]]]).gradient([0.0, 1.0]).actions[0, 1] > 0.0


@pytest.mark.parametrize(
    ("ask", "kind", "said"),
    [
        (lambda w: w.step_with_derivatives([0.0], parameters=["mass"]), kt.UnknownNameError, "motor_strength"),
        (lambda w: w.transition([0.0], [0.0]), kt.ShapeError, r"\(\.\.\., 2\)"),
        (lambda w: w.transition(np.zeros((3, 2)), np.zeros((4, 1))), kt.ShapeError, "do not fit together"),
        (lambda w: w.rollout([1.0]), kt.ShapeError, r"\(steps, 2, 1\)"),
        (lambda w: w.rollout(lambda k, state: [0.0]), kt.OptionError, "steps="),
        (lambda w: w.rollout(np.zeros((3, 1))).gradient(rewards=1.0), kt.OptionError, "no reward"),
        (lambda w: w.rollout(np.zeros((3, 1))).gradient(states=np.zeros(5)), kt.ShapeError, "2 numbers each"),
        (lambda w: w.rollout(np.zeros((3, 1))).gradient(states=np.zeros((7, 2, 2))), kt.ShapeError, r"\(4, 2, 2\)"),
    ],
)
def test_what_cannot_be_differentiated_says_so(ask, kind, said):
    with pytest.raises(kind, match=said):
        ask(kt.World(cart(), batch=2))


@pytest.mark.parametrize(
    ("robot", "options", "said"),
    [
        (lambda: cart().with_backend("reference"), {}, "not machine code"),
        (cart, {"random": {"delay": kt.Uniform(0.0, 0.1)}}, "earlier actions"),
    ],
)
def test_transitions_that_are_not_differentiated_say_so(robot, options, said):
    world = kt.World(robot(), **options)
    with pytest.raises(kt.UnsupportedError, match=said):
        world.transition([0.0, 0.0], [0.0])
