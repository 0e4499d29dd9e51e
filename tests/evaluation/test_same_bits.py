"""The same bits for a state wherever it stands: in any batch, layout and precision, with any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import kinetree as kt

COUNT = 45
"""States: whole vectors of any processor, and a rest."""

NAMES = (
    "inverse_dynamics", "forward_dynamics", "mass_matrix", "inverse_mass_matrix", "inverse_dynamics_derivatives",
    "forward_dynamics_derivatives", "regressor",
)  # fmt: skip


def robot_of(kind):
    """Return a small robot: a chain, the same as loops over bodies, with followers, or four-bars in a row."""
    if kind == "mechanism":
        return kt.gallery.four_bar_chain(9).with_backend("compiled")
    builder = kt.Builder(kind)
    for k in range(7):
        builder.body(
            f"b{k}", f"b{k - 1}" if k else "base", kt.Revolute("xyz"[k % 3]), position=(0.1, 0.02 * k, 0.0),
            mass=1.0 + 0.1 * k, com=(0.05, 0.0, 0.01), inertia=(0.01, 0.02, 0.02),
            mimic=kt.Mimic("b3_joint", 0.5) if kind == "followers" and k == 6 else None,
        )  # fmt: skip
    return builder.build().with_backend("compiled")


LAYOUTS = {
    "plain": lambda x: x,
    "Fortran order": np.asfortranarray,
    "every other number": lambda x: np.repeat(x, 2, axis=-1)[:, ::2],
    "every other state": lambda x: np.repeat(x, 2, axis=0)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "float32": lambda x: x.astype(np.float32),
    "three axes": lambda x: x.reshape(5, 9, -1),
}


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("kind", ["chain", "loops over bodies", "followers", "mechanism"])
def test_a_state_has_the_same_bits_in_any_batch_layout_and_thread(kind, precision, monkeypatch):
    if kind == "loops over bodies":
        monkeypatch.setattr("kinetree.evaluation.compiler.LARGEST_UNROLLED", 4)
    exact, rng = robot_of(kind), np.random.default_rng(0)
    robot = exact.with_precision(precision)
    # numbers that float32 has, too
    q, v, a = (rng.standard_normal((3, COUNT, robot.nv)) / 4.0).astype(np.float32).astype(float)
    if kind == "mechanism":
        q, v = exact.project(exact.close(exact.assembled() + q / 4.0), v)
        a = exact.forward_dynamics(q, v, a)
    for name in NAMES[:2] if kind == "mechanism" else NAMES:
        state, call = (q,) if name.endswith("mass_matrix") else (q, v, a), getattr(robot, name)

        def found(*given, call=call, **options):
            result = call(*given, **options)
            return np.stack(result, axis=-3) if isinstance(result, tuple) else np.asarray(result)

        alone = np.stack([found(*(x[k] for x in state)) for k in range(COUNT)])
        for some in (1, 3, 8, 17, COUNT):
            assert np.array_equal(found(*(x[:some] for x in state)), alone[:some]), (name, some)
            assert np.array_equal(found(*(x[-some:] for x in state), threads=2), alone[-some:]), (name, some)
        for layout, arranged in LAYOUTS.items():
            if kind == "mechanism" and layout == "float32":
                continue  # which would not be closed
            given = [arranged(x) for x in state]
            several, last = found(*given), found(*(x[(-1,) * (x.ndim - 1)] for x in given))
            assert np.array_equal(several.reshape(alone.shape), alone), (name, layout)
            assert np.array_equal(last, alone[-1]), (name, layout)


def test_a_path_has_the_same_bits_in_any_batch(monkeypatch):
    """Also beside paths with longer steps and paths that end at a dead point."""
    monkeypatch.setattr("kinetree.loops.following.MOST_AT_ONCE", 3000)
    robot, rng, count = kt.load("four-bar").with_backend("compiled"), np.random.default_rng(0), 30
    start = robot.close(kt.gallery.motion("four-bar").states(0.0)[0])
    turned = np.arange(700) * rng.choice([0.004, 0.01, 0.3], count)[:, None]
    drives = (start[robot.q_names.index(robot.independent()[0])] + turned)[..., None]
    places = rng.uniform(0.5, 1.2, count)[:, None] * robot.model.joints[2].placement.translation

    def moved(lanes):
        given = {"joints": {robot.model.joints[2].name: {"position": places[lanes]}}}
        rates = np.ones_like(drives[lanes])
        return robot.driven_motion(drives[lanes], rates, 0.0 * rates, given, q_guess=start).q

    together = moved(slice(None))
    assert np.isnan(together).any()
    for k in range(0, count, 4):
        assert np.array_equal(moved(k), together[k], equal_nan=True)
