"""The code generator where memory is short, or not trusted: errors instead of a dead process."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from helpers.kernels import product, run_with_product
from kinetree.engine.llvm import host

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code here")


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="done with Linux's own means")


REFUSING = """
import ctypes
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE: what was written is never executed
    print("this kernel does not know that")
    sys.exit()
try:
    host.host()
except host.CompilationError as problem:
    print(problem)
"""


SHORT = """
import resource
kernel()(x)  # what all kernels share
roots = lambda x: [sum((x[0] + k) ** 0.5 * x[1] for k in range(2000))]
long = Kernel("long", lambda: trace(roots, (2,), list), (2,), (1,))
text = long._assembly("lanes")
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
now = int(status["{counted}"].split()[0]) * 1024
resource.setrlimit(resource.{limit}, (now + {spare}, now + {spare}))
try:
    host.load(host.assemble(text))
    print("done")
except host.CompilationError as problem:
    print(problem)
"""


ENOUGH = """
import resource
kernel()(x)
many = Kernel("many", lambda: trace(lambda x: [a * b for a in x for b in x], (36,), list), (36,), (36 * 36,))
text = many._assembly("single")
enough = host._memory_for(text)
host._need_memory = lambda size: None  # whether LLVM itself gets along with that
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
limit = int(status["VmData"].split()[0]) * 1024 + enough
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
host.load(host.assemble(text))
print("done")
"""


NARROW = """
import threading
from kinetree.engine import order
from kinetree.engine.llvm import emit, split_kernels
from kinetree.engine.kernels.direct_call import DirectCall

order.LARGEST_SHARE = 0.0  # or no value would have to wait for long
emit.LONGEST_BODY, split_kernels.LONGEST_PIECE = 1000, 500

def remembers(x):
    \"\"\"What is computed first is needed last.\"\"\"
    numbers = [x[0] * (k + 1.0) + x[1] for k in range(2600)]
    rest = x[1]
    for n in reversed(numbers):
        rest = rest * 0.5 + n * n
    return [rest + k for k in range(12)]

k = Kernel("remembers", lambda: trace(remembers, (2,), list), (2,), (12,))
x = np.random.default_rng(0).uniform(1.0, 2.0, (22000, 2))
assert k.work_vectors > 2100
n = np.arange(1.0, 2601.0)
expected = x[:, 1].copy()
for a in reversed(n):
    expected = expected * 0.5 + (x[:, 0] * a + x[:, 1]) ** 2
entry = DirectCall.make(k, k, "remembers")
entry.enable_batch()
threading.stack_size(128 * 1024)
results = []

def work():
    for count in (1, 9, 100, 22000):  # the last one is streamed
        for threads in (1, 2):
            results.append(k(x[:count], threads=threads))
            results.append(entry.function(x[:count], threads=threads))

thread = threading.Thread(target=work)
thread.start()
thread.join()
assert len(results) == 16
for r in results:
    np.testing.assert_allclose(r, expected[: len(r), None] + np.arange(12.0), rtol=1e-12)
print("right")
"""


MANY = """
import ctypes, gc

def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def loaded(k):
    addresses, library = host.load(host.assemble(f"define i64 @kernel() {{ ret i64 {k} }}"))
    return ctypes.CFUNCTYPE(ctypes.c_int64)(addresses["kernel"]), library

kept = [loaded(k) for k in range(50)]
code = host.assemble("define i64 @kernel() { ret i64 7 }")

def load_and_drop(times):
    for k in range(times):
        host.load(code)
        if k % 300 == 0:
            kept.append(loaded(len(kept)))
            cycle = [host.load(code) for _ in range(3)]
            cycle.append(cycle)

load_and_drop(500)
gc.collect()
before = used()
load_and_drop(2500)
gc.collect()
grown = used() - before
assert [f() for f, _ in kept] == list(range(len(kept)))
print(grown)
"""


@on_linux
def test_a_system_that_refuses_executable_memory_is_found_out_before_llvm_aborts():
    said = run_with_product(REFUSING)
    if "does not know" in said:
        pytest.skip(said)
    assert said == "this system does not let programs make memory executable"


@pytest.mark.parametrize("where", ["link", "create"])
def test_a_linker_that_fails_is_our_error_and_named(monkeypatch, where):
    def fail(*args, **options):
        raise RuntimeError("no room for code\nand a page of LLVM")

    if where == "link":
        monkeypatch.setattr(host.binding().JITLibraryBuilder, "link", fail)
    else:
        monkeypatch.setattr(host, "_linker", fail)
    for x in (np.ones(2), np.ones((5, 2))):
        with pytest.raises(host.CompilationError, match=r"compiling the thing failed: .*no room for code$"):
            product("the thing")(x)


@on_linux
@pytest.mark.parametrize(("limit", "counted"), [("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")])
@pytest.mark.parametrize("spare", [1, 3, 6, 12, 100])
def test_short_memory_is_an_error_where_llvm_would_abort(limit, counted, spare):
    said = run_with_product(SHORT.format(limit=limit, counted=counted, spare=spare << 20))
    if spare < 100:
        assert said.startswith("memory is low; this may take ")
    else:
        assert said == "done"


@on_linux
def test_the_memory_that_is_asked_for_is_enough_for_many_results():
    """LLVM compares every store with every other."""
    assert run_with_product(ENOUGH) == "done"


@on_linux
def test_long_kernels_do_with_little_stack():
    """Values that wait for later functions are kept in the work area, not on the stack."""
    assert run_with_product(NARROW) == "right"


@on_linux
def test_kernels_that_are_dropped_leave_nothing_behind():
    """LLVM alone would keep 9 kB of each."""
    assert int(run_with_product(MANY)) < 2500 * 2000
