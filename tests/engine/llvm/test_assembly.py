"""Code that writes code: what it computes is what the same structure means in Python."""

import ctypes
import random
from contextlib import suppress

import numpy as np
import pytest

from helpers.assembly import compiled, loaded
from kinetree.engine.llvm import host
from kinetree.engine.llvm.assembly import AssemblyError, Module, StructLayout

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code here")

TWO = {"a": "i64", "b": "i64"}


def wrapped(n):
    """Return an integer as 64 bits hold it."""
    return ctypes.c_int64(n).value


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    "operation",
    [
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a & b, lambda a, b: a | b,
        lambda a, b: a ^ b, lambda a, b: ~a, lambda a, b: a + 5, lambda a, b: a * -3,
    ],
)  # fmt: skip
def test_arithmetic_is_that_of_integers(operation):
    run = compiled(lambda f, a, b: operation(a, b), TWO, "i64")
    for a in (0, 1, -1, 7, -1234567, 2**62):
        for b in (0, 3, -2, 10**9, -(2**63)):
            assert run(a, b) == wrapped(operation(a, b))


@pytest.mark.parametrize(
    ("operation", "judge"),
    [
        (lambda a, b: a < b, lambda a, b: a < b), (lambda a, b: a <= b, lambda a, b: a <= b),
        (lambda a, b: a > b, lambda a, b: a > b), (lambda a, b: a >= b, lambda a, b: a >= b),
        (lambda a, b: a.equals(b), lambda a, b: a == b), (lambda a, b: a.differs(b), lambda a, b: a != b),
        (lambda a, b: a.is_below(b), lambda a, b: a % 2**64 < b % 2**64),
        (lambda a, b: (a < b) & (a > -5), lambda a, b: -5 < a < b),
    ],
)  # fmt: skip
def test_comparisons_are_signed_unless_they_say_otherwise(operation, judge):
    run = compiled(lambda f, a, b: operation(a, b), TWO, "i1")
    for a in (-(2**63), -7, 0, 7, 2**63 - 1):
        for b in (-(2**63), -7, 0, 7, 2**63 - 1):
            assert run(a, b) == judge(a, b)


def test_division_shift_extremes_and_choice():
    def write(f, to, a, b):
        found = [a // b, a >> 3, a.min(b), a.max(b), (a < b).choose(a, 9), a.to("i32").to("i64"), to.to("i64")]
        for k, value in enumerate(found):
            to.at(k, "i64").store(value)

    run = compiled(write, {"to": "ptr", **TWO})
    to = (ctypes.c_int64 * 7)()
    for a, b in ((17, 5), (-17, 5), (2**40 + 3, -2)):
        run(ctypes.addressof(to), a, b)
        towards_zero = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        chosen = a if a < b else 9
        assert list(to)[:6] == [towards_zero, a % 2**64 >> 3, min(a, b), max(a, b), chosen, a % 2**32]
        assert to[6] == ctypes.addressof(to)


def test_values_of_different_types_do_not_meet():
    for operation in (lambda a, p: a + p, lambda a, p: a < p, lambda a, p: (a < 1).choose(a, p)):
        with (
            pytest.raises(AssemblyError, match=r"i64 %a beside ptr %p"),
            Module().function("f", {"a": "i64", "p": "ptr"}) as f,
        ):
            operation(*f.args)


# ---------------------------------------------------------------- memory

RECORD = StructLayout(count="i64", where="ptr", short="i32", far=("i64", 40), number="double")


def test_places_follow_one_another_unless_they_are_given():
    assert RECORD.at == {"count": 0, "where": 8, "short": 16, "far": 40, "number": 48}
    assert RECORD.size == 56


def test_fields_are_read_and_written_by_name():
    def write(f, place, n):
        record = RECORD.of(place)
        record["far"] = record["count"] + n
        record["short"] = 7
        record["where"] = record.place("far")
        record["number"] = record["where"].load("double")

    block = (ctypes.c_int64 * 7)(5)
    compiled(write, {"place": "ptr", "n": "i64"})(ctypes.addressof(block), 6)
    assert list(block) == [5, ctypes.addressof(block) + 40, 7, 0, 0, 11, 11]


def test_room_on_the_stack_is_the_same_in_all_rounds_of_a_loop():
    def write(f, n):
        cell = f.room("i64")
        cell.store(1)
        with f.loop(0, n):
            cell.store(cell.load("i64") * 2)
            with f.when(cell.load("i64") > 100):
                other = f.room("i64", 3, 64)  # wherever it is asked for
                other.at(2, "i64").store(-1)
                f.ret((other.to("i64") & 63) + other.at(2, "i64").load("i64"))
        return cell.load("i64")

    run = compiled(write, {"n": "i64"}, "i64")
    assert [run(n) for n in (0, 1, 5, 10**12)] == [1, 2, 32, -1]


def test_updates_of_shared_numbers_return_what_was_there():
    def write(f, cell, to):
        found = [cell.update("add", 5), cell.update("or", 16), cell.update("xchg", 3), cell.load_shared()]
        for expected in (4, 3):
            was, done = cell.exchange(expected, 9)
            found += [was, done.to("i64")]
        for k, value in enumerate(found):
            to.at(k, "i64").store(value)
        cell.store_shared(cell.update("sub", 1) * 10)

    cell, to = ctypes.c_int64(2), (ctypes.c_int64 * 8)()
    compiled(write, {"cell": "ptr", "to": "ptr"})(ctypes.addressof(cell), ctypes.addressof(to))
    assert list(to) == [2, 7, 23, 3, 3, 0, 3, 1]
    assert cell.value == 90


# ---------------------------------------------------------------- ways


def test_a_choice_without_and_with_another_half():
    def write(f, a, b):
        x, y = f.variable(a, "x"), f.variable(0, "y")
        with f.when(a < b):
            x.set(b)
        with f.when(a < 0):
            y.set(1)
            with f.when(b < 0):
                y.set(2)
        with f.otherwise():
            with f.when(b < 0):
                y.set(3)
            with f.otherwise():
                f.ret(-100)
        return x.value * 10 + y.value

    run = compiled(write, TWO, "i64")
    assert [run(*given) for given in ((-5, 4), (-5, -4), (5, -4), (5, 4))] == [41, -38, 53, -100]


def test_loops_count_leave_and_never_begin():
    def write(f, a, b):
        total = f.variable(0, "total")
        with f.loop(a, b, 3, changing=(total,)) as k:
            with f.loop(0, k, changing=(total,)) as j:
                f.leave(when=j.equals(4))
                total.set(total.value + j)
            total.set(total.value + k * 100)
            f.leave(unless=total.value < 5000)
        return total.value

    def judge(a, b):
        total = 0
        for k in range(a, b, 3):
            for j in range(k):
                if j == 4:
                    break
                total += j
            total += 100 * k
            if total >= 5000:
                break
        return total

    run = compiled(write, TWO, "i64")
    for given in ((0, 0), (3, -3), (0, 1), (0, 10), (2, 17), (0, 100)):
        assert run(*given) == judge(*given)


def test_a_way_out_joins_all_that_take_it():
    def write(f, a, b):
        x = f.variable(0, "x")
        with f.way_out("out") as out:
            f.jump(out, when=a < 0)
            x.set(1)
            with f.loop(0, b) as k:
                f.jump(out, when=k.equals(a))
            x.set(2)
        return x.value

    run = compiled(write, TWO, "i64")
    assert [run(*given) for given in ((-1, 5), (3, 5), (7, 5), (0, 0))] == [0, 1, 2, 2]


class _Leave(Exception):
    pass


class _Return(Exception):
    pass


def some_statements(rng, depth, in_loop):
    """Draw a program: assignments, choices, loops and ways out of them."""
    drawn = []
    for _ in range(rng.randrange(1, 5)):
        kind = rng.choice(["set", "set", "when", "loop", "leave", "return"])
        a, b, n = rng.randrange(4), rng.randrange(4), rng.randrange(-3, 4)
        if kind == "set":
            drawn.append(("set", a, b, rng.choice("+-*^"), n))
        elif kind == "when" and depth:
            other = some_statements(rng, depth - 1, in_loop) if rng.random() < 0.6 else None
            drawn.append(("when", a, n, some_statements(rng, depth - 1, in_loop), other))
        elif kind == "loop" and depth:
            drawn.append(("loop", rng.randrange(5), some_statements(rng, depth - 1, True)))
        elif kind == "leave" and in_loop:
            drawn.append(("leave", a, n))
        elif kind == "return" and rng.random() < 0.2:
            drawn.append(("return", a, n))
    return drawn


APPLY = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "^": lambda x, y: x ^ y}


def interpret(program, x):
    for kind, *rest in program:
        if kind == "set":
            a, b, how, n = rest
            x[a] = wrapped(APPLY[how](x[a] + n, x[b]))
        elif kind == "when":
            a, n, yes, no = rest
            interpret(yes if x[a] < n else no or [], x)
        elif kind == "loop":
            with suppress(_Leave):
                for k in range(rest[0]):
                    x[0] = wrapped(x[0] + k)
                    interpret(rest[1], x)
        elif x[rest[0]] < rest[1]:
            raise _Leave if kind == "leave" else _Return


def write_program(f, program, x, to):
    for kind, *rest in program:
        if kind == "set":
            a, b, how, n = rest
            x[a].set(APPLY[how](x[a].value + n, x[b].value))
        elif kind == "when":
            a, n, yes, no = rest
            with f.when(x[a].value < n):
                write_program(f, yes, x, to)
            if no is not None:
                with f.otherwise():
                    write_program(f, no, x, to)
        elif kind == "loop":
            with f.loop(0, rest[0], changing=x) as k:
                x[0].set(x[0].value + k)
                write_program(f, rest[1], x, to)
        elif kind == "leave":
            f.leave(when=x[rest[0]].value < rest[1])
        else:
            with f.when(x[rest[0]].value < rest[1]):
                write_results(f, x, to)
                f.ret()


def write_results(f, x, to):
    for k, variable in enumerate(x):
        to.at(k, "i64").store(variable.value)


@pytest.mark.parametrize("seed", range(4))
def test_programs_drawn_at_random_do_what_they_do_in_python(seed):
    """Variables have the right values wherever ways meet, however choices and loops are nested."""
    rng, module = random.Random(seed), Module()
    programs = [some_statements(rng, 3, False) for _ in range(60)]
    for number, program in enumerate(programs):
        with module.function(f"p{number}", {"to": "ptr"}) as f:
            (to,) = f.args
            x = [f.variable(k - 1, f"x{k}") for k in range(4)]
            write_program(f, program, x, to)
            if f.is_reached:
                write_results(f, x, to)
    functions = loaded(module.text(), {f"p{k}": ("void", "ptr") for k in range(len(programs))})
    for number, program in enumerate(programs):
        to, x = (ctypes.c_int64 * 4)(), [-1, 0, 1, 2]
        functions[f"p{number}"](ctypes.addressof(to))
        with suppress(_Return):
            interpret(program, x)
        assert list(to) == x, program


# ---------------------------------------------------------------- calls and mistakes


def test_functions_are_called_by_name_and_by_address():
    module = Module()
    with module.function("twice", {"a": "i64"}, "i64", linkage="internal", attributes="noinline") as f:
        f.ret(f.args[0] * 2)
    with module.function("both", {"other": "ptr", "a": "i64"}, "i64") as f:
        other, a = f.args
        answer = f.call(other, a, 3, result="i64")
        f.ret(f.call("twice", answer, result="i64") + f.call("llvm.ctpop.i64", a, result="i64"))
    text = module.text()
    assert "declare i64 @llvm.ctpop.i64(i64)" in text
    assert "declare i64 @twice" not in text
    both = loaded(text, {"both": ("i64", "ptr", "i64")})["both"]
    power = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(lambda a, n: a**n)
    assert both(ctypes.cast(power, ctypes.c_void_p), 7) == 2 * 343 + 3


def test_vectors_are_compared_lane_by_lane():
    def write(f, numbers, least):
        kept = numbers.load("<4 x i32>", align=4)
        spread = f.op("insertelement <4 x i32> zeroinitializer, i32 %least, i64 2", "<4 x i32>")
        bits = kept >= spread
        assert bits.type == "<4 x i1>"
        return f.op(f"bitcast <4 x i1> {bits.name} to i4", "i4").to("i32")

    numbers = np.array([1, -1, 5, 0], dtype=np.int32)
    run = compiled(write, {"numbers": "ptr", "least": "i32"}, "i32")
    assert [run(numbers.ctypes.data, least) for least in (4, 5, 6)] == [0b1101, 0b1101, 0b1001]


def refuse(write, match, result="void"):
    with pytest.raises(AssemblyError, match=match), Module().function("f", {"a": "i64"}, result) as f:
        write(f, f.args[0])


def test_mistakes_are_named_where_they_are_made():
    def silent_change(f, a):
        x = f.variable(0, "total")
        with f.loop(0, a):
            x.set(x.value + 1)

    def behind_the_end(f, a):
        f.ret()
        a + 1

    def otherwise_alone(f, a):
        with f.when(a < 1):
            pass
        a + 1
        with f.otherwise():
            pass

    refuse(silent_change, "does not declare that it changes 'total'")
    refuse(behind_the_end, "no path leads to 'add")
    refuse(otherwise_alone, "does not follow a when")
    refuse(lambda f, a: a + 1, "f ends without a result", "i64")


def test_the_text_can_be_read():
    module = Module()
    with module.function("total", {"place": "ptr"}, "i64") as f:
        record = RECORD.of(f.args[0])
        f.comment("all that is far")
        f.ret(record["far"])
    assert module.text().splitlines() == [
        "define i64 @total(ptr %place) {",
        "entry.0:",
        "  ; all that is far",
        "  %far_at.1 = getelementptr i8, ptr %place, i64 40",
        "  %far.2 = load i64, ptr %far_at.1",
        "  ret i64 %far.2",
        "}",
    ]
