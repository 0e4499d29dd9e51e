"""Memory of large results that is used again: an allocator for NumPy as machine code.

A system takes large blocks back at once, and hands out pages that it has to clear first: writing to them takes four
times as long as writing to pages that the process has had before.  So a few blocks that nobody holds anymore are kept,
up to a limit; those that nobody wants make room for others.  NumPy asks for memory and gives it back with the
interpreter's lock held, which is all the locking that there is.
"""

from __future__ import annotations

from .assembly import Fields, MachineFunction, Module, StructLayout, Value

SLOTS = 8
"""The most blocks that are kept."""

PAGE = 1 << 21
"""Bytes of a large page: blocks begin at one and consist of whole ones."""

USE_LARGE_PAGES = 14
"""The argument of ``madvise``: ``MADV_HUGEPAGE``."""

KEPT = StructLayout(
    limit="i64", held="i64", next="i64", advise="ptr", **{f"slot{k}": "ptr" for k in range(SLOTS)}
)  # fmt: skip
"""What an allocator knows: how many bytes may be kept, how many are, which slot is the oldest, where ``madvise`` is if
there is one, and the blocks."""

_HEAD = StructLayout(begin="ptr", size="i64")
"""What precedes a block: where the memory begins, and how many bytes the block has."""

FUNCTIONS = ("allocate", "allocate_clear", "reallocate", "release")
FROM_PYTHON = ("PyMem_RawMalloc", "PyMem_RawFree")


def kept_memory_module() -> str:
    """Return LLVM assembly of :data:`FUNCTIONS`, with the signatures of NumPy's ``PyDataMemAllocator``."""
    module, size = Module(), {"size": "i64"}
    with module.function("allocate", {"kept": "ptr", **size}, "ptr") as f:
        allocate(f, KEPT.of(f.args[0]), f.args[1])
    with module.function("allocate_clear", {"kept": "ptr", "count": "i64", **size}, "ptr") as f:
        kept, count, item = f.args
        block = f.call("allocate", kept, count * item, result="ptr")
        with f.when(block.differs(f.null)):
            f.call("llvm.memset.p0.i64", block, f.valued(0, "i8"), count * item, f.valued(0, "i1"))
        f.ret(block)
    with module.function("reallocate", {"kept": "ptr", "block": "ptr", **size}, "ptr") as f:
        kept, block, wanted = f.args
        fresh = f.call("allocate", kept, wanted, result="ptr")
        with f.when(fresh.differs(f.null)):
            count = wanted.min(_head(block)["size"])
            f.call("llvm.memcpy.p0.p0.i64", fresh, block, count, f.valued(0, "i1"))
            f.call("release", kept, block, count)
        f.ret(fresh)
    with module.function("release", {"kept": "ptr", "block": "ptr", **size}) as f:
        release(f, KEPT.of(f.args[0]), f.args[1])
    return module.text()


def _head(block: Value) -> Fields:
    return _HEAD.of(block + -_HEAD.size)


def allocate(f: MachineFunction, kept: Fields, wanted: Value) -> None:
    """Return a kept block that is large enough and not much larger, or a new one."""
    slots, whole = kept.place("slot0"), (wanted + (PAGE - 1)) & -PAGE
    with f.loop(0, SLOTS) as k:
        slot = slots.at(k, "ptr")
        block = slot.load("ptr")
        with f.when(block.differs(f.null)):
            size = _head(block)["size"]
            with f.when((size >= wanted) & (size - size // 4 <= whole.max(PAGE))):
                slot.store(f.null)
                kept["held"] = kept["held"] - size
                f.ret(block)
    begin = f.call("PyMem_RawMalloc", whole + 2 * PAGE, result="ptr")
    with f.when(begin.equals(f.null)):
        f.ret(f.null)
    block = begin + (f.valued(2 * PAGE) - (begin.to("i64") & (PAGE - 1)))
    _head(block).fill(begin=begin, size=whole)
    advise = kept["advise"]
    with f.when(advise.differs(f.null)):
        f.call(advise, block, whole, f.valued(USE_LARGE_PAGES, "i32"), result="i32")
    f.ret(block)


def release(f: MachineFunction, kept: Fields, block: Value) -> None:
    """Keep a block that nobody holds, in place of the oldest ones if they are in its way."""
    with f.when(block.equals(f.null)):
        f.ret()
    size, limit, slots = _head(block)["size"], kept["limit"], kept.place("slot0")
    with f.when(size > limit):
        f.call("PyMem_RawFree", _head(block)["begin"])
        f.ret()
    with f.forever():
        at = kept["next"]
        slot = slots.at(at, "ptr")
        old = slot.load("ptr")
        kept["next"] = (at + 1) & (SLOTS - 1)
        with f.when(old.differs(f.null)):
            kept["held"] = kept["held"] - _head(old)["size"]
            slot.store(f.null)
            f.call("PyMem_RawFree", _head(old)["begin"])
        with f.when(kept["held"] + size <= limit):
            slot.store(block)
            kept["held"] = kept["held"] + size
            f.ret()
