import warnings
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.signal import lsim

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.identification.doubts.about_results import _more_telling
from kinetree.identification.doubts.about_samples import of_stuck_encoders
from kinetree.identification.estimators.pseudo_inertia import is_possible
from kinetree.identification.friction_models import presliding
from kinetree.identification.report import _parts, _robot_table

TRUTH = two_links().with_parameters(
    {"upper_joint.damping": 0.4, "upper_joint.friction": 0.3, "lower_joint.damping": 0.1, "lower_joint.friction": 0.2,
     "lower_joint.offset": 0.15}
)  # fmt: skip
GUESS = kt.Builder("two links")
GUESS.body("upper", "base", kt.Revolute("y"), mass=2.0, com=(0.1, 0, 0), inertia=(0.03, 0.03, 0.03))
GUESS.body("lower", "upper", kt.Revolute("y"), position=(0.5, 0, 0), mass=2.0, com=(0.1, 0, 0), inertia=(0.02,) * 3)
GUESS = GUESS.build()
MOMENTS = ("upper.MX", "upper.MZ", "lower.MX", "lower.MZ")


def data(noise=0.0, seed=0, robot=TRUTH, parts="qv", duration=20.0, **motion):
    rng = np.random.default_rng(seed)
    t, q, v, a = fourier(robot.nv, rng, duration, rate=200.0, **motion)
    tau = robot.inverse_dynamics(q, v, a, friction=True)
    tau = tau + noise * rng.standard_normal(tau.shape)
    return kt.Measured(t, q, tau, v if "v" in parts else None, a if "a" in parts else None)


def same_forces(found, truth=TRUTH, tolerance=1e-3):
    rng = np.random.default_rng(9)
    q, v, a = rng.standard_normal((3, 50, truth.nv))
    expected = truth.inverse_dynamics(q, v, a, friction=True)
    assert np.abs(found.inverse_dynamics(q, v, a, friction=True) - expected).max() < tolerance * np.abs(expected).max()


@pytest.mark.parametrize("parts", ["q", "qv", "qva"])
def test_a_robot_is_found_again(parts):
    found = kt.identify(GUESS, data(parts=parts))
    same_forces(found.robot, tolerance=5e-3)
    assert found.physical
    assert found.training_errors.max() < 5e-3
    assert found.errors(data(seed=4)).max() < 1e-2
    assert len(found) == len(found.values) == len(found.deviations) == len(found.units) == 6 + 6
    assert found.robot.parameters()["lower_joint.offset"] == pytest.approx(0.15, abs=0.01)


IMPOSSIBLE = pytest.mark.filterwarnings("ignore:the parameters are physically impossible")


@IMPOSSIBLE
@pytest.mark.parametrize("estimator", ["ordinary", "weighted", "reweighted"])
def test_estimates_lie_within_three_standard_deviations(estimator):
    found = kt.identify(GUESS, data(0.05), estimator=estimator, friction="coulomb", consistent=None)
    exact = kt.identify(GUESS, data(), friction="coulomb", consistent=None)
    assert np.all(np.abs(found.values - exact.values) < 3.5 * found.deviations)
    assert np.all(found.deviations > 0.0)


@pytest.mark.parametrize("way", ["barrier", "sdp", "log_cholesky"])
@pytest.mark.parametrize("pull", ["log_det", "euclidean"])
def test_bodies_that_can_be(way, pull):
    if way == "sdp":
        pytest.importorskip("cvxpy")
    found = kt.identify(GUESS, data(0.3, seed=2), consistent=way, pull=pull, pull_weight=0.1, friction="coulomb")
    tens = np.array([found.robot.parameters().values[10 * k : 10 * k + 10] for k in range(2)])
    assert found.physical
    assert is_possible(tens).all()
    same_forces(found.robot, tolerance=0.05)


def test_what_fits_best_may_be_impossible_and_says_so():
    with pytest.warns(kt.IdentificationWarning, match="physically impossible"):
        found = kt.identify(GUESS, data(3.0, seed=3, duration=5.0), consistent=None, friction="coulomb")
    assert not found.physical


def test_friction_models():
    found = kt.identify(GUESS, data(), friction={"upper_joint": "viscous", "lower_joint": "stribeck"})
    assert found.friction["upper_joint"].model.name == "viscous"
    assert "lower_joint.stribeck" in found.names
    assert "upper_joint.friction" not in found.names
    own = found.robot.model.joint("lower_joint")
    assert own.stribeck_speed == (found.friction["lower_joint"].shape,)
    assert own.stribeck == (found.solution["lower_joint.stribeck"],)
    bare = two_links()
    found = kt.identify(GUESS, data(robot=bare), friction="none")
    assert len(found) == 6
    same_forces(found.robot, bare, 5e-3)


def test_friction_that_builds_up_is_recognized_and_kept(tmp_path):
    rng = np.random.default_rng(0)
    bare = two_links()
    t, q, v, a = fourier(2, rng, 30.0, rate=200.0)
    tau = bare.inverse_dynamics(q, v, a) + np.stack(
        [0.5 * presliding(x, y, 0.0, 0.03) for x, y in zip(q.T, v.T, strict=True)], 1
    )
    tau += 0.01 * rng.standard_normal(tau.shape)
    found = kt.identify(GUESS, kt.Measured(t, q, tau, v))
    for joint in ("upper_joint", "lower_joint"):
        assert found.friction[joint].model.name == "presliding"
        assert found.friction[joint].shape == pytest.approx(0.03, rel=0.15)
        assert found.robot.parameters()[f"{joint}.friction"] == pytest.approx(0.5, rel=0.05)
    found.save(tmp_path / "found.yaml")
    again = kt.load(tmp_path / "found.yaml")
    for joint, own in found.friction.items():
        assert again.model.joint(joint).friction_travel == (own.shape,)
    with pytest.warns(kt.KinetreeWarning) as heard:
        found.save(tmp_path / "found.urdf")
    said = "\n".join(str(one.message) for one in heard)
    assert "presliding friction of upper_joint, lower_joint" in said
    assert ".yaml keeps everything" in said
    assert "way in which friction builds up of joints 'upper_joint', 'lower_joint'" in said  # each kind once
    assert said.count("friction offset of") == 1


def test_friction_of_stribecks_kind_is_found_kept_and_reported(tmp_path):
    rng = np.random.default_rng(0)
    truth = two_links(damping=0.2, friction=0.5).with_stribeck({"lower_joint": 0.4}, {"lower_joint": 0.3})
    t, q, v, a = fourier(2, rng, 30.0, rate=200.0)
    tau = truth.inverse_dynamics(q, v, a, friction=True)
    tau += 0.01 * rng.standard_normal(tau.shape)
    found = kt.identify(
        GUESS, kt.Measured(t, q, tau, v), friction={"lower_joint": "stribeck", "upper_joint": "coulomb"}
    )
    found.save(tmp_path / "found.yaml")
    own = kt.load(tmp_path / "found.yaml").model.joint("lower_joint")
    assert own.stribeck[0] == pytest.approx(0.4, rel=0.12)
    assert own.stribeck_speed[0] == pytest.approx(0.3, rel=0.1)
    assert own.friction[0] == pytest.approx(0.5, rel=0.05)
    same_forces(found.robot, truth, 5e-3)
    text = found.report(tmp_path / "out", format="markdown").read_text(encoding="utf-8")
    assert f"lower_joint.stribeck | 0 | {own.stribeck[0]:.5g} | N m" in text
    assert f"| {found.noise[1]:.3g} N m |" in text


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_stribecks_friction_is_recognized_where_it_is_and_nowhere_else(seed):
    """One joint has it and one has not; beside presliding, which is less friction behind reversals and not more."""
    rng = np.random.default_rng(seed)
    plain = two_links(damping=0.2, friction=0.5)
    truth = plain.with_stribeck({"lower_joint": 0.3}, {"lower_joint": 0.3})
    t, q, v, a = fourier(2, rng, 20.0, rate=200.0)
    noise = 0.02 * rng.standard_normal(q.shape)
    tau = truth.inverse_dynamics(q, v, a, friction=True) + noise
    found = kt.identify(GUESS, kt.Measured(t, q, tau, v))
    assert [own.model.name for own in found.friction.values()] == ["coulomb", "stribeck"]
    assert found.friction["lower_joint"].shape == pytest.approx(0.3, rel=0.2)
    assert found.solution["lower_joint.stribeck"] == pytest.approx(0.3, rel=0.2)
    assert found.solution["lower_joint.friction"] == pytest.approx(0.5, rel=0.06)
    builds_up = np.stack([0.5 * presliding(q[:, k], v[:, k], 0.0, 0.02) for k in range(2)], axis=1)
    slow = kt.identify(GUESS, kt.Measured(t, q, two_links().inverse_dynamics(q, v, a) + builds_up + 0.2 * v + noise, v))
    assert [own.model.name for own in slow.friction.values()] == ["presliding"] * 2


def test_damping_that_follows_in_time_is_found(tmp_path):
    """Presliding and a spring together do nearly the same: all of friction is chosen beside the rest of it."""
    rng = np.random.default_rng(1)
    bare = two_links()
    t, q, v, a = fourier(2, rng, 30.0, rate=200.0)
    behind = lsim(([1.0], [0.3, 1.0]), v[:, 1], t, 0.3 * v[0, 1])[1]
    tau = bare.inverse_dynamics(q, v, a) + 0.3 * np.sign(v) + np.stack([v[:, 0], 2.0 * behind], axis=1)
    tau += 0.02 * rng.standard_normal(tau.shape)
    found = kt.identify(GUESS, kt.Measured(t, q, tau, v), rotor_inertia=False)
    assert found.friction["upper_joint"].time == 0.0
    assert found.friction["lower_joint"].time == pytest.approx(0.3, rel=0.05)
    assert found.solution["lower_joint.damping"] == pytest.approx(2.0, rel=0.05)
    assert found.friction["lower_joint"].model.name == "coulomb"
    assert not found.springs
    plain = kt.identify(GUESS, kt.Measured(t, q, tau, v), rotor_inertia=False, friction="coulomb")
    assert plain.training_errors[1] > 3.0 * found.training_errors[1]
    found.save(tmp_path / "found.yaml")
    assert kt.load(tmp_path / "found.yaml").model.joint("lower_joint").damping_time == (
        found.friction["lower_joint"].time,
    )


def test_rotors_that_are_felt_are_found():
    robot = kt.gallery.load("kuka-kr5")
    names = [f"{joint}.rotor_inertia" for joint in robot.v_names]
    truth = robot.with_parameters(dict.fromkeys(names, 0.3))
    noise = np.array([0.1, 0.1, 0.1, 1e-3, 1e-3, 1e-8])  # the last link weighs next to nothing
    found = kt.identify(robot, data(noise, robot=truth, duration=30.0), friction="none")
    assert "rotor inertias are identified" in found.notes
    for name in names[2:]:
        assert found.robot.parameters()[name] == pytest.approx(0.3, rel=0.05)
    still = kt.identify(robot, data(noise, robot=robot, duration=30.0), friction="none")
    assert "rotor inertias stay unchanged" in still.notes


def test_springs_that_are_felt_are_found_and_no_others(tmp_path):
    sprung = TRUTH.with_springs({"lower_joint": 0.8}, {"lower_joint": 0.3})
    measured = data(0.05, robot=sprung)
    found = kt.identify(GUESS, measured, friction="coulomb")
    assert list(found.springs) == ["lower_joint"]
    table = found.robot.parameters()
    place = found.names.index("lower_joint.stiffness")
    assert found.units[place] == "N m/rad"
    assert abs(table["lower_joint.stiffness"] - 0.8) < 3.5 * found.deviations[place]
    # where it rests cannot be told from the offset, but what both pull can
    pull = table["lower_joint.offset"] - table["lower_joint.stiffness"] * found.springs["lower_joint"]
    assert pull == pytest.approx(0.15 - 0.8 * 0.3, abs=0.02)
    same_forces(found.robot, sprung, 0.02)
    assert found.errors(data(0.05, 4, sprung)).max() < 0.1
    found.save(tmp_path / "found.yaml")
    again = kt.load(tmp_path / "found.yaml")
    assert again.parameters()["lower_joint.stiffness"] == table["lower_joint.stiffness"]
    rows = {row[0]: row[1:] for row in _robot_table(found)[1]}
    assert rows["lower_joint.stiffness"] == ["0", f"{table['lower_joint.stiffness']:.5g}", "N m/rad"]

    assert not kt.identify(GUESS, data(0.05), friction="coulomb").springs
    assert not kt.identify(GUESS, measured, friction="coulomb", springs=False).springs
    known = kt.identify(GUESS.with_springs({"lower_joint": 0.8}, {"lower_joint": 0.3}), measured, friction="coulomb")
    assert not known.springs  # the file's holds
    same_forces(known.robot, sprung, 0.02)
    named = kt.identify(GUESS.with_springs({"lower_joint": 2.0}), measured, friction="coulomb", springs=["lower_joint"])
    assert named.springs == {"lower_joint": 0.0}
    assert named.robot.parameters()["lower_joint.stiffness"] == pytest.approx(0.8, abs=0.05)
    with pytest.raises(kt.OptionError, match="True, False, 'auto' or a list"):
        kt.identify(GUESS, measured, springs="all")


@IMPOSSIBLE
def test_known_parameters_are_held():
    found = kt.identify(GUESS, data(), fixed=["upper.*", "lower_joint.friction"], consistent=None, friction="coulomb")
    before, after = GUESS.parameters(), found.robot.parameters()
    for name in before.names:
        if name.startswith("upper.") or name == "lower_joint.friction":
            assert after[name] == before[name]
    with pytest.raises(kt.UnknownNameError, match="upper"):
        kt.identify(GUESS, data(), fixed=["uper.*"])
    with pytest.raises(kt.OptionError, match="list of names"):
        kt.identify(GUESS, data(), fixed="upper.*")
    with pytest.raises(kt.OptionError, match="fix all ten"):
        kt.identify(GUESS, data(), fixed=["upper.M"])


def test_gains_turn_currents_into_forces():
    d = data()
    currents = kt.Measured(d.t, d.q, d.tau / [20.0, 10.0], d.v)
    for gains in ([20.0, 10.0], {"upper_joint": 20.0, "lower_joint": 10.0}):
        found = kt.identify(GUESS, currents, gains=gains)
        same_forces(found.robot, tolerance=5e-3)
        assert found.errors(currents).max() < 0.01
    with pytest.raises(kt.OptionError, match="gains"):
        kt.identify(GUESS, currents, gains=[1.0, 0.0])


def three_links(scale=1.0):
    arm = kt.Builder("three links")
    arm.body("a", "base", kt.Revolute("y"), mass=3.0 * scale, com=(0.2, 0, 0), inertia=(0.05,) * 3)
    arm.body("b", "a", kt.Revolute("y"), position=(0.5, 0, 0), mass=2.0, com=(0.2, 0, 0.02), inertia=(0.03,) * 3)
    arm.body("c", "b", kt.Revolute("z"), position=(0.4, 0, 0), mass=1.0, com=(0.15, 0, 0), inertia=(0.01,) * 3)
    return arm.build()


def test_a_sensor_with_another_scale_is_noticed_and_corrected():
    d = data(0.02, robot=three_links(), duration=30.0)
    wrong = kt.Measured(d.t, d.q, d.tau * [1.0, 1.1, 1.0], d.v)
    with pytest.warns(kt.IdentificationWarning, match=r"that of b_joint [\d.]+ % too much"):
        plain = kt.identify(three_links(1.3), wrong, friction="none", springs=False)
    found = kt.identify(three_links(1.3), wrong, friction="none", springs=False, gains="auto")
    assert found.gains == pytest.approx([1.0, 1.0 / 1.1, 1.0], rel=5e-3)
    assert any("b_joint is multiplied by 0.909" in note for note in found.notes)
    assert np.all(found.errors(wrong)[:2] < 0.2 * plain.errors(wrong)[:2])
    same_forces(found.robot, three_links(), tolerance=1e-2)


def test_scales_that_agree_stay():
    found = kt.identify(three_links(1.3), data(0.02, robot=three_links()), friction="none", springs=False, gains="auto")
    assert found.gains is None
    assert "the forces of all joints agree" in found.notes
    alone = kt.Builder("one link").body("a", "base", kt.Revolute("y"), mass=1.0, com=(0.2, 0, 0)).build()
    with pytest.raises(kt.OptionError, match="several joints"):
        kt.identify(alone, data(robot=alone), gains="auto")
    with pytest.raises(kt.OptionError, match="gains"):
        kt.identify(three_links(), data(robot=three_links()), gains="automatic")


@pytest.mark.filterwarnings("ignore::kinetree.IdentificationWarning")
def test_forces_of_the_wrong_sign_or_unit_are_noticed():
    d = data(0.01)
    for turned in (-1.0, [1.0, -1.0]):
        wrong = kt.Measured(d.t, d.q, d.tau * np.array(turned), d.v)
        with pytest.warns(kt.IdentificationWarning, match="sign"), suppress(kt.IdentificationError):
            kt.identify(GUESS, wrong)
        with pytest.warns(kt.IdentificationWarning, match="sign"):
            kt.identify(GUESS, wrong, consistent=None)
    with pytest.warns(kt.IdentificationWarning, match="times those of the file"):
        kt.identify(GUESS, kt.Measured(d.t, d.q, 1000.0 * d.tau, d.v))
    with pytest.warns(kt.IdentificationWarning, match="times those of the file"):
        kt.identify(GUESS, kt.Measured(d.t, d.q, 1e-3 * d.tau, d.v))


def test_a_joint_that_rests_is_named():
    d = data(0.01)
    q, v = d.q.copy(), d.v.copy()
    q[:, 1], v[:, 1] = 0.3, 0.0
    tau = TRUTH.inverse_dynamics(q, v, np.gradient(v, d.t, axis=0), friction=True)
    with pytest.warns(kt.IdentificationWarning) as seen:
        found = kt.identify(GUESS, kt.Measured(d.t, q, tau, v))
    words = " ".join(str(w.message) for w in seen)
    assert "lower_joint hardly moves" in words
    assert "does not determine" in words
    assert any("lower" in name for name in found.untold)
    with pytest.raises(kt.IdentificationError, match="no joint moves"):
        kt.identify(GUESS, kt.Measured(d.t, np.zeros_like(q), tau, np.zeros_like(v)))


def test_several_motions_count_together():
    first, second = data(0.02, seed=0), data(0.02, seed=1)
    both = kt.identify(GUESS, [first, second], friction="coulomb")
    alone = kt.identify(GUESS, first, friction="coulomb")
    assert len(both.equations.t) > 1.5 * len(alone.equations.t)
    assert np.mean(both.deviations / alone.deviations) < 0.95
    slow = kt.Measured(2.0 * first.t, first.q, first.tau)
    with pytest.raises(kt.IdentificationError, match="sampling periods"):
        kt.identify(GUESS, [first, slow])


def test_joints_that_mimic_others_are_identified_with_their_leader():
    b = kt.Builder("coupled")
    b.body("upper", "base", kt.Revolute("y"), mass=3.0, com=(0.2, 0, 0), inertia=(0.02, 0.05, 0.05), joint_name="lead")
    b.body("lower", "upper", kt.Revolute("y"), position=(0.5, 0, 0), mass=1.5, com=(0.2, 0, 0), inertia=(0.01,) * 3,
           mimic=kt.Mimic("lead", 0.5))  # fmt: skip
    truth = b.build()
    guess = truth.with_parameters({"upper.M": 4.0, "lower.M": 2.0, "upper.MX": 0.7})
    d = data(robot=truth)
    found = kt.identify(guess, d, friction="none")
    same_forces(found.robot, truth, 5e-3)


def test_words_that_are_not_known_are_refused():
    for options in ({"estimator": "weihgted"}, {"consistent": "barier"}, {"friction": "colomb"}, {"pull": "logdet"}):
        with pytest.raises(kt.UnknownNameError):
            kt.identify(GUESS, data(), **options)


@pytest.mark.filterwarnings("ignore:not written, because URDF", "ignore:springs, of joint")
def test_the_found_robot_is_saved_loaded_and_simulated(tmp_path):
    found = kt.identify(GUESS, data(0.01), friction="coulomb")
    for name in ("found.urdf", "found.yaml"):
        found.save(tmp_path / name)
        again = kt.load(tmp_path / name)
        table, kept = found.robot.parameters(), again.parameters()
        for parameter in table.names:
            if name.endswith(".yaml") or not parameter.endswith(".offset"):
                assert kept[parameter] == pytest.approx(table[parameter], rel=1e-6, abs=1e-9)
        record = kt.simulate(again, [0.1, 0.2], time=0.2)
        assert np.isfinite(record.q).all()


def test_a_motion_that_tells_hardly_anything_is_noticed():
    rng = np.random.default_rng(0)
    t, q, v, a = fourier(2, rng, 20.0, rate=200.0)
    tau = TRUTH.inverse_dynamics(*(2e-3 * x for x in (q, v, a)), friction=True)
    noisy = kt.Measured(t, 2e-3 * q, tau + 0.2 * rng.standard_normal(tau.shape))
    with pytest.warns(kt.IdentificationWarning, match="parameters have a standard deviation of more than 30 %"):
        kt.identify(GUESS, noisy, friction="coulomb")


def test_combinations_are_numbers_that_compare_with_other_robots():
    found = kt.identify(GUESS, data(0.02), rotor_inertia=False, friction="coulomb", springs=False)
    q, v, a = np.random.default_rng(2).standard_normal((3, 20, 2))
    columns = GUESS.regressor(q, v, a, parameters=found.columns, friction=True)
    assert np.allclose(columns @ found.values, found.robot.inverse_dynamics(q, v, a, friction=True))
    own = found.robot.parameters()
    assert np.allclose(found.matrix @ [own[name] for name in found.parameters], found.values)
    right, wrong = found.compare(TRUTH), found.compare(GUESS)
    assert np.allclose(GUESS.regressor(q, v, a, parameters=found.columns, friction=True) @ right.others,
                       TRUTH.inverse_dynamics(q, v, a, friction=True))  # fmt: skip
    assert np.abs(right.z).max() < 4.0
    assert np.abs(wrong.z).max() > 20.0
    assert "0 differ" in repr(right)
    assert len(str(right).splitlines()) == len(found) + 1
    assert np.abs(found.compare(found.robot).z).max() < 1e-9
    with pytest.raises(kt.UnsupportedError, match=r"has no upper\.XX"):
        found.compare(kt.gallery.load("four-bar"))
    assert repr(found.predicted(data(0.02))).startswith("<MeasuredEquations: ")
    assert len(repr(found.predicted(data(0.02)))) < 120


def test_friction_keeps_its_sign_at_the_seams_of_repeated_motions():
    """All joints touch zero speed there and go on: positions alone must tell nearly as much as the true motion."""
    t, w = np.arange(0.0, 4.0, 2e-3), np.pi / 2.0
    rises = 1.0 - np.cos(w * t)
    first = rises * np.cos(2.0 * w * t) + 0.3 * np.sin(w * t) ** 2
    second = rises * np.cos(w * t) + 0.6 * np.sin(2.0 * w * t) ** 2
    v = np.tile(np.stack([first, second], axis=1), (3, 1))
    t = 2e-3 * np.arange(len(v))
    q, a = 2e-3 * (np.cumsum(v, axis=0) - 0.5 * v), np.gradient(v, t, axis=0)
    rng = np.random.default_rng(1)
    tau = TRUTH.inverse_dynamics(q, v, a, friction=True) + 0.02 * rng.standard_normal(q.shape)
    noisy, true = kt.Measured(t, q + 1e-4 * rng.standard_normal(q.shape), tau), kt.Measured(t, q, tau, v, a)
    found, known = (
        kt.identify(GUESS, seen.rows(slice(500, 5500)), rotor_inertia=False, friction="coulomb", springs=False)
        for seen in (noisy, true)
    )
    assert np.all(found.training_errors < 2.2 * known.training_errors)
    assert np.abs(found.compare(TRUTH).z).max() < 4.0


def test_exciting_motions_are_recommended_where_there_are_any():
    free = kt.Builder("free")
    free.body("trunk", "base", kt.Free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    said = [_more_telling(SimpleNamespace(given=robot)) for robot in (GUESS, free.build(), kt.gallery.load("four-bar"))]
    assert ["exciting_motion" in words for words in said] == [True, False, False]
    for robot in (free.build(), kt.gallery.load("four-bar")):
        with pytest.raises(kt.UnsupportedError):
            kt.exciting_motion(robot, 1.0)


def test_forces_that_are_zero_throughout_are_refused():
    good = data()
    with pytest.raises(kt.IdentificationError, match="zero throughout: there is nothing"):
        kt.identify(GUESS, kt.Measured(good.t, good.q, 0.0 * good.tau, good.v))
    with pytest.raises(kt.IdentificationError, match="force of lower_joint is zero throughout"):
        kt.identify(GUESS, kt.Measured(good.t, good.q, good.tau * [1.0, 0.0], good.v))


def test_friction_that_a_file_cannot_hold_is_named(tmp_path):
    found = kt.identify(GUESS, data(0.01), friction="stribeck")
    with pytest.warns(kt.KinetreeWarning) as said:
        found.save(tmp_path / "found.urdf")
    whole = " ".join(str(word.message) for word in said)
    assert "(stribeck friction of upper_joint, lower_joint)" in whole
    assert "Stribeck's friction of joints 'upper_joint', 'lower_joint'" in whole


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t, q, v: (t, np.degrees(q), np.degrees(v)), "positions look like degrees: they go up to"),
        (lambda t, q, v: (t, np.degrees(q), v), "positions look like degrees, while velocities are in rad/s"),
        (lambda t, q, v: (t, q, np.degrees(v)), "velocities look like degrees per second"),
        (lambda t, q, v: (1e3 * t, q, v), "times look like milliseconds"),
        (lambda t, q, v: (1e3 * t, q, None), "times look like milliseconds: the steps would be 5 s"),
        (lambda t, q, v: (t, q, -v), "velocities have the other sign"),
    ],
)
def test_wrong_units_of_the_motion_are_named_and_not_those_of_forces(change, said):
    good = data(0.05)
    t, q, v = change(good.t, good.q, good.v)
    with pytest.warns(kt.IdentificationWarning) as heard, suppress(kt.IdentificationError):
        kt.identify(GUESS, kt.Measured(t, q, good.tau, v), friction="coulomb", consistent=None, springs=False)
    words = [str(one.message) for one in heard]
    assert said in words[0]
    assert not any("are the forces in N m" in word for word in words)


@IMPOSSIBLE
@pytest.mark.parametrize("delay", [0.012, -0.02])
def test_delayed_forces_are_noticed(delay):
    good = data(0.05)
    late = np.stack([np.interp(good.t - delay, good.t, column) for column in good.tau.T], axis=1)
    with pytest.warns(kt.IdentificationWarning, match="much better when they are taken") as heard:
        kt.identify(
            GUESS, kt.Measured(good.t, good.q, late, good.v), friction="coulomb", consistent=None, springs=False
        )
    (words,) = (str(one.message) for one in heard if "much better" in str(one.message))
    assert f"{abs(1e3 * delay):.2g} ms {'earlier' if delay > 0 else 'later'}" in words
    assert ("forces come" if delay > 0 else "positions come") in words


def noisy_positions(delay=0.0, seed=0):
    """Return positions alone, with the noise of an encoder, and forces with Coulomb friction that come late."""
    rng = np.random.default_rng(seed)
    t, q, v, a = fourier(2, rng, 20.0, rate=500.0)
    tau = TRUTH.inverse_dynamics(q, v, a, friction=True)
    late = np.stack([np.interp(t - delay, t, column) for column in tau.T], axis=1)
    return kt.Measured(t, q + 1e-3 * rng.standard_normal(q.shape), late + 0.02 * rng.standard_normal(q.shape))


def test_noise_of_positions_is_neither_a_delay_nor_a_way_in_which_friction_builds_up(recwarn, tmp_path):
    found = kt.identify(GUESS, noisy_positions(), springs=False)
    assert not [one for one in recwarn if issubclass(one.category, kt.IdentificationWarning)]
    assert [own.model.name for own in found.friction.values()] == ["coulomb"] * 2
    table = found.robot.parameters()
    assert table["upper_joint.friction"] == pytest.approx(0.3, rel=0.05)
    assert table["lower_joint.friction"] == pytest.approx(0.2, rel=0.05)
    assert found.errors(noisy_positions(seed=5)).max() < 0.02
    found.save(tmp_path / "found.urdf")
    assert not [one for one in recwarn if "builds up" in str(one.message)]


def test_delays_do_not_hide_behind_a_way_in_which_friction_builds_up():
    with pytest.warns(kt.IdentificationWarning, match="much better when they are taken") as heard:
        kt.identify(GUESS, noisy_positions(0.005), springs=False)
    (words,) = (str(one.message) for one in heard if "much better" in str(one.message))
    assert "forces come" in words
    assert float(words.partition("taken ")[2].split()[0]) == pytest.approx(5.0, abs=1.0)


@IMPOSSIBLE
def test_too_short_a_motion_is_called_so_first():
    with pytest.warns(kt.IdentificationWarning) as heard:
        kt.identify(GUESS, data(0.05, duration=0.4), friction="coulomb", consistent=None, springs=False)
    words = [str(one.message) for one in heard]
    assert any("s of motion are too short" in word for word in words)
    assert not any("are the forces in N m" in word for word in words)


def test_what_no_robot_has_is_not_written(tmp_path):
    with pytest.warns(kt.IdentificationWarning, match="physically impossible"):
        found = kt.identify(GUESS, data(3.0, seed=3, duration=5.0), consistent=None, friction="coulomb")
    with pytest.raises(kt.UnsupportedError, match="--consistent barrier"):
        found.save(tmp_path / "found.yaml")
    assert not list(tmp_path.iterdir())


def test_friction_of_joints_with_several_freedoms_and_bases_that_nothing_holds():
    b = kt.Builder("wrist").body(
        "hand", "base", kt.Universal("XY"), mass=2.0, com=(0.1, 0.05, 0.3), inertia=(0.02,) * 3
    )
    wrist = b.build()
    first, second = wrist.v_names
    truth = wrist.with_parameters({f"{first}.friction": 0.5, f"{first}.damping": 0.2, f"{second}.friction": 0.3})
    found = kt.identify(wrist, data(0.02, robot=truth))
    for name in (f"{first}.friction", f"{first}.damping", f"{second}.friction"):
        place = found.names.index(name)
        assert abs(found.values[place] - truth.parameters()[name]) < 4.0 * found.deviations[place] + 0.01
    assert found.errors(data(0.0, 2, truth)).max() < 0.03
    with pytest.raises(kt.OptionError, match="a joint of one freedom"):
        kt.identify(wrist, data(0.02, robot=truth), friction={first: "presliding"})

    stone = kt.Builder("stone").body("stone", "base", kt.EulerFree(), mass=2.0, inertia=(0.1,) * 3)
    dog = stone.body("tail", "stone", kt.Revolute("y"), mass=1.0, com=(0.3, 0, 0), inertia=(0.02,) * 3).build()
    t, q, v, a = fourier(7, np.random.default_rng(0), 10.0, amplitude=0.2)
    tau = dog.inverse_dynamics(q, v, a)
    with pytest.raises(kt.IdentificationError, match="nothing that was measured holds 'stone' up"):
        kt.identify(dog, kt.Measured(t, q, tau[:, 6:], v, a))


def test_a_way_too_short_to_be_seen_is_coulomb_friction():
    """Noise of measured velocities hides reversals that positions show; predictions keep what these tell."""
    rng = np.random.default_rng(0)
    t, q, v, a = fourier(2, rng, 20.0, rate=200.0)
    tau = TRUTH.inverse_dynamics(q, v, a, friction=True) + 0.01 * rng.standard_normal(q.shape)
    seen = kt.Measured(t, q, tau, v + 0.3 * rng.standard_normal(v.shape), a)
    found, plain = (kt.identify(GUESS, seen, friction=name, springs=False) for name in ("auto", "coulomb"))
    assert [own.model.name for own in found.friction.values()] == ["coulomb"] * 2
    assert [own.words for own in found.friction.values()] == [""] * 2
    assert not any(any(joint.friction_travel) for joint in found.robot.model.joints)
    assert np.all(found.training_errors < 0.8 * plain.training_errors)
    assert np.allclose(found.errors(seen), found.training_errors, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda q, v, tau: (q[:, ::-1], v[:, ::-1], tau), "the positions of upper_joint and lower_joint exchanged"),
        (lambda q, v, tau: (q, v, tau[:, ::-1]), "the forces of upper_joint and lower_joint exchanged"),
        (lambda q, v, tau: (q * [1, -1], v * [1, -1], tau), "positions of lower_joint with the opposite sign"),
    ],
)
def test_columns_that_are_mixed_up_are_named(change, said):
    good = data(0.01)
    q, v, tau = change(good.q, good.v, good.tau)
    with pytest.warns(kt.IdentificationWarning) as heard, suppress(kt.IdentificationError):
        kt.identify(GUESS, kt.Measured(good.t, q, tau, v), friction="coulomb", springs=False, consistent=None)
    words = [str(one.message) for one in heard]
    assert f"with {said} the model leaves" in words[0]
    assert not any("disagree about what the bodies weigh" in word for word in words)


def test_noise_of_forces_does_not_hide_mixed_columns_and_results_keep_the_warnings():
    good = data(0.01)
    size = np.sqrt(np.mean(good.tau**2, axis=0))
    noisy = good.tau + 0.3 * size * np.random.default_rng(0).standard_normal(good.tau.shape)
    with pytest.warns(kt.IdentificationWarning) as heard:
        found = kt.identify(
            GUESS,
            kt.Measured(good.t, good.q, noisy[:, ::-1], good.v),
            friction="coulomb",
            springs=False,
            consistent=None,
        )
    assert "the forces of upper_joint and lower_joint exchanged" in found.warned[0]
    assert found.warned == tuple(str(one.message) for one in heard)
    assert dict(_parts(found, None))["Warnings"] == list(found.warned)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kt.IdentificationWarning)
        clean = kt.identify(GUESS, good, friction="coulomb", springs=False)
    assert clean.warned == ()
    assert "Warnings" not in dict(_parts(clean, None))


def test_an_encoder_that_hung_is_named():
    good = data(0.01, duration=5.0)
    q = good.q + 1e-6 * np.random.default_rng(0).standard_normal(good.q.shape)
    q[400:500, 1] = q[400, 1]
    with pytest.warns(
        kt.IdentificationWarning, match="position of lower_joint does not change from 2 s to 2.4.* jumps"
    ):
        kt.identify(GUESS, kt.Measured(good.t, q, good.tau), friction="coulomb", springs=False)


def test_an_encoder_that_hung_is_named_though_the_joint_came_back_and_rest_and_coarse_steps_are_not():
    t = np.arange(0.0, 8.0, 1e-3)
    moving = np.stack([np.sin(2.0 * t), 0.3 * np.sin(7.0 * t)], axis=1)
    noisy = moving + 1e-4 * np.random.default_rng(0).standard_normal(moving.shape)
    stuck = noisy.copy()
    turns = np.argmin(np.abs(t - np.pi / 4.0))  # where the first joint turns: it comes back to where it was
    stuck[turns - 200 : turns + 200, 0] = stuck[turns - 200, 0]

    def said(q):
        return of_stuck_encoders(kt.Measured(t, q, np.zeros_like(q)), GUESS)

    assert len(said(stuck)) == 1
    assert "position of upper_joint does not change from 0.585 s to 0.984 s and then goes on" in said(stuck)[0]
    rests = moving * np.minimum(1.0, (t - 4.0).clip(0.0) ** 2)[:, None]
    for q in (noisy, rests, np.round(noisy, 2), np.round(moving, 3), np.round(moving, 1)):
        assert not said(q)


@pytest.mark.filterwarnings("ignore::kinetree.IdentificationWarning")
@pytest.mark.parametrize("seed", [2, 9, 10])
def test_short_motions_of_plain_friction_get_no_slow_dampers(seed):
    """Cross-validation favors any column where parts of a motion tell little; all data must fit better, too."""
    found = kt.identify(GUESS, data(0.1, seed, duration=4.0, parts="q"))
    assert [own.time for own in found.friction.values()] == [0.0, 0.0]
