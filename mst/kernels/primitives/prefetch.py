"""Loading a cache line ahead of its use, by LLVM's prefetch intrinsic; for compiled code only."""

from __future__ import annotations

import numba  # noqa: F401
from llvmlite import ir
from numba.core import cgutils, types

from mst.kernels.primitives.jit import intrinsic


def _generator(for_writing):
    """Return a code generator for a prefetch; `for_writing` is 1 if the line is going to be written, else 0."""

    def generate(context, builder, signature, values):
        kind = signature.args[0]
        view = context.make_array(kind)(context, builder, values[0])
        at = context.cast(builder, values[1], signature.args[1], types.intp)
        indices = [at] + [context.get_constant(types.intp, 0)] * (kind.ndim - 1)
        pointer = cgutils.get_item_pointer(context, builder, kind, view, indices, wraparound=False)
        byte, i32 = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, i32, i32, i32]), "llvm.prefetch.p0"
        )
        keep, data = i32(3), i32(1)
        builder.call(function, [builder.bitcast(pointer, byte), i32(for_writing), keep, data])
        return context.get_dummy_value()

    return generate


@intrinsic
def prefetch(typing, array, index):
    """Prefetch the cache line of ``array[index]``, or of the start of that row; any index is harmless."""
    return types.void(array, index), _generator(0)


@intrinsic
def prefetch_to_write(typing, array, index):
    """Prefetch the cache line of ``array[index]``, as `prefetch` does, when it is going to be written."""
    return types.void(array, index), _generator(1)
