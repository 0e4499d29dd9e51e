import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.identification import drive_gains, identify_payload
from kinetree.model.parameters import OF_BODIES

LOAD = kt.MassProperties.of(2.0, (0.3, 0.0, 0.05), (0.01, 0.02, 0.02))
FREE = two_links().with_parameters({"upper_joint.friction": 0.2, "lower_joint.damping": 0.1})


def measured(robot, seed, gains=1.0, noise=0.01):
    rng = np.random.default_rng(seed)
    t, q, v, a = fourier(2, rng, 20.0, rate=200.0)
    tau = robot.inverse_dynamics(q, v, a, friction=True) + noise * rng.standard_normal(q.shape)
    return kt.Measured(t, q, tau / gains, v)


def test_a_payload_is_the_difference():
    carried = FREE.with_payload("lower", LOAD)
    found = identify_payload(two_links(), measured(FREE, 0), measured(carried, 1), "lower", friction="coulomb")
    moments = 2.0 * np.array([0.3, 0.05])
    assert found.values[[6, 8]] == pytest.approx(moments, abs=0.02)
    assert found.errors.max() < 0.05
    with pytest.raises(kt.UnknownNameError, match="lower"):
        identify_payload(two_links(), measured(FREE, 0), measured(carried, 1), "lowr", friction="coulomb")


def test_a_payload_may_be_asked_for_on_a_frame():
    """The same load, described in the frame's axes: as with_payload takes it."""
    b = kt.Builder("one")
    b.body("arm", "base", kt.Revolute("y"), mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    b.body("hand", "arm", kt.Revolute("z"), mass=0.5, com=(0.1, 0, 0), inertia=(0.01,) * 3, position=(0.4, 0, 0))
    b.frame("tool", "hand", position=(0.3, 0.1, 0.0), rpy=(0.0, 0.0, np.pi / 2))
    robot = b.build()
    carried = robot.with_payload("tool", LOAD)
    motions = measured(robot, 0, noise=1e-6), measured(carried, 1, noise=1e-6)
    options = {"friction": "none", "consistent": None}
    on_frame = identify_payload(robot, *motions, "tool", **options)
    on_body = identify_payload(robot, *motions, "hand", **options)
    assert on_frame.mass_properties.mass == pytest.approx(2.0, rel=1e-2)
    np.testing.assert_allclose(on_frame.mass_properties.com[:2], LOAD.com[:2], atol=2e-3)
    pose = robot.frame("tool").pose
    again = on_body.mass_properties.moved(pose.inverse())
    np.testing.assert_allclose(on_frame.mass_properties.com, again.com, atol=1e-9)
    lines = str(on_frame).splitlines()
    assert lines[1] == "about the origin of 'tool', along its axes:"
    assert [line.rpartition(" ")[2] for line in lines[-2:]] == ["m", "kg"]
    for said in (lambda: robot.body("tool"), lambda: robot.with_parameters({"bodies": {"tool": {"mass": 1.0}}})):
        with pytest.raises(kt.UnknownNameError, match="'tool' is a frame on 'hand'"):
            said()


def test_a_flange_of_some_grams_does_not_hold_the_load_near_itself():
    """What the motion tells clearly, moments and inertia about the joint, comes out within its deviation."""
    names = two_links().parameters().names
    light = FREE.with_parameters({n: 1e-3 * FREE.parameters()[n] for n in names if n.startswith("lower.")})
    carried = light.with_payload("lower", LOAD)
    found = identify_payload(light, measured(light, 0), measured(carried, 1), "lower", friction="coulomb")
    told = [OF_BODIES.index(symbol) for symbol in ("YY", "MX", "MZ", "M")]
    truth = np.array([0.02 + 2.0 * (0.3**2 + 0.05**2), 0.6, 0.1, 2.0])
    assert (np.abs(found.values[told] - truth) < 4.0 * found.deviations[told] + 1e-3).all()
    assert (found.deviations[told] < 0.05 * truth).all()
    assert np.isnan(found.deviations[OF_BODIES.index("XX")])
    assert found.mass_properties.inertia[1] == pytest.approx(0.02, abs=0.01)
    assert f"a load of {found.mass_properties.mass:.4g} kg at (" in str(found)


def test_a_poor_motion_without_the_load_is_part_of_the_deviations():
    """The load is a difference: what is not known of the body alone is not known of the load, either."""
    carried, told = FREE.with_payload("lower", LOAD), [OF_BODIES.index(symbol) for symbol in ("YY", "MX", "MZ")]
    truth = np.array([0.02 + 2.0 * (0.3**2 + 0.05**2), 0.6, 0.1])
    off = []
    for seed in range(3):
        motions = measured(FREE, 2 * seed, noise=1.0), measured(carried, 2 * seed + 1, noise=0.01)
        found = identify_payload(two_links(), *motions, "lower", friction="coulomb")
        off.append((found.values[told] - truth) / found.deviations[told])
    assert 0.2 < np.sqrt(np.mean(np.square(off))) < 3.0


def test_a_known_load_tells_the_gains():
    gains = np.array([20.0, 8.0])
    carried = FREE.with_payload("lower", LOAD)
    found = drive_gains(two_links(), measured(FREE, 0, gains, 1e-3), measured(carried, 1, gains, 1e-3), LOAD, "lower")
    assert found == pytest.approx(gains, rel=0.02)
