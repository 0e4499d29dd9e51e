"""One row of the table is enough for an algorithm to run in every form; rows and methods say the same."""

import inspect
import re
import shutil
import subprocess

import numpy as np
import pytest

import kinetree as kt
from helpers.robots import random_state, random_tree
from kinetree.algorithms import energy, table
from kinetree.algorithms.algorithm import PASSES, Algorithm, Option


def _height(tree, q, v, *, scale):
    """What no robot offers: the energies side by side."""
    return [energy.kinetic_energy(tree, q, v), scale * energy.potential_energy(tree, q, tree.gravity)]


@pytest.fixture
def own_row(monkeypatch):
    """A new algorithm: one function and one row."""
    row = Algorithm(
        "both_energies", ("q", "v"), _height, lambda tree, options: (2,), "Kinetic and potential energy.",
        (Option("scale", 2.0),), direct=True, large=PASSES,
    )  # fmt: skip
    monkeypatch.setitem(table.ALGORITHMS, row.name, row)
    return row


def test_a_row_runs_as_reference_and_as_machine_code(own_row):
    robot = random_tree(np.random.default_rng(3), 4, ["revolute", "prismatic", "spherical"])
    q, v, _ = random_state(robot, np.random.default_rng(0), 9)
    expected = np.stack([robot.kinetic_energy(q, v), 2.0 * robot.potential_energy(q)], axis=-1)
    reference, compiled = robot.with_backend("reference"), robot.with_backend("compiled")
    for way in (reference, compiled, compiled):  # the third time without Python
        for scale in (2.0, 0.0):
            wanted = expected * (1.0, scale / 2.0)
            assert np.allclose(way.evaluator.run(own_row.name, {"scale": scale}, q=q, v=v), wanted, rtol=1e-12)
            assert np.allclose(way.evaluator.run(own_row.name, {"scale": scale}, q=q[0], v=v[0]), wanted[0], rtol=1e-12)
    single = compiled.with_precision("single").evaluator.run(own_row.name, {"scale": 2.0}, q=q, v=v)
    assert single.dtype == np.float32
    assert np.allclose(single, expected, rtol=1e-4, atol=1e-4)


def test_a_row_runs_in_loops_on_large_trees(own_row, monkeypatch):
    monkeypatch.setattr("kinetree.evaluation.compiler.LARGEST_UNROLLED", 0)
    robot = random_tree(np.random.default_rng(4), 5, ["revolute", "universal"])
    q, v, _ = random_state(robot, np.random.default_rng(0), 5)
    found, expected = (
        robot.with_backend(way).evaluator.run(own_row.name, {"scale": 2.0}, q=q, v=v)
        for way in ("compiled", "reference")
    )
    assert np.allclose(found, expected, rtol=1e-12)


def test_a_row_is_counted_compiled_ahead_and_written_as_c(own_row, tmp_path):
    robot = random_tree(np.random.default_rng(3), 3, ["revolute"])
    assert robot.cost(own_row.name).multiplications > 0
    robot.with_backend("compiled").compile((own_row.name, {"scale": 3.0}))
    exported = robot.codegen(tmp_path, [own_row.name, (own_row.name, {"scale": 3})], prefix="own")
    header = exported.header.read_text()
    assert "Kinetic and potential energy. (scale = 2.0)" in header
    if shutil.which("cc"):
        program = tmp_path / "own_test"
        subprocess.run(["cc", exported.source, exported.test, "-lm", "-o", program], check=True, cwd=tmp_path)
        assert subprocess.run([program], capture_output=True, text=True).stdout.count("ok") == 2
    with pytest.raises(kt.UnknownNameError, match="no option of both_energies named 'skale'"):
        robot.cost(own_row.name, skale=1.0)


def _said(text):
    """What is computed, as the row of an algorithm and the docstring of its method say it; shapes left out."""
    first = re.sub(r":\w+:|`|, \(\.\.\.[\w, ]*\)(,(?= that))?", "", text.strip().splitlines()[0])
    return re.sub(r"^(return )?(the )?", "", first.lower())


@pytest.mark.parametrize("algorithm", table.ALGORITHMS.values(), ids=lambda a: a.name)
def test_rows_say_what_the_methods_say(algorithm):
    assert algorithm.summary.endswith(".")
    method = getattr(kt.Robot, algorithm.name, None)
    assert (method is not None) == algorithm.is_method
    if method is not None:
        assert _said(algorithm.summary) == _said(method.__doc__)
        parameters = inspect.signature(method).parameters
        for option in algorithm.options:
            if not option.needed:
                usual = parameters[option.name].default
                assert usual == option.default or (usual is None and option.name == "method")


@pytest.mark.parametrize(
    "algorithm", [*table.ALGORITHMS.values(), *table.LOOP_ALGORITHMS.values()], ids=lambda a: a.name
)
def test_rows_name_the_options_of_their_functions(algorithm):
    parameters = inspect.signature(algorithm.function).parameters.values()
    taken = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    assert [p.name for p in taken] == list(algorithm.option_names)
    assert not algorithm.closed_by or algorithm.closed_by in table.LOOP_ALGORITHMS
