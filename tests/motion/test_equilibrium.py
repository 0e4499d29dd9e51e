"""Where robots come to rest, judged by closed forms, by energy, and by the dynamics."""

import numpy as np
import pytest
from scipy.optimize import brentq

import kinetree as kt


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
