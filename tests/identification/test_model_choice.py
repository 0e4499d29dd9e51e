"""Models of friction are chosen by what they predict."""

import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.identification.closed_motion import motions_of
from kinetree.identification.equations import MeasuredEquations, Prepared
from kinetree.identification.friction_models import MODELS, presliding
from kinetree.identification.identifiable import Structure
from kinetree.identification.model_choice import Columns, Folds, Friction, _take_back


@pytest.fixture(scope="module")
def columns():
    """Two joints, of which the second needs some way to build up its friction."""
    rng, robot = np.random.default_rng(0), two_links()
    t, q, v, a = fourier(2, rng, 20.0, rate=100.0)
    rubbing = 0.5 * np.stack([np.sign(v[:, 0]), presliding(q[:, 1], v[:, 1], 0.0, 0.05)], axis=1)
    tau = robot.inverse_dynamics(q, v, a) + rubbing + 0.02 * rng.standard_normal(q.shape)
    motions, band, _ = motions_of(robot, kt.Measured(t, q, tau, v, a))
    prepared = Prepared(robot, motions, band)
    names = [n for n in prepared.inertial if not n.endswith("rotor_inertia")]
    inertial = Structure(robot).groups(names).independent
    simple = {k: Friction(MODELS["coulomb"]) for k in range(2)}
    return Columns(prepared, inertial, simple, set(), prepared.equations.tau)


def test_what_does_a_joint_no_good_beside_the_others_is_taken_back(columns):
    simple = dict(columns.friction)
    before = Folds.of(columns.equations(simple)).errors
    chosen = {0: Friction(MODELS["presliding"], 0.2), 1: Friction(MODELS["presliding"], 0.05)}
    _take_back(columns, simple, chosen, [0, 1], {0: 0, 1: 1}, before)
    assert list(chosen) == [1]


def test_forces_without_noise_choose_nothing(columns):
    """Errors of 1e-7 of a force are rounding: no model is better by less of it."""
    equations = columns.equations()
    exact = equations.y @ np.arange(1.0, len(equations.names) + 1)
    less, more = (
        Folds.of(MeasuredEquations(
            equations.y, exact + size * np.random.default_rng(1).standard_normal(exact.shape), equations.counted,
            equations.names, equations.rows, equations.t,
        ))
        for size in (1e-9, 1e-8)
    )  # fmt: skip
    assert less.errors == pytest.approx(more.errors, rel=1e-3)
    assert less.fit[1] == pytest.approx(more.fit[1], rel=1e-3)
