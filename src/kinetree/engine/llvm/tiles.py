"""How the driver goes through the tiles of a batch.

Each is read, computed and written before the next; or some are read, then computed by one call of the kernel, then
written, which pays where code is long and vectors are short.  These are lines of the function in :mod:`.driver`.
"""

from __future__ import annotations

from . import streaming
from .vectors import Vectors


def area(v: Vectors) -> str:
    """Return where a tile is read to."""
    return "%area" if v.some_tiles else "%scratch"


def numbers_of_tile(v: Vectors) -> list[str]:
    """Go through tiles; twice where kernels compute several at once: they are read, then computed, then written."""
    if not v.some_tiles:
        return [
            "  %base = phi i64 [ %start, %entry ], [ %next_base, %tile_end ]",
            "  %doubts = phi i64 [ 0, %entry ], [ %doubts_next, %tile_end ]",
            "  %odd = phi i1 [ false, %entry ], [ %odd_next, %tile_end ]",
        ]
    values = {
        # name: at first, after writing a tile, after reading one, after the last that is read
        "base": ("i64", "%start", "%next_base", "%next_base", "%first_base"),
        "doubts": ("i64", "0", "%doubts_now", "%doubts_next", "%doubts_next"),
        "odd": ("i1", "false", "%odd_next", "%odd", "%odd"),
        "number_of_tile": ("i64", "0", "%number_next", "%tiles_read", "0"),
        "writing": ("i1", "false", "%still_writing", "false", "true"),
        "computed": ("i64", "0", "%computed_now", "0", "%tiles_read"),
        "first_base": ("i64", "%start", "%first_base_next", "%first_base", "%first_base"),
        "gap_before": ("i64", "0", "%gap_now", "%gap", "%gap"),
    }
    labels = ("%entry", "%tile_end", "%calculate", "%evaluate")
    return [
        f"  %{name} = phi {kind} " + ", ".join(f"[ {x}, {label} ]" for x, label in zip(each, labels, strict=True))
        for name, (kind, *each) in values.items()
    ]


def read_or_write() -> list[str]:
    """Find the block of a tile; its states are read, or their results written."""
    return [
        "  %offset = mul i64 %number_of_tile, %block_bytes",
        "  %area = getelementptr i8, ptr %scratch, i64 %offset",
        "  br i1 %writing, label %results, label %argument",
    ]


def evaluate_one(v: Vectors) -> list[str]:
    """Compute a tile, perhaps with a kernel that sends results on."""
    return [
        "  %result = select i1 %odd, ptr %second_area, ptr %behind",
        *_place_of_rows(v),
        *(_pack_first(v) if v.sends else []),
        f"  call void %kernel(ptr %scratch, ptr %result, ptr %context{', ptr %parcel' if v.sends else ''})",
    ]


def evaluate_some(v: Vectors) -> list[str]:
    """Compute tiles when as many are read as the kernel computes at once, or all; then write them one by one."""
    return [
        "  %tiles_read = add i64 %number_of_tile, 1",
        "  %all_of_kernel = icmp eq i64 %tiles_read, %tiles",
        "  %all_of_batch = icmp sge i64 %next_base, %stop",
        "  %all_read = or i1 %all_of_kernel, %all_of_batch",
        "  br i1 %all_read, label %evaluate, label %tile",
        "evaluate:",
        f"  %results_first = getelementptr {v.type}, ptr %scratch, i64 %gap",
        "  call void %kernel(ptr %scratch, ptr %results_first, ptr %context, i64 %tiles_read)",
        "  %only_one = icmp eq i64 %tiles_read, 1",
        "  br i1 %only_one, label %results, label %tile",
        "results:",
        "  %gap_now = phi i64 [ %gap_before, %tile ], [ %gap, %evaluate ]",
        "  %doubts_now = phi i64 [ %doubts, %tile ], [ %doubts_next, %evaluate ]",
        "  %computed_now = phi i64 [ %computed, %tile ], [ 1, %evaluate ]",
        f"  %result = getelementptr {v.type}, ptr %area, i64 %gap_now",
        *_place_of_rows(v),
    ]


def next_to_write() -> list[str]:
    """Find which tile is written next, or that others are to be read."""
    return [
        "  %tiles_written = add i64 %number_of_tile, 1",
        "  %still_writing = icmp slt i64 %tiles_written, %computed_now",
        "  %number_next = select i1 %still_writing, i64 %tiles_written, i64 0",
        "  %first_base_next = select i1 %still_writing, i64 %first_base, i64 %next_base",
    ]


def _place_of_rows(v: Vectors) -> list[str]:
    """Find where the results of a tile's first state go."""
    return [
        "  %out_start = mul i64 %base, %out_length",
        f"  %final = getelementptr {v.real}, ptr %out, i64 %out_start",
    ]


def _pack_first(v: Vectors) -> list[str]:
    """Say where results go before they are computed, if the kernel sends them soon.

    Of a tile that belongs to no round they go into the caches; of one with states behind the end of the batch, to rows
    of their own first.
    """
    arguments = (
        "ptr %parcel, ptr %soon_sender, ptr %result, ptr %places, ptr %soon_rows, i64 %out_length, i64 %soon_apart"
    )
    return [
        "  br i1 %sends_soon, label %pack_first, label %call_kernel",
        "pack_first:",
        f"  %tile_stop = add i64 %base, {v.lanes}",
        "  %all_in_batch = icmp sle i64 %tile_stop, %stop",
        "  %goes_straight = or i1 %by_lines, %all_in_batch",
        "  %soon_rows = select i1 %goes_straight, ptr %final, ptr %second_area",
        "  %soon_apart = select i1 %by_lines, i64 %apart, i64 %row_bytes",
        "  %past_caches = and i1 %streaming, %by_lines",
        f"  %soon_sender = select i1 %past_caches, ptr @{streaming.SEND}, ptr @{streaming.SEND_CACHED}",
        f"  call void @{streaming.PACK}({arguments})",
        "  br label %call_kernel",
        "call_kernel:",
        "  %is_straight = phi i1 [ true, %calculate ], [ %goes_straight, %pack_first ]",
    ]
