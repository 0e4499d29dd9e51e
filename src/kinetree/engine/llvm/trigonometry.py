"""Sine, cosine and arctangent in LLVM assembly: double precision, the same in every lane, no library called.

In single precision angles are reduced in double; all that follows takes half as many vectors of floats. Arctangents are
computed in double.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .emitter import Emitter

TWO_OVER_PI = 0.6366197723675814
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""pi/2 as an unevaluated sum of three doubles."""

ROUNDER = 6755399441055744.0
"""1.5 * 2^52: adding it leaves the nearest integer in the low bits of the sum."""

SHORT_PARTS = (1.5707963109016418, 1.5893254712295857e-08, 6.123234262925839e-17, -2.6718907338610155e-24)
"""pi/2 as a sum of three numbers of 26, 27 and 24 bits and a remainder: products with integers of 25 or 29 bits are
exact.  The first is a multiple of 2^-25 and the second of 2^-52: what is left of an angle below 2^49 is exact, too."""

SPLITTER = 1.5 * 2.0**76
"""Adding and subtracting it rounds to multiples of 2^24, which leaves 25 bits of an integer below 2^49."""

NEAR, NEAR_PARTS = 2.0**15, (1.5707963267923333, 2.5633441515971907e-12, -2.6718907338610155e-24)
"""Angles (32768 rad) up to which multiples of pi/2 are exact products with two numbers of 38 bits, and a remainder: the
reduced angle of every double there then has a relative error of 2e-20."""

LARGEST_ANGLE = 2.0**49
"""Angles beyond this (5e14 rad) give NaN."""

SIN_COEFFICIENTS = (
    -0.16666666666666666, 0.008333333333330936, -0.00019841269836740532,
    2.7557316093198404e-06, -2.5051129896450185e-08, 1.5917988979397435e-10,
)  # fmt: skip
"""(sin r - r)/r^3 in powers of r^2 on |r| <= pi/4: Chebyshev fit, error 3e-17."""

COS_COEFFICIENTS = (
    0.041666666666666664, -0.0013888888888887389, 2.48015872987544e-05,
    -2.755731726587808e-07, 2.087614504941318e-09, -1.138254464534925e-11,
)  # fmt: skip
"""(cos r - 1 + r^2/2)/r^4 in powers of r^2 on |r| <= pi/4: Chebyshev fit, error 2e-18."""

SHORT_SIN_COEFFICIENTS = (-0.16666666663832777, 0.008333331865963797, -0.00019840082015127998, 2.72493143604168e-06)
SHORT_COS_COEFFICIENTS = (0.04166666464746341, -0.0013888300698073966, 2.454743746250183e-05)
"""The same in single precision: errors 3e-11 and 2e-9."""

ATAN_COEFFICIENTS = (
    -0.3333333333333333, 0.19999999999999804, -0.14285714285659779, 0.11111111105150588,
    -0.09090908753259112, 0.07692296368042296, -0.0666642476020052, 0.05878927554473807,
    -0.05230443640686948, 0.045515447340221615, -0.03456931506332609, 0.016284375050043393,
)  # fmt: skip
"""(atan u - u)/u^3 in powers of u^2 on |u| <= tan(pi/8): Chebyshev fit, error 3e-18."""

TAN_EIGHTH = 0.41421356237309503
"""tan(pi/8)."""


def sines_and_cosines(e: Emitter, angles: Sequence[str]) -> list[tuple[str, str]]:
    """Compute both functions of several angles, to about 1 ulp for |x| up to 2^49; for one state, as a vector."""
    return [_sincos(e, angles[0])] if len(angles) == 1 else _side_by_side(e, angles)


def near_sines_and_cosines(e: Emitter, x: str) -> tuple[Callable[[], tuple[str, str]], str, str]:
    """Prepare both functions of an angle by a shorter reduction, which is accurate to 1 ulp up to ``NEAR``.

    Returns
    -------
    emit : callable
        Emits them, after the other two have been emitted.
    is_near, any_far : str
        Whether the angle is small enough, and whether it is too large in any lane.
    """
    is_near = e.op(f"fcmp olt {e.type} {e.call('fabs', x)}, {e.number(NEAR)}")
    if e.lanes == 1:
        any_far = e.op(f"xor i1 {is_near}, true")
    else:
        bits = e.op(f"bitcast <{e.lanes} x i1> {is_near} to i{e.lanes}")
        any_far = e.op(f"icmp ne i{e.lanes} {bits}, -1")
    return lambda: _of_rest(e, *(_float_rest if e.single else _near_rest)(e, x)), is_near, any_far


def _narrow(e: Emitter, x: str) -> str:
    return e.op(f"fptrunc {e.vectors.of('double')} {x} to {e.type}")


def _side_by_side(e: Emitter, angles: Sequence[str]) -> list[tuple[str, str]]:
    """Compute both functions of angles of one state in the lanes of a vector."""
    wide = Emitter(replace(e.vectors, lanes=len(angles)), within=e)
    x = "poison"
    for k, angle in enumerate(angles):
        x = e.op(f"insertelement {wide.type} {x}, {e.real} {angle}, i64 {k}")
    both = _sincos(wide, x)
    first, second = ([e.op(f"extractelement {wide.type} {y}, i64 {k}") for k in range(len(angles))] for y in both)
    return list(zip(first, second, strict=True))


def _sincos(e: Emitter, x: str) -> tuple[str, str]:
    """Compute sine and cosine of a value; NaN beyond the largest angle."""
    # beyond that, neighboring doubles are too far apart for an angle to mean anything: NaN
    near = e.op(f"fcmp olt {e.type} {e.call('fabs', x)}, {e.number(LARGEST_ANGLE)}")
    x = e.op(f"select {e.vectors.of('i1')} {near}, {e.type} {x}, {e.type} {e.number(float('nan'))}")
    return _of_rest(e, *(_float_rest if e.single else _rest)(e, x))


def _float_rest(e: Emitter, x: str) -> tuple[str, str, str]:
    """Do the same as :func:`_rest` for angles in single precision; r is a sum of two floats."""
    t = e.vectors.of("double")
    x = e.op(f"fpext {e.type} {x} to {t}")
    if e.vectors.fused:  # two products are enough: no float below the largest angle is that near to a multiple of pi/2
        shifted = e.fma(x, e.number(TWO_OVER_PI, "double"), e.number(ROUNDER, "double"), "double")
        minus_k = e.op(f"fsub {t} {e.number(ROUNDER, 'double')}, {shifted}")
        r = e.fma(minus_k, e.number(HALF_PI[0], "double"), x, "double")
        r = e.fma(minus_k, e.number(HALF_PI[1], "double"), r, "double")
    else:
        shifted, r, _ = _rest(e, x)
    high = _narrow(e, r)
    return shifted, high, _narrow(e, e.op(f"fsub {t} {e.op(f'fpext {e.type} {high} to {t}')}, {r}"))


def _rest(e: Emitter, x: str) -> tuple[str, str, str]:
    """Subtract the nearest multiple of pi/2 from any angle: r = x - k pi/2 as a sum of two doubles.

    k = round(2x/pi); the first product is subtracted exactly, the second with its rounding errors kept.

    Returns
    -------
    shifted, r, minus_tail : str
        A number whose lowest bits are those of k, the high part of r, and the negative of its low part.
    """
    t = e.vectors.of("double")

    def num(v: float) -> str:
        return e.number(v, "double")

    def fma(a: str, b: str, c: str) -> str:
        return e.fma(a, b, c, "double")

    def do(what: str, a: str, b: str) -> str:
        return e.op(f"{what} {t} {a}, {b}")

    shifted = fma(x, num(TWO_OVER_PI), num(ROUNDER))
    k = do("fsub", shifted, num(ROUNDER))
    if e.vectors.fused:
        minus_k = e.op(f"fneg {t} {k}")
        r1 = fma(minus_k, num(HALF_PI[0]), x)
        p = do("fmul", k, num(HALF_PI[1]))
        p_low = fma(k, num(HALF_PI[1]), e.op(f"fneg {t} {p}"))
        rest = fma(k, num(HALF_PI[2]), p_low)
    else:
        r1 = x
        high = do("fsub", do("fadd", k, num(SPLITTER)), num(SPLITTER))
        low = do("fsub", k, high)
        for part in SHORT_PARTS[:2]:
            for factor in (high, low):
                r1 = do("fsub", r1, do("fmul", factor, num(part)))
        p = do("fmul", k, num(HALF_PI[1]))
        p_low = do("fsub", do("fmul", high, num(SHORT_PARTS[2])), p)
        p_low = do("fadd", p_low, do("fmul", low, num(SHORT_PARTS[2])))
        rest = do("fadd", p_low, do("fmul", k, num(SHORT_PARTS[3])))
    r = do("fsub", r1, p)
    back = do("fsub", r, r1)
    lost = do("fsub", do("fsub", r1, do("fsub", r, back)), do("fadd", p, back))
    return shifted, r, do("fsub", rest, lost)


def _near_rest(e: Emitter, x: str) -> tuple[str, str, str]:
    """Do the same as :func:`_rest` for angles up to ``NEAR``, whose first two products are exact."""
    t = e.vectors.of("double")

    def num(v: float) -> str:
        return e.number(v, "double")

    def do(what: str, a: str, b: str) -> str:
        return e.op(f"{what} {t} {a}, {b}")

    shifted = e.fma(x, num(TWO_OVER_PI), num(ROUNDER), "double")
    k = do("fsub", shifted, num(ROUNDER))
    first, second, third = map(num, NEAR_PARTS)
    if e.vectors.fused:
        minus_k = e.op(f"fneg {t} {k}")
        a = e.fma(minus_k, first, x, "double")
        r = e.fma(minus_k, second, a, "double")
        lost = e.fma(k, second, do("fsub", r, a), "double")
    else:
        a = do("fsub", x, do("fmul", k, first))
        w = do("fmul", k, second)
        r = do("fsub", a, w)
        lost = do("fadd", do("fsub", r, a), w)
    return shifted, r, e.fma(k, third, lost, "double")


def _of_rest(e: Emitter, shifted: str, r: str, minus_tail: str) -> tuple[str, str]:
    """Compute both functions of a reduced angle: two polynomials, exchanged and signed by the quadrant."""
    size = 32 if e.single else 64
    t, i, b = e.type, e.vectors.of(f"i{size}"), e.vectors.of("i1")

    def bits(v: int) -> str:
        return f"splat (i{size} {v})" if e.lanes > 1 else str(v)

    def do(what: str, a: str, b: str) -> str:
        return e.op(f"{what} {t} {a}, {b}")

    z = do("fmul", r, r)
    z2 = do("fmul", z, z)

    def polynomial(c: Sequence[float]) -> str:
        """Sum in pairs: a chain half as long as Horner's, with as many operations."""
        pairs = [e.fma(z, e.number(c[k + 1]), e.number(c[k])) for k in range(len(c) // 2 * 2 - 2, -1, -2)]
        found = e.number(c[-1]) if len(c) % 2 else pairs.pop(0)
        for pair in pairs:
            found = e.fma(found, z2, pair)
        return found

    # minus zero stays what it is
    s = polynomial([-c for c in (SHORT_SIN_COEFFICIENTS if e.single else SIN_COEFFICIENTS)])
    sine = do("fsub", r, e.fma(do("fmul", z, r), s, minus_tail))

    # 1 - z/2 as a sum of two, and z^2 c0 - r tail
    w = e.fma(z, e.number(-0.5), e.number(1.0))
    lost = e.fma(z, e.number(-0.5), do("fsub", e.number(1.0), w))
    lost = e.fma(r, minus_tail, lost)
    cosine = do("fadd", w, e.fma(z2, polynomial(SHORT_COS_COEFFICIENTS if e.single else COS_COEFFICIENTS), lost))

    q = e.op(f"bitcast {e.vectors.of('double')} {shifted} to {e.vectors.of('i64')}")
    odd = e.op(f"trunc {e.vectors.of('i64')} {q} to {b}")
    if e.single:
        q = e.op(f"trunc {e.vectors.of('i64')} {q} to {i}")
    s_value = e.op(f"select {b} {odd}, {t} {cosine}, {t} {sine}")
    c_value = e.op(f"select {b} {odd}, {t} {sine}, {t} {cosine}")

    def signed(value: str, bit: str) -> str:
        """Change the sign where the uppermost bit is set."""
        sign = e.op(f"and {i} {bit}, {bits(-(2 ** (size - 1)))}")
        raw = e.op(f"bitcast {t} {value} to {i}")
        return e.op(f"bitcast {i} {e.op(f'xor {i} {raw}, {sign}')} to {t}")

    first, second = (e.op(f"shl {i} {q}, {bits(size - n)}") for n in (1, 2))
    return signed(s_value, second), signed(c_value, e.op(f"xor {i} {first}, {second}"))


def arctangent(e: Emitter, y: str, x: str) -> str:
    """Compute the angle of the point (x, y), to within 2 ulp, with zeros and infinities as in C99."""
    if e.single:
        t = e.vectors.of("double")
        return _narrow(e, _atan2(e, *(e.op(f"fpext {e.type} {v} to {t}") for v in (y, x))))
    return _atan2(e, y, x)


def _atan2(e: Emitter, y: str, x: str) -> str:
    """Fold the point into the first octant, evaluate the series, and unfold.

    A point nearer to the diagonal than to the axis is turned by an eighth first:
    tan(a - pi/4) = (t - 1)/(t + 1).  What is folded away is added as a sum of two doubles.
    """
    t, i, b = e.vectors.of("double"), e.vectors.of("i64"), e.vectors.of("i1")

    def num(v: float) -> str:
        return e.number(v, "double")

    def do(what: str, a: str, b: str) -> str:
        return e.op(f"{what} {t} {a}, {b}")

    def either(condition: str, yes: str, no: str) -> str:
        return e.op(f"select {b} {condition}, {t} {yes}, {t} {no}")

    def negated(condition: str, value: str) -> str:
        return either(condition, e.op(f"fneg {t} {value}"), value)

    zero = "zeroinitializer" if e.lanes > 1 else "0"
    left = e.op(f"icmp slt {i} {e.op(f'bitcast {t} {x} to {i}')}, {zero}")  # minus zero is on the left
    below = e.op(f"icmp slt {i} {e.op(f'bitcast {t} {y} to {i}')}, {zero}")
    height, width = (e.call("fabs", v, element="double") for v in (y, x))
    steep = do("fcmp ogt", height, width)
    large, little = either(steep, height, width), either(steep, width, height)
    # two infinities are as good as two ones, an infinity or a zero beside anything less as good as 1 beside 0
    endless = do("fcmp oeq", large, num(float("inf")))
    both = do("fcmp oeq", little, large)
    little = either(endless, either(both, num(1.0), num(0.0)), little)
    large = either(e.op(f"or {b} {endless}, {do('fcmp oeq', large, num(0.0))}"), num(1.0), large)
    scale = either(do("fcmp ogt", large, num(2.0**1000)), num(2.0**-10), num(1.0))  # their sum must be finite
    little, large = do("fmul", little, scale), do("fmul", large, scale)

    turned = do("fcmp ogt", little, do("fmul", large, num(TAN_EIGHTH)))
    top = either(turned, do("fsub", little, large), little)
    u = do("fdiv", top, either(turned, do("fadd", little, large), large))
    z = do("fmul", u, u)
    series = num(ATAN_COEFFICIENTS[-1])
    for c in reversed(ATAN_COEFFICIENTS[:-1]):
        series = e.fma(series, z, num(c), "double")
    parts = [either(turned, num(h / 2), num(0.0)) for h in HALF_PI[:2]]
    parts[1] = e.fma(do("fmul", u, z), series, parts[1], "double")
    for folded, whole in ((steep, 1.0), (left, 2.0)):
        parts = [either(folded, do("fsub", num(whole * h), p), p) for h, p in zip(HALF_PI, parts, strict=False)]
        u = negated(folded, u)
    value = do("fadd", parts[0], do("fadd", u, parts[1]))
    unknown = do("fcmp uno", x, y)
    return either(unknown, do("fadd", x, y), negated(below, value))
