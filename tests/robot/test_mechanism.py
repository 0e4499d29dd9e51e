"""Mechanisms: what they are called must not change what they say."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import ClosureError
from kinetree.export import result_names


def four_bar(pin: str) -> kt.Mechanism:
    """A parallelogram with a motor, closed by a pin of the given name."""
    b = kt.Builder("bars")
    rod = {"mass": 1, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}
    b.body("rod0", "base", kt.Revolute("y"), **rod)
    b.body("rod1", "base", kt.Revolute("y"), position=(1, 0, 0), actuated=False, **rod)
    b.body("coupler", "rod0", kt.Revolute("y"), position=(0, 0, -1), mass=1, com=(0.5, 0, 0), actuated=False)
    b.loop(pin, "coupler", "rod1", kt.Revolute("y"), placement=(1, 0, 0), seat=(0, 0, -1))
    return b.build()


@pytest.mark.parametrize("pin", ["pin", "moment_pin"])
def test_a_gap_of_lengths_is_reported_in_metres(pin: str) -> None:
    """Whatever the joint is called."""
    mechanism = four_bar(pin)
    with pytest.raises(ClosureError, match=r"0\.\d+ m remain"):
        mechanism.close(mechanism.neutral(), fixed={"rod0_joint": 1.0, "rod1_joint": 2.0})


def test_units_of_results_do_not_depend_on_names() -> None:
    """Comments of exported code, but for the name itself."""
    plain, tricky = four_bar("pin"), four_bar("moment_pin")
    assert plain.constraint_units == tricky.constraint_units == ("rad", "rad", "m", "m", "m")
    for name in ("loop_gaps", "loop_drift", "closed_forward_dynamics"):
        options = {"rows": (2, 4)}
        meanings = [
            [e.meaning.replace("moment_pin", "pin") for e in result_names.entries(m, name, options, 1e-8)]
            for m in (plain, tricky)
        ]
        assert meanings[0] == meanings[1]
        assert any("(N)" in m or "(m)" in m or "(m/s^2)" in m for m in meanings[0])


def test_numbers_of_a_platform_do_not_depend_on_names() -> None:
    """Rows of angles are scaled by a length, rows of lengths are not."""
    q = np.array([0.3, 0.3, -0.3])
    plain, tricky = (four_bar(pin).platform("coupler", orientation=False) for pin in ("pin", "moment_pin"))
    first, second = plain.margins(q), tricky.margins(q)
    assert first.keys() == second.keys()
    for kind, margin in first.items():
        np.testing.assert_array_equal(margin, second[kind])
