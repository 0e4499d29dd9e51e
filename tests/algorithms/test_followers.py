"""Forward dynamics with followers: as joints of clusters, by multipliers, and by the mass matrix."""

import numpy as np
import pytest

import kinetree as kt
from helpers.compare import assert_close
from helpers.robots import random_state, random_tree
from kinetree.algorithms import mimic
from kinetree.spatial.arrays import split

PLACES = {
    "beside one another": {4: (3, 0.7)},
    "an ancestor leads": {6: (1, -1.3)},
    "on two branches": {9: (6, 0.5)},
    "one leads several": {4: (3, 0.7), 6: (3, -0.2), 9: (3, 2.0)},
    "groups that overlap": {6: (2, 0.7), 8: (1, 0.4), 9: (7, 1.0)},
    "a descendant leads": {2: (7, 0.3)},
    "at the base": {10: (0, 0.9)},
}


def tree(followers, count=11):
    """Two branches on a trunk of three, and a body on the base."""
    parents = ["base", "b0", "b1", "b2", "b2", "b3", "b3", "b6", "b4", "b8", "base"]
    builder, rng = kt.Builder("followers"), np.random.default_rng(0)
    for k in range(count):
        led = followers.get(k)
        builder.body(
            f"b{k}", parents[k], kt.Revolute("xyz"[k % 3]) if k != 5 else kt.Spherical(), position=rng.normal(size=3),
            mass=1.0 + rng.random(), com=rng.normal(size=3) / 4, inertia=tuple(1.0 + rng.random(3) / 2),
            rotor_inertia=0.1 if k % 2 and k != 5 else None,
            mimic=None if led is None else kt.Mimic(f"b{led[0]}_joint", led[1], 0.1),
        )  # fmt: skip
    return builder.build()


@pytest.mark.parametrize("followers", PLACES.values(), ids=PLACES)
def test_clusters_give_what_the_mass_matrix_gives(followers, monkeypatch):
    robot = tree(followers)
    q, v, tau = random_state(robot, np.random.default_rng(1), 3)
    expected = robot.with_backend("reference").forward_dynamics(q, v, tau, method="composite_body")
    for backend in ("reference", "compiled"):
        found = robot.with_backend(backend).forward_dynamics(q, v, tau, {"b9": np.ones(6)})
        other = robot.with_backend(backend).forward_dynamics(q, v, tau, {"b9": np.ones(6)}, method="composite_body")
        assert_close(found, other, 1e-10)
        assert_close(robot.with_backend(backend).forward_dynamics(q, v, tau), expected, 1e-10)
    monkeypatch.setattr(mimic, "MOST_FREEDOMS", 0)  # by multipliers
    assert_close(robot.with_backend("reference").forward_dynamics(q, v, tau), expected, 1e-10)


@pytest.mark.parametrize("followers", PLACES.values(), ids=PLACES)
def test_clusters_hang_together(followers):
    model = tree(followers).model
    found = mimic.clusters(model)
    assert sorted(i for group in found for i in group.bodies) == list(range(len(model.bodies)))
    for group in found:
        assert all(model.parents[i] in (group.carrier, *group.bodies) for i in group.bodies)
        assert group.carrier not in group.bodies
    for follower, (leader, _) in followers.items():
        assert any({follower, leader} <= set(group.bodies) for group in found)


def test_random_trees_with_followers():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        robot = random_tree(rng, 14, floating=bool(seed % 2), followers=True)
        q, v, tau = random_state(robot, rng)
        given = (robot.model, split(q), split(v), split(tau), robot.model.gravity)
        found = mimic.forward_dynamics_by_clusters(*given)
        if found is not None:
            assert_close(np.array(found), robot.forward_dynamics(q, v, tau, method="composite_body"), 1e-9)


@pytest.mark.thorough
def test_large_trees_with_followers_are_compiled(recwarn):
    robot = random_tree(np.random.default_rng(3), 112, ["revolute"], followers=True)
    state = random_state(robot, np.random.default_rng(0), 5)
    large = robot.with_backend("compiled")
    for name in ("inverse_dynamics", "forward_dynamics"):
        found = getattr(large, name)(*state)
        assert_close(found[2], getattr(robot, name)(*(x[2] for x in state)), 1e-9)
        assert large.evaluator.entry_points
    told = [str(w.message) for w in recwarn if "reference" in str(w.message)]
    assert not [said for said in told if not said.startswith("forward_dynamics")]  # of so many followers it is too long
