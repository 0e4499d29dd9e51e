"""Stacks of blocks whose masses differ by far: forces as good as rounding allows, and honest errors beyond."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.contact.complementarity import NoSolutionError
from kinetree.contact.rigid_contacts import Contact, RigidContacts
from kinetree.contact.surfaces import Plane

G, HALF = 9.81, 0.1


def stack(masses):
    """Cubes on one another, each on four corners."""
    builder, contacts, q = kt.Builder("stack"), [], []
    for k, mass in enumerate(masses):
        builder.body(f"b{k}", "base", kt.Free(), mass=mass, inertia=(mass * HALF**2,) * 3)
        under = {} if k == 0 else {"surface": Plane((0, 0, HALF), (0, 0, 1)), "on": f"b{k - 1}"}
        contacts += [
            Contact(f"b{k}", (x, y, -HALF), friction=0.5, **under) for x in (-HALF, HALF) for y in (-HALF, HALF)
        ]
        q += [0, 0, 0, 1, 0, 0, HALF * (1 + 2 * k)]
    robot = builder.build()
    return robot, RigidContacts(robot, contacts), np.array(q, dtype=float)


@pytest.mark.parametrize("ratio", [1e3, 1e6, 1e8, 1e9, 1e10])
@pytest.mark.parametrize("order", ["heavy above", "heavy below", "light between"])
def test_loads_are_the_weights_above(ratio, order):
    """To a few rounding errors of the heaviest, which on the lightest are accelerations of ratio times that."""
    masses = np.array({"heavy above": [1, ratio], "heavy below": [ratio, 1], "light between": [ratio, 1, ratio]}[order])
    robot, rigid, q = stack(masses)
    found = rigid.forces(q, np.zeros(robot.nv))
    loads = found.local[:, 0].reshape(-1, 4).sum(axis=1)
    weights = G * np.cumsum(masses[::-1])[::-1]
    assert np.allclose(loads, weights, rtol=1e-11 + 1e-15 * ratio, atol=0)
    assert np.max(np.abs(found.acceleration)) < 1e-9 + 1e-14 * ratio * G


def test_beyond_rounding_the_masses_are_named_and_not_called_contradictory():
    robot, rigid, q = stack([1.0, 1e12, 1.0])
    with pytest.raises(NoSolutionError, match="differs in mass by a factor of about") as stopped:
        rigid.forces(q, np.zeros(robot.nv))
    assert "too ill-conditioned" not in str(stopped.value)


def test_what_contradicts_itself_is_still_called_so():
    """A bead between two walls that come together: one from below, one from above."""
    robot = kt.Builder("bead").body("bead", "base", kt.Prismatic("z"), mass=1.0).build()
    walls = [
        Contact("bead", friction=0.3, name="below"),
        Contact("bead", friction=0.3, surface=Plane((0, 0, 0), (0, 0, -1)), name="above"),
    ]
    rigid = RigidContacts(robot, walls)
    state, mobility = rigid.look([0.0], [0.0]), rigid.mobility([0.0], [0.0])
    state.bias[:, 0] -= 100.0  # both walls accelerate towards each other
    with pytest.raises(NoSolutionError) as stopped:
        rigid.solve(state, mobility, np.arange(2))
    assert "differs in mass" not in str(stopped.value)


@pytest.mark.slow
def test_a_stack_of_great_weights_on_light_ones_rests_in_few_steps():
    """Rounding of the weights shakes what is light; an integrator that minded took a thousand steps per millisecond."""
    robot, rigid, q = stack([1.0, 1e3, 1e6, 1e9])
    record = kt.simulate_rigid(robot.with_backend("compiled"), rigid.contacts, q, time=0.3, progress=False)
    assert record.status == "complete"
    assert record.info["steps"] < 200
    assert np.abs(record.q - q).max() < 1e-5  # how weights of 1e10 N round is the processor's own
    loads = record.contact_forces[-1, :, 2].reshape(-1, 4).sum(axis=1)
    assert np.allclose(loads, G * np.cumsum([1e9, 1e6, 1e3, 1.0])[::-1], rtol=1e-6)
