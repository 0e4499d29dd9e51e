"""Walking machines with steps of one's own, and motions that saved models keep."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.formats.source import Source
from kinetree.studies.user_study import StudyReader, read
from kinetree_studio.view.show import gallery_motion


@pytest.mark.parametrize("name", ["biped-planar", "biped-spatial", "biped-unified", "quadruped", "hexapod"])
def test_a_walk_begins_where_the_gallery_says(name):
    machine = kt.gallery.walk(name)
    q, v = machine.start()
    states = kt.gallery.motion(name).states([0.0])
    assert np.allclose(q, states.q[0])
    assert np.allclose(v, states.v[0])
    assert machine.trajectory is machine.walk


def test_steps_and_masses_of_ones_own():
    heavier = kt.load("quadruped").with_parameters({"bodies": {"trunk": {"mass": 30.0}}})
    machine = kt.gallery.walk("quadruped", robot=heavier, stride=0.2, foot_height=0.05)
    assert (machine.walk.gait.stride, machine.walk.gait.start, machine.walk.gait.foot_height) == (0.2, -0.1, 0.05)
    assert machine.robot is heavier
    feet = [machine.walk.feet(t)[0, 0] for t in (0.0, 2.0 * machine.walk.gait.period)]
    assert feet[1] - feet[0] == pytest.approx(2 * 0.2)  # two steps further
    q, v = machine.start()
    options = {"time": 0.01, "ground": machine.ground, "integrator": "bdf", "samples": 3}
    walked = kt.simulate(heavier, q, v, controller=machine.computed_torque(), **options)
    moved = kt.simulate_prescribed(heavier, machine.trajectory, *machine.base_start(), **options)
    assert np.abs(walked.q - moved.q).max() < 1e-4


STUDY = """
kinetree-study: 1
robot: {name: quadruped, parameters: {bodies.trunk.mass: 7}}
motion: {kind: gallery, stride: 220 mm, period: 900 ms, foot_height: 0.05}
"""


def test_a_study_file_changes_the_steps(tmp_path):
    plan = StudyReader(Source(tmp_path / "study.yaml", STUDY.encode())).plan()
    robot = kt.load("quadruped").with_parameters({"bodies": {"trunk": {"mass": 7.0}}})
    machine = kt.gallery.walk("quadruped", robot=robot, stride=0.22, period=0.9, foot_height=0.05)
    q, v = machine.start()
    np.testing.assert_allclose(plan.q, q, atol=1e-12)
    np.testing.assert_allclose(plan.v, v, atol=1e-12)
    assert plan.span == pytest.approx(1.8)
    times = np.linspace(0.0, 1.7, 9)
    wanted = [machine.trajectory(float(t))[0] for t in times]
    np.testing.assert_allclose(plan.states(times).q[:, 6:], wanted, atol=1e-9)
    (ground,) = plan.elements
    assert repr(ground) == repr(machine.ground)
    for wrong, said in (
        ("stride: 3 kg", "'3 kg' does not fit"), ("strid: 0.2", "did you mean 'stride'"),
        ("stride: 2", "walk lower or with shorter steps"),
    ):  # fmt: skip
        with pytest.raises(kt.KinetreeError, match=said):
            StudyReader(Source(tmp_path / "s.yaml", STUDY.replace("stride: 220 mm", wrong).encode())).plan()
    other = "kinetree-study: 1\nrobot: gripper\nmotion: {kind: gallery, stride: 0.2}\n"
    with pytest.raises(kt.KinetreeError, match="'gripper' has no steps: 'stride' is for the walking machines"):
        StudyReader(Source(tmp_path / "s.yaml", other.encode())).plan()


def test_a_walk_in_a_study_lasts_as_long_as_its_simulation(tmp_path):
    text = STUDY + "simulation: {time: 3.7}\n"
    plan = StudyReader(Source(tmp_path / "s.yaml", text.encode())).plan()
    robot = kt.load("quadruped").with_parameters({"bodies": {"trunk": {"mass": 7.0}}})
    machine = kt.gallery.walk("quadruped", robot=robot, stride=0.22, period=0.9, foot_height=0.05)
    assert plan.span == 3.7
    times = np.array([0.0, 1.3, 1.8, 2.2, 3.65, 3.7])  # beyond the two steps that the gallery shows
    wanted = [machine.trajectory(float(t))[0] for t in times]
    np.testing.assert_allclose(plan.states(times).q[:, 6:], wanted, atol=1e-9)
    np.testing.assert_allclose(plan.desired(times)[0][:, 6:], wanted, atol=1e-6)
    lasting = text.replace("foot_height: 0.05", "foot_height: 0.05, duration: 2.5")
    shorter = StudyReader(Source(tmp_path / "s.yaml", lasting.encode())).plan()
    assert shorter.span == 2.5
    np.testing.assert_allclose(shorter.states(times[:4]).q[:, 6:], wanted[:4], atol=1e-9)  # as fast as before
    brief = text.replace("3.7", "0.3")
    assert StudyReader(Source(tmp_path / "s.yaml", brief.encode())).plan().span == pytest.approx(1.8)


def test_a_study_says_where_a_walk_ends_and_where_peaks_are_missed(tmp_path):
    text = (
        "kinetree-study: 1\nrobot: biped-planar\nmotion: {kind: gallery, duration: 0.06}\ncontroller: computed-torque\n"
        "simulation: {time: 0.1, integrator: bdf, rtol: 1e-4, atol: 1e-6}\n"
        "facts: {simulation: [{fact: knee, largest: tau.left_knee, below: 1e6}]}\n"
    )
    (tmp_path / "s.yaml").write_text(text)
    found = read(tmp_path / "s.yaml").run(["simulation"]).outcomes["simulation"]
    record = found.records["record"]
    assert len(record) - 1 == record.info["steps"]
    stands, knee = found.facts
    assert stands.text.startswith("does not fall (its motion ends at 0.06 s, and for the other 0.04 s its last")
    assert any(line.startswith("The motion ends at 0.06 s") for line in found.remarks)
    assert knee.text == "knee"
    assert knee.measured == np.abs(record.tau[:, record.v_names.index("left_knee")]).max()
    (tmp_path / "s.yaml").write_text(text.replace("atol: 1e-6", "atol: 1e-6, samples: 3").replace("duration: 0.06", ""))
    found = read(tmp_path / "s.yaml").run(["simulation"]).outcomes["simulation"]
    stands, few = found.facts
    assert stands.text.startswith("does not fall: ")
    assert few.text == "knee (of 3 samples; 'samples: steps' has all peaks)"
    assert few.measured < knee.measured
    (said,) = [line for line in found.remarks if "those of the 3 samples" in line]
    assert "with samples: steps there is one at each" in said


def test_a_study_says_that_its_motion_begins_at_another_speed(tmp_path):
    text = "kinetree-study: 1\nrobot: four-bar\nmotion: {kind: gallery}\nsimulation: {time: 0.1}\n"
    (tmp_path / "s.yaml").write_text(text)
    speed = kt.gallery.motion("four-bar")(0.0).v[0]
    said = rf"at another speed .* by {speed:.3g} rad/s in crank_joint; nothing follows"
    with pytest.warns(kt.ModelWarning, match=said):
        read(tmp_path / "s.yaml")
    (tmp_path / "s.yaml").write_text(f"{text}start: {{v: {{crank_joint: {speed:.15g}}}}}\n")
    read(tmp_path / "s.yaml")  # no warning


def test_walks_are_printed_in_a_line():
    text = str(kt.gallery.walk("quadruped", stride=0.22))
    assert text.startswith("quadruped walks steps of 0.22 m in 1 s, feet lifted by 0.09 m: trajectory, ground, start()")
    assert "\n" not in text


def test_a_record_says_whether_it_has_fallen():
    b = kt.Builder("hopper")
    b.body("slide", "base", kt.Prismatic("z"), actuated=False, mass=1.0)
    b.body("leg", "slide", kt.Prismatic("z"), mass=1.0, position=(0, 0, -0.5))
    b.frame("foot", "leg", position=(0, 0, -0.5))
    robot = b.build()
    ground = kt.ground.Ground(["foot"], kt.ground.HuntCrossley(1e5, 0.5))
    options = {"time": 0.6, "ground": ground, "integrator": "bdf", "samples": 21}
    stands = kt.simulate(
        robot, [1.0, 0.0], controller=kt.control.PD(kt.trajectories.Constant([0.0]), 3e3, 60), **options
    )
    assert stands.info["height_left"] > 0.9
    assert stands.fallen is None
    falls = kt.simulate(robot, [1.0, 0.0], **options)
    assert falls.fallen in str(falls)
    assert falls.fallen.startswith("it has fallen: its center of mass comes")


def test_walks_that_cannot_be():
    with pytest.raises(kt.UnreachableError, match="walk lower or with shorter steps"):
        kt.gallery.walk("quadruped", stride=2.0)
    with pytest.raises(kt.UnknownNameError, match="did you mean 'stride'"):
        kt.gallery.walk("quadruped", strid=0.2)
    with pytest.raises(kt.UnknownNameError, match="no walking machine named 'kuka-kr5'"):
        kt.gallery.walk("kuka-kr5")
    with pytest.raises(kt.KinetreeError):
        kt.gallery.walk("quadruped", robot=kt.load("hexapod"))


def test_saved_models_keep_their_motion(tmp_path):
    robot = kt.load("four-bar")
    robot.save(tmp_path / "saved.yaml")
    assert "motion: {kind: gallery, of: four-bar}" in (tmp_path / "saved.yaml").read_text()
    saved = kt.load(tmp_path / "saved.yaml")
    track = gallery_motion(saved.model.motion_of, saved)
    wanted = kt.gallery.motion("four-bar").states(track.time)
    assert np.allclose(track.q, wanted.q)
    with kt.view(tmp_path / "saved.yaml", port=0) as viewer:
        assert viewer.player is not None
    shorter = saved.with_parameters({"loops": {"crank_pin": {"position": (0.03, 0, 0)}}})
    moved = gallery_motion("four-bar", shorter)
    assert shorter.closure_error(moved.q).max() < 1e-9  # by its own loops
    assert np.allclose(moved.q[:, 0], wanted.q[:, 0])
    assert np.abs(shorter.loop_jacobian(moved.q) @ moved.v[..., None]).max() < 1e-8
    assert gallery_motion("four-bar", kt.load("kuka-kr5")) is None
    (tmp_path / "saved.yaml").write_text(
        (tmp_path / "saved.yaml").read_text().replace("kind: gallery", "kind: cycloid")
    )
    with pytest.raises(kt.FileFormatError, match="comes with a motion of the gallery"):
        kt.load(tmp_path / "saved.yaml")


def test_a_study_of_a_saved_model_needs_no_name(tmp_path):
    kt.load("four-bar").save(tmp_path / "saved.yaml")
    (tmp_path / "study.yaml").write_text("kinetree-study: 1\nrobot: saved.yaml\nmotion: {kind: gallery}\n")
    assert read(tmp_path / "study.yaml").run(quick=True).faults == []
