"""Programs of MATLAB over any scalar, judged by what Octave said of them; what is refused, and how."""

from __future__ import annotations

import importlib
import os
import re

import numpy as np
import pytest

import kinetree as kt
from helpers.matlab_programs import OUTPUTS, PROGRAMS, TIMES, arguments, recorded
from kinetree.evaluation.law_kernels import LawProgram
from kinetree.spatial.scalar import floor
from kinetree_programs.matlab import MatlabFolder, evaluate, parse
from kinetree_programs.matlab.folder import numbers

FOLDER = MatlabFolder(PROGRAMS)


def flat(values):
    return np.concatenate([np.asarray(numbers(value), dtype=float).reshape(-1) for value in values])


def flat_record(answer):
    return np.concatenate([np.asarray(x, dtype=float).ravel(order="F") for x in answer])


@pytest.mark.parametrize("name", OUTPUTS)
def test_results_are_octaves(name):
    for k, answer in enumerate(recorded()[name]):
        found = FOLDER.call(name, arguments(name, k), OUTPUTS[name])
        for value, expected in zip(found, answer, strict=True):
            wanted = np.asarray(expected, dtype=float)
            assert value.numbers().data.shape == wanted.shape
            np.testing.assert_allclose(value.numbers().data, wanted, rtol=1e-12, atol=1e-13)


# ---------------------------------------------------------------- any scalar


def columns(name, calls):
    """Return the numbers of several calls, the calls last: those that differ in length or place are left alone."""
    given = [arguments(name, k) for k in calls]
    return [np.array([np.atleast_1d(g[i]) for g in given]) for i in range(len(given[0]))]


ANY = {"wave": (0,), "closing": (0, 1), "pages": (0,), "any_scalar": (0, 1)}
"""Programs that go over any scalar, and which of their arguments may be anything."""


@pytest.mark.parametrize("name", ANY)
def test_a_batch_is_what_each_of_it_is(name):
    batch = columns(name, range(TIMES))
    free = ANY[name]
    given = [
        [batch[i][:, j] for j in range(batch[i].shape[1])] if i in free else float(batch[i][0, 0])
        for i in range(len(batch))
    ]
    given = [x[0] if isinstance(x, list) and len(x) == 1 else x for x in given]
    found = [np.broadcast_to(x, TIMES) for value in FOLDER.call(name, given, OUTPUTS[name]) for x in numbers(value)]
    expected = np.array([flat_record(answer) for answer in recorded()[name]])
    np.testing.assert_allclose(np.array(found).T, expected, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ANY)
def test_machine_code_is_what_the_program_is(name):
    batch = columns(name, range(TIMES))
    free = list(ANY[name])

    def law(**given):
        call = [given[f"x{i}"] if i in free else float(batch[i][0, 0]) for i in range(len(batch))]
        call = [x[0] if isinstance(x, list) and len(x) == 1 else x for x in call]
        return [x for value in FOLDER.call(name, call, OUTPUTS[name]) for x in numbers(value)]

    program = LawProgram(name, law, {f"x{i}": batch[i].shape[1] for i in free}, compiled=True)
    found = program({f"x{i}": batch[i] for i in free})
    assert program.kernel is not None
    expected = np.array([flat_record(answer) for answer in recorded()[name]])
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-11)


def test_floor_in_machine_code_is_exact():
    anywhere = np.random.default_rng(0).uniform(-1, 1, 300) * 10.0 ** np.linspace(-3, 16, 300)
    edges = [2.0**52 - 0.5, -(2.0**51) - 0.5, 2.0**60, -0.0, np.nan]
    x = np.concatenate([anywhere, np.arange(-5.0, 5.0, 0.5), edges])
    program = LawProgram("floor", lambda x: [floor(x[0])], {"x": 1}, compiled=True)
    np.testing.assert_array_equal(program({"x": x[:, None]})[:, 0], np.floor(x))


# ---------------------------------------------------------------- what the reader by hand read wrongly


def folder_with(tmp_path, **files):
    for name, text in files.items():
        (tmp_path / f"{name}.m").write_text(text)
    return MatlabFolder(tmp_path)


@pytest.mark.parametrize(
    ("appended", "expected"),
    [
        ("%{\nm=[9;9];\n%}", [1, 1]),
        ("%{\n%{\nm=[9;9];\n%}\nm=[8;8];\n%}", [1, 1]),
        ("return\nm=[9;9];", [1, 1]),
        ("end\nfunction other()\nm=[9;9];\nend", [1, 1]),
        ("s='%'; m=[4;5];", [4, 5]),
        ("fprintf('%d',n); m=[4;5];", [4, 5]),
        ("if n==2 m=[9;9]; end", [9, 9]),
        ("for i=1:2 m(i)=7; end", [7, 7]),
        ("m=-2^2*m;", [-4, -4]),
        ("force=3; iffy=4; m=[force; iffy];", [3, 4]),
        ("m=m';m=[m;m](1,:)';", None),
        ("m+=1;", None),
        ("m{1}=4;", None),
        ("clear m", None),
        ("eval('m=[9;9];');", None),
        ("load x.mat", None),
        ("m=[1,,2];", None),
        ("m=[2(3)];", None),
        ("#{\nm=[9;9];\n#}", None),
        ("m=[9;9]\n  + 1;", [9, 9]),
        ("m=[9;9] +\n 1;", None),
        ("global m", None),
        ("m=[1;1i];", None),
        ("m=sqrt([-1;-1]);", None),
        ("m=int8([1;2]);", None),
        ("x=3 m=[9;9];", None),
    ],
)
def test_what_follows_is_matlabs_or_an_error(tmp_path, appended, expected):
    ends = "" if appended.startswith("end") else "\nend"
    folder = folder_with(tmp_path, f=f"function m = f()\nn=2; m=[1;1];\n{appended}{ends}\n")
    if expected is not None:
        assert numbers(folder.call("f")[0]) == expected
        return
    with pytest.raises(kt.FileFormatError, match=r"f\.m, line \d"):
        folder.call("f")


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("y = x(3);", 2, r"x\(3\) is outside a 1x1 matrix"),
        ("y = 1;\ny = unknown_name + 1;", 3, "no variable or function named 'unknown_name'"),
        ("y = [1 2] + [1 2 3];", 2, "matrices of 1x2 and 1x3 do not fit together"),
        ("y = [1 2; 3];", 2, "1x2, 1x1 do not fit below one another"),
        ("y = system('ls');", 2, "nothing outside the folder is run"),
        ("y = load('../other.mat');", 2, "no other is searched"),
        ("y = load('/etc/passwd');", 2, "no other is searched"),
        ("while 1\n y = 1;\nend", "[23]", "more than 2000 steps"),
        ("y = f(x);", 1, "more than 40 nested calls"),
        ("y = zeros(1e9);", 2, "a size must be a whole number|entries is too large"),
        ("y = sqrt(-x);", 2, r"sqrt\(\): its result is complex"),
        ("y = [1 0; 0 0]\\[1; 2];", 2, "singular equations"),
        ("error('my own words');", 2, "the file's own error: my own words"),
        ("z = 1;", 1, r"output 'y' of f\(\) is not set"),
        ("y = rand;", 2, "give the numbers"),
        ("try\n y = q;\ncatch\n y = 2;\nend", 2, "'catch' is not supported"),
        ("s.a = 1; y = s.b;", 2, "'s' has no field 'b'; it has a"),
        ("y = 'text' + 1;", 2, "the left side is a text, where numbers are needed"),
        ("y = true; y(2) = 3;", 2, r"write y = double\(y\) first"),
        ("y = 0x1F;", 2, "numbers in this form are not supported"),
        ("y = 1; break", 2, "'break' outside of a loop"),
        ("y += 1;", 2, r"'\+=' is Octave's, write x = x \+ y"),
    ],
)
def test_refusals_name_the_line_and_what_to_do(tmp_path, body, line, message, monkeypatch):
    monkeypatch.setattr(evaluate, "MOST_STEPS", 2000)
    folder = folder_with(tmp_path, f=f"function y = f(x)\n{body}\n")
    with pytest.raises(kt.FileFormatError, match=message) as caught:
        folder.call("f", [4.0])
    assert re.search(rf"f\.m, line {line}\b", str(caught.value)), str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("if t > 1\n y = 1;\nend", "only one branch of the condition on line 2 sets it"),
        ("if t > 1\n y = 1;\nelse\n y = [1 2];\nend", "different sizes"),
        ("y = 0;\nwhile t > y\n y = y + 1;\nend", "a while loop whose end depends"),
        ("y = zeros(1, t);", "a size depends on the time or the state"),
        ("x = [1 2 3]; y = x(floor(t));", "an index depends on the time or the state"),
        ("y = 1; if t > 1, return, end\ny = 2;", "'return' under a condition"),
        ("y = 1; if t > 1, error('late'), end", "which machine code cannot raise"),
        ("y = sort([t 1]);", "what is sorted depends on"),
        ("y = t^t;", r"write exp\(y\*log\(x\)\)"),
    ],
)
def test_what_cannot_be_compiled_says_why(tmp_path, body, message):
    folder = folder_with(tmp_path, f=f"function y = f(t)\n{body}\n")
    with pytest.raises(kt.FileFormatError, match=message):
        LawProgram("f", lambda t: numbers(folder.call("f", t)[0]), {"t": 1}, compiled=True)


def test_loops_and_returns_inside_of_unknown_conditions_go_on(tmp_path):
    text = """function y = f(t)
    y = 0;
    if t > 1
        for k = 1:5
            if k == 3, break, end
            y = y + g(k)*t;
        end
    end
    function z = g(k)
    z = k;
    if k > 1, return, end
    z = 10;
    """
    found = folder_with(tmp_path, f=text).call("f", [np.array([0.5, 2.0])])
    np.testing.assert_allclose(numbers(found[0])[0], [0.0, 24.0])


def test_scripts_share_variables_and_data_comes_from_the_folder(tmp_path):
    (tmp_path / "table.dat").write_text("1 2\n3 4\n")
    folder = folder_with(
        tmp_path,
        more="b = a + 1;\na = 10;\n",
        f="function y = f(a)\nmore\nload table.dat\nt = load('table.dat');\ny = [a b table(2, :) t(1)];\n",
    )
    assert numbers(folder.call("f", [2.0])[0]) == [10, 3, 3, 4, 1]


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    inside.mkdir()
    (outside / "x.dat").write_text("1 2\n")
    os.symlink(outside / "x.dat", inside / "x.dat")
    (inside / "f.m").write_text("function y = f()\ny = load('x.dat');\n")
    with pytest.raises(kt.FileFormatError, match="no other is searched"):
        MatlabFolder(inside).call("f")


def test_functions_of_the_folder_come_before_those_of_matlab(tmp_path):
    folder = folder_with(tmp_path, f="function y = f()\ny = sin(1);\n", sin="function y = sin(x)\ny = 42;\n")
    assert numbers(folder.call("f")[0]) == [42]


def test_encrypted_functions_are_named_and_can_be_stood_in_for(tmp_path):
    (tmp_path / "secret.p").write_bytes(b"v00000000v00")
    folder = folder_with(tmp_path, f="function y = f(x)\ny = secret(x);\n")
    with pytest.raises(kt.FileFormatError, match=r"secret\.p is encrypted"):
        folder.call("f", [2.0])
    hosts = {"secret": lambda given, outputs: [given[0]]}
    assert numbers(folder.call("f", [2.0], hosts=hosts)[0]) == [2.0]


def test_without_the_grammar_it_says_what_to_install(tmp_path, monkeypatch):
    def refuse(name):
        raise ImportError(name)

    parse._parser.cache_clear()
    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(kt.OptionError, match=r"pip install 'kinetree\[matlab\]'"):
        folder_with(tmp_path, f="function f()\n").call("f", [], 0)
    parse._parser.cache_clear()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1./m", [[0.5], [0.25]]),
        ("12./m.^2", [[3.0], [0.75]]),
        ("2.^m", [[4.0], [16.0]]),
        ("3.*m", [[6.0], [12.0]]),
        ("[1./m 2./m]", [[0.5, 1.0], [0.25, 0.5]]),
        ("1./m'", [[0.5, 0.25]]),
        ("1.\\m", [[2.0], [4.0]]),
        ("3.'*2", [[6.0]]),
    ],
)
def test_a_dot_behind_a_number_belongs_to_the_operator(tmp_path, text, expected):
    """Octave says the same of each."""
    (tmp_path / "p.m").write_text(f"function r = p()\nm = [2; 4]; r = {text};\nend\n")
    assert np.allclose(MatlabFolder(tmp_path).call("p")[0].data, expected)


def test_handles_know_the_functions_of_the_file_that_made_them(tmp_path):
    (tmp_path / "main.m").write_text(
        "function [r, s] = main()\nr = use(@f); k = 3; s = use(@(x) f(x)*k);\nend\nfunction y = f(x)\ny = x + 1;\nend\n"
    )
    (tmp_path / "use.m").write_text("function r = use(g)\nr = g(10);\nend\nfunction y = f(x)\ny = -100;\nend\n")
    assert [float(x.data[0, 0]) for x in MatlabFolder(tmp_path).call("main", [], 2)] == [11.0, 33.0]
    (tmp_path / "use.m").write_text("function r = use(g)\nr = g(10);\nend\n")
    assert [float(x.data[0, 0]) for x in MatlabFolder(tmp_path).call("main", [], 2)] == [11.0, 33.0]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("function y = f(do)\ny = do;\n", "'do' is a keyword of Octave"),
        ("function [y ~ z] = f(x)\ny = x; z = x;\n", "an output of a function needs a name"),
        ("function y = f(x)\ny = x;\nif x > 5\nfunction y = f(x)\ny = 1;\nend\nend\nend\n", "within a block"),
        ("function y = f(x)\ns.a = x; [n s . a] = size(x);\ny = 1;\n", "a space beside the '.' of a field"),
    ],
)
def test_what_octave_refuses_is_refused_where_it_is_not_run(tmp_path, text, reason):
    """Found by damaged files of public folders."""
    with pytest.raises(kt.FileFormatError, match=reason):
        folder_with(tmp_path, f=text).call("f", [1.0])
