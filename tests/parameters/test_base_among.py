"""Base parameters where some parameters are known, and where numbers do not tell clearly."""

import numpy as np
import pytest

import kinetree as kt
from helpers.loop_models import four_bar
from kinetree.parameters.closed_motions import closed_motions
from kinetree.parameters.parameters_to_group import Considered


@pytest.mark.parametrize("name", ["kuka-kr5", "stanford-arm", "gripper"])
def test_groups_among_some_parameters_are_those_of_sampled_torques(name):
    robot, rng = kt.gallery.load(name), np.random.default_rng(1)
    base, names = robot.base_parameters(friction=True), np.array(robot.parameters().names)
    q = np.stack([robot.random_configuration(rng) for _ in range(60)])
    v, a = rng.standard_normal((2, 60, robot.nv))
    for count in (1, 5, 20, 40):
        some = rng.choice(names, count, replace=False).tolist()
        found = base.among(some)
        columns = robot.regressor(q, v, a, parameters=some, friction=True).reshape(-1, count)
        size = np.linalg.norm(columns, axis=0)
        felt = size > 1e-9
        assert len(found) == np.linalg.matrix_rank(columns[:, felt] / size[felt], tol=1e-9)
        values = rng.standard_normal(count)
        place = [found.table.index(n) for n in some]
        few = robot.regressor(q, v, a, parameters=found.names, friction=True) @ (found.matrix[:, place] @ values)
        assert np.allclose(few.reshape(-1), columns @ values, atol=1e-9)
    assert base.among(base.table.names).names == base.names
    assert len(base.among([])) == 0
    with pytest.raises(kt.UnknownNameError):
        base.among(["no such parameter"])


def test_effects_in_between_are_refused_or_ignored():
    """An axis that is off by 1e-4 shows moments of the links beyond it as no rounding would, and hardly."""

    def arm(tilt):
        b = kt.Builder("arm")
        b.body("one", "base", kt.Revolute("z"), mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
        b.body("two", "one", kt.Revolute((tilt, 0, 1)), position=(0.5, 0, 0), mass=1.0, com=(0.1, 0, 0),
               inertia=(0.1, 0.1, 0.1))  # fmt: skip
        return b.build()

    with pytest.raises(kt.SingularError, match="in_between='ignore'"):
        arm(1e-4).base_parameters("qr")
    found = arm(1e-4).base_parameters("qr", in_between="ignore")
    assert len(found) >= len(arm(0.0).base_parameters("qr"))
    with pytest.raises(kt.UnknownNameError):
        arm(0.0).base_parameters(in_between="perhaps")


def test_of_several_configurations_the_least_singular_is_where_samples_begin():
    robot = kt.gallery.load("four-bar")
    q = robot.assembled()
    assert len(robot.base_parameters(q_guess=np.stack([q, q, q]))) == len(robot.base_parameters(q_guess=q))


def test_samples_that_cannot_be_closed_stay_where_they_are(monkeypatch):
    """Steps that do not close give NaN, of which no singular value must be asked."""
    robot = four_bar()

    start, loops = robot.assembled(), robot.loops
    close = loops.closing.close

    def stubborn(q, **options):
        found = close(q, **options)
        found[::2] = np.nan
        return found

    monkeypatch.setattr(loops.closing, "close", stubborn)
    draw = closed_motions(loops, start, robot.coordinates.rank, Considered(robot.model))
    motions = draw(10, np.random.default_rng(0))
    assert np.array_equal(motions.q[::2], np.broadcast_to(start, (5, robot.nq)))
    assert np.isfinite(motions.a).all()
