"""Cams against closed forms: circles, the textbook's pressure angle, differences of the profile."""

import numpy as np
import pytest

import kinetree as kt

STEPS = [("rise", "120 deg", "20 mm"), ("dwell", "60 deg"), ("fall", "120 deg", "20 mm", "3-4-5"), ("dwell", "60 deg")]
SWING = [("rise", "120 deg", "20 deg"), ("dwell", "60 deg"), ("fall", "180 deg", "20 deg")]


def eccentric(e):
    return lambda t: (e * (1 - np.cos(t)), e * np.sin(t), e * np.cos(t))


def test_a_flat_follower_that_swings_evenly_wants_a_circle():
    made = kt.design.cam(eccentric(0.01), base_radius="30 mm", follower="flat")
    np.testing.assert_allclose(np.hypot(*(made.profile - [0, -0.01]).T), 0.04, atol=1e-15)
    np.testing.assert_allclose(made.radius, 0.04)
    np.testing.assert_allclose(made.face_width, 0.02, rtol=1e-4)


@pytest.mark.parametrize("offset", [0.0, 0.005, -0.01])
def test_pressure_angle_and_curvature_of_a_roller(offset):
    made = kt.design.cam(STEPS, base_radius=0.04, roller_radius="10 mm", offset=offset, samples=2880)
    formula = np.arctan2(made.rate - offset, np.sqrt(0.05**2 - offset**2) + made.lift)
    np.testing.assert_allclose(made.pressure_angle, formula, atol=1e-14)
    first = (np.roll(made.profile, -1, axis=0) - np.roll(made.profile, 1, axis=0)) / 2
    second = np.roll(made.profile, -1, axis=0) - 2 * made.profile + np.roll(made.profile, 1, axis=0)
    radius = -(np.hypot(*first.T) ** 3) / (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0])
    np.testing.assert_allclose(made.radius[::7], radius[::7], rtol=2e-3)


@pytest.mark.parametrize("swings", [False, True])
def test_a_roller_on_the_profile_does_what_was_asked(swings):
    """The cam turned back under the follower: its roller touches the profile and nothing is inside it."""
    given = {"pivot": "100 mm", "arm": "80 mm"} if swings else {"offset": "5 mm"}
    steps = [(word, size, *(("15 deg" if swings else "15 mm",) if rest else ())) for word, size, *rest in STEPS]
    made = kt.design.cam(steps, base_radius=0.04, roller_radius=0.01, samples=1440, **given)
    away = np.array([np.hypot(*(made.profile - center).T).min() for center in made.pitch[::10]])
    np.testing.assert_allclose(away, 0.01, atol=1e-6)
    radius = np.hypot(*made.pitch.T)
    if swings:
        angle = np.arccos((0.1**2 + 0.08**2 - radius**2) / (2 * 0.1 * 0.08))
        np.testing.assert_allclose(angle - angle[0], made.lift, atol=1e-12)
    else:
        np.testing.assert_allclose(np.sqrt(radius**2 - 0.005**2) - np.sqrt(0.05**2 - 0.005**2), made.lift, atol=1e-12)


def test_undercutting_is_found_and_said():
    steep = [("rise", "40 deg", "40 mm"), ("fall", "40 deg", "40 mm"), ("dwell", "280 deg")]
    made = kt.design.cam(steep, base_radius="20 mm", roller_radius="25 mm")
    assert made.undercut.any()
    assert "UNDERCUT" in str(made)
    away = min(np.hypot(*(made.profile - center).T).min() for center in made.pitch)
    assert away < 0.0249  # the roller would have to cut into the profile
    assert not kt.design.cam(steep, base_radius="120 mm", roller_radius="5 mm").undercut.any()


def test_lifts_at_even_angles_are_smoothed():
    even = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    made, wanted = kt.design.cam(0.01 * (1 - np.cos(even)), base_radius=0.05), eccentric(0.01)
    for found, exact in zip((made.lift, made.rate, made.second), wanted(made.angle), strict=True):
        np.testing.assert_allclose(found, exact, atol=2e-7)


@pytest.mark.parametrize("law", ["cycloid", "harmonic", "3-4-5", "4-5-6-7"])
def test_laws_fit_their_derivatives(law):
    steps = [("rise", "180 deg", "10 mm", law), ("fall", "180 deg", "10 mm", law)]
    made = kt.design.cam(steps, base_radius=0.05, samples=7200)
    h = made.angle[1]
    inside = slice(10, 3500)
    np.testing.assert_allclose(np.gradient(made.lift, h)[inside], made.rate[inside], atol=1e-7)
    np.testing.assert_allclose(np.gradient(made.rate, h)[inside], made.second[inside], atol=1e-6)


def test_files_hold_the_profile(tmp_path):
    ezdxf = pytest.importorskip("ezdxf")
    made = kt.design.cam(STEPS, base_radius="40 mm")
    made.save(tmp_path / "cam.dxf")
    line = ezdxf.readfile(tmp_path / "cam.dxf").modelspace().query("LWPOLYLINE")[0]
    np.testing.assert_allclose(np.array([p[:2] for p in line.get_points()]), made.profile * 1000, atol=1e-9)
    made.save(tmp_path / "cam.csv")
    table = np.genfromtxt(tmp_path / "cam.csv", delimiter=",", skip_header=1)
    np.testing.assert_allclose(table[:, 2], made.profile[:, 0], rtol=1e-12, atol=1e-15)


TURNED = {"roller_radius": 0.01, "pivot": 0.12, "arm": 0.1}
SI = "angle [rad],lift [m],x [m],y [m],pitch_x [m],pitch_y [m],pressure_angle [rad]"
IN_MM = "angle [deg],lift [mm],x [mm],y [mm],pitch_x [mm],pitch_y [mm],pressure_angle [deg]"
IN_DEGREES = "angle [deg],lift [deg],x [m],y [m]"


@pytest.mark.parametrize(
    ("motion", "options", "units", "head", "lift"),
    [(STEPS, {}, None, SI, 1.0), (STEPS, {}, "deg mm", IN_MM, 1000.0), (SWING, TURNED, "deg", IN_DEGREES, 180 / np.pi)],
)
def test_a_table_names_its_units(motion, options, units, head, lift, tmp_path):
    made = kt.design.cam(motion, base_radius="40 mm", **options)
    made.save(tmp_path / "cam.csv", units=units)
    assert (tmp_path / "cam.csv").read_text().startswith(head)
    table = np.genfromtxt(tmp_path / "cam.csv", delimiter=",", skip_header=1)
    np.testing.assert_allclose(table[:, 1], made.lift * lift, atol=1e-12)
    np.testing.assert_allclose(table[:, 0], made.angle * (180 / np.pi if units else 1.0), atol=1e-12)


def test_a_drawing_has_units_of_its_own(tmp_path):
    with pytest.raises(kt.OptionError, match="in millimeters"):
        kt.design.cam(STEPS, base_radius="40 mm").save(tmp_path / "cam.dxf", units="mm")


@pytest.mark.parametrize(("roller", "layers"), [("5 mm", ["cam", "pitch_curve"]), (0.0, ["cam"])])
def test_layers_of_a_drawing_say_which_curve_is_which(tmp_path, roller, layers):
    ezdxf = pytest.importorskip("ezdxf")
    made = kt.design.cam(STEPS, base_radius="40 mm", roller_radius=roller)
    made.save(tmp_path / "cam.dxf")
    lines = ezdxf.readfile(tmp_path / "cam.dxf").modelspace().query("LWPOLYLINE")
    assert [line.dxf.layer for line in lines] == layers
    for line, points in zip(lines, (made.profile, made.pitch), strict=False):
        np.testing.assert_allclose(np.array([p[:2] for p in line.get_points()]), points * 1000, atol=1e-9)


WRONG = {
    "whole turn": {"motion": STEPS[:2]}, "follower": {"follower": "mushroom"}, "offset": {"offset": "60 mm"},
    "oscillates": {"pivot": 0.1}, "triangle": {"pivot": 1, "arm": 0.1, "motion": eccentric(0.1)},
    "a step": {"motion": [("up", 1, 2)]}, "does not fit": {"motion": [("rise", "2 mm", 2)]},
    "six lifts": {"motion": [1, 2]}, "positive": {"base_radius": 0}, "returns lift": {"motion": lambda t: t},
    "law of a cam": {"motion": [("rise", 6, 1, "bump")]},
}  # fmt: skip


@pytest.mark.parametrize("message", WRONG)
def test_slips_are_explained(message):
    with pytest.raises(kt.KinetreeError, match=message):
        kt.design.cam(**{"motion": STEPS, "base_radius": 0.05, **WRONG[message]})
