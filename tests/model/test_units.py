"""Units of the entries of q, v and tau, and of constraints: they belong to joints, never to names."""

import numpy as np
import pytest

import kinetree as kt
from helpers.mechanisms import CLOSING
from kinetree.model.joints import KINDS, JointKind, reverse

ANGLES = ("rad", "rad", "rad")
LENGTHS = ("m", "m", "m")

UNITS = [
    (kt.Revolute("x"), ("rad",), ("rad",)),
    (kt.Continuous("x"), ("rad",), ("rad",)),
    (kt.Prismatic("x"), ("m",), ("m",)),
    (kt.Helical("x", 0.1), ("rad",), ("rad",)),
    (kt.Cylindrical("x"), ("rad", "m"), ("rad", "m")),
    (kt.Universal("XY"), ("rad", "rad"), ("rad", "rad")),
    (kt.Spherical(), ("1",) * 4, ANGLES),
    (kt.EulerSpherical("ZYX"), ANGLES, ANGLES),
    (kt.Planar("z"), ("rad", "m", "m"), ("rad", "m", "m")),
    (kt.Translation(), LENGTHS, LENGTHS),
    (kt.Free(), ("1",) * 4 + LENGTHS, ANGLES + LENGTHS),
    (kt.EulerFree("ZYX"), ANGLES + LENGTHS, ANGLES + LENGTHS),
    (kt.Custom(1, lambda x: (((1, 0, 0), (0, 1, 0), (0, 0, 1)), (x, 0, 0)), "slide", ("m",)), ("m",), ("m",)),
    (kt.Fixed(), (), ()),
]


@pytest.mark.parametrize(("kind", "q_units", "v_units"), UNITS, ids=lambda x: getattr(x, "name", ""))
def test_every_kind_of_joint(kind: JointKind, q_units: tuple[str, ...], v_units: tuple[str, ...]) -> None:
    """Stated here one by one; the other way round they are the same."""
    assert (kind.q_units, kind.v_units) == (q_units, v_units)
    assert (len(kind.q_units), len(kind.v_units)) == (kind.nq, kind.nv)
    back = reverse(kind)
    assert (back.q_units, back.v_units) == (q_units, v_units)


def test_no_kind_is_left_out() -> None:
    """A new joint must say its units, and stand above."""
    assert {kind.name for kind, _, _ in UNITS} == {k for k in KINDS if not KINDS[k].only_closes} - {"reversed"}


@pytest.mark.parametrize(("kind", "q_units", "v_units"), UNITS, ids=lambda x: getattr(x, "name", ""))
def test_units_of_velocities_agree_with_the_motion(
    kind: JointKind, q_units: tuple[str, ...], v_units: tuple[str, ...]
) -> None:
    """What turns a body is an angle."""
    columns = kind.subspace(kind.neutral())
    assert tuple("rad" if any(column.angular) else "m" for column in columns) == v_units


@pytest.mark.parametrize("kind", CLOSING, ids=lambda kind: kind.name)
def test_units_of_constraints_agree_with_the_force(kind: JointKind) -> None:
    """A pure moment keeps an angle, anything else a length."""
    b = kt.Builder("moment of truth")
    b.body("moment", "base", kt.Free(), mass=1, inertia=(1, 1, 1))
    b.loop("moment_pin", "base", "moment", kind, placement=(1, 0, 0))
    model = b.build().model
    found = [c.unit for c in model.loops[0].constraints_somewhere()]
    assert list(model.constraint_units) == found
    for constraint in model.loops[0].constraints_somewhere():
        assert constraint.unit == ("m" if any(float(x) for x in constraint.force.force) else "rad")


def test_a_robot_reports_them_entry_by_entry() -> None:
    """Followers have no entry."""
    b = kt.Builder("mixed")
    b.body("base_link", "base", kt.Free(), mass=1, inertia=(1, 1, 1))
    b.body("finger", "base_link", kt.Prismatic("x"), mass=1)
    b.body("other", "base_link", kt.Prismatic("-x"), mass=1, mimic=kt.Mimic("finger_joint"))
    b.body("sled", "base_link", kt.Planar("z"), mass=1, inertia=(1, 1, 1))
    robot = b.build()
    assert robot.q_units == [*"1111", *"mmm", "m", "rad", "m", "m"]
    assert robot.v_units == [*ANGLES, *LENGTHS, "m", "rad", "m", "m"]
    assert robot.tau_units == ["N m" if unit == "rad" else "N" for unit in robot.v_units]
    assert len(robot.q_units) == robot.nq
    assert len(robot.v_units) == robot.nv
    record = kt.simulate(robot, robot.neutral(), np.zeros(robot.nv), time=0.01)
    assert record.info["q_units"] == robot.q_units
    assert record.info["v_units"] == robot.v_units
