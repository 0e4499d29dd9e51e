"""The C entry point of a built-in function, by which Python calls a kernel without Python code in between.

It follows CPython's vectorcall convention, accepts arrays of floats of either precision in any order, one state or a
batch of them, lists of numbers for one state, and perhaps ``out=`` and ``threads=``, calls the machine code and
returns.  Anything else goes to ordinary Python functions: one for other values (lists of lists, batches that have to be
broadcast, other types, a state that the guard rejects), one for other arguments.

Everything the entry point needs lies in a ``bytes`` object that is the built-in's
``self``, its *context*: addresses, sizes, and the Python objects it compares with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .assembly import Fields, Label, MachineFunction, Module, StructLayout, Value, Variable
from .driver import JOB, LAYOUT, STREAMED_BYTES
from .foreign import ALIGNED, ARRAY, BYTES, CONTIGUOUS, DOUBLE, FLOAT, LIST, NUMBER, OBJECT, TUPLE, WRITEABLE
from .pool import POOL, aligned
from .vectors import SCALARS, Vectors

SYMBOL = "enter"
MAX_INPUTS = 6
MAX_DIMS = 3
MAX_AXES = 4
"""Of a batch."""

SMALL_BATCH = 32
"""States that are computed without releasing the interpreter."""

MOST_STACK = 1 << 15
"""Bytes of stack that a batch may use; kernels that need more allocate memory.  Some systems give threads 128 KiB."""

MOST_CONVERTED = MOST_STACK // 4
"""Bytes of one input of one state that may be copied to the stack."""

FROM_PYTHON = ("Py_IncRef", "Py_DecRef", "PyMem_RawMalloc", "PyMem_RawFree")
"""Functions of CPython that the entry point calls by name."""

CONTEXT = StructLayout(
    # the form for one state: its machine code, and that of its guard
    single=("ptr", BYTES.at["data"]), guard_single="ptr",
    # the form for batches: where the code is, and what a job of the driver says about every batch
    lanes="ptr", guard_lanes="ptr", drive="ptr", run="ptr", places="ptr", job_context="ptr", scratch_bytes="i64",
    tile_bytes="i64", second="i64", round="i64", tiles="i64", block_bytes="i64",
    # both
    pool="ptr", out_length="i64", array_type="ptr", own_type="ptr", other_type="ptr", fallback="ptr", refused="ptr",
    vectorcall="ptr", new_array="ptr", handler="ptr", set_handler="ptr", large="i64", release="ptr", retake="ptr",
    take_kept="ptr", give_kept="ptr", kept="ptr",
    out_name="ptr", threads_name="ptr", int_type="ptr", as_long="ptr", list_type="ptr", tuple_type="ptr",
    float_type="ptr", numpy_float="ptr", inputs="i64", ndim="i64",
    **{f"dim{k}": "i64" for k in range(MAX_DIMS)}, **{f"length{k}": "i64" for k in range(MAX_INPUTS)},
)  # fmt: skip
"""Words after the beginning of the ``bytes`` object.  A form is off while its ``single`` or its ``scratch_bytes`` is
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
    """Exit on which Python has an error to raise."""
    refused: Label
    """Exit on which Python handles values that are not understood."""
    unusual: Label
    """Exit on which Python handles other arguments."""
    number: Vectors = SCALARS
    """The form of the kernel's values for one state."""

    def __post_init__(self) -> None:
        f = self.f
        self.pointers, self.strides = f.room("ptr", MAX_INPUTS), f.room("i64", MAX_INPUTS)
        self.layouts, self.places = f.room("ptr", MAX_INPUTS), f.room("i64", MAX_INPUTS * LAYOUT.size // 8)
        self.axes, self.lead = f.variable(0, "axes"), f.variable(f.null, "lead")
        self.some_odd = f.variable(0, "some_odd")

    @property
    def item(self) -> int:
        """The number of bytes of a number."""
        return self.number.item

    def length(self, k: Value) -> Value:
        """Return how many numbers an input has."""
        return self.context.place("length0").at(k, "i64").load("i64")

    def need(self, condition: Value, equal_to: Value | None = None) -> None:
        """Continue only if a condition holds, or two values are equal."""
        self.f.jump(self.refused, unless=condition if equal_to is None else condition.equals(equal_to))


def entry_module(single_precision: bool = False) -> str:
    """Return LLVM assembly of ``enter(self, args, nargs, kwnames)`` for kernels of a precision."""
    module = Module()
    parameters = {"self": "ptr", "args": "ptr", "nargs": "i64", "kwnames": "ptr"}
    with module.function(SYMBOL, parameters, "ptr") as f:
        context, arguments = CONTEXT.of(f.args[0]), f.args[1:]
        args, nargs, kwnames = arguments
        with f.way_out("unusual") as unusual:
            with f.way_out("refused") as refused:
                with f.way_out("failed") as failed:
                    number = Vectors(1, single_precision)
                    enter(EntryCall(f, context, args, nargs, kwnames, failed, refused, unusual, number))
                f.ret(f.null)
            f.ret(f.call(context["vectorcall"], context["refused"], *arguments, result="ptr"))
        f.ret(f.call(context["vectorcall"], context["fallback"], *arguments, result="ptr"))
    return module.text()


def enter(c: EntryCall) -> None:
    """Write code that reads arguments, checks whether it can handle them, computes, and returns."""
    f, context = c.f, c.context
    out, threads = read_options(c)
    rows = read_inputs(c)
    is_single = rows < 0
    with f.when(is_single):
        c.need(context["single"].differs(f.null))
        with f.when(c.some_odd.value.differs(0)):
            put_in_order(c)
        ask_guard(c)
    with f.otherwise():
        c.need(context["scratch_bytes"] > 0)
        # starting workers is left to Python, the first time that this many are wanted
        c.need(threads <= POOL.of(context["pool"])["asked"] + 1)
    result = prepare_output(c, out, rows)
    with f.when(is_single):
        f.call(context["single"], c.pointers, ARRAY.of(result)["data"])
        f.ret(result)
    run_batch(c, result, rows, threads)


# ---------------------------------------------------------------- arguments


def read_options(c: EntryCall) -> tuple[Value, Value]:
    """Count positional arguments and read ``out=`` and ``threads=``; null and one if they are not given."""
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
    """Fill the tables of inputs; return the number of states, -1 if no input is a batch."""
    f = c.f
    rows = f.variable(-1, "rows")
    with f.loop(0, c.context["inputs"], changing=(rows, c.axes, c.lead, c.some_odd)) as k:
        pointer, length = c.args.at(k, "ptr").load("ptr"), c.length(k)
        c.layouts.at(k, "ptr").store(f.null)
        with f.when(OBJECT.of(pointer)["type"].equals(c.context["array_type"])):
            array, is_plain = ARRAY.of(pointer), f.variable(0, "is_plain")
            is_own = array["descr"].equals(c.context["own_type"])
            is_aligned = (array["flags"] & ALIGNED).equals(ALIGNED)
            with f.when(is_own & is_aligned & array["ndim"].equals(1)):
                is_plain.set(
                    (array["dims"].load("i64").equals(length) & array["strides"].load("i64").equals(c.item)).to("i64")
                )
            with f.when(is_plain.value.differs(0)):  # nanoseconds matter to calls with one state
                c.pointers.at(k, "ptr").store(array["data"])
                c.strides.at(k, "i64").store(0)
            with f.otherwise():
                c.need(is_aligned & (is_own | array["descr"].equals(c.context["other_type"])))
                read_array(c, k, array, is_own, length, rows)
        with f.otherwise():
            read_sequence(c, k, pointer, length)
    return rows.value


def read_array(c: EntryCall, k: Value, array: Fields, is_own: Value, length: Value, rows: Variable) -> None:
    """Read an array of floats; one that does not consist of rows of the kernel's own precision gets a layout."""
    f = c.f
    ndim, dims, strides, row = array["ndim"].to("i64"), array["dims"], array["strides"], f.variable(0, "row")
    c.need((ndim > 0) & (ndim <= MAX_AXES + 1))
    last = ndim - 1
    c.need(dims.at(last, "i64").load("i64").equals(length))
    with f.when(last > 0):
        count = f.variable(dims.at(last - 1, "i64").load("i64"), "count")
        row.set(strides.at(last - 1, "i64").load("i64"))
        with f.when(last > 1):
            join_axes(c, last, dims, strides, count, row)
        c.need(count.value > 0)
        with f.when(rows.value < 0):
            c.axes.set(last)
            c.lead.set(dims)
            rows.set(count.value)
        with f.otherwise():
            c.need(c.axes.value.equals(last))
            with f.loop(0, last) as axis:
                c.need(*(p.at(axis, "i64").load("i64") for p in (dims, c.lead.value)))
    column = strides.at(last, "i64").load("i64")
    c.pointers.at(k, "ptr").store(array["data"])
    in_row = (column.equals(c.item) | length.equals(1)) & (row.value & (c.item - 1)).equals(0)
    c.strides.at(k, "i64").store(row.value // c.item)
    with f.when(~(is_own & in_row)):
        layout = c.places + k * LAYOUT.size
        LAYOUT.of(layout).fill(row=row.value, column=column, other=(~is_own).to("i64"))
        c.layouts.at(k, "ptr").store(layout)
        c.some_odd.set(1)


def join_axes(c: EntryCall, last: Value, dims: Value, strides: Value, count: Variable, row: Variable) -> None:
    """Treat the axes of a batch as one, which must be possible."""
    f, axis = c.f, c.f.variable(last - 2, "axis")
    with f.forever(axis, count, row):
        n, stride = (p.at(axis.value, "i64").load("i64") for p in (dims, strides))
        with f.when(n.differs(1)):
            with f.when(count.value.equals(1)):
                row.set(stride)
            with f.otherwise():
                c.need(stride, row.value * count.value)
            count.set(count.value * n)
        axis.set(axis.value - 1)
        f.leave(when=axis.value < 0)


def read_sequence(c: EntryCall, k: Value, pointer: Value, length: Value) -> None:
    """Read one state from a list or tuple of Python's or NumPy's floats and integers."""
    f, context, kind = c.f, c.context, OBJECT.of(pointer)["type"]
    is_list = kind.equals(context["list_type"])
    c.need(is_list | kind.equals(context["tuple_type"]))
    c.need(LIST.of(pointer)["size"], length)
    items = is_list.choose(LIST.of(pointer)["items"], TUPLE.of(pointer).place("items"))
    area, too_large = room_for(c, length), f.room("i32")
    with f.loop(0, length) as n:
        item = items.at(n, "ptr").load("ptr")
        kind, to = OBJECT.of(item)["type"], area.at(n, c.number.real)
        with f.when(kind.equals(context["float_type"]) | kind.equals(context["numpy_float"])):
            to.store(in_precision(c, NUMBER.of(item)["value"]))
        with f.otherwise():
            c.need(kind, context["int_type"])
            whole = f.call(context["as_long"], item, too_large, result="i64")
            c.need(too_large.load("i32").equals(0))
            to.store(in_precision(c, f.op(f"sitofp i64 {whole.name} to double", "double")))
    c.pointers.at(k, "ptr").store(area)
    c.strides.at(k, "i64").store(0)


def room_for(c: EntryCall, length: Value) -> Value:
    """Return memory on the stack for a number of values, unless there are too many."""
    c.need(length * c.item <= MOST_CONVERTED)
    return c.f.op(f"alloca {c.number.real}, i64 {length.name}, align 8", "ptr")


def in_precision(c: EntryCall, number: Value) -> Value:
    """Return a double in the kernel's precision."""
    if not c.number.single_precision:
        return number
    return c.f.op(f"fptrunc double {number.name} to float", "float")


def put_in_order(c: EntryCall) -> None:
    """Copy those inputs of one state that are not consecutive numbers of the kernel's own precision."""
    f, real = c.f, c.number.real
    other, how = ("double", "fptrunc") if c.number.single_precision else ("float", "fpext")
    with f.loop(0, c.context["inputs"]) as k:
        layout = c.layouts.at(k, "ptr").load("ptr")
        with f.when(layout.differs(f.null)):
            length, lies, source = c.length(k), LAYOUT.of(layout), c.pointers.at(k, "ptr").load("ptr")
            area, is_other, column = room_for(c, length), lies["other"].differs(0), lies["column"]
            with f.loop(0, length) as n:
                at, to = source + n * column, area.at(n, real)
                with f.when(is_other):
                    to.store(f.op(f"{how} {other} {at.load(other).name} to {real}", real))
                with f.otherwise():
                    to.store(at.load(real))
            c.pointers.at(k, "ptr").store(area)
            c.layouts.at(k, "ptr").store(f.null)


def ask_guard(c: EntryCall) -> None:
    """Ask the guard about one state: a positive number means that Python should see it."""
    f, guard = c.f, c.context["guard_single"]
    with f.when(guard.differs(f.null)):
        real = c.number.real
        verdict = f.room(real)
        f.call(guard, c.pointers, verdict)
        c.need(f.op(f"fcmp ule {real} {verdict.load(real).name}, 0.0", "i1"))


# ---------------------------------------------------------------- the output


def prepare_output(c: EntryCall, out: Value, rows: Value) -> Value:
    """Check the given output or make a new array, of shape (*batch, *shape) or (*shape)."""
    f, context, dims = c.f, c.context, c.f.room("i64", MAX_AXES + MAX_DIMS)
    for k in range(MAX_DIMS):
        dims.at(MAX_AXES + k, "i64").store(context[f"dim{k}"])
    axes, result = (rows >= 0).choose(c.axes.value.max(1), 0), f.variable(out, "result")
    shape = dims.at(f.valued(MAX_AXES) - axes, "i64")
    with f.when(axes > 1), f.loop(0, axes) as axis:
        shape.at(axis, "i64").store(c.lead.value.at(axis, "i64").load("i64"))
    with f.otherwise():
        dims.at(MAX_AXES - 1, "i64").store(rows)
    rank = (context["ndim"] + axes).to("i32")
    with f.when(out.equals(f.null)):
        none, zero = f.null, f.valued(0, "i32")
        kind = f.valued(FLOAT if c.number.single_precision else DOUBLE, "i32")
        about = context["new_array"], context["array_type"], rank, shape, kind, none, none, zero, zero, none
        size, handler, usual = rows * context["out_length"] * c.item, context["handler"], f.variable(none, "usual")
        is_large = (size >= context["large"]) & handler.differs(none)
        with f.when(is_large):
            usual.set(f.call(context["set_handler"], handler, result="ptr"))
            f.jump(c.failed, when=usual.value.equals(none))
        made = f.call(*about, result="ptr")
        with f.when(is_large):
            f.call("Py_DecRef", f.call(context["set_handler"], usual.value, result="ptr"))
            f.call("Py_DecRef", usual.value)
        f.jump(c.failed, when=made.equals(none))
        result.set(made)
    with f.otherwise():
        need_output(c, out, rank, shape)
        need_apart(c, out, rows)
        f.call("Py_IncRef", out)
    return result.value


def need_output(c: EntryCall, out: Value, rank: Value, shape: Value) -> None:
    """Refuse an output of another kind or shape."""
    flags = CONTIGUOUS | ALIGNED | WRITEABLE
    c.need(OBJECT.of(out)["type"], c.context["array_type"])
    array = ARRAY.of(out)
    c.need(array["descr"], c.context["own_type"])
    c.need((array["flags"] & flags).equals(flags))
    c.need(array["ndim"], rank)
    dims = array["dims"]
    with c.f.loop(0, rank.to("i64")) as k:
        c.need(*(p.at(k, "i64").load("i64") for p in (dims, shape)))


def need_apart(c: EntryCall, out: Value, rows: Value) -> None:
    """Leave an output that shares memory with an input to Python: it would be written before everything is read."""
    f, last_row = c.f, (rows - 1).max(0)
    out_start = ARRAY.of(out)["data"].to("i64")
    out_end = out_start + (last_row + 1) * c.context["out_length"] * c.item
    with f.loop(0, c.context["inputs"]) as k:
        start, end = f.variable(c.pointers.at(k, "i64").load("i64"), "start"), f.variable(0, "end")
        layout, further = c.layouts.at(k, "ptr").load("ptr"), c.length(k) - 1
        row, column = f.variable(c.strides.at(k, "i64").load("i64") * c.item, "row"), f.variable(c.item, "column")
        with f.when(layout.differs(f.null)):
            row.set(LAYOUT.of(layout)["row"])
            column.set(LAYOUT.of(layout)["column"])
        end.set(start.value + 8)  # of either precision
        for span in (row.value * last_row, column.value * further):
            start.set(start.value + span.min(0))
            end.set(end.value + span.max(0))
        c.need((end.value <= out_start) | (start.value >= out_end))


# ---------------------------------------------------------------- batches


def run_batch(c: EntryCall, result: Value, rows: Value, threads: Value) -> None:
    """Hand the batch to the driver; release the interpreter if it takes a while."""
    f, context = c.f, c.context
    with f.way_out("doubtful") as doubtful:
        streamed = rows * context["out_length"] > STREAMED_BYTES // c.item  # too much for the caches
        size, tile_bytes = context["scratch_bytes"], context["tile_bytes"]
        size = streamed.choose(size, size - tile_bytes)
        # the system would take a large area back each time, and clear it
        is_kept = (size >= context["large"]) & context["take_kept"].differs(f.null)

        def take(wanted: Value) -> Value:
            memory = f.variable(f.null, "memory")
            with f.when(is_kept):
                memory.set(f.call(context["take_kept"], context["kept"], wanted, result="ptr"))
            with f.otherwise():
                memory.set(f.call("PyMem_RawMalloc", wanted, result="ptr"))
            return memory.value

        scratch, heap = work_area(f, size, doubtful, take)
        tile_area = streamed.choose(scratch + (size - tile_bytes), f.null)
        job = fill_job(c, result, rows, scratch, size, tile_area)
        doubt = f.variable(0, "doubt")
        with f.when(rows > SMALL_BATCH):
            doubt.set(run_released(c, job, threads))
        with f.otherwise():
            doubt.set(f.call(context["drive"], job, result="i64"))
        with f.when(is_kept):
            f.call(context["give_kept"], context["kept"], heap, size)
        with f.otherwise():
            f.call("PyMem_RawFree", heap)
        f.jump(doubtful, unless=doubt.value.equals(0))
        f.ret(result)
    f.call("Py_DecRef", result)
    f.jump(c.refused)


def work_area(
    f: MachineFunction, size: Value, failed: Label, take: Callable[[Value], Value] | None = None
) -> tuple[Value, Value]:
    """Get aligned memory for a tile, and the pointer to give back: null if it is on the stack.

    ``take(bytes)`` returns memory, by default Python's.
    """
    area, heap = f.variable(f.null, "area"), f.variable(f.null, "heap")
    with f.when(size > MOST_STACK):
        wanted = size + 64
        heap.set(take(wanted) if take else f.call("PyMem_RawMalloc", wanted, result="ptr"))
        f.jump(failed, when=heap.value.equals(f.null))  # let Python report that there is not enough memory
        area.set(aligned(heap.value))
    with f.otherwise():
        area.set(f.op(f"alloca i8, i64 {size.name}, align 64", "ptr"))
    return area.value, heap.value


def fill_job(c: EntryCall, result: Value, rows: Value, scratch: Value, size: Value, tile_area: Value) -> Value:
    """Write the job for the driver; see :func:`~.driver.pack_job`."""
    f, context, count = c.f, c.context, c.context["inputs"]
    job = f.room("i64", len(JOB.at) + 4 * MAX_INPUTS)
    JOB.of(job).fill(
        kernel=context["lanes"], guard=context["guard_lanes"], out=ARRAY.of(result)["data"], scratch=scratch,
        start=0, stop=rows, count=count, context=context["job_context"], tile_area=tile_area, scratch_bytes=size,
        **{name: context[name] for name in ("out_length", "places", "second", "tiles", "block_bytes")},
    )  # fmt: skip
    to = job + JOB.size
    for source in (c.pointers, c.strides, context.place("length0"), c.layouts):
        f.call("llvm.memcpy.p0.p0.i64", to, source, count * 8, f.valued(0, "i1"))
        to = to.at(count, "i64")
    return job


def run_released(c: EntryCall, job: Value, threads: Value) -> Value:
    """Run a job while others may use the interpreter, with workers if requested."""
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
