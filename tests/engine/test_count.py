"""Counting the operations of graphs whose operations can be counted by hand. No robots here."""

import pytest

from kinetree.engine.count import Count, count
from kinetree.engine.fuse import fuse
from kinetree.engine.graph import Graph, Node, inputs

functions = Node.scalar_functions


def counted(function, n):
    g = Graph()
    results = function(inputs(g, n))
    return count(g, [r.index for r in results])


def test_every_kind_of_operation():
    def function(x):
        a, b, c, d = x
        product = a * b  # 1 M
        return [
            product + c,  # 1 A
            product - c,  # 1 A
            product / d,  # 1 division
            functions.sin(a) * functions.cos(a) + functions.sin(b),  # 2 angles, 1 M, 1 A
            functions.sqrt(c),  # 1 root
            -a,  # 1 negation
            functions.where(abs(d) < 1.0, a, b),  # magnitude, comparison, choice
            functions.arctan2(c, d),
        ]

    got = counted(function, 4)
    expected = Count(
        multiplications=2, additions=3, divisions=1, sines=2, square_roots=1, others=4, negations=1,
    )  # fmt: skip
    assert got == expected
    assert got.total == 2 + 3 + 1 + 2 + 1 + 4


def test_what_occurs_twice_counts_once():
    assert counted(lambda x: [x[0] * x[1] + x[2], x[2] + x[1] * x[0]], 3) == Count(multiplications=1, additions=1)


def test_what_nobody_needs_is_not_counted():
    def function(x):
        unused = x[0] * x[1] * x[2]
        assert unused is not None
        return [x[0] + x[1]]

    assert counted(function, 3) == Count(additions=1)


def test_constants_and_ones_are_free():
    assert counted(lambda x: [x[0] * 1.0 + 0.0], 1) == Count()
    assert counted(lambda x: [x[0] * 2.0 * 3.0], 1) == Count(multiplications=2)
    assert counted(lambda x: [x[0] * (2.0 * 3.0)], 1) == Count(multiplications=1)


def test_fusing_does_not_change_the_count():
    g = Graph()
    a, b, c, d = inputs(g, 4)
    result = a * b + c * d - a * d
    plain = count(g, [result.index])
    assert plain == Count(multiplications=3, additions=2)
    fused, outputs = fuse(g, [result.index])
    assert count(fused, outputs).total == plain.total
    assert count(fused, outputs).multiplications == 3


def test_matrix_product():
    def product(x):
        a, b = x[:9], x[9:]
        rows = range(3)
        return [sum((a[3 * i + k] * b[3 * k + j] for k in rows[1:]), a[3 * i] * b[j]) for i in rows for j in rows]

    assert counted(product, 18) == Count(multiplications=27, additions=18)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Count(464, 400, sines=6), "464M 400A, 6 sines and cosines"),
        (Count(1, 0, 1, 1, 1, 1), "1M 0A, 1 division, 1 sine and cosine, 1 square root, 1 other"),
        (Count(0, 0, 2, 0, 3, 2, 9), "0M 0A, 2 divisions, 3 square roots, 2 others"),
    ],
)
def test_printed(value, text):
    assert str(value) == text


def test_sum_and_plain_data():
    total = Count(1, 2, 3, 4, 5, 6, 7) + Count(multiplications=10)
    assert total == Count(11, 2, 3, 4, 5, 6, 7)
    assert total.to_dict() == {
        "multiplications": 11, "additions": 2, "divisions": 3, "sines": 4, "square_roots": 5, "others": 6,
        "negations": 7, "total": 31,
    }  # fmt: skip
