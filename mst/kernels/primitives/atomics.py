"""Atomic operations on elements of one-dimensional arrays, by LLVM intrinsics; for use inside `njit` code.

Arrays hold integers of 32 or 64 bits, and values are cast to their dtype. Loads acquire and stores release: a thread
that loads a stored value sees all that the storing thread wrote before. On x86-64 both are plain moves.
Read-modify-write operations both acquire and release.
"""

from __future__ import annotations

import numba  # noqa: F401
from llvmlite import ir
from numba.core import cgutils, types

from mst.kernels.primitives.jit import intrinsic, njit


def _element(context, builder, array_type, array, index_type, index):
    """Return the address of ``array[index]``; indices are not checked, as everywhere in these kernels."""
    struct = context.make_array(array_type)(context, builder, array)
    index = context.cast(builder, index, index_type, types.intp)
    return cgutils.get_item_pointer(context, builder, array_type, struct, [index], wraparound=False)


@intrinsic
def load(typing_context, array, index):
    """Return ``array[index]``, read atomically from memory, never from a register (acquire)."""

    def generate(context, builder, signature, arguments):
        address = _element(context, builder, array, arguments[0], index, arguments[1])
        return builder.load_atomic(address, "acquire", array.dtype.bitwidth // 8)

    return array.dtype(array, index), generate


@intrinsic
def store(typing_context, array, index, value):
    """Write ``array[index] = value`` atomically, after all earlier writes of this thread (release)."""

    def generate(context, builder, signature, arguments):
        address = _element(context, builder, array, arguments[0], index, arguments[1])
        builder.store_atomic(arguments[2], address, "release", array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, index, array.dtype), generate


@intrinsic
def store_where(typing_context, condition, array, index, other, place, value):
    """Store `value` in ``array[index]`` if the condition holds, else in ``other[place]``, without a branch (release).

    Both arrays have the same dtype.
    """

    def generate(context, builder, signature, arguments):
        condition, array_value, index_value, other_value, place_value, word = arguments
        address = builder.select(
            condition,
            _element(context, builder, array, array_value, index, index_value),
            _element(context, builder, other, other_value, place, place_value),
        )
        builder.store_atomic(word, address, "release", array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(types.boolean, array, index, other, place, array.dtype), generate


@intrinsic
def fetch_add(typing_context, array, index, value):
    """Add `value` to ``array[index]`` and return the old value (acquire and release)."""

    def generate(context, builder, signature, arguments):
        address = _element(context, builder, array, arguments[0], index, arguments[1])
        return builder.atomic_rmw("add", address, arguments[2], "acq_rel")

    return array.dtype(array, index, array.dtype), generate


@intrinsic
def compare_and_swap(typing_context, array, index, expected, value):
    """Write `value` to ``array[index]`` if it holds `expected`; return the old value either way.

    Acquire and release; only acquire if nothing is written.
    """

    def generate(context, builder, signature, arguments):
        address = _element(context, builder, array, arguments[0], index, arguments[1])
        pair = builder.cmpxchg(address, arguments[2], arguments[3], "acq_rel", "acquire")
        return builder.extract_value(pair, 0)

    return array.dtype(array, index, array.dtype, array.dtype), generate


@intrinsic
def yield_core(typing_context):
    """Let the operating system run another thread on this core, if one is ready."""

    def generate(context, builder, signature, arguments):
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def sleep(typing_context, microseconds):
    """Yield this core to other threads for about the given number of microseconds."""

    def generate(context, builder, signature, arguments):
        i32 = ir.IntType(32)
        kind = ir.FunctionType(i32, [i32])
        time = context.cast(builder, arguments[0], microseconds, types.uint32)
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "usleep"), [time])
        return context.get_dummy_value()

    return types.void(microseconds), generate


@njit(inline="always")
def write_min(array, index, value):
    """Lower ``array[index]`` to `value`, of its dtype, if that is less: an atomic minimum. Returns nothing.

    A load comes first: most values are too high, and a load leaves the cache line shared, while an atomic minimum would
    take it from every other core.
    """
    seen = load(array, index)
    while value < seen:
        found = compare_and_swap(array, index, seen, value)
        if found == seen:
            return
        seen = found
