"""What machine code knows of CPython and NumPy: if either changes, the test that fails says in what."""

import ctypes
import re
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

from kinetree.engine.kernels.direct_call import available
from kinetree.engine.llvm import foreign
from kinetree.engine.llvm.foreign import ARRAY, BYTES, OBJECT, TUPLE

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8, reason="another interpreter"
)

ARRAYS = {
    "a matrix": np.arange(15.0).reshape(3, 5),
    "a vector": np.arange(4.0),
    "a number": np.array(2.0),
    "columns": np.asfortranarray(np.arange(15.0).reshape(3, 5)),
    "a view": np.arange(60.0).reshape(6, 10)[::-2, 1:8:3],
    "floats": np.ones((2, 3, 4), np.float32),
}


def at(thing, place, kind=ctypes.c_int64):
    return kind.from_address(id(thing) + place).value


def words(address, count):
    return list((ctypes.c_int64 * count).from_address(address)) if count else []


every_array = pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)


# ---------------------------------------------------------------- CPython


@pytest.mark.parametrize("thing", [1.5, "text", (1, 2), np.zeros(2), 10**30], ids=lambda thing: type(thing).__name__)
def test_OBJECT_type(thing):
    assert at(thing, OBJECT.at["type"]) == id(type(thing))


def test_OBJECT_references():
    thing = object.__new__(type("Some", (), {}))
    before = at(thing, OBJECT.at["references"])
    others = [thing] * 5
    assert at(thing, OBJECT.at["references"]) == before + len(others)


@pytest.mark.parametrize("text", [b"", b"0123456789", bytes(range(256))], ids=len)
def test_BYTES_data_and_size(text):
    assert at(text, BYTES.at["size"]) == len(text)
    assert ctypes.string_at(id(text) + BYTES.at["data"], len(text) + 1) == text + b"\0"


@pytest.mark.parametrize("things", [(), (1,), ("a", 2.0, None)], ids=len)
def test_TUPLE_size_and_items(things):
    assert at(things, TUPLE.at["size"]) == len(things)
    assert words(id(things) + TUPLE.at["items"], len(things)) == [id(thing) for thing in things]


def headers(folder, *names):
    """Return the text of C headers; skip where they are not installed."""
    found = [Path(folder, name) for name in names]
    if not all(path.exists() for path in found):
        pytest.skip("no headers here")
    return "".join(path.read_text() for path in found)


def defined(text, name):
    """Return the number that a macro stands for."""
    return int(re.search(rf"#\s*define\s+{name}\s+(0x[0-9a-fA-F]+|\d+)", text)[1], 0)


def test_FASTCALL_WITH_KEYWORDS_by_header():
    text = headers(sysconfig.get_path("include"), "methodobject.h")
    both = defined(text, "METH_FASTCALL") | defined(text, "METH_KEYWORDS")
    assert both == foreign.FASTCALL_WITH_KEYWORDS


def test_MethodDef_and_FASTCALL_WITH_KEYWORDS_by_use():
    """A built-in made of them gets self, its arguments, how many are positional, and the names of the others."""
    seen = []

    @ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
    def function(self, args, count, names):
        given = words(args, count + (at_address(names + TUPLE.at["size"]) if names else 0))
        of_names = words(names + TUPLE.at["items"], 2) if names else None
        seen.append((self, given, count, of_names))
        return "done"

    code = ctypes.cast(function, ctypes.c_void_p)
    definition = foreign.MethodDef(b"name", code, foreign.FASTCALL_WITH_KEYWORDS, b"name($self)\n--\n\nSays so.")
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
        ("PyCFunction_NewEx", ctypes.pythonapi)
    )
    made = make(ctypes.addressof(definition), "self", None)
    assert (made.__name__, made.__doc__, made.__self__) == ("name", "Says so.", "self")
    a, b, c, d = (object() for _ in range(4))
    assert made(a, b) == made(a, b, out=c, threads=d) == "done"
    assert seen[0] == ("self", [id(a), id(b)], 2, None)
    assert seen[1] == ("self", [id(x) for x in (a, b, c, d)], 2, [id(sys.intern("out")), id(sys.intern("threads"))])


def at_address(address):
    return ctypes.c_int64.from_address(address).value


# ---------------------------------------------------------------- NumPy


@every_array
def test_ARRAY_data(array):
    assert at(array, ARRAY.at["data"]) == array.ctypes.data


@every_array
def test_ARRAY_ndim(array):
    assert at(array, ARRAY.at["ndim"], ctypes.c_int32) == array.ndim


@every_array
def test_ARRAY_dims(array):
    assert words(at(array, ARRAY.at["dims"]), array.ndim) == list(array.shape)


@every_array
def test_ARRAY_strides(array):
    assert words(at(array, ARRAY.at["strides"]), array.ndim) == list(array.strides)


@every_array
def test_ARRAY_descr(array):
    assert at(array, ARRAY.at["descr"]) == id(array.dtype)


@every_array
def test_ARRAY_base(array):
    assert at(array, ARRAY.at["base"]) == (id(array.base) if array.base is not None else 0)


def unaligned():
    return np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float64)


def read_only():
    array = np.zeros(3)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("flag", "has", "has_not"),
    [
        ("CONTIGUOUS", np.zeros((2, 3)), np.asfortranarray(np.zeros((2, 3)))),
        ("ALIGNED", np.zeros(2), unaligned()),
        ("WRITEABLE", np.zeros(3), read_only()),
    ],
)
def test_ARRAY_flags(flag, has, has_not):
    bit = getattr(foreign, flag)
    name = {"CONTIGUOUS": "c_contiguous"}.get(flag, flag.lower())
    for array, expected in ((has, True), (has_not, False)):
        assert getattr(array.flags, name) is expected
        assert bool(at(array, ARRAY.at["flags"], ctypes.c_int32) & bit) is expected
        assert bool(array.flags.num & bit) is expected


def test_DOUBLE():
    assert np.dtype(np.float64).num == foreign.DOUBLE
    assert all(np.dtype(code).num != foreign.DOUBLE for code in "fgilqFD")


def test_NEW_ARRAY_by_use():
    """What is at that place of NumPy's table makes arrays as PyArray_New does."""
    new = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.py_object, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p,
        ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p,
    )(foreign.numpy_function(foreign.NEW_ARRAY))  # fmt: skip
    for shape in ((3,), (2, 5), (4, 1, 3), (0, 2), ()):
        made = new(np.ndarray, len(shape), (ctypes.c_int64 * 4)(*shape), foreign.DOUBLE, None, None, 0, 0, None)
        assert type(made) is np.ndarray
        assert (made.shape, made.dtype, made.base) == (shape, np.float64, None)
        assert made.flags.carray
        assert made.flags.owndata
        made[...] = 7.0
        assert (made == 7.0).all()


def test_NEW_ARRAY_and_flags_by_header():
    folder = Path(np.get_include(), "numpy")
    table = headers(folder, "__multiarray_api.h")
    assert f"PyArray_API[{foreign.NEW_ARRAY}]" in table[table.index("#define PyArray_New ") :][:600]
    flags = headers(folder, "ndarraytypes.h")
    names = {"CONTIGUOUS": "C_CONTIGUOUS", "ALIGNED": "ALIGNED", "WRITEABLE": "WRITEABLE"}
    for ours, theirs in names.items():
        assert getattr(foreign, ours) == defined(flags, f"NPY_ARRAY_{theirs}")


# ---------------------------------------------------------------- what happens then


def test_what_holds_is_found_to_hold():
    assert foreign.differences() == ()


@pytest.mark.parametrize(
    ("layout", "field"),
    [("OBJECT", "type"), ("BYTES", "data"), ("TUPLE", "size"), ("TUPLE", "items")]
    + [("ARRAY", field) for field in ("data", "ndim", "dims", "strides", "descr", "flags")],
)
def test_calls_go_through_python_where_a_place_is_another(monkeypatch, layout, field):
    places = getattr(foreign, layout).at
    other = {"dims": "strides", "strides": "dims"}.get(field)
    wrong = places[other] if other else OBJECT.at["references" if layout == "OBJECT" else "type"]
    monkeypatch.setitem(places, field, wrong)
    foreign.differences.cache_clear()
    try:
        assert foreign.differences() == (f"{layout}.{field}",)
        assert not available()
    finally:
        foreign.differences.cache_clear()
