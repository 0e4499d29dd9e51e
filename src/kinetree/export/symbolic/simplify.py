"""Short forms of the expressions that occur in equations of motion.

They are polynomials, or quotients of polynomials, in sines and cosines and other symbols.
They are expanded as such in exact arithmetic, with common subexpressions expanded only once, and simplified with sin^2
+ cos^2 = 1. The shortest of three forms (without sin^2, without cos^2, in sines and cosines of sums of angles) is kept,
with common factors taken out.  General simplifiers try much more and take minutes.

Forces of an arm with six joints have tens of thousands of terms when expanded, which nobody reads, so expressions that
grow this much are left as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import sympy as sp
from sympy.polys.rings import PolyElement, PolyRing

SHORT = 3
"""Brackets with up to this many terms are left as they are."""

MOST_PRODUCTS, MOST_IN_QUOTIENTS = 40_000, 4_000
"""The most products of two terms in an expansion; quotients take longer because of common divisors."""

Powers = tuple[int, ...]
Terms = Mapping[Powers, Any]
"""A polynomial: coefficients keyed by the powers of its generators."""


def tidy(expression: Any) -> Any:
    """Return a short form of an expression, or the expression itself if there is none."""
    e = sp.sympify(expression)
    if not e.free_symbols or not _parts(e):
        return e
    try:
        form = _Form(e)
    except _TooManyTerms:
        return e
    top, bottom = form.numerator, form.denominator
    if sum(c < 0 for c in bottom.values()) > sum(c > 0 for c in bottom.values()):
        top, bottom = -top, -bottom
    return form.shortest(top) / form.shortest(bottom)


def _is_whole_power(e: Any) -> bool:
    return bool(e.is_Pow and e.exp.is_Integer)


def _parts(e: Any) -> Sequence[Any]:
    """Return the operands of an expression made by + * and integer powers; none if it is a generator."""
    if e.is_Add or e.is_Mul:
        return e.args  # type: ignore[no-any-return]
    return (e.base,) if _is_whole_power(e) else ()


def postorder(expression: Any, parts: Callable[[Any], Sequence[Any]]) -> list[Any]:
    """Return every distinct part of an expression once, parts before wholes.

    SymPy's own traversals visit a part each time it occurs, and the number of occurrences can explode in nested
    expressions.
    """
    order: dict[Any, None] = {}
    waiting = [(expression, False)]
    while waiting:
        e, ready = waiting.pop()
        if e in order:
            continue
        if ready:
            order[e] = None
            continue
        waiting.append((e, True))
        waiting += [(x, False) for x in parts(e)]
    return list(order)


def _fold(function: Callable[[Any, Any], Any], values: Iterable[Any]) -> Any:
    first, *rest = values
    for x in rest:
        first = function(first, x)
    return first


class _TooManyTerms(Exception):
    """Expanding an expression takes too many terms."""


class _Form:
    """An expression as a quotient of polynomials in sines, cosines (in this order) and other symbols."""

    def __init__(self, expression: Any) -> None:
        order = postorder(expression, _parts)
        found = [e for e in order if not _parts(e) and not e.is_Number]
        self.angles = list(dict.fromkeys(e.args[0] for e in found if e.func in (sp.sin, sp.cos)))
        self.others = sorted((e for e in found if e.func not in (sp.sin, sp.cos)), key=sp.default_sort_key)
        self.generators = [sp.sin(x) for x in self.angles] + [sp.cos(x) for x in self.angles] + self.others
        self.ring: PolyRing = sp.ring([sp.Dummy() for _ in self.generators], sp.QQ)[0]
        value = self._evaluate(order, expression)
        polynomial = isinstance(value, PolyElement)
        self.numerator, self.denominator = (value, self.ring.one) if polynomial else (value.numer, value.denom)

    def _evaluate(self, order: Sequence[Any], expression: Any) -> Any:
        """Return the value in the ring, or in its field of fractions if there is a division."""
        divides = any(_is_whole_power(e) and e.exp < 0 for e in order)
        domain, self.left = (self.ring.to_field(), MOST_IN_QUOTIENTS) if divides else (self.ring, MOST_PRODUCTS)
        known = dict(zip(self.generators, domain.gens, strict=True))
        values: dict[Any, Any] = {}
        for e in order:
            if e in known:
                values[e] = known[e]
            elif e.is_Number:
                values[e] = domain(self.ring.domain.from_sympy(sp.Rational(e)))
            elif e.is_Add:
                values[e] = _fold(lambda a, b: a + b, (values[x] for x in e.args))
            elif e.is_Mul:
                values[e] = _fold(self._product, (values[x] for x in e.args))
            else:
                power = _fold(self._product, [values[e.base]] * abs(int(e.exp)))
                values[e] = power if e.exp > 0 else 1 / power
        return values[expression]

    def _product(self, a: Any, b: Any) -> Any:
        self.left -= _length(a) * _length(b)
        if self.left < 0:
            raise _TooManyTerms
        return self._reduced(a * b)

    # sin^2 + cos^2 = 1

    def _reduced(self, value: Any) -> Any:
        """Return a value without squares of sines."""
        if isinstance(value, PolyElement):
            return self._without_squares(value, of_sines=True)
        top, bottom = (self._without_squares(p, of_sines=True) for p in (value.numer, value.denom))
        return value.field.new(top, bottom)

    def _without_squares(self, p: PolyElement, *, of_sines: bool) -> PolyElement:
        """Return a polynomial without squares of sines or of cosines."""
        n = len(self.angles)
        for k in range(n):
            gone, kept = (k, n + k) if of_sines else (n + k, k)
            if any(powers[gone] > 1 for powers in p):
                rest = self.ring.one - self.ring.gens[kept] ** 2
                total = self.ring.zero
                for powers, c in p.terms():
                    low = (*powers[:gone], powers[gone] % 2, *powers[gone + 1 :])
                    total += self.ring({low: c}) * rest ** (powers[gone] // 2)
                p = total
        return p

    # sines and cosines of sums of angles

    def _in_sums(self, p: PolyElement) -> Any:
        """Return products of sines and cosines as sines and cosines of sums; None if that makes more terms."""
        n = len(self.angles)
        amplitudes: dict[tuple[Powers, bool, Powers], Any] = {}  # by wave, sine or cosine, powers of the others
        for powers, c in p.terms():
            for k, (real, imaginary) in _waves(powers[:n], powers[n : 2 * n]).items():
                if k < (0,) * n:
                    continue  # the conjugate of -k; the other one is counted twice instead
                for is_sine, x in ((False, real), (True, -imaginary)):
                    key = k, is_sine, powers[2 * n :]
                    amplitudes[key] = amplitudes.get(key, 0) + c * x * (2 if any(k) else 1)
        amplitudes = {key: c for key, c in amplitudes.items() if c}
        if len(amplitudes) > len(p):
            return None
        waves = sorted({key[:2] for key in amplitudes if any(key[0])}, reverse=True)
        functions = [self._wave(*wave) for wave in waves]
        terms = {(*(int(key[:2] == w) for w in waves), *key[2]): c for key, c in amplitudes.items()}
        return grouped(terms, [*functions, *self.others], self.ring.domain.to_sympy)

    def _wave(self, k: Powers, is_sine: bool) -> Any:
        angle = sp.Add(*(m * x for m, x in zip(k, self.angles, strict=True)))
        return sp.sin(angle) if is_sine else sp.cos(angle)

    # choosing

    def shortest(self, p: PolyElement) -> Any:
        """Return the shortest of the forms of a polynomial."""
        to_sympy = self.ring.domain.to_sympy
        forms = [grouped(dict(p), self.generators, to_sympy)]
        if self.angles:
            other = self._without_squares(p, of_sines=False)
            forms += [grouped(dict(other), self.generators, to_sympy), self._in_sums(p)]
        return min((e for e in forms if e is not None), key=lambda e: (int(sp.count_ops(e)), len(str(e))))


def _length(value: Any) -> int:
    return len(value) if isinstance(value, PolyElement) else len(value.numer) + len(value.denom)


def _waves(sines: Powers, cosines: Powers) -> dict[Powers, tuple[Any, Any]]:
    """Return a product of sines and cosines as a sum of z exp(i k.angles): complex amplitudes by k."""
    half = sp.QQ(1, 2)
    waves: dict[Powers, tuple[Any, Any]] = {(0,) * len(sines): (sp.QQ(1), sp.QQ(0))}
    for j, (s, c) in enumerate(zip(sines, cosines, strict=True)):
        # sin x = (e^ix - e^-ix)/2i, cos x = (e^ix + e^-ix)/2
        for up, down in [((0, -half), (0, half))] * s + [((half, 0), (half, 0))] * c:
            product: dict[Powers, tuple[Any, Any]] = {}
            for k, (a, b) in waves.items():
                for step, (x, y) in ((1, up), (-1, down)):
                    key = (*k[:j], k[j] + step, *k[j + 1 :])
                    old = product.get(key, (0, 0))
                    product[key] = old[0] + a * x - b * y, old[1] + a * y + b * x
            waves = product
    return waves


def grouped(terms: Terms, generators: Sequence[Any], to_sympy: Callable[[Any], Any]) -> Any:
    """Return a polynomial with common factors of its terms taken out, group by group.

    A group consists of the terms that share the most common power of a generator.
    """

    def product(powers: Powers) -> Any:
        return sp.Mul(*(g**e for g, e in zip(generators, powers, strict=True) if e))

    def bracket(own: Terms, *, innermost: int) -> Any:
        """Return a common factor times a sum."""
        common = tuple(min(column) for column in zip(*own, strict=True))
        if len(own) == 1 or not any(common):
            return total(own, innermost)
        inner = {tuple(a - b for a, b in zip(p, common, strict=True)): c for p, c in own.items()}
        sign = -1 if all(c < 0 for c in inner.values()) else 1
        return sign * product(common) * total({p: sign * c for p, c in inner.items()}, innermost)

    def total(own: Terms, innermost: int) -> Any:
        """Return a sum, group by group; short ones unchanged."""
        left, summands = dict(own), []
        while len(left) > innermost:
            shared = Counter((k, e) for p in left for k, e in enumerate(p) if e)
            (k, e), most = max(shared.items(), key=lambda item: (item[1], -item[0][0], item[0][1]), default=((0, 0), 0))
            if most < 2:
                break
            group = {p: c for p, c in left.items() if p[k] == e}
            if len(group) == len(own):
                break
            summands.append(bracket(group, innermost=SHORT))
            left = {p: c for p, c in left.items() if p not in group}
        return sp.Add(*summands, *(to_sympy(c) * product(p) for p, c in left.items()))

    return bracket(terms, innermost=1) if terms else sp.Integer(0)
