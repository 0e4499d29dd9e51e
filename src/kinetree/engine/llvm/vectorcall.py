"""The C entry point of a built-in function, by which Python calls a kernel without Python code in between.

It follows CPython's vectorcall convention, accepts plain float64 arrays, one state or a batch of them, and
perhaps ``out=`` and ``threads=``, calls the machine code and returns.  Anything else goes to ordinary Python
functions: one for other values (lists, batches with more axes, other types, a state that the guard does not like),
one for other arguments.

Everything the entry point needs lies in a ``bytes`` object that is the built-in's
``self``, its *context*: addresses, sizes, and the Python objects it compares with.
"""

from __future__ import annotations

from dataclasses import dataclass

from .assembly import Fields, Label, MachineFunction, Module, StructLayout, Value
from .driver import JOB, STREAMED_BYTES
from .foreign import ALIGNED, ARRAY, BYTES, CONTIGUOUS, DOUBLE, OBJECT, TUPLE, WRITEABLE
from .pool import POOL, aligned

SYMBOL = "enter"
MAX_INPUTS = 6
MAX_DIMS = 3
SMALL_BATCH = 32
"""States that are computed without letting go of the interpreter."""

MOST_STACK = 1 << 15
"""Bytes of stack that a batch may use; kernels that need more ask for memory.  Some systems give threads 128 KiB."""

FROM_PYTHON = ("Py_IncRef", "Py_DecRef", "PyMem_RawMalloc", "PyMem_RawFree")
"""Functions of CPython that the entry point calls by name."""

CONTEXT = StructLayout(
    # the form for one state: its machine code, and that of its guard
    single=("ptr", BYTES.at["data"]), guard_single="ptr",
    # the form for batches: where the code is, and what a job of the driver says about every batch
    lanes="ptr", guard_lanes="ptr", drive="ptr", run="ptr", places="ptr", scratch_bytes="i64", tile_bytes="i64",
    second="i64", round="i64", tiles="i64", block_bytes="i64",
    # both
    pool="ptr", out_length="i64", array_type="ptr", float64="ptr", fallback="ptr", refused="ptr", vectorcall="ptr",
    new_array="ptr", release="ptr", retake="ptr", out_name="ptr", threads_name="ptr", int_type="ptr", as_long="ptr",
    inputs="i64", ndim="i64",
    **{f"dim{k}": "i64" for k in range(MAX_DIMS)}, **{f"length{k}": "i64" for k in range(MAX_INPUTS)},
)  # fmt: skip
"""Words behind the beginning of the ``bytes`` object.  A form is off while its ``single`` or its ``scratch_bytes`` is
zero, and its other words need not be known until then."""


@dataclass
class EntryCall:
    """What the blocks of the entry point share."""

    f: MachineFunction
    context: Fields
    args: Value
    nargs: Value
    kwnames: Value
    failed: Label
    """Where it is said that Python has an error to raise."""
    refused: Label
    """Where Python takes values that are not understood."""
    unusual: Label
    """Where it takes other arguments."""

    def __post_init__(self) -> None:
        self.pointers, self.strides = self.f.room("ptr", MAX_INPUTS), self.f.room("i64", MAX_INPUTS)

    def need(self, condition: Value) -> None:
        """Go on only if a condition holds."""
        self.f.jump(self.refused, unless=condition)


def entry_module() -> str:
    """Return LLVM assembly of ``enter(self, args, nargs, kwnames)``."""
    module = Module()
    parameters = {"self": "ptr", "args": "ptr", "nargs": "i64", "kwnames": "ptr"}
    with module.function(SYMBOL, parameters, "ptr") as f:
        context, arguments = CONTEXT.of(f.args[0]), f.args[1:]
        args, nargs, kwnames = arguments
        with f.way_out("unusual") as unusual:
            with f.way_out("refused") as refused:
                with f.way_out("failed") as failed:
                    enter(EntryCall(f, context, args, nargs, kwnames, failed, refused, unusual))
                f.ret(f.null)
            f.ret(f.call(context["vectorcall"], context["refused"], *arguments, result="ptr"))
        f.ret(f.call(context["vectorcall"], context["fallback"], *arguments, result="ptr"))
    return module.text()


def enter(c: EntryCall) -> None:
    """Read arguments, ask whether they can be computed here, compute, return."""
    f, context = c.f, c.context
    out, threads = read_options(c)
    rows = read_inputs(c)
    is_single = rows < 0
    with f.when(is_single):
        c.need(context["single"].differs(f.null))
        ask_guard(c)
    with f.otherwise():
        c.need(context["scratch_bytes"] > 0)
        # it is left to Python to start workers, the first time that so many are wanted
        c.need(threads <= POOL.of(context["pool"])["asked"] + 1)
    result = prepare_output(c, out, rows)
    with f.when(is_single):
        f.call(context["single"], c.pointers, ARRAY.of(result)["data"])
        f.ret(result)
    run_batch(c, result, rows, threads)


# ---------------------------------------------------------------- arguments


def read_options(c: EntryCall) -> tuple[Value, Value]:
    """Count positional arguments and read ``out=`` and ``threads=``: null and one if they are not given."""
    f, context, count = c.f, c.context, c.context["inputs"]
    out, threads = f.variable(f.null, "out"), f.variable(1, "threads")
    f.jump(c.unusual, unless=c.nargs.equals(count))
    with f.when(c.kwnames.differs(f.null)):
        names = TUPLE.of(c.kwnames)
        first = names.place("items")
        with f.loop(0, names["size"], changing=(out, threads)) as k:
            name, value = (p.load("ptr") for p in (first.at(k, "ptr"), c.args.at(count + k, "ptr")))
            with f.when(name.equals(context["out_name"])):
                out.set(value)
            with f.otherwise():
                f.jump(c.unusual, unless=name.equals(context["threads_name"]))
                c.need(OBJECT.of(value)["type"].equals(context["int_type"]))
                # too large is -1
                threads.set(f.call(context["as_long"], value, f.room("i32"), result="i64"))
        c.need(threads.value > 0)
    return out.value, threads.value


def read_inputs(c: EntryCall) -> Value:
    """Fill the tables of pointers and strides; return how many states there are, -1 if no input is a batch."""
    f = c.f
    rows = f.variable(-1, "rows")
    with f.loop(0, c.context["inputs"], changing=(rows,)) as k:
        pointer = c.args.at(k, "ptr").load("ptr")
        need_float_array(c, pointer, ALIGNED)
        array, length = ARRAY.of(pointer), c.context.place("length0").at(k, "i64").load("i64")
        dims, strides, stride = array["dims"], array["strides"], f.variable(0, "stride")
        with f.when(array["ndim"].equals(1)):
            need_row(c, dims, strides, length)
        with f.otherwise():
            c.need(array["ndim"].equals(2))
            need_row(c, dims.at(1, "i64"), strides.at(1, "i64"), length)
            count, step = dims.load("i64"), strides.load("i64")
            c.need((step & 7).equals(0) & (count > 0))
            c.need(rows.value.equals(-1) | rows.value.equals(count))
            rows.set(count)
            stride.set(step // 8)
        c.pointers.at(k, "ptr").store(array["data"])
        c.strides.at(k, "i64").store(stride.value)
    return rows.value


def need_float_array(c: EntryCall, pointer: Value, flags: int) -> None:
    """Refuse what is no plain array of doubles with these flags."""
    c.need(OBJECT.of(pointer)["type"].equals(c.context["array_type"]))
    array = ARRAY.of(pointer)
    c.need(array["descr"].equals(c.context["float64"]))
    c.need((array["flags"] & flags).equals(flags))


def need_row(c: EntryCall, dim: Value, stride: Value, length: Value) -> None:
    """Refuse a row of another length, or whose numbers do not follow one another."""
    c.need(dim.load("i64").equals(length))
    c.need(stride.load("i64").equals(8))


def ask_guard(c: EntryCall) -> None:
    """Ask the guard about one state: a positive verdict means that Python should see it."""
    f, guard = c.f, c.context["guard_single"]
    with f.when(guard.differs(f.null)):
        verdict = f.room("double")
        f.call(guard, c.pointers, verdict)
        c.need(f.op(f"fcmp ule double {verdict.load('double').name}, 0.0", "i1"))


# ---------------------------------------------------------------- the output


def prepare_output(c: EntryCall, out: Value, rows: Value) -> Value:
    """Check the given output or make a new array, of shape (rows, *shape) or (*shape)."""
    f, context, dims = c.f, c.context, c.f.room("i64", MAX_DIMS + 1)
    dims.store(rows)
    for k in range(MAX_DIMS):
        dims.at(k + 1, "i64").store(context[f"dim{k}"])
    is_batch, result = rows >= 0, f.variable(out, "result")
    shape = is_batch.choose(dims, dims.at(1, "i64"))
    rank = (context["ndim"] + is_batch.to("i64")).to("i32")
    with f.when(out.equals(f.null)):
        none, zero = f.null, f.valued(0, "i32")
        made = f.call(
            context["new_array"], context["array_type"], rank, shape, f.valued(DOUBLE, "i32"), none, none, zero, zero,
            none, result="ptr",
        )  # fmt: skip
        f.jump(c.failed, when=made.equals(none))
        result.set(made)
    with f.otherwise():
        need_output(c, out, rank, shape)
        need_apart(c, out, rows)
        f.call("Py_IncRef", out)
    return result.value


def need_output(c: EntryCall, out: Value, rank: Value, shape: Value) -> None:
    """Refuse an output of another kind or shape."""
    need_float_array(c, out, CONTIGUOUS | ALIGNED | WRITEABLE)
    array = ARRAY.of(out)
    c.need(array["ndim"].equals(rank))
    dims = array["dims"]
    with c.f.loop(0, rank.to("i64")) as k:
        c.need(dims.at(k, "i64").load("i64").equals(shape.at(k, "i64").load("i64")))


def need_apart(c: EntryCall, out: Value, rows: Value) -> None:
    """Leave an output that shares memory with an input to Python: it would be written before all is read."""
    f, last_row = c.f, (rows - 1).max(0)
    out_start = ARRAY.of(out)["data"].to("i64")
    out_end = out_start + (last_row + 1) * c.context["out_length"] * 8
    with f.loop(0, c.context["inputs"]) as k:
        first = c.pointers.at(k, "i64").load("i64")
        span = c.strides.at(k, "i64").load("i64") * last_row * 8
        row_bytes = c.context.place("length0").at(k, "i64").load("i64") * 8
        start, end = first + span.min(0), first + span.max(0) + row_bytes
        c.need((end <= out_start) | (start >= out_end))


# ---------------------------------------------------------------- batches


def run_batch(c: EntryCall, result: Value, rows: Value, threads: Value) -> None:
    """Hand the batch to the driver; let go of the interpreter if it takes a while."""
    f, context = c.f, c.context
    with f.way_out("doubtful") as doubtful:
        streamed = rows * context["out_length"] > STREAMED_BYTES // 8  # too much for the caches
        size, tile_bytes = context["scratch_bytes"], context["tile_bytes"]
        size = streamed.choose(size, size - tile_bytes)
        scratch, heap = work_area(f, size, doubtful)
        tile_area = streamed.choose(scratch + (size - tile_bytes), f.null)
        job = fill_job(c, result, rows, scratch, size, tile_area)
        doubt = f.variable(0, "doubt")
        with f.when(rows > SMALL_BATCH):
            doubt.set(run_released(c, job, threads))
        with f.otherwise():
            doubt.set(f.call(context["drive"], job, result="i64"))
        f.call("PyMem_RawFree", heap)
        f.jump(doubtful, unless=doubt.value.equals(0))
        f.ret(result)
    f.call("Py_DecRef", result)
    f.jump(c.refused)


def work_area(f: MachineFunction, size: Value, failed: Label) -> tuple[Value, Value]:
    """Get memory for a tile, aligned, and what must be given back: null if it is on the stack."""
    area, heap = f.variable(f.null, "area"), f.variable(f.null, "heap")
    with f.when(size > MOST_STACK):
        heap.set(f.call("PyMem_RawMalloc", size + 64, result="ptr"))
        f.jump(failed, when=heap.value.equals(f.null))  # let Python say that memory is short
        area.set(aligned(heap.value))
    with f.otherwise():
        area.set(f.op(f"alloca i8, i64 {size.name}, align 64", "ptr"))
    return area.value, heap.value


def fill_job(c: EntryCall, result: Value, rows: Value, scratch: Value, size: Value, tile_area: Value) -> Value:
    """Write what the driver is to do; see :func:`~.driver.pack_job`."""
    f, context, count = c.f, c.context, c.context["inputs"]
    job = f.room("i64", len(JOB.at) + 3 * MAX_INPUTS)
    JOB.of(job).fill(
        kernel=context["lanes"], guard=context["guard_lanes"], out=ARRAY.of(result)["data"], scratch=scratch,
        start=0, stop=rows, count=count, context=f.null, tile_area=tile_area, scratch_bytes=size,
        **{name: context[name] for name in ("out_length", "places", "second", "tiles", "block_bytes")},
    )  # fmt: skip
    to = job + JOB.size
    for source in (c.pointers, c.strides, context.place("length0")):
        f.call("llvm.memcpy.p0.p0.i64", to, source, count * 8, f.valued(0, "i1"))
        to = to.at(count, "i64")
    return job


def run_released(c: EntryCall, job: Value, threads: Value) -> Value:
    """Run a job while others may use the interpreter, with workers if they are wanted."""
    f, context, workers, doubt = c.f, c.context, threads - 1, c.f.variable(0, "doubt")
    state = f.call(context["release"], result="ptr")
    with f.when(workers.equals(0)):
        doubt.set(f.call(context["drive"], job, result="i64"))
    with f.otherwise():
        pool = POOL.of(context["pool"])
        shared = pool.pointer, job, context["run"], workers, context["round"]
        doubt.set(f.call(pool["run_shared"], *shared, result="i64"))
    f.call(context["retake"], state)
    return doubt.value
