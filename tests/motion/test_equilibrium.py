"""Where robots come to rest, judged by closed forms, by energy, and by the dynamics."""

import numpy as np
import pytest
from scipy.optimize import brentq

import kinetree as kt
from helpers.loop_models import lamp


def test_a_flap_on_a_spring():
    b = kt.Builder("flap")
    spring = {"stiffness": 20.0, "actuated": False}
    b.body("flap", "base", kt.Revolute("y"), mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), **spring)
    flap, weight = b.build(), 9.81 * 0.5
    found = kt.equilibrium(flap, tau={"flap_joint": 3.0})
    assert found.q[0] == pytest.approx(brentq(lambda x: 20.0 * x - weight * np.cos(x) - 3.0, -1, 1), abs=1e-9)
    assert found.stiffness[0, 0] == pytest.approx(20.0 + weight * np.sin(found.q[0]), rel=1e-6)
    loose = flap.with_springs({"flap_joint": 0.0})
    assert kt.equilibrium(loose, [0.3]).q[0] == pytest.approx(np.pi / 2)  # it hangs
    upright = kt.equilibrium(loose, [-np.pi / 2])
    assert not upright.stable
    with pytest.raises(kt.OptionError, match="'flap_joint' is held"):
        kt.equilibrium(flap, held=["flap_joint"], tau={"flap_joint": 1.0})


def test_a_linkage_on_a_spring():
    bars = kt.load("four-bar").with_springs({"rocker_joint": 9.0}, {"rocker_joint": 1.3})
    start, still = kt.gallery.start("four-bar"), np.zeros(3)
    found = kt.equilibrium(bars, start, held=[])
    assert found.stable
    assert np.abs(bars.forward_dynamics(found.q, still, still)).max() < 1e-6

    def energy(crank):
        return float(bars.potential_energy(bars.close(found.q, fixed={"crank_joint": crank})))

    crank, h = found.q[0], 1e-3
    second = (energy(crank + h) - 2.0 * energy(crank) + energy(crank - h)) / h**2
    assert found.stiffness[0, 0] == pytest.approx(second * found.motions[0, 0] ** 2, rel=1e-4)
    held = kt.equilibrium(bars, start, held={"crank_joint": 0.3})
    assert held.q[0] == 0.3
    np.testing.assert_allclose(held.tau, bars.inverse_dynamics(held.q, still, still), atol=1e-9)


def test_what_falls_without_end_is_named():
    b = kt.Builder("stone")
    b.body("stone", "base", kt.Prismatic("z"), mass=1.0, actuated=False)
    with pytest.raises(kt.SingularError, match=r"'stone' does not come to rest .* most at 'stone_joint'"):
        kt.equilibrium(b.build())


def test_what_falls_on_its_stop_rests_there():
    b = kt.Builder("flap")
    b.body(
        "flap", "base", kt.Revolute("y"), mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), actuated=False, upper=0.4
    )
    b.body("tip", "flap", kt.Revolute("y"), position=(1, 0, 0), mass=0.2, com=(0.3, 0, 0), inertia=(0.01, 0.01, 0.01),
           actuated=False, lower=-2.5, upper=2.5)  # fmt: skip
    flap = b.build()
    found = kt.equilibrium(flap, [-1.0, 0.3])
    np.testing.assert_allclose(found.q, [0.4, np.pi / 2 - 0.4], atol=1e-9)  # the tip hangs
    push = -9.81 * np.cos(0.4) * (0.5 + 0.2)
    assert found.stops == pytest.approx({"flap_joint": push})
    assert found.tau[0] == pytest.approx(push)
    assert found.frequencies == pytest.approx(np.sqrt(0.2 * 0.3 * 9.81 / (0.01 + 0.2 * 0.3**2)) / (2 * np.pi), rel=1e-6)
    assert "flap_joint  stop" in str(found)
    hanging = kt.equilibrium(flap, [-1.0, 0.3], limits=False)
    np.testing.assert_allclose(hanging.q, [np.pi / 2, 0.0], atol=1e-6)
    assert hanging.stops == {}
    sprung = kt.equilibrium(flap.with_springs({"flap_joint": 40.0}), [0.9, 0.0])  # from beyond the stop
    assert sprung.stops == {}
    assert 0.1 < sprung.q[0] < 0.2
    stone = kt.Builder("stone").body("stone", "base", kt.Prismatic("z"), mass=2.0, actuated=False, lower=-0.1)
    assert kt.equilibrium(stone.build()).stops == pytest.approx({"stone_joint": 19.62})  # it would fall for ever


def test_natural_frequencies_are_those_of_the_linear_model():
    robot = lamp(damping=0.0)
    found = kt.equilibrium(robot, [0.8, -0.8, 0.2])
    model = robot.linearize(found.q, np.zeros(3), np.zeros(3))
    swings = np.sort(np.abs(np.linalg.eigvals(model.A).imag))[::2]
    np.testing.assert_allclose(found.frequencies, swings / (2 * np.pi), rtol=1e-5)
    near = found.shapes[:, 0]
    np.testing.assert_allclose(np.abs(near).max(), 1.0)
    a = robot.forward_dynamics(robot.integrate(found.q, 1e-5 * near), np.zeros(3), np.zeros(3), project=True)
    np.testing.assert_allclose(a / 1e-5, -((2 * np.pi * found.frequencies[0]) ** 2) * near, rtol=1e-3, atol=1e-3)
