"""Asking for a cache line ahead of its use, as LLVM's prefetch intrinsic."""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def prefetch(typing, array, index):
    """Ask for the line of ``array[index]``, in compiled code; an index outside the array is harmless.

    One-dimensional arrays by element; of two-dimensional ones, the start of a row. The line is asked for in
    writable state: what these kernels touch at random they mostly write.
    """
    signature = types.void(array, index)

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
        writable, keep, data = i32(1), i32(3), i32(1)
        builder.call(function, [builder.bitcast(pointer, byte), writable, keep, data])
        return context.get_dummy_value()

    return signature, generate
