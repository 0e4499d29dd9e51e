"""Algorithms as WebAssembly, run by Node, against the robot's own methods."""

import json

import numpy as np
import pytest

import kinetree as kt
from helpers.node import needs_node, run
from helpers.par_files import ARM, write


def called(made, name, *inputs):
    """Call a function of a module for one state or many."""
    facts = made.description["functions"][name]
    assert [x.shape[-1] for x in inputs] == [n for _, n in facts["inputs"]]
    size, given = int(np.prod(facts["shape"])), np.concatenate(inputs, axis=-1)
    (found,) = run(made.code, (name if given.ndim == 1 else name + "_many", given, size))
    return found.reshape(*given.shape[:-1], *facts["shape"])


@needs_node
def test_an_arm_computes_as_in_python_for_one_state_and_many():
    robot = kt.load("kuka-kr5")
    made = robot.webassembly(["inverse_dynamics", "forward_dynamics", ("jacobian", {"frame": "link_6"})])
    rng = np.random.default_rng(0)
    q, v, a = robot.random_configuration(rng, 101), *rng.standard_normal((2, 101, 6))
    tau = robot.inverse_dynamics(q, v, a)
    found = called(made, "inverse_dynamics", q, v, a)
    np.testing.assert_allclose(found, tau, atol=1e-12 * np.abs(tau).max())
    np.testing.assert_allclose(called(made, "forward_dynamics", q, v, tau), a, atol=1e-10)
    np.testing.assert_allclose(called(made, "jacobian_link_6", q[0]), robot.jacobian(q[0], "link_6"), atol=1e-13)
    assert made.description["functions"]["inverse_dynamics"]["inputs"] == [["q", 6], ["v", 6], ["a", 6]]


@needs_node
def test_wrenches_and_parameters_are_further_inputs():
    robot = kt.load("kuka-kr5")
    masses = {"bodies": {"link_3": {"mass": 7.0}, "link_5": {"mass": 2.0}}}
    made = robot.webassembly("inverse_dynamics", parameters=masses, wrenches=True, many=False)
    assert list(made.description["parameters"].items()) == [
        ("bodies.link_3.mass", [7.0]),
        ("bodies.link_5.mass", [2.0]),
    ]
    assert not made.description["functions"]["inverse_dynamics"]["many"]
    rng = np.random.default_rng(1)
    q, v, a = rng.standard_normal((3, 6))
    six = rng.standard_normal((len(robot.body_names), 6))
    wrenches = {name: kt.Wrench(moment=w[:3], force=w[3:]) for name, w in zip(robot.body_names, six, strict=True)}
    other = {"bodies": {"link_3": {"mass": 9.0}, "link_5": {"mass": 1.0}}}
    found = called(made, "inverse_dynamics", q, v, a, six.ravel(), np.array([9.0, 1.0]))
    expected = robot.inverse_dynamics(q, v, a, wrenches, parameters=other)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@needs_node
def test_a_mechanism_keeps_its_loops_closed():
    robot = kt.load("four-bar")
    made = robot.webassembly()
    q = robot.assembled()
    v = robot.velocities(q, [1.3])
    a = robot.forward_dynamics(q, v, [0.7, 0.0, 0.0])
    found = called(made, "closed_forward_dynamics", q, v, np.array([0.7, 0.0, 0.0]))
    np.testing.assert_allclose(found[:3], a, atol=1e-10)
    back = called(made, "closed_inverse_dynamics", q, v, a)
    np.testing.assert_allclose(back[:3], [0.7, 0.0, 0.0], atol=1e-11)


def test_files_are_written_together_and_say_what_is_in_them(tmp_path):
    made = kt.load("four-bar").tree.webassembly(["mass_matrix"])
    code, description = made.save(tmp_path / "bar.wasm")
    assert code.read_bytes() == made.code
    facts = json.loads(description.read_text())
    assert facts == made.description
    assert facts["functions"]["mass_matrix"]["shape"] == [3, 3]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bar.json", "bar.wasm"]
    with pytest.raises(kt.OutputError, match="cannot be written"):
        made.save(tmp_path / "nowhere" / "bar.wasm")


@needs_node
def test_symbols_become_an_input(tmp_path):
    robot = kt.load(write(tmp_path, ARM))
    made = robot.webassembly(["gravity_force"])
    values = {name: 0.5 + 0.1 * k for k, name in enumerate(robot.symbols)}
    assert made.description["functions"]["gravity_force"]["inputs"] == [["q", robot.nq], ["symbols", len(values)]]
    q = np.linspace(0.2, 0.9, robot.nq)
    found = called(made, "gravity_force", q, np.array(list(values.values())))
    with pytest.warns(kt.ModelWarning):
        expected = robot.with_values(values).gravity_force(q)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_what_is_not_there_is_refused():
    robot = kt.load("kuka-kr5")
    with pytest.raises(kt.UnknownNameError, match="inverse_dynamic"):
        robot.webassembly(["inverse_dynamic"])
    with pytest.raises(kt.UnknownNameError, match="link_9"):
        robot.webassembly(parameters={"bodies": {"link_9": {"mass": 1.0}}})
    with pytest.raises(kt.UnsupportedError, match="loops"):
        kt.load("four-bar").webassembly(["inverse_mass_matrix"])
