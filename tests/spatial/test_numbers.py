"""One number from a user: what is taken, and what is refused with an error of ours."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import kinetree as kt
from kinetree.spatial.numbers import real_number, shown, whole_number


class Silent:
    def __repr__(self):
        raise RuntimeError


NO_NUMBERS = [
    None,
    "1",
    b"1",
    "",
    [1.0],
    (1.0,),
    {},
    1 + 0j,
    True,
    np.True_,
    np.array([1.0]),
    math.nan,
    object,
    Silent(),
]


@pytest.mark.parametrize("given", NO_NUMBERS, ids=shown)
def test_what_is_no_number_is_refused(given):
    with pytest.raises(kt.OptionError, match="pitch must be a finite number of meters, not "):
        real_number(given, "pitch", unit="meters")
    with pytest.raises(kt.ModelError, match="count must be a whole number from 1 to 6, not "):
        whole_number(given, "count", 1, 6, kt.ModelError)


@pytest.mark.parametrize(
    "given", [2, 2.0, np.float32(2), np.int8(2), np.array(2.0), Fraction(4, 2), Decimal(2)], ids=repr
)
def test_what_is_a_number_is_taken(given):
    assert real_number(given, "x", positive=True) == 2.0
    assert type(real_number(given, "x")) is float


@pytest.mark.parametrize("given", [math.inf, -math.inf, 10**400, 0.0, -1.0])
def test_bounds(given):
    with pytest.raises(kt.OptionError, match="x must be a positive number"):
        real_number(given, "x", positive=True)


def test_infinity_where_it_may_be():
    assert real_number(math.inf, "x", positive=True, infinite=True) == math.inf
    assert real_number(10**400, "x", infinite=True) == math.inf
    with pytest.raises(kt.OptionError, match="x must be a positive number, not -inf"):
        real_number(-math.inf, "x", positive=True, infinite=True)


@pytest.mark.parametrize("given", [0, 7, -1, 2.0, 10**5000, np.array(8)], ids=shown)
def test_whole_numbers_within_bounds(given):
    assert whole_number(np.array(3), "n", 1, 6) == whole_number(np.uint8(3), "n", 1) == 3
    with pytest.raises(kt.OptionError, match="n must be a whole number from 1 to 6"):
        whole_number(given, "n", 1, 6)
