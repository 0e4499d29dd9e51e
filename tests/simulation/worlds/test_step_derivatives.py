"""Derivatives of whole steps: closed forms, and differences of the steps themselves."""

import numpy as np
import pytest

import kinetree as kt


def compiled(builder):
    return kt.Robot(builder.build().model, backend="compiled")


def cart():
    return compiled(kt.Builder("cart").body("cart", "base", kt.Prismatic("x"), mass=2.0))


@pytest.mark.parametrize(("integrator", "travel"), [("semi_implicit_euler", 0.5 * 4 * 5), ("rk4", 0.5 * 4 * 4)])
def test_a_cart_goes_as_far_as_its_integrator_says(integrator, travel):
    h, n = 0.01, 4
    world = kt.World(cart(), batch=3, step=h, substeps=n, integrator=integrator, q0=[0.3], v0=[0.2])
    stepped, by_state, by_action = world.step_with_derivatives([1.5])
    assert np.allclose(by_state, [[1.0, n * h], [0.0, 1.0]], atol=1e-15)
    assert np.allclose(by_action, [[travel * h * h / 2.0], [n * h / 2.0]], atol=1e-15)
    assert not stepped.ended.any()
    assert np.isclose(world.v[0, 0], 0.2 + n * h * 1.5 / 2.0)


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "implicit_euler"])
def test_derivatives_are_what_differences_of_steps_come_to(integrator):
    b = kt.Builder("hopper").body("trunk", "base", kt.Free(), mass=2.0, inertia=(0.02, 0.03, 0.04), com=(0.02, 0, 0.01))
    b.body("leg", "trunk", kt.Revolute("y"), mass=0.4, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.002), damping=0.1)
    robot = compiled(b.frame("foot", "leg", (0, 0, -0.4)))
    ground = kt.ground.Ground(["foot"], kt.ground.HuntCrossley(1e5, 0.5), kt.ground.PseudoCoulomb(0.7, 100.0))
    q, v = robot.integrate(robot.neutral(), [0.1, -0.2, 0.3, 0, 0, 0, 0.4]), np.linspace(-0.6, 0.5, 7)
    q[6] -= robot.pose(q, "foot")[2, 3] + 6e-3  # the foot is in the ground

    def world(batch):
        return kt.World(
            robot, batch=batch, step=1e-3, substeps=5, integrator=integrator, ground=ground, q0=q, v0=v,
            action=kt.control.Commanded("position", kp=30.0, kd=1.0),
        )  # fmt: skip

    one, many, eps = world(2), world(30), 1e-6
    d = eps * np.vstack([np.eye(15), -np.eye(15)])
    many.reset(q=robot.integrate(q, d[:, :7]), v=v + d[:, 7:14])
    many.step(0.7 + d[:, 14:])
    _, by_state, by_action = one.step_with_derivatives([0.7])
    assert by_state.shape == (2, 14, 14)
    assert np.array_equal(by_state[0], by_state[1])
    assert one.contact_forces[0, 0, 2] > 1.0
    ends = np.hstack([robot.difference(one.q[0], many.q), many.v])
    expected = ((ends[:15] - ends[15:]) / (2.0 * eps)).T
    found = np.hstack([by_state[0], by_action[0]])
    assert np.abs(found - expected).max() < 1e-7 * np.abs(expected).max()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"robot": "four-bar", "q0": kt.gallery.start("four-bar")}, "mechanisms with loops"),
        ({"random": {"delay": kt.Uniform(0.0, 0.1)}}, "depends on earlier actions"),
    ],
)
def test_steps_that_are_not_differentiated_say_so(options, said):
    world = kt.World(**{"robot": cart(), **options})
    with pytest.raises(kt.UnsupportedError, match=said):
        world.step_with_derivatives([0.0])
