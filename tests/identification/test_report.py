from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from helpers.measured_motions import fourier, two_links
from kinetree.identification.equations import MeasuredEquations
from kinetree.identification.report import _first_terms, facts
from kinetree.identification.residuals import whiteness


@pytest.fixture(scope="module")
def found():
    robot = two_links()
    t, q, v, a = fourier(2, np.random.default_rng(0), 20.0)
    tau = robot.inverse_dynamics(q, v, a) + 0.05 * np.random.default_rng(1).standard_normal(q.shape)
    data = kt.Measured(t, q, tau, v)
    return kt.identify(robot, data, friction="none"), data


def test_html_holds_everything(found, tmp_path):
    result, data = found
    page = result.report(tmp_path / "out", data)
    text = page.read_text(encoding="utf-8")
    assert page.name == "report.html"
    assert text.count("data:image/png;base64,") == 3
    for word in ("condition number", "upper.MX + 0.5 lower.M", "held-out error", "all bodies are possible"):
        assert word in text
    with pytest.raises(kt.UnknownNameError, match="html"):
        result.report(tmp_path, format="htm")
    (tmp_path / "file").write_text("")
    with pytest.raises(kt.OutputError, match="cannot be made"):
        result.report(tmp_path / "file" / "out")


def test_text_is_a_table(found):
    assert "training error %" in str(found[0])
    assert "6 parameters" in repr(found[0])
    assert np.allclose(found[0].errors(), found[0].errors(found[1]))  # of the data of the fit


def test_white_and_colored_residuals_are_told_apart():
    rng = np.random.default_rng(0)
    white = rng.standard_normal((500, 1))
    colored = np.convolve(white[:, 0], np.ones(8) / 8, mode="same")[:, None]
    tau = np.concatenate([white, colored], axis=1)
    equations = MeasuredEquations(
        np.zeros((500, 2, 1)), tau, np.ones((500, 2), dtype=bool), ("prediction",), ("a", "b"), np.arange(500.0)
    )
    seen = whiteness(equations)
    assert list(seen.is_white) == [True, False]
    assert seen.factor[0] < 1.3
    assert seen.factor[1] == pytest.approx(np.sqrt(8.0), rel=0.3)  # a mean of eight


def test_a_factor_of_one_is_no_news(found):
    noise = np.random.default_rng(0).standard_normal(500)
    swings = (-1.0) ** np.arange(500) * (1.0 + 0.3 * noise)  # means of these are surer than of white noise
    tau = np.stack([swings, np.convolve(noise, np.ones(8) / 8, mode="same")], axis=1)
    old = found[0].equations
    equations = MeasuredEquations(np.zeros((500, 2, 1)), tau, np.ones((500, 2), dtype=bool), ("prediction",), old.rows,
                                  np.arange(500.0))  # fmt: skip
    assert not whiteness(equations).is_white.any()
    (said,) = (fact for fact in facts(replace(found[0], equations=equations)) if "too small by about" in fact)
    assert "lower_joint (" in said
    assert "upper_joint" not in said


def test_long_sums_are_printed_by_their_first_terms():
    long = "first_link.ZZ + 0.2717 second_link.MY - 0.01846 third_link.M + fourth_link.XX + fifth_link.MZ"
    assert _first_terms(long) == "first_link.ZZ + 0.2717 second_link.MY ... (3 more)"
    assert _first_terms(long[:60]) == long[:60]
    assert _first_terms("a" * 70) == "a" * 70
