import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import two_links
from kinetree.identification.identifiable import Structure


def inertial(robot):
    names = robot.parameters().names
    return tuple(n for n in names if n.rpartition(".")[2] not in ("damping", "friction", "offset", "rotor_inertia"))


@pytest.mark.parametrize("name", ["kuka-kr5", "stanford-arm", "gripper", "two links"])
def test_groups_say_all_that_joint_forces_depend_on(name):
    robot = two_links() if name == "two links" else kt.gallery.load(name)
    names = inertial(robot)
    groups = Structure(robot).groups(names)
    rng = np.random.default_rng(3)
    q = np.stack([robot.random_configuration(rng) for _ in range(100)])
    v, a = 3.0 * rng.standard_normal((2, 100, robot.nv))
    columns = robot.regressor(q, v, a, parameters=names).reshape(-1, len(names))
    assert len(groups.independent) == np.linalg.matrix_rank(columns, tol=1e-6)
    q = np.stack([robot.random_configuration(rng) for _ in range(5)])
    v, a = rng.standard_normal((2, 5, robot.nv))
    values = rng.standard_normal(len(names))
    few = robot.regressor(q, v, a, parameters=groups.independent) @ (groups.matrix @ values)
    assert np.allclose(few, robot.regressor(q, v, a, parameters=names) @ values, atol=1e-8)
    for word in groups.without_effect:
        assert np.abs(robot.regressor(q, v, a, parameters=[word])).max() < 1e-14


def test_names_are_sums():
    names = inertial(two_links())
    groups = Structure(two_links()).groups(names)
    assert "upper.MX + 0.5 lower.M" in groups.names
    assert "upper.YY + 0.25 lower.M" in groups.names
    assert len(groups.independent) == len(groups.names) == 6
