"""Systems that are short of memory, of threads, or of trust: errors and slower ways instead of a dead process."""

import _thread
import os
import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine import cache
from kinetree.engine.kernels.kernel import Kernel
from kinetree.engine.llvm import host
from kinetree.engine.once import MAKING, made_once
from kinetree.engine.threads import ThreadPool
from kinetree.engine.trace import trace

pytestmark = pytest.mark.skipif(not host.host().supported, reason="no machine code here")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="done with Linux's own means")


def kernel(name="product", factor=2.0, key=None):
    return Kernel(name, lambda: trace(lambda x: [x[0] * x[1] * factor], (2,), list), (2,), (1,), key)


def run(program, timeout=60):
    """Run a program by itself; its text begins with what all need."""
    head = (
        "import os, sys, numpy as np\n"
        "from kinetree.engine.llvm import host as machine\n"
        "from kinetree.engine.kernels.kernel import Kernel\n"
        "from kinetree.engine.trace import trace\n"
        "def kernel(name='product', factor=2.0):\n"
        "    return Kernel(name, lambda: trace(lambda x: [x[0] * x[1] * factor], (2,), list), (2,), (1,))\n"
        "x = np.array([[2.0, 3.0]] * 20)\n"
    )
    called = [sys.executable, "-W", "ignore", "-c", head + program]
    found = subprocess.run(called, capture_output=True, text=True, timeout=timeout, env=os.environ, check=False)
    assert found.returncode == 0, (found.returncode, found.stderr)
    return found.stdout.strip()


# ---------------------------------------------------------------- no code may be made


REFUSING = """
import ctypes
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE: what was written is never executed
    print("this kernel does not know that")
    sys.exit()
try:
    machine.host()
except machine.CompilationError as problem:
    print(problem)
"""


@on_linux
def test_a_system_that_refuses_executable_memory_is_found_out_before_llvm_aborts():
    said = run(REFUSING)
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
            kernel("the thing")(x)


# ---------------------------------------------------------------- memory


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
    machine.load(machine.assemble(text))
    print("done")
except machine.CompilationError as problem:
    print(problem)
"""


@on_linux
@pytest.mark.parametrize(("limit", "counted"), [("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")])
@pytest.mark.parametrize("spare", [1, 3, 6, 12, 100])
def test_short_memory_is_an_error_where_llvm_would_abort(limit, counted, spare):
    said = run(SHORT.format(limit=limit, counted=counted, spare=spare << 20))
    if spare < 100:
        assert said.startswith("memory is short, it may take ")
    else:
        assert said == "done"


ENOUGH = """
import resource
kernel()(x)
many = Kernel("many", lambda: trace(lambda x: [a * b for a in x for b in x], (36,), list), (36,), (36 * 36,))
text = many._assembly("single")
enough = machine._memory_for(text)
machine._need_memory = lambda size: None  # whether LLVM itself gets along with that
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
limit = int(status["VmData"].split()[0]) * 1024 + enough
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
machine.load(machine.assemble(text))
print("done")
"""


@on_linux
def test_the_memory_that_is_asked_for_is_enough_for_many_results():
    """LLVM compares every store with every other."""
    assert run(ENOUGH) == "done"


# ---------------------------------------------------------------- forks


FORKING = """
import signal, threading, time
kernel()(x)
stop = []

def make_more():
    count = 0
    while not stop:
        count += 1
        kernel(factor=3.0 + count)(x)
        kernel(factor=3.5 + count)(x[0])

threads = [threading.Thread(target=make_more, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
failed = 0
for k in range(20):
    time.sleep(0.003 * (k % 7))
    child = os.fork()
    if not child:
        signal.alarm(10)  # a child that waits for ever is ended
        right = kernel(factor=1e6 + k)(x)[0, 0] == 6 * (1e6 + k) and kernel(factor=-k)(x[0])[0] == -6 * k
        os._exit(not right)
    failed += bool(os.waitpid(child, 0)[1])
    if failed > 1:
        break
print("failed", failed)
sys.stdout.flush()
os._exit(0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_process_forked_while_another_thread_compiles_can_compile():
    assert run(FORKING) == "failed 0"


def test_things_are_made_once_and_under_the_lock_that_forks_wait_for():
    made = []

    class Thing:
        @made_once
        def number(self):
            """A number."""
            made.append(MAKING._is_owned())
            return len(made)

    thing = Thing()
    assert (thing.number, thing.number, Thing().number, thing.number) == (1, 1, 2, 1)
    assert made == [True, True]
    assert thing.__dict__ == {"number": 1}
    assert Thing.number.__doc__ == "A number."


# ---------------------------------------------------------------- threads


def test_without_threads_the_caller_does_all_the_work(monkeypatch):
    def fail(*args):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", fail)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    pool = ThreadPool()
    monkeypatch.setattr("kinetree.engine.kernels.kernel.thread_pool", lambda: pool)
    x = np.random.default_rng(0).standard_normal((500, 2))
    np.testing.assert_array_equal(kernel()(x, threads=4)[:, 0], x[:, 0] * x[:, 1] * 2.0)
    assert pool.size == 0


def test_an_interrupted_start_never_lets_two_workers_share_a_work_area(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    begun = []

    def start(serve, arguments):
        begun.append(arguments)
        if len(begun) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(_thread, "start_new_thread", start)
    pool = ThreadPool()
    with pytest.raises(KeyboardInterrupt):
        pool.start(2)
    assert pool.start(2) == 2
    places = [me for _, me in begun]
    assert len(places) == len(set(places)) == 2


@on_linux
def test_a_thread_that_never_begins_is_not_waited_for():
    """Memory may run out between the making of a thread and its first step."""
    said = run(
        "import _thread, time\n"
        "_thread.start_new_thread = lambda *args: 1\n"
        "print(np.all(kernel()(x, threads=2) == 12.0))\n"
    )
    assert said == "True"


NARROW = """
import threading
from kinetree.engine.llvm import dividing, emit
from kinetree.engine.kernels.direct_call import DirectCall

emit.LONGEST_BODY, dividing.PIECE = 1000, 500

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


@on_linux
def test_long_kernels_do_with_little_stack():
    """Values that wait for later functions are kept in the work area, not on the stack."""
    assert run(NARROW) == "right"


# ---------------------------------------------------------------- many kernels


MANY = """
import ctypes, gc

def used():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def loaded(k):
    addresses, library = machine.load(machine.assemble(f"define i64 @kernel() {{ ret i64 {k} }}"))
    return ctypes.CFUNCTYPE(ctypes.c_int64)(addresses["kernel"]), library

kept = [loaded(k) for k in range(50)]
code = machine.assemble("define i64 @kernel() { ret i64 7 }")

def load_and_drop(times):
    for k in range(times):
        machine.load(code)
        if k % 300 == 0:
            kept.append(loaded(len(kept)))
            cycle = [machine.load(code) for _ in range(3)]
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
def test_kernels_that_are_dropped_leave_nothing_behind():
    """LLVM alone would keep 9 kB of each."""
    assert int(run(MANY)) < 2500 * 2000


# ---------------------------------------------------------------- disks


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("KINETREE_CACHE", str(tmp_path))
    monkeypatch.setattr(cache, "_warned", False)
    return tmp_path


@pytest.mark.parametrize("damage", ["a bit of the code", "a bit of the checksum", "empty", "zeros", "more"])
def test_damaged_files_are_never_run(folder, damage):
    kernel(key="k")(np.ones(2))
    (file,) = folder.glob("*.code")
    whole = bytearray(file.read_bytes())
    changed = {"empty": b"", "zeros": bytes(len(whole)), "more": whole + b"x"}.get(damage)
    if changed is None:
        changed = bytearray(whole)
        changed[len(whole) // 2 if "code" in damage else 20] ^= 4
    file.write_bytes(changed)
    with pytest.warns(kt.CacheWarning, match="damaged"):
        assert kernel(key="k")(np.ones(2))[0] == 2.0
    assert file.read_bytes() == whole


def test_an_interrupt_while_code_is_written_leaves_nothing_behind(folder, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        kernel(key="k")(np.ones(2))
    assert list(folder.iterdir()) == []
    monkeypatch.undo()
    assert kernel(key="k")(np.ones(2))[0] == 2.0


def test_a_disk_that_becomes_read_only_while_code_is_written(folder, monkeypatch):
    def refuse(*args, **options):
        raise OSError(30, "Read-only file system")

    for what in ("replace", "unlink"):
        monkeypatch.setattr(os, what, refuse)
    with pytest.warns(kt.CacheWarning, match="cannot be written .*Read-only"):
        assert kernel(key="k")(np.ones(2))[0] == 2.0
