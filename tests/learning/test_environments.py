"""Environments: Gymnasium's own checker, and its own vector of single environments as the judge of ours."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from scipy.spatial.transform import Rotation

import kinetree as kt
from kinetree_learning.tasks import quadruped

KNOWN = {
    "cart-pole": "CartPole", "arm": "Arm", "quadruped": "Quadruped", "biped": "Biped",
    "closed-loop-leg": "ClosedLoopLeg",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _compiled(monkeypatch):
    """Worlds are stepped too often here to go without machine code."""
    monkeypatch.setenv("KINETREE_BACKEND", "compiled")


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.filterwarnings("ignore:.*Box observation space m.* value is")
def test_every_environment_passes_gymnasiums_checker(name):
    assert kt.gym.names() == list(KNOWN)
    environment = gymnasium.make(f"kinetree/{KNOWN[name]}-v0", disable_env_checker=True)
    check_env(environment.unwrapped)
    many = gymnasium.make_vec(f"kinetree/{KNOWN[name]}-v0", num_envs=3)
    assert isinstance(many.unwrapped, kt.gym.VectorEnvironment)
    observations, _ = many.reset(seed=4)
    assert observations in many.observation_space
    found = many.step(many.action_space.sample())
    assert found[0] in many.observation_space
    assert [x.shape for x in found[1:4]] == [(3,)] * 3
    assert np.array_equal(many.reset(seed=4)[0], observations)
    assert not np.array_equal(many.reset()[0], observations)
    assert not np.array_equal(many.reset(seed=5)[0], observations)


def seen_and_paid(speed, batch):
    """The quadruped's world, with the reward as the last number that is observed."""
    robot = kt.gallery.load("quadruped")
    return kt.World(
        robot, batch=batch, action=kt.control.Commanded("position", kp=200.0, kd=8.0), goal={"speed": [speed]},
        ground=kt.ground.Ground(quadruped.FEET, kt.ground.HuntCrossley(5e3, 1.0), None), step=1e-4,
        observe=lambda m: [*quadruped.observe(m), quadruped.reward(m)],
    )  # fmt: skip


def test_the_reward_of_the_quadruped_depends_on_nothing_but_what_is_observed():
    """Turned about the vertical and moved along the ground, it observes the same, and is paid the same."""
    world, rng = seen_and_paid(0.4, 2), np.random.default_rng(0)
    for _ in range(10):
        legs, tilt = rng.uniform(-0.5, 0.5, 12), Rotation.from_euler("xy", rng.uniform(-0.4, 0.4, 2))
        twist, speeds = rng.normal(0, 0.5, 6), rng.normal(0, 1, 12)
        states = []
        for heading in rng.uniform(-3, 3, 2):
            angles = (Rotation.from_euler("z", heading) * tilt).as_euler("YXZ")
            q = np.concatenate([angles, rng.normal(0, 1, 2), [0.6], legs])
            base = np.linalg.solve(world.robot.jacobian(q, "trunk")[:, :6], twist)
            states.append((q, np.concatenate([base, speeds])))
        q, v = (np.stack(x) for x in zip(*states, strict=True))
        one, other = world.reset(q=q, v=v)
        assert np.allclose(one, other, atol=1e-12)
        assert np.ptp(world.robot.velocity(q, v, "trunk", axes="aligned")[:, 3]) > 1e-3


def test_the_quadruped_is_paid_for_going_ahead():
    world = seen_and_paid(0.5, 3)
    q, v = world.start
    v[:, 3:5] = [[0.5, 0.0], [0.0, 0.5], [-0.5, 0.0]]
    assert np.allclose(world.reset(q=q, v=v)[:, -1], [1.0, 1 / 6, 1 / 11])


def is_same(a, b):
    """Tell whether two of Gymnasium's infos are the same, bit for bit."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(is_same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray) and a.dtype == object:
        return len(a) == len(b) and all((x is None and y is None) or is_same(x, y) for x, y in zip(a, b, strict=True))
    return np.array_equal(a, b)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_many_are_what_gymnasium_makes_of_single_ones(mode):
    count, options = 4, {"time_limit": 0.3}
    ours = kt.gym.make_vec("cart-pole", num_envs=count, autoreset_mode=mode, **options)
    singles = [lambda k=k: kt.gym.make("cart-pole", first=k, **options) for k in range(count)]
    theirs = SyncVectorEnv(singles, autoreset_mode=mode)
    assert ours.metadata["autoreset_mode"] is mode
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.action_space == theirs.action_space
    seen, expected = ours.reset(seed=7)[0], theirs.reset(seed=[7] * count)[0]
    rng, ends = np.random.default_rng(0), 0
    for k in range(60):
        assert np.array_equal(seen, expected)
        action = rng.uniform(-1.0, 1.0, (count, 1)).astype(np.float32) + np.linspace(0.0, 2.0, count)[:, None]
        action[1, 0] = np.nan if k == 21 else action[1, 0]  # is lost, and nobody else
        seen, *rest = ours.step(action)
        expected, *theirs_rest = theirs.step(action)
        for a, b in zip(rest, theirs_rest, strict=True):
            assert is_same(a, b), (k, a, b)
        over = rest[1] | rest[2]
        ends += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            with pytest.raises(kt.OptionError, match="have ended: reset"):
                ours.step(action)
            assert np.array_equal(seen, expected)
            seen = ours.reset(options={"reset_mask": over})[0]
            expected = theirs.reset(options={"reset_mask": over})[0]
    assert ends > 8


def test_a_world_that_is_lost_says_so_and_the_others_go_on():
    environments = kt.gym.make_vec("cart-pole", num_envs=3, autoreset_mode="SAME_STEP")
    environments.reset(seed=0)
    action = np.zeros((3, 1))
    action[1] = np.nan
    observations, rewards, ended, _, infos = environments.step(action)
    assert ended.tolist() == infos["final_info"]["lost"].tolist() == [False, True, False]
    assert rewards[1] == 0.0
    assert np.isfinite(observations).all()
    assert not infos["final_obs"][1].any()
    assert not environments.step(np.zeros((3, 1)))[2].any()


def test_an_environment_of_ones_own_takes_a_few_lines():
    robot = kt.Builder("rod").body("rod", "base", kt.Revolute("y"), mass=1.0, com=(0, 0, -0.5)).build()
    world = kt.World(
        robot, batch=5, substeps=10, random={"q": kt.Uniform(-1.0, 1.0)}, observe=lambda m: [*m.q, *m.v],
        reward=lambda m: -m.q[0] ** 2, ended=lambda m: abs(m.q[0]) > 1.5,
    )  # fmt: skip
    environments = kt.gym.VectorEnvironment(world, scale=3.0, center=0.5, time_limit=0.05, dtype=np.float64)
    environments.reset(seed=2)
    observations, rewards, *_ = environments.step(np.full((5, 1), 0.5))
    world.reset(seed=2)
    expected = world.step(np.full((5, 1), 2.0))
    assert np.array_equal(observations, expected.observation)
    assert np.array_equal(rewards, expected.reward)
    environments.reset(options={"q": [0.25], "v": [0.0]})
    late = [environments.step(np.zeros((5, 1)))[3].all() for _ in range(5)]
    assert late == [False] * 4 + [True]
    assert environments.reset(options={"q": [0.25], "v": [0.0]})[0][3].tolist() == [0.25, 0.0]


def test_pictures_show_the_robot():
    environment = kt.gym.make("cart-pole", render_mode="rgb_array")
    environment.reset(seed=0, options={"q": [0.0, 0.0], "v": [0.0, 0.0]})
    upright = environment.render()
    assert upright.shape == (240, 240, 3)
    assert upright.dtype == np.uint8
    environment.reset(options={"q": [0.0, 0.4], "v": [0.0, 0.0]})
    leaning = environment.render()
    dark = [np.argwhere(picture.sum(axis=-1) < 400)[:, 1].max() for picture in (upright, leaning)]
    assert dark[1] > dark[0] + 20  # the pole leans to the right


def test_episodes_are_truncated_after_so_many_steps():
    environments = kt.gym.make_vec("cart-pole", num_envs=2, max_episode_steps=7)
    assert kt.gym.VectorEnvironment(environments.world, max_episode_steps=7)._limit == environments._limit
    environments.reset(seed=0)
    late = [environments.step(np.zeros((2, 1)))[3].tolist() for _ in range(7)]
    assert late == [[False, False]] * 6 + [[True, True]]


@pytest.mark.parametrize(
    ("act", "error", "said"),
    [
        (lambda e: kt.gym.make("cartpole"), kt.UnknownNameError, "no task named 'cartpole'; did you mean 'cart-pole'"),
        (lambda e: kt.gym.make("arm", time_limits=3), kt.UnknownNameError, "did you mean 'time_limit'"),
        (lambda e: kt.gym.make("kinetree/CartPole-v1"), kt.UnknownNameError, "did you mean 'cart-pole'"),
        (lambda e: kt.gym.make("arm", time_limit=1.0, max_episode_steps=3), kt.OptionError, "not both"),
        (lambda e: kt.gym.VectorEnvironment(e.world, episode_length=3), kt.ArgumentError, "'time_limit'"),
        (lambda e: kt.gym.Environment(kt.gym.make("cart-pole").world, limit=3), kt.ArgumentError, "'time_limit'"),
        (lambda e: kt.gym.make("cart-pole").step(np.zeros(2)), kt.ShapeError, r"of shape \(1,\), got \(2,\)"),
        (lambda e: e.step(np.zeros(2)), kt.ShapeError, r"shape \(2, 1\)"),
        (lambda e: e.step([["a"], ["b"]]), kt.ShapeError, "must be numbers"),
        (lambda e: kt.gym.VectorEnvironment(e.world).step(np.zeros((2, 1))), kt.OptionError, "call reset.. before"),
        (lambda e: e.reset(options={"place": 1}), kt.UnknownNameError, "no option of reset named 'place'"),
        (lambda e: e.reset(seed=[1, 2]), kt.OptionError, "one seed"),
        (lambda e: kt.gym.VectorEnvironment(5), kt.OptionError, "made from a kinetree.World"),
        (lambda e: kt.gym.VectorEnvironment(e.world, scale=0.0), kt.OptionError, "must not be zero"),
        (lambda e: kt.gym.VectorEnvironment(e.world, scale=np.nan), kt.OptionError, "must be finite"),
        (lambda e: kt.gym.VectorEnvironment(e.world, scale=[1.0, 2.0]), kt.ShapeError, "one per motor: track"),
        (lambda e: kt.gym.VectorEnvironment(e.world, autoreset_mode="never"), kt.UnknownNameError, "autoreset mode"),
        (lambda e: kt.gym.VectorEnvironment(e.world, dtype=int), kt.OptionError, "float32 or float64"),
        (lambda e: kt.gym.VectorEnvironment(e.world, render_mode="human"), kt.UnknownNameError, "render mode"),
        (lambda e: kt.gym.Environment(e.world), kt.OptionError, "one world, not 2"),
        (lambda e: kt.gym.VectorEnvironment(kt.World(e.world.robot)), kt.OptionError, "observe=... and reward="),
    ],
)
def test_what_cannot_be_is_refused(act, error, said):
    environments = kt.gym.make_vec("cart-pole", num_envs=2)
    environments.reset(seed=0)
    with pytest.raises(error, match=said):
        act(environments)


def test_without_gymnasium_an_error_says_what_to_install():
    program = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "import kinetree as kt\n"
        "try: kt.gym.make_vec('arm')\n"
        "except kt.OptionError as problem: print(problem)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'kinetree[gym]'" in done.stdout
