"""Natural frequencies, damping and shapes, judged by closed forms and by SciPy on differences of the energy."""

import numpy as np
import pytest
from scipy.linalg import eigh

import kinetree as kt
from helpers.loop_models import five_bar

G = 9.81


def chain(kind, count, *, step=(0.0, 0.0, 0.0), com=(0.0, 0.0, 0.0), gravity=(0.0, 0.0, -G), **joint):
    b, parent = kt.Builder("chain", gravity=gravity), "base"
    for k in range(count):
        place = step if k else (0.0, 0.0, 0.0)
        b.body(f"b{k}", parent, kind, position=place, mass=2.0, com=com, actuated=False, **joint)
        parent = f"b{k}"
    return b.build().with_backend("reference")


def test_a_double_pendulum():
    pendulum = chain(kt.Revolute("y"), 2, step=(0, 0, -0.5), com=(0, 0, -0.5))
    modes = kt.equilibrium(pendulum).modes
    squares = (2 * np.pi * modes.frequencies) ** 2
    np.testing.assert_allclose(squares, G / 0.5 * (2 + np.array([-1, 1]) * np.sqrt(2)), rtol=1e-9)
    # angles from the vertical are 1 : sqrt(2) and 1 : -sqrt(2); the second joint has the difference
    np.testing.assert_allclose(modes.shapes[1] / modes.shapes[0], [np.sqrt(2) - 1, -np.sqrt(2) - 1], rtol=1e-8)
    assert modes.shape(0) == {"b0_joint": 1.0, "b1_joint": pytest.approx(np.sqrt(2) - 1)}
    upright = kt.equilibrium(pendulum, [np.pi, 0.0], descend=False)
    assert not upright.stable
    np.testing.assert_allclose(np.sort(upright.modes.growth) ** 2, squares, rtol=1e-8)
    assert "grows" in str(upright)
    assert not upright.frequencies.any()


def test_masses_on_springs_with_dampers():
    """Free at the far end: w = 2 sqrt(k / m) sin((2 i - 1) pi / (4 n + 2)), ratios in proportion to stiffness."""
    line = chain(kt.Prismatic("x"), 3, stiffness=50.0, damping=0.4)
    modes = kt.equilibrium(line).modes
    w = 2.0 * np.sqrt(50.0 / 2.0) * np.sin((2 * np.arange(1, 4) - 1) * np.pi / 14.0)
    np.testing.assert_allclose(2 * np.pi * modes.frequencies, w, rtol=1e-10)
    np.testing.assert_allclose(modes.damping_ratios, 0.4 / 50.0 * w / 2.0, rtol=1e-10)
    exact = -modes.damping_ratios * w + 1j * w * np.sqrt(1 - modes.damping_ratios**2)
    np.testing.assert_allclose(np.sort_complex(modes.poles[modes.poles.imag > 0]), np.sort_complex(exact), rtol=1e-9)
    with_none = kt.equilibrium(chain(kt.Prismatic("x"), 2)).modes
    assert str(with_none).count("indifferent") == 2
    assert np.isnan(with_none.damping_ratios).all()


def test_a_linkage_by_differences_of_its_energy():
    springs = {"a1_joint": 200.0, "b1_joint": 300.0}
    bars = five_bar().with_springs(springs, {"a1_joint": 2.1, "b1_joint": 0.9}).with_backend("reference")
    found = kt.equilibrium(bars, bars.close([2.0, -1.0, 1.0, 1.0], fixed=["a1_joint", "b1_joint"]), held=[])
    ind = [bars.v_names[k] for k in bars.coordinates.independent]
    rows, h = list(bars.coordinates.independent), 2e-3

    def energy(y):
        held = {name: found.q[row] + y[..., k] for k, (name, row) in enumerate(zip(ind, rows, strict=True))}
        return bars.potential_energy(bars.close(np.broadcast_to(found.q, (*y.shape[:-1], bars.nq)), fixed=held))

    a, b = np.broadcast_arrays(h * np.eye(2)[:, None], h * np.eye(2)[None])
    one, two, three, four = energy(np.stack([a + b, a - b, b - a, -a - b]))
    k = (one - two - three + four) / (4 * h * h)
    g = bars.basis(found.q)
    squares, shapes = eigh(k, g.T @ bars.tree.mass_matrix(found.q) @ g)
    signed = np.where(found.modes.growth > 0, -(found.modes.growth**2), (2 * np.pi * found.frequencies) ** 2)
    np.testing.assert_allclose(signed, squares, rtol=1e-4)
    moved = g @ shapes
    moved /= moved[np.abs(moved).argmax(axis=0), [0, 1]]
    np.testing.assert_allclose(found.modes.shapes, moved, atol=1e-3)
    held = kt.equilibrium(bars, found.q, held=["a1_joint"])  # of the one motion that is left
    y = held.motions[rows]
    assert held.stiffness[0, 0] == pytest.approx((y.T @ k @ y).item(), rel=1e-4)


def test_a_weak_instability_beside_a_stiff_spring():
    b = kt.Builder("mast")
    b.body("cart", "base", kt.Prismatic("x"), mass=0.1, stiffness=1e9, actuated=False)
    b.body("mast", "cart", kt.Revolute("y"), mass=10.0, com=(0, 0, 1.0), stiffness=10.0 * G - 0.5, actuated=False)
    with pytest.warns(kt.KinetreeWarning, match="unstable"):
        found = kt.equilibrium(b.build().with_backend("reference"))
    assert not found.stable
    assert found.modes.growth[0] == pytest.approx(np.sqrt(0.5 / 10.0), rel=1e-5)


@pytest.mark.parametrize(("load", "stable"), [(2.05, True), (2.12, False)])
def test_a_load_that_follows_its_column(load, stable):
    """Ziegler's column of masses 2 m and m flutters at P l / k = 7/2 - sqrt(2) = 2.086: there is no potential."""
    b = kt.Builder("column", gravity=(0, 0, 0))
    b.body("low", "base", kt.Revolute("y"), mass=2.0, com=(0, 0, 1), stiffness=5.0, actuated=False)
    b.body("top", "low", kt.Revolute("y"), position=(0, 0, 1), mass=1.0, com=(0, 0, 1), stiffness=5.0, actuated=False)
    push = kt.forces.Push(("top", (0, 0, 1)), force=(0, 0, -5.0 * load), axes="body")
    found = kt.equilibrium(b.build().with_backend("reference"), forces=push, descend=False)
    assert found.stable == stable
    assert (found.frequencies > 0.1).all()
