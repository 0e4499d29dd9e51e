"""Graphs as C, compiled strictly and compared with graphs run node by node. No robots here."""

import math
import re

import mpmath
import numpy as np
import pytest

from helpers.gcc import Library
from kinetree.engine import c_source
from kinetree.engine.fuse import fuse
from kinetree.engine.graph import Graph, Node, inputs
from kinetree.engine.interpret import evaluate
from kinetree.engine.trace import trace

functions = Node.scalar_functions


def source(dialect, *fs):
    """A whole C file, as small as it may be."""
    texts, needs = [], set()
    for f in fs:
        text, more, _ = c_source.write_function(dialect, f)
        texts.append(f"{f.signature(dialect.real)};\n{text}")
        needs |= more
    head = "" if dialect.own_math else "#include <math.h>\n"
    return f"{head}#define {dialect.temporary} static\n{c_source.own_mathematics(dialect, needs)}{''.join(texts)}"


def build(tmp_path, dialect, *fs, name="test", **options):
    path = tmp_path / f"{name}.c"
    path.write_text(source(dialect, *fs))
    real = np.float32 if dialect.single_precision else np.float64
    return Library(path, real, with_libm=not dialect.own_math, **options)


def as_function(function, *lengths, name="f"):
    traced = trace(function, lengths, lambda v: v)
    arguments = tuple((f"in{k}", n) for k, n in enumerate(lengths))
    return c_source.CFunction(name, traced.graph, traced.outputs, arguments)


DIALECTS = [
    pytest.param(c_source.Dialect("t"), id="double"),
    pytest.param(c_source.Dialect("t", own_math=True), id="double-own"),
    pytest.param(c_source.Dialect("t", single_precision=True), id="float"),
    pytest.param(c_source.Dialect("t", single_precision=True, own_math=True), id="float-own"),
]


def random_graph(rng, n_inputs, n_nodes):
    """A graph in which every kind of node is used, some often and some once, without overflow."""
    g = Graph()
    nodes = inputs(g, n_inputs)
    for _ in range(n_nodes):
        a, b = (nodes[int(k)] for k in rng.integers(max(0, len(nodes) - 30), len(nodes), 2))
        kind = int(rng.integers(12))
        if kind < 3:
            new = a * 0.7 + b
        elif kind < 5:
            new = a - float(rng.uniform(-1, 1)) * b
        elif kind == 5:
            new = functions.sin(a) * b
        elif kind == 6:
            new = functions.cos(a) - functions.sin(a)
        elif kind == 7:
            new = functions.sqrt(abs(a)) + b
        elif kind == 8:
            new = functions.arctan2(a, b)
        elif kind == 9:
            new = functions.where(a < b, -a, b / (2.0 + abs(a)))
        elif kind == 10:
            new = -(a * functions.cos(b))
        else:
            new = functions.where(a * 2.0 < 0.3, 1.5, a)
        nodes.append(functions.where(abs(new) < 10.0, new, 0.1 * functions.cos(new)))
    outputs = [n.index for n in nodes[-12:]] + [nodes[-1].index, nodes[0].index, g.const(-2.5)]
    outputs.append((nodes[-2] < nodes[-3]).index)
    return g, outputs


@pytest.mark.parametrize("dialect", DIALECTS)
def test_random_graphs(tmp_path, dialect):
    rng = np.random.default_rng(5)
    real = np.float32 if dialect.single_precision else np.float64
    graphs = [random_graph(rng, 6, 60) for _ in range(6)]
    fs = [
        c_source.CFunction(f"f{k}", graph, outputs, (("a", 2), ("nothing", 0), ("b", 4)))
        for k, (graph, outputs) in enumerate(graphs)
    ]
    library = build(tmp_path, dialect, *fs)
    for k, (graph, outputs) in enumerate(graphs):
        for _ in range(20):
            x = rng.uniform(-2, 2, 6).astype(real)
            got = library(f"f{k}", len(outputs), x[:2], x[:0], x[2:])
            # the order of operations is the same, so only the elementary functions differ, by an ulp or two
            expected = evaluate(graph, outputs, x, real)
            wide = evaluate(graph, outputs, x, np.longdouble)
            noise = 1e3 * np.finfo(real).eps + 20 * np.abs(wide - expected)
            assert np.all(np.abs(got - expected) <= noise * np.maximum(1, np.abs(expected)))


def test_arithmetic_is_the_same_to_the_last_bit(tmp_path):
    def function(x, y):
        total = x[0] * y[0] - 0.1
        for a, b in zip(x, y, strict=True):
            total = (total * a + b / (3.0 + a * a)) - (a - b) * total
        return [total, total * x[0], -total, 1e-300 * total, 1e300 * x[1]]

    f = as_function(function, 5, 5)
    library = build(tmp_path, c_source.Dialect("t"), f)
    rng = np.random.default_rng(0)
    for _ in range(50):
        x, y = rng.standard_normal((2, 5))
        got = library("f", 5, x, y)
        assert np.array_equal(got, evaluate(f.graph, f.outputs, [*x, *y]))


def test_fused_graph_calls_fma(tmp_path):
    f = as_function(lambda x: [x[0] * x[1] + x[2], x[0] * x[1] - x[3]], 4)
    graph, outputs = fuse(f.graph, f.outputs)
    fused = c_source.CFunction("f", graph, outputs, f.arguments)
    assert "fma(" in c_source.write_function(c_source.Dialect("t"), fused)[0]
    assert "fmaf(" in c_source.write_function(c_source.Dialect("t", single_precision=True), fused)[0]
    library = build(tmp_path, c_source.Dialect("t"), fused)
    tiny = 2.0**-53
    x = np.array([1.0 + 2.0**-30, 1.0 - 2.0**-30, -1.0, 1.0])
    assert library("f", 2, x)[0] == -(2.0**-60)  # rounded once: the product's rest survives
    assert build(tmp_path, c_source.Dialect("t"), f, name="plain")("f", 2, x)[0] in (0.0, -tiny)


def test_temporaries_are_shared_and_hold():
    """A chain of 5000 values, each used twice, needs a handful of temporaries."""

    def chain(x):
        a, b = x
        for _ in range(5000):
            a, b = a * b + 1.0, b * a - a
        return [a, b]

    f = as_function(chain, 2)
    text, _, _ = c_source.write_function(c_source.Dialect("t"), f)
    assert len(set(re.findall(r"\bt\d+\b", text))) < 8
    assert text.count("T_TEMPORARY") == 1


def test_long_sums_are_cut(tmp_path):
    def long_sum(x):
        total = x[0]
        for a in x[1:]:
            total = total + a * a
        return [total]

    f = as_function(long_sum, 60)
    text, _, _ = c_source.write_function(c_source.Dialect("t"), f)
    assert max(map(len, text.splitlines())) < 200
    x = np.arange(60.0)
    assert build(tmp_path, c_source.Dialect("t"), f)("f", 1, x)[0] == sum(a * a for a in x[1:])


def test_unused_arguments_give_no_warning(tmp_path):
    f = as_function(lambda x, y: [1.0, y[0]], 3, 2)
    assert list(build(tmp_path, c_source.Dialect("t"), f)("f", 2, np.ones(3), np.array([7.0, 8.0]))) == [1.0, 7.0]


@pytest.mark.parametrize("single", [False, True])
def test_numbers_read_back_exactly(tmp_path, single):
    real = np.float32 if single else np.float64
    numbers = [0.1, -0.1, 1.0, -0.0, 1e22, 123456789.0, 1e-30, math.pi, -1e30, math.inf, -math.inf, 1 / 3]
    g = Graph()
    f = c_source.CFunction("f", g, [g.const(x) for x in numbers], (("a", 1),))
    got = build(tmp_path, c_source.Dialect("t", single_precision=single), f)("f", len(numbers), np.zeros(1))
    expected = np.array(numbers, dtype=real)
    assert np.array_equal(got, expected)
    assert np.array_equal(np.signbit(got), np.signbit(expected))


def test_nan_stays_nan(tmp_path):
    g = Graph()
    f = c_source.CFunction("f", g, [g.const(math.nan)], (("a", 1),))
    assert np.isnan(build(tmp_path, c_source.Dialect("t"), f)("f", 1, np.zeros(1))[0])


def test_too_large_for_float():
    f = as_function(lambda x: [x[0] * 1e39], 1)
    with pytest.raises(c_source.ConstantError, match=r"1e\+39"):
        c_source.write_function(c_source.Dialect("t", single_precision=True), f)


# ---------------------------------------------------------------- mathematics without math.h


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Own sine, cosine, square root and arctangent."""
    fs = [
        as_function(lambda x: [functions.sin(x[0]), functions.cos(x[0])], 1, name="circle"),
        as_function(lambda x: [functions.sqrt(x[0])], 1, name="root"),
        as_function(lambda x: [functions.arctan2(x[0], x[1])], 2, name="angle"),
        as_function(lambda x: [functions.sin(x[0])], 1, name="sine_only"),
        as_function(lambda x: [abs(x[0])], 1, name="size"),
    ]
    return build(tmp_path_factory.mktemp("own"), c_source.Dialect("t", own_math=True), *fs)


def ulps(got, expected):
    """Distance from an mpmath number in units of the last place."""
    size = math.ulp(float(expected)) if expected else math.ulp(0.0)
    return float(abs(mpmath.mpf(float(got)) - expected) / size)


def hard_angles(rng, largest):
    """Angles of every size, and doubles next to multiples of pi/2, where reduction is hardest."""
    with mpmath.workdps(40):
        near = [float(k * mpmath.pi / 2) for k in rng.integers(1, int(largest / 1.6), 600)]
    spread = largest * 10.0 ** rng.uniform(-12, 0, 600)
    angles = np.concatenate([near, np.nextafter(near, np.inf), spread, rng.uniform(0, min(largest, 4.0), 300)])
    return angles * rng.choice([-1.0, 1.0], angles.size)


@pytest.mark.parametrize(("largest", "allowed"), [(1e5, 1.5), (1e9, 1.5), (c_source.LARGEST_OWN_ANGLE, 1.5)])
def test_sine_and_cosine(own, largest, allowed):
    worst = 0.0
    with mpmath.workdps(60):
        for x in hard_angles(np.random.default_rng(1), largest):
            if abs(x) >= c_source.LARGEST_OWN_ANGLE:
                continue
            s, k = own("circle", 2, np.array([x]))
            worst = max(worst, ulps(s, mpmath.sin(mpmath.mpf(x))), ulps(k, mpmath.cos(mpmath.mpf(x))))
    assert worst < allowed


def test_sine_of_special_values(own):
    def circle(x):
        return own("circle", 2, np.array([x]))

    assert list(circle(0.0)) == [0.0, 1.0]
    assert np.signbit(circle(-0.0)[0])
    assert circle(1e-320)[0] == 1e-320
    for x in (math.inf, -math.inf, math.nan, 1e10, -1e300):
        assert np.all(np.isnan(circle(x)))
    assert own("sine_only", 1, np.array([1.0]))[0] == pytest.approx(math.sin(1.0), rel=1e-15)


def test_square_root(own):
    rng = np.random.default_rng(2)
    numbers = np.concatenate([10.0 ** rng.uniform(-320, 308, 3000), rng.uniform(0, 4, 3000), [1.0, 4.0, 2.0, 1e-320]])
    off = sum(own("root", 1, np.array([x]))[0] != math.sqrt(x) for x in numbers)
    assert off == 0  # the last step is with the exact remainder, so it is rounded as it should be
    assert list(own("root", 1, np.array([math.inf]))) == [math.inf]
    assert np.signbit(own("root", 1, np.array([-0.0]))[0])
    assert np.isnan(own("root", 1, np.array([-1.0]))[0])
    assert np.isnan(own("root", 1, np.array([math.nan]))[0])


def test_arctangent(own):
    rng = np.random.default_rng(3)
    worst = 0.0
    with mpmath.workdps(40):
        for _ in range(2000):
            y, x = rng.standard_normal(2) * 10.0 ** rng.uniform(-6, 6, 2)
            worst = max(worst, ulps(own("angle", 1, np.array([y, x]))[0], mpmath.atan2(mpmath.mpf(y), mpmath.mpf(x))))
    assert worst < 3.0


def test_arctangent_of_special_values(own):
    values = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, 1e-320, 1e308]
    for y in values:
        for x in values:
            got, expected = own("angle", 1, np.array([y, x]))[0], math.atan2(y, x)
            assert abs(got - expected) <= 3 * math.ulp(expected), (y, x)
            assert np.signbit(got) == (math.copysign(1.0, expected) < 0), (y, x)
    assert np.isnan(own("angle", 1, np.array([math.nan, 1.0]))[0])
    assert np.isnan(own("angle", 1, np.array([1.0, math.nan]))[0])


def test_magnitude(own):
    assert own("size", 1, np.array([-3.0]))[0] == 3.0
    assert not np.signbit(own("size", 1, np.array([-0.0]))[0])


def test_only_what_is_called_is_written():
    dialect = c_source.Dialect("t", own_math=True)
    _, needs, _ = c_source.write_function(dialect, as_function(lambda x: [functions.sqrt(x[0])], 1))
    text = c_source.own_mathematics(dialect, needs)
    assert "t_own_sqrt" in text
    assert "sincos" not in text
    assert "atan2" not in text


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("tool", "tool"), ("tool-1", "tool_1"), ("left/hand tip", "left_hand_tip"), ("1st", "x_1st"), ("", "x"),
        ("--", "x"), ("double", "double_"), ("größe", "gr_e"), ("_hidden", "hidden"),
    ],
)  # fmt: skip
def test_names_become_identifiers(text, name):
    assert c_source.identifier(text) == name
    assert c_source.is_identifier(c_source.identifier(text))


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "ä", "_a", "int", "a\n", "../a"])
def test_bad_identifiers(name):
    assert not c_source.is_identifier(name)


def test_comments_cannot_be_left(tmp_path):
    nasty = [
        "*/ int broken = ",
        "/* nested",
        "??/",
        "???/",
        "?????",
        "two\nlines",
        "ünïcödé \u202e",
        "back\\",
        "**//*/",
        '"quoted"',
    ]
    path = tmp_path / "comment.c"
    lines = "\n".join(f"/* {c_source.comment(text)} */" for text in nasty)
    path.write_text(
        f"{lines}\nvoid f(const double *a, double *r);\nvoid f(const double *a, double *r) {{ r[0] = a[0]; }}\n"
    )
    assert Library(path)("f", 1, np.ones(1))[0] == 1.0
