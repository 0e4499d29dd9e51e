"""A graph as LLVM assembly: straight-line code over one value or a vector of lanes.

The text is handed to LLVM's code generator as it is; no optimisation passes run, since
the graph is already simplified and its order already chosen.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count

from ..graph import (
    ABS,
    ADD,
    ATAN2,
    CONST,
    COS,
    DIV,
    FMA,
    INPUT,
    LESS,
    MUL,
    NEG,
    SELECT,
    SIN,
    SQRT,
    SUB,
    Graph,
)
from .registers import operand_of, plan
from .vectors import LINE, Vectors

TWO_OVER_PI = 0.6366197723675814
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""pi/2 as an unevaluated sum of three doubles."""

ROUNDER = 6755399441055744.0
"""1.5 * 2^52: adding it leaves the nearest whole number in the low bits of the sum."""

SHORT_PARTS = (1.5707963109016418, 1.5893254712295857e-08, 6.123234262925839e-17, -2.6718907338610155e-24)
"""pi/2 as a sum of three numbers of 26, 27 and 24 bits and a rest: products with whole numbers of 25 or 29 bits are
exact.  The first is a multiple of 2^-25 and the second of 2^-52: what is left of an angle below 2^49 is exact, too."""

SPLITTER = 1.5 * 2.0**76
"""Adding and subtracting it rounds to multiples of 2^24, which leaves 25 bits of a whole number below 2^49."""

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

ATAN_COEFFICIENTS = (
    -0.3333333333333333, 0.19999999999999804, -0.14285714285659779, 0.11111111105150588,
    -0.09090908753259112, 0.07692296368042296, -0.0666642476020052, 0.05878927554473807,
    -0.05230443640686948, 0.045515447340221615, -0.03456931506332609, 0.016284375050043393,
)  # fmt: skip
"""(atan u - u)/u^3 in powers of u^2 on |u| <= tan(pi/8): Chebyshev fit, error 3e-18."""

WINDOW = 256
"""Bytes, or vectors on AVX-512, around a pointer that instructions reach with a distance of one byte."""

MOST_WINDOWS = 10
"""Into the work area of code for few vector registers: as many as there are other registers to spare."""

SPARE_REGISTERS = 3
"""Vector registers that are left to LLVM when it is said which values are to be kept in them."""

USED_SOON = 8
"""Operations within which a value in memory is used again if it is worth a register."""

SHORTEST_PIECE, LONGEST_PIECE = 300, 1200
"""Operations per function of code for few vector registers: each begins with empty ones."""

MOST_COMPARED = 3_000_000
"""Operations of a kernel times those of a piece: LLVM compares each load with the stores before it."""

TAN_EIGHTH = 0.41421356237309503
"""tan(pi/8)."""

_BINARY = {ADD: "fadd", SUB: "fsub", MUL: "fmul", DIV: "fdiv"}


def _rounded_to_single(x: float) -> float:
    """The nearest float; infinity beyond the largest."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def _hex(x: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


class Emitter:
    """Collects the lines of one function body.

    Parameters
    ----------
    vectors : Vectors
        What the values are (of floats, sines, cosines and arctangents still go through double).

    Attributes
    ----------
    numbers : dict or None
        Places of constants in a table ``@numbers`` of values, from which operations read them.  Without it, or in
        another precision, they are part of the code, and have to be spread over the lanes of a register first.
    windows : dict
        Of areas in which places are referred to in few bytes, how many windows they have; see :meth:`place`.
    """

    def __init__(self, vectors: Vectors) -> None:
        self.vectors = vectors
        self.lanes, self.single = vectors.lanes, vectors.single_precision
        self.real, self.type, self.size = vectors.real, vectors.type, vectors.size
        self.lines: list[str] = []
        self._names = count(1)
        self.numbers: dict[str, int] | None = None
        self.windows: dict[str, int] = {}
        self._windows: dict[tuple[str, int], str] = {}

    def _of(self, element: str) -> str:
        return self.vectors.of(element)

    def _suffix(self, element: str = "") -> str:
        width = "f32" if (element or self.real) == "float" else "f64"
        return (f"v{self.lanes}" if self.lanes > 1 else "") + width

    def op(self, text: str) -> str:
        """Append an instruction and return the name of its result."""
        name = f"%t{next(self._names)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def line(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append("  " + text)

    def number(self, x: float, element: str = "") -> str:
        """A constant in all lanes."""
        element = element or self.real
        if element == "float":
            x = _rounded_to_single(x)
        text = f"splat ({element} {_hex(x)})" if self.lanes > 1 else _hex(x)
        if self.numbers is None or element != self.real:
            return text
        place = self.numbers.setdefault(text, len(self.numbers))
        where = f"getelementptr ({self.type}, ptr @numbers, i64 {place})"
        return self.op(f"load {self.type}, ptr {where}, align {self.size}")

    def call(self, function: str, *args: str, element: str = "") -> str:
        """Call an elementwise intrinsic."""
        t = self._of(element or self.real)
        return self.op(f"call {t} @llvm.{function}.{self._suffix(element)}({', '.join(f'{t} {a}' for a in args)})")

    def fma(self, a: str, b: str, c: str, element: str = "") -> str:
        """A b + c, with one rounding where the processor can do that."""
        if self.vectors.fused:
            return self.call("fma", a, b, c, element=element)
        t = self._of(element or self.real)
        return self.op(f"fadd {t} {self.op(f'fmul {t} {a}, {b}')}, {c}")

    def place(self, area: str, k: int) -> str:
        """Address of value k of an area of consecutive vectors.

        Long code is as slow as its bytes are many: it refers to values from pointers into the middle of their
        neighbourhood, which takes one byte instead of four.  The empty piece of assembly keeps LLVM from seeing
        through that.
        """
        size = WINDOW if self.vectors.masks else WINDOW // self.size  # AVX-512 counts distances in vectors
        window, within = divmod(k, size)
        if window >= self.windows.get(area, 0):
            return self.op(f"getelementptr inbounds {self.type}, ptr %{area}, i64 {k}")
        if (area, window) not in self._windows:
            middle = self.op(f"getelementptr {self.type}, ptr %{area}, i64 {window * size + size // 2}")
            self._windows[area, window] = self.op(f'call ptr asm "", "=r,0"(ptr {middle})')
        return self.op(f"getelementptr {self.type}, ptr {self._windows[area, window]}, i64 {within - size // 2}")

    def load(self, area: str, k: int) -> str:
        """Value k of an area of consecutive vectors."""
        return self.op(f"load {self.type}, ptr {self.place(area, k)}, align {self.size}")

    def store(self, value: str, area: str, k: int) -> None:
        """Set value k of an area of consecutive vectors."""
        p = self.place(area, k)
        self.line(f"store {self.type} {value}, ptr {p}, align {self.size}")

    def declarations(self) -> list[str]:
        """Intrinsics that bodies may call."""
        found = []
        for element in {"double", self.real}:
            t, s = self._of(element), self._suffix(element)
            found += [f"declare {t} @llvm.fma.{s}({t}, {t}, {t})"]
            found += [f"declare {t} @llvm.{f}.{s}({t})" for f in ("sqrt", "fabs")]
        return [*found, "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"]

    def sines_and_cosines(self, angles: Sequence[str]) -> list[tuple[str, str]]:
        """Both functions of several angles, to about 1 ulp for |x| up to 2^49; of one state, as a vector."""
        if self.single:
            t = self._of("double")
            angles = [self.op(f"fpext {self.type} {x} to {t}") for x in angles]
        found = [self._sincos(angles[0])] if len(angles) == 1 else self._side_by_side(angles)
        if self.single:
            return [(self._narrow(s), self._narrow(c)) for s, c in found]
        return found

    def _narrow(self, x: str) -> str:
        return self.op(f"fptrunc {self._of('double')} {x} to {self.type}")

    def _side_by_side(self, angles: Sequence[str]) -> list[tuple[str, str]]:
        """Angles of one state in the lanes of a vector."""
        wide = Emitter(Vectors(len(angles), fused=self.vectors.fused))
        wide.lines, wide._names = self.lines, self._names
        x = "poison"
        for k, angle in enumerate(angles):
            x = self.op(f"insertelement {wide.type} {x}, double {angle}, i64 {k}")
        both = wide._sincos(x)
        first, second = (
            [self.op(f"extractelement {wide.type} {y}, i64 {k}") for k in range(len(angles))] for y in both
        )
        return list(zip(first, second, strict=True))

    def _sincos(self, x: str) -> tuple[str, str]:
        """Sine and cosine of a value of doubles.

        k = round(2x/pi) and r = x - k pi/2 as a sum of two doubles: the first product is
        subtracted exactly, the second with its rounding errors kept.  Then two polynomials,
        exchanged and signed by the quadrant.
        """
        t, i, b = self._of("double"), self._of("i64"), self._of("i1")

        def num(v: float) -> str:
            return self.number(v, "double")

        def bits(v: int) -> str:
            return f"splat (i64 {v})" if self.lanes > 1 else str(v)

        def fma(a: str, b: str, c: str) -> str:
            return self.fma(a, b, c, "double")

        def do(what: str, a: str, b: str) -> str:
            return self.op(f"{what} {t} {a}, {b}")

        # beyond, doubles are further apart than a quarter turn is worth: say so with NaN
        near = self.op(f"fcmp olt {t} {self.call('fabs', x, element='double')}, {num(LARGEST_ANGLE)}")
        x = self.op(f"select {b} {near}, {t} {x}, {t} {num(float('nan'))}")
        shifted = fma(x, num(TWO_OVER_PI), num(ROUNDER))
        k = do("fsub", shifted, num(ROUNDER))
        if self.vectors.fused:
            minus_k = self.op(f"fneg {t} {k}")
            r1 = fma(minus_k, num(HALF_PI[0]), x)
            p = do("fmul", k, num(HALF_PI[1]))
            p_low = fma(k, num(HALF_PI[1]), self.op(f"fneg {t} {p}"))
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
        minus_tail = do("fsub", rest, lost)

        z = do("fmul", r, r)
        s = num(SIN_COEFFICIENTS[-1])
        for c in reversed(SIN_COEFFICIENTS[:-1]):
            s = fma(s, z, num(c))
        # minus zero stays what it is
        sine = do("fsub", r, fma(do("fmul", z, r), self.op(f"fneg {t} {s}"), minus_tail))

        c0 = num(COS_COEFFICIENTS[-1])
        for c in reversed(COS_COEFFICIENTS[:-1]):
            c0 = fma(c0, z, num(c))
        # 1 - z/2 as a sum of two, and z^2 c0 - r tail
        w = fma(z, num(-0.5), num(1.0))
        lost = fma(z, num(-0.5), do("fsub", num(1.0), w))
        lost = fma(r, minus_tail, lost)
        cosine = do("fadd", w, fma(do("fmul", z, z), c0, lost))

        q = self.op(f"bitcast {t} {shifted} to {i}")
        odd = self.op(f"trunc {i} {q} to {b}")
        s_value = self.op(f"select {b} {odd}, {t} {cosine}, {t} {sine}")
        c_value = self.op(f"select {b} {odd}, {t} {sine}, {t} {cosine}")

        def signed(value: str, bit: str) -> str:
            """Change the sign where the uppermost bit is set."""
            sign = self.op(f"and {i} {bit}, {bits(-(2**63))}")
            raw = self.op(f"bitcast {t} {value} to {i}")
            return self.op(f"bitcast {i} {self.op(f'xor {i} {raw}, {sign}')} to {t}")

        first, second = (self.op(f"shl {i} {q}, {bits(n)}") for n in (63, 62))
        return signed(s_value, second), signed(c_value, self.op(f"xor {i} {first}, {second}"))

    def angle(self, y: str, x: str) -> str:
        """The angle of the point (x, y), to within 2 ulp, zeros and infinities as in C99."""
        if self.single:
            t = self._of("double")
            return self._narrow(self._atan2(*(self.op(f"fpext {self.type} {v} to {t}") for v in (y, x))))
        return self._atan2(y, x)

    def _atan2(self, y: str, x: str) -> str:
        """Fold the point into the first eighth of the plane, take the series, unfold.

        A point nearer to the diagonal than to the axis is turned by an eighth first:
        tan(a - pi/4) = (t - 1)/(t + 1).  What is folded away is added as a sum of two doubles.
        """
        t, i, b = self._of("double"), self._of("i64"), self._of("i1")

        def num(v: float) -> str:
            return self.number(v, "double")

        def do(what: str, a: str, b: str) -> str:
            return self.op(f"{what} {t} {a}, {b}")

        def either(condition: str, yes: str, no: str) -> str:
            return self.op(f"select {b} {condition}, {t} {yes}, {t} {no}")

        def negated(condition: str, value: str) -> str:
            return either(condition, self.op(f"fneg {t} {value}"), value)

        zero = "zeroinitializer" if self.lanes > 1 else "0"
        left = self.op(f"icmp slt {i} {self.op(f'bitcast {t} {x} to {i}')}, {zero}")  # minus zero is on the left
        below = self.op(f"icmp slt {i} {self.op(f'bitcast {t} {y} to {i}')}, {zero}")
        height, width = (self.call("fabs", v, element="double") for v in (y, x))
        steep = do("fcmp ogt", height, width)
        large, little = either(steep, height, width), either(steep, width, height)
        # two infinities are as good as two ones, an infinity or a zero beside anything less as good as 1 beside 0
        endless = do("fcmp oeq", large, num(float("inf")))
        both = do("fcmp oeq", little, large)
        little = either(endless, either(both, num(1.0), num(0.0)), little)
        large = either(self.op(f"or {b} {endless}, {do('fcmp oeq', large, num(0.0))}"), num(1.0), large)
        scale = either(do("fcmp ogt", large, num(2.0**1000)), num(2.0**-10), num(1.0))  # their sum must be finite
        little, large = do("fmul", little, scale), do("fmul", large, scale)

        turned = do("fcmp ogt", little, do("fmul", large, num(TAN_EIGHTH)))
        top = either(turned, do("fsub", little, large), little)
        u = do("fdiv", top, either(turned, do("fadd", little, large), large))
        z = do("fmul", u, u)
        series = num(ATAN_COEFFICIENTS[-1])
        for c in reversed(ATAN_COEFFICIENTS[:-1]):
            series = self.fma(series, z, num(c), "double")
        parts = [either(turned, num(h / 2), num(0.0)) for h in HALF_PI[:2]]
        parts[1] = self.fma(do("fmul", u, z), series, parts[1], "double")
        for folded, whole in ((steep, 1.0), (left, 2.0)):
            parts = [either(folded, do("fsub", num(whole * h), p), p) for h, p in zip(HALF_PI, parts, strict=False)]
            u = negated(folded, u)
        value = do("fadd", parts[0], do("fadd", u, parts[1]))
        unknown = do("fcmp uno", x, y)
        return either(unknown, do("fadd", x, y), negated(below, value))


SCALARS = Vectors(1)


class Sending:
    """Every few operations a kernel sends lines of the tile before on to memory; see :mod:`.streaming`.

    A value whose place is not in the nearest cache when it is stored would have to wait for all lines on
    their way to memory, so that place is fetched some time before.

    Parameters
    ----------
    graph, results
        What is computed; without, there is nothing to send.
    count : int
        Numbers per state, with those that are one and the same result.
    vectors : Vectors
        What the values are.
    """

    def __init__(
        self, graph: Graph | None = None, results: Sequence[int] = (), count: int = 0, vectors: Vectors = SCALARS
    ) -> None:
        operations = [i for i, args in enumerate(graph.args) if args] if graph else []
        times = -(-count // vectors.per_line)
        self.every = max(len(operations) // times, FEWEST_OPERATIONS) if times else 0
        self.convention = vectors.sender
        self.soon: dict[int, list[tuple[str, int]]] = {}
        self.done = 0
        self.fetch("out", ((i, r) for r, i in enumerate(results)), operations)

    def fetch(self, area: str, places: Iterable[tuple[int, int]], operations: Sequence[int]) -> None:
        """Let places, given for nodes, be fetched before the nodes are computed in this order."""
        when = {i: k for k, i in enumerate(operations)}
        for i, place in places:
            if i in when:
                self.soon.setdefault(when[i] - FETCHED_BEFORE, []).append((area, place))

    def __bool__(self) -> bool:
        return bool(self.every)

    def after_operation(self, e: Emitter) -> None:
        """Emit what it is time for."""
        self.done += 1
        if not self:
            return
        for area, place in self.soon.get(self.done, ()):
            e.line(f"call void @llvm.prefetch.p0(ptr {e.place(area, place)}, i32 1, i32 3, i32 1)")
        if self.done % self.every == 0:
            e.line(f"call {self.convention} void %send(ptr %parcel)")

    def parameters(self, *before: str) -> str:
        """Of a function that sends."""
        return ", ".join([*before, "ptr %send", "ptr %parcel"] if self else before)


NOTHING_TO_SEND = Sending()

FEWEST_OPERATIONS = 12
"""Between two times that lines are sent."""

FETCHED_BEFORE = 50
"""Operations between the fetching of a place and the storing of a value there."""


def emit_body(
    emitter: Emitter,
    graph: Graph,
    outputs: Sequence[int],
    load: Callable[[int], str],
    store: Callable[[int, str], None],
    sending: Sending = NOTHING_TO_SEND,
) -> None:
    """Emit every node once, inputs when first needed, outputs as soon as they are known."""
    names: dict[int, str] = {}
    wanted = _wanted(outputs)

    def name(i: int) -> str:
        if graph.kinds[i] == CONST:
            return emitter.number(graph.values[i])
        if i not in names:
            names[i] = load(int(graph.values[i]))
        return names[i]

    emit = _node_emitter(emitter, graph, range(len(graph.kinds)), name, names)
    for i, kind in enumerate(graph.kinds):
        if kind not in (CONST, INPUT):
            names[i] = emit(i)
            sending.after_operation(emitter)
        for k in wanted.get(i, ()):
            store(k, name(i))


def _wanted(outputs: Sequence[int]) -> dict[int, list[int]]:
    """Which outputs each node is."""
    wanted: dict[int, list[int]] = {}
    for k, o in enumerate(outputs):
        wanted.setdefault(o, []).append(k)
    return wanted


def _node_emitter(
    emitter: Emitter, graph: Graph, operations: Iterable[int], name: Callable[[int], str], names: Mapping[int, str]
) -> Callable[[int], str]:
    """What emits one operation on values that ``name`` knows, those of ``operations`` being in ``names`` once made."""
    circles: dict[int, tuple[str, str]] = {}
    turning = list(dict.fromkeys(graph.args[i][0] for i in operations if graph.kinds[i] in (SIN, COS)))
    made_here = {i for i in operations if graph.args[i]}
    t = emitter.type

    def is_known(i: int) -> bool:
        """Whether a value is there already; a sign that is changed where it is read is so when its operand is."""
        while graph.kinds[i] == NEG and i not in made_here:
            i = graph.args[i][0]
        return i in names or i not in made_here

    def turn(angle: int) -> None:
        """Find sine and cosine of an angle, and of those that are needed next if they are known."""
        first = turning.index(angle)
        known = [a for a in turning[first + 1 :] if a not in circles and is_known(a)]
        together = [angle, *known[: ANGLES_AT_ONCE - 1]] if emitter.lanes == 1 else [angle]
        circles.update(zip(together, emitter.sines_and_cosines([name(a) for a in together]), strict=True))

    def emit(i: int) -> str:
        kind, args = graph.kinds[i], graph.args[i]
        a = [name(j) for j in args]
        if kind in _BINARY:
            return emitter.op(f"{_BINARY[kind]} {t} {a[0]}, {a[1]}")
        if kind == FMA:
            return emitter.fma(*a)
        if kind == NEG:
            return emitter.op(f"fneg {t} {a[0]}")
        if kind == SQRT:
            return emitter.call("sqrt", a[0])
        if kind == ABS:
            return emitter.call("fabs", a[0])
        if kind in (SIN, COS):
            if args[0] not in circles:
                turn(args[0])
            return circles[args[0]][kind == COS]
        if kind == ATAN2:
            return emitter.angle(*a)
        if kind == LESS:
            return emitter.op(f"fcmp olt {t} {a[0]}, {a[1]}")
        if kind == SELECT:
            mask = f"<{emitter.lanes} x i1>" if emitter.lanes > 1 else "i1"
            return emitter.op(f"select {mask} {a[0]}, {t} {a[1]}, {t} {a[2]}")
        raise NotImplementedError(f"no machine code for {kind!r} nodes")

    return emit


ANGLES_AT_ONCE = 4
"""Of one state, whose sines and cosines are computed as a vector."""

LONGEST_BODY = 16000
"""Operations up to which a kernel is one function; beyond, LLVM takes ever longer over each."""

PIECE = 1000
"""Operations per function of a longer kernel."""


MOST_STORES = 500
"""Results that are numbers or inputs per function of a longer kernel: LLVM compares every store with every other."""


def lanes_module(
    graph: Graph, outputs: Sequence[int], vectors: Vectors, input_count: int = 0, sends: bool = False,
    work_at: int | None = None,
) -> str:  # fmt: skip
    """Module with ``@kernel(in, out)``, inputs and results as consecutive vectors, and the table ``@places``.

    Equal outputs are one result; the table says for each output where its result is, in bytes.
    A kernel that ``sends`` takes two more arguments, one for whoever calls it and a parcel.
    Long code keeps ``@work`` vectors between its functions, from vector ``work_at`` behind the beginning of the
    inputs on; without that, on the stack, which is too small in some threads.
    """
    e = Emitter(vectors)
    results = list(dict.fromkeys(outputs))
    place = {node: k * e.size for k, node in enumerate(results)}
    places = table_of_places([place[o] for o in outputs], vectors)
    no_work = work_vectors(0)
    operations = sum(map(bool, graph.args))
    sending = Sending(graph, results, len(outputs), vectors) if sends else NOTHING_TO_SEND
    if vectors.few_registers:
        return places + _module_by_plan(graph, results, vectors, input_count, work_at=work_at)
    if operations > LONGEST_BODY:
        own = no_work if work_at is None else ""
        return (places + own) + module_in_pieces(graph, results, vectors, input_count, sending=sending, work_at=work_at)
    load = _consecutive(e)
    _begin(e, sending)

    def store(k: int, value: str) -> None:
        e.store(value, "out", k)

    emit_body(e, graph, results, load, store, sending)
    unused = _spoil_for_unused(e, graph, input_count, load, len(results))
    return places + no_work + _module(e, _parameters("ptr noalias readonly %in, ptr noalias %out", sending), unused)


def table_of_places(places: Sequence[int], vectors: Vectors) -> str:
    """Where each output is among the results, in bytes; padded for those who read a whole line of the table."""
    padded = [*places, *[0] * vectors.per_line]
    return f"@places = constant [{len(padded)} x i32] [{', '.join(f'i32 {k}' for k in padded)}]\n"


def work_vectors(count: int) -> str:
    """Says how many vectors a kernel needs beside its inputs and results."""
    return f"@work = constant i64 {count}\n"


def _parameters(areas: str, sending: Sending) -> str:
    """Of a kernel."""
    return areas + (", ptr %context, ptr %parcel" if sending else "")


def _begin(e: Emitter, sending: Sending) -> None:
    """The first word of a parcel is the function that sends it on."""
    if sending:
        e.line("%send = load ptr, ptr %parcel")


def _consecutive(e: Emitter) -> Callable[[int], str]:
    """What loads inputs that lie one after another."""
    return lambda k: e.load("in", k)


def _by_table(lengths: Sequence[int]) -> Callable[[Emitter], Callable[[int], str]]:
    """What makes what loads inputs that lie in several arrays, given as a table of pointers."""
    place = [(j, k) for j, n in enumerate(lengths) for k in range(n)]

    def inputs_of(e: Emitter) -> Callable[[int], str]:
        arrays: dict[int, str] = {}

        def load(i: int) -> str:
            j, k = place[i]
            if j not in arrays:
                arrays[j] = e.op(f"load ptr, ptr {e.op(f'getelementptr inbounds ptr, ptr %in, i64 {j}')}")
            p = e.op(f"getelementptr inbounds {e.type}, ptr {arrays[j]}, i64 {k}")
            return e.op(f"load {e.type}, ptr {p}, align {e.size}")

        return load

    return inputs_of


def _reads(graph: Graph, i: int) -> list[int]:
    """What an operation needs from memory if its arguments were made elsewhere: comparisons are made again."""
    return [b for a in graph.args[i] for b in (graph.args[a] if graph.kinds[a] == LESS else (a,))]


def module_in_pieces(
    graph: Graph, results: Sequence[int], vectors: Vectors, input_count: int,
    inputs_of: Callable[[Emitter], Callable[[int], str]] = _consecutive, sending: Sending = NOTHING_TO_SEND,
    work_at: int | None = None,
) -> str:  # fmt: skip
    """A kernel that calls functions of moderate length; values pass between them through memory.

    A function reads what earlier ones left (``from``) and leaves values for later ones (``to``): both
    are the same area, but no function reads a place that it writes.  ``inputs_of`` makes what loads
    the inputs in one function.
    """
    operations = [i for i, args in enumerate(graph.args) if args]
    pieces = [operations[k : k + PIECE] for k in range(0, len(operations), PIECE)]
    home = {i: k for k, piece in enumerate(pieces) for i in piece}
    last = {a: home[i] for i in operations for a in _reads(graph, i) if home.get(a, home[i]) != home[i]}
    wanted = _wanted(results)
    slots, size = _slots(pieces, last)
    sending.fetch("to", slots.items(), operations)
    text: list[str] = []
    for k, piece in enumerate(pieces):
        e = Emitter(vectors)
        if vectors.masks and e.size == LINE:
            e.windows = dict.fromkeys(("in", "out", "from", "to"), 1 << 30)
        names: dict[int, str] = {}
        load = inputs_of(e)

        def name(i: int, e: Emitter = e, names: dict[int, str] = names, load: Callable[[int], str] = load) -> str:
            if graph.kinds[i] == CONST:
                return e.number(graph.values[i])
            if i in names:
                return names[i]
            if graph.kinds[i] == LESS:
                return emit(i)  # noqa: B023 (called only while its own piece is emitted)
            return load(int(graph.values[i])) if graph.kinds[i] == INPUT else e.load("from", slots[i])

        emit = _node_emitter(e, graph, piece, name, names)
        for i in piece:
            names[i] = emit(i)
            sending.after_operation(e)
            if i in slots:
                e.store(names[i], "to", slots[i])
            for r in wanted.pop(i, ()):
                e.store(names[i], "out", r)
        text += _piece(k, e, sending)
    given = [(i, r) for i, places in wanted.items() for r in places]  # results that are numbers or inputs
    bodies = _given(graph, vectors, given, inputs_of)
    for k, e in enumerate(bodies, len(pieces)):
        text += _piece(k, e, sending)
    main = Emitter(vectors)
    _begin(main, sending)
    if work_at is None:
        main.line(f"%area = alloca [{max(size, 1)} x {main.type}], align {main.size}")
    else:
        main.line(f"%area = getelementptr {main.type}, ptr %in, i64 {work_at}")
        text.insert(0, work_vectors(size))
    for k in range(len(pieces) + len(bodies)):
        main.line(f"call void @piece{k}({sending.parameters('ptr %in', 'ptr %out', 'ptr %area', 'ptr %area')})")
    unused = _spoil_for_unused(main, graph, input_count, inputs_of(main), len(results))
    return "\n".join([*text, _module(main, _parameters("ptr %in, ptr %out", sending), unused)])


def _given(
    graph: Graph,
    vectors: Vectors,
    given: Sequence[tuple[int, int]],
    inputs_of: Callable[[Emitter], Callable[[int], str]],
) -> list[Emitter]:
    """Bodies of functions that store results that are numbers or inputs."""
    bodies = []
    for first in range(0, len(given), MOST_STORES):
        e = Emitter(vectors)
        load = inputs_of(e)
        for i, r in given[first : first + MOST_STORES]:
            value = load(int(graph.values[i])) if graph.kinds[i] == INPUT else e.number(graph.values[i])
            e.store(value, "out", r)
        bodies.append(e)
    return bodies


def _module_by_plan(
    graph: Graph, results: Sequence[int], vectors: Vectors, input_count: int,
    inputs_of: Callable[[Emitter], Callable[[int], str]] = _consecutive, work_at: int | None = None,
) -> str:  # fmt: skip
    """A kernel in pieces for few registers, which says itself what is kept in them; see :mod:`.registers`."""
    wanted = _wanted(results)
    outputs = set(wanted)
    operations = sum(map(bool, graph.args))
    piece = min(max(MOST_COMPARED // max(operations, 1), SHORTEST_PIECE), LONGEST_PIECE)
    found = plan(graph, results, vectors.registers - SPARE_REGISTERS, piece, USED_SOON)
    numbers: dict[str, int] | None = {} if vectors.lanes > 1 else None
    text: list[str] = []
    bodies: list[Emitter] = []
    for steps in found.pieces:
        e = Emitter(vectors)
        e.numbers, e.windows = numbers, {"work": MOST_WINDOWS}
        load = inputs_of(e)
        names: dict[int, str] = {}

        def fetch(i: int, e: Emitter = e, load: Callable[[int], str] = load) -> str:
            if graph.kinds[i] == CONST:
                return e.number(graph.values[i])
            return load(int(graph.values[i])) if graph.kinds[i] == INPUT else e.load("work", found.slots[i])

        def name(i: int, e: Emitter = e, names: dict[int, str] = names) -> str:
            if graph.kinds[i] == LESS:
                return emit(i)  # noqa: B023 (called only while its own piece is emitted)
            value = operand_of(graph, outputs, i)
            known = names[value] if value in names else fetch(value)
            changes = 0
            while i != value:
                i, changes = graph.args[i][0], changes + 1
            return e.op(f"fneg {e.type} {known}") if changes % 2 else known

        emit = _node_emitter(e, graph, [step.node for step in steps], name, names)
        for step in steps:
            names.update((i, fetch(i)) for i in step.fetched)
            if step.read is not None:
                names[step.read] = fetch(step.read)
            value = emit(step.node)
            names[step.node] = value
            for r in wanted.get(step.node, ()):
                e.store(value, "out", r)
            for i in step.saved:
                e.store(names[i], "work", found.slots[i])
        bodies.append(e)
    given = [(i, r) for i, places in wanted.items() if not graph.args[i] for r in places]
    bodies += _given(graph, vectors, given, inputs_of)
    main = Emitter(vectors)
    if work_at is None:
        main.line(f"%area = alloca [{max(found.size, 1)} x {main.type}], align {main.size}")
    else:
        main.line(f"%area = getelementptr {main.type}, ptr %in, i64 {work_at}")
    areas = "ptr noalias readonly %in, ptr noalias %out, ptr noalias %work"
    for k, e in enumerate(bodies):
        text += [f"define internal void @piece{k}({areas}) noinline {{", *e.lines, "  ret void", "}"]
        main.line(f"call void @piece{k}(ptr %in, ptr %out, ptr %area)")
    unused = _spoil_for_unused(main, graph, input_count, inputs_of(main), len(results))
    head = [work_vectors(0 if work_at is None else found.size)] if vectors.lanes > 1 else []
    if numbers:  # not declared as constants: LLVM would read each once and keep it, in memory again
        table = ", ".join(f"{main.type} {number}" for number in numbers)
        head += [f"@numbers = internal global [{len(numbers)} x {main.type}] [{table}], align {main.size}"]
    return "\n".join([*head, *text, _module(main, "ptr %in, ptr %out", unused)])


def inner_function(name: str, graph: Graph, results: Sequence[int], vectors: Vectors) -> str:
    """A function of a larger module that reads consecutive vectors and writes consecutive vectors."""
    few = vectors.few_registers
    if not few and sum(map(bool, graph.args)) <= LONGEST_BODY:
        e = Emitter(vectors)
        emit_body(e, graph, results, _consecutive(e), lambda k, value: e.store(value, "out", k))
        head = f"define internal void @{name}(ptr noalias readonly %in, ptr noalias %out) noinline {{"
        return "\n".join([head, *e.lines, "  ret void", "}"])
    whole = (_module_by_plan if few else module_in_pieces)(graph, results, vectors, 0)
    own = "\n".join(line for line in whole.splitlines() if not line.startswith(("declare", "@work")))
    for symbol in ("piece", "numbers"):
        own = own.replace(f"@{symbol}", f"@{name}_{symbol}")
    return own.replace("define void @kernel(", f"define internal void @{name}(")


def _slots(pieces: Sequence[Sequence[int]], last: dict[int, int]) -> tuple[dict[int, int], int]:
    """Places for the values that later pieces read, up to piece ``last``, and how many places there are."""
    slots: dict[int, int] = {}
    free: list[int] = []
    size = 0
    over: dict[int, list[int]] = {}
    for i, end in last.items():
        over.setdefault(end, []).append(i)
    for k, piece in enumerate(pieces):
        free += [slots[i] for i in over.get(k - 1, ())]
        for i in piece:
            if i in last:
                if not free:
                    free, size = [size], size + 1
                slots[i] = free.pop()
    return slots, size


def _piece(k: int, e: Emitter, sending: Sending) -> list[str]:
    areas = "ptr noalias readonly %in, ptr noalias %out, ptr noalias readonly %from, ptr noalias %to"
    return [f"define internal void @piece{k}({sending.parameters(areas)}) noinline {{", *e.lines, "  ret void", "}"]


def single_module(
    graph: Graph,
    outputs: Sequence[int],
    lengths: Sequence[int],
    vectors: Vectors = SCALARS,
    spread_nan: bool = True,
) -> str:
    """Module with ``@kernel(in, out)``: a table of pointers to the input arrays, one state."""
    watched, inputs_of = sum(lengths) if spread_nan else 0, _by_table(lengths)
    if vectors.few_registers:
        return _module_by_plan(graph, outputs, vectors.one, watched, inputs_of)
    if sum(map(bool, graph.args)) > LONGEST_BODY:
        return module_in_pieces(graph, outputs, vectors.one, watched, inputs_of)
    e = Emitter(vectors.one)
    load = inputs_of(e)

    def store(k: int, value: str) -> None:
        e.store(value, "out", k)

    emit_body(e, graph, outputs, load, store)
    unused = _spoil_for_unused(e, graph, watched, load, len(outputs))
    return _module(e, "ptr noalias readonly %in, ptr noalias %out", unused)


def _spoil_for_unused(e: Emitter, graph: Graph, input_count: int, load: Callable[[int], str], count: int) -> bool:
    """NaN in, NaN out, also for an input that nothing depends on: such lanes are overwritten at the end.

    Whether there is one is a single test, x - x summed over the unused inputs; the loop that
    overwrites is hardly ever entered.
    """
    used = {int(graph.values[i]) for i, kind in enumerate(graph.kinds) if kind == INPUT}
    unused = [k for k in range(input_count) if k not in used]
    if not unused or not count:
        return False
    total = None
    for k in unused:
        x = load(k)
        zero = e.op(f"fsub {e.type} {x}, {x}")
        total = zero if total is None else e.op(f"fadd {e.type} {total}, {zero}")
    mask = f"<{e.lanes} x i1>" if e.lanes > 1 else "i1"
    bad = e.op(f"fcmp uno {e.type} {total}, {total}")
    found = bad
    if e.lanes > 1:
        bits = e.op(f"bitcast {mask} {bad} to i{e.lanes}")
        found = e.op(f"icmp ne i{e.lanes} {bits}, 0")
    e.lines += [
        f"  br i1 {found}, label %spoil, label %end",
        "spoil:",
        "  %k = phi i64 [ 0, %begin ], [ %k_next, %spoil ]",
        f"  %place = getelementptr inbounds {e.type}, ptr %out, i64 %k",
        f"  %was = load {e.type}, ptr %place, align {e.size}",
        f"  %is = select {mask} {bad}, {e.type} {e.number(float('nan'))}, {e.type} %was",
        f"  store {e.type} %is, ptr %place, align {e.size}",
        "  %k_next = add i64 %k, 1",
        f"  %again = icmp slt i64 %k_next, {count}",
        "  br i1 %again, label %spoil, label %end",
        "end:",
    ]
    return True


def _module(e: Emitter, parameters: str, branches: bool) -> str:
    head = ["begin:"] if branches else []
    body = [*head, *e.lines, "  ret void", "}", ""]
    return "\n".join([*e.declarations(), f"define void @kernel({parameters}) {{", *body])
