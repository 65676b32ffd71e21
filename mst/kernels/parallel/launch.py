"""Calls a compiled function in many threads, replacing numba's `prange`, which takes far longer to compile.

`prange` makes a function of its loop body, types it twice, and optimises it, with everything it calls, once for each of
three wrappers. Our workers are already compiled functions, which numba's thread pool can call directly.
"""

from __future__ import annotations

import numba  # noqa: F401
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.np.ufunc.parallel import _launch_threads

from mst.kernels.primitives.jit import intrinsic
from mst.kernels.primitives.out_of_line import address_of, called_as, unpacked

_I32, _I64 = ir.IntType(32), ir.IntType(64)
_ANY = ir.IntType(8).as_pointer()
# Types of the functions that the thread pool calls, and of the pool's entry point: see `numba.np.ufunc.parallel`.
_TASK = ir.FunctionType(ir.VoidType(), [_ANY.as_pointer(), _I64.as_pointer(), _I64.as_pointer(), _ANY])
_POOL = ir.FunctionType(ir.VoidType(), [_ANY] * 5 + [_I64] * 3)


@intrinsic
def run(typing_context, width, function, *arguments):
    """Call ``function(worker, *arguments)`` for workers ``0 … width - 1``, each in a thread; return when all are done.

    A single worker runs in the caller's thread. `width` is an int and `worker` an int64; `function`, at the top of a
    module and compiled by `njit`, returns nothing. The GIL is released meanwhile. Raises MemoryError if a worker did.
    For compiled code only.
    """
    called = called_as(typing_context, function, (types.int64, *arguments))
    if called.return_type != types.none:
        raise TypingError(f"a worker returns nothing, not {called.return_type}")

    def generate(context, builder, signature, values):
        _launch_threads()
        context.active_code_library._reload_init.add(_launch_threads)
        width_value, _, arguments_value = values
        frame = cgutils.alloca_once(builder, ir.LiteralStructType([arguments_value.type, _I32]))
        failed = _field(builder, frame, 1)
        builder.store(arguments_value, _field(builder, frame, 0))
        builder.store(_I32(0), failed)
        target = address_of(context, builder, function.dispatcher, called)
        task = _task(context, builder.module, target, called, arguments, frame.type)
        # The pool moves the address of the only argument one step further for each worker. From null, in steps of one
        # byte, the address is the worker's number.
        address = cgutils.alloca_once_value(builder, cgutils.get_null_value(_ANY))
        workers, step = (cgutils.alloca_once_value(builder, value) for value in (width_value, _I64(1)))
        pointers = [builder.bitcast(pointer, _ANY) for pointer in (task, address, workers, step, frame)]
        pool = cgutils.get_or_insert_function(builder.module, _POOL, "numba_parallel_for")
        threads = ir.FunctionType(_I64, [])
        threads = cgutils.get_or_insert_function(builder.module, threads, "get_num_threads")
        python = context.get_python_api(builder)
        lock = python.gil_ensure()
        state = python.save_thread()
        with builder.if_else(builder.icmp_signed("==", width_value, width_value.type(1))) as (alone, several):
            # A single worker does without the pool, which is missing in a fork of a process with threads.
            with alone:
                nothing = _I64.as_pointer()(None)
                builder.call(task, [address, nothing, nothing, builder.bitcast(frame, _ANY)])
            with several:
                builder.call(pool, [*pointers, _I64(0), _I64(1), builder.call(threads, [])])
        python.restore_thread(state)
        python.gil_release(lock)
        with cgutils.if_unlikely(builder, cgutils.is_not_null(builder, builder.load(failed))):
            context.call_conv.return_user_exc(builder, MemoryError, ("a worker ran out of memory",))
        return context.get_dummy_value()

    return types.void(types.int64, function, types.StarArgTuple.from_types(arguments)), generate


def _field(builder, frame, number):
    """Return the address of a field of `frame`: 0 holds the arguments, 1 whether a worker failed."""
    return builder.gep(frame, [_I32(0), _I32(number)], inbounds=True)


def _task(context, module, target, called, arguments, frame_type):
    """Return a new function of type `_TASK` that calls `target`, whose signature is `called`, as one worker.

    `arguments` are the types of the elements of the tuple in the frame, to which the function's last argument points.
    """
    task = ir.Function(module, _TASK, module.get_unique_name("mst.task"))
    task.linkage = "internal"
    builder = ir.IRBuilder(task.append_basic_block())
    addresses, _, _, data = task.args
    frame = builder.bitcast(data, frame_type)
    worker = builder.ptrtoint(builder.load(addresses), _I64)
    rest = unpacked(context, builder, builder.load(_field(builder, frame, 0)), arguments, called.args[1:])
    rest = [_uncounted(context, builder, value, kind) for value, kind in zip(rest, called.args[1:])]
    kinds = called.return_type, called.args
    status, _ = context.call_conv.call_function(builder, target, *kinds, [worker, *rest])
    with cgutils.if_unlikely(builder, status.is_error):
        builder.store(_I32(1), _field(builder, frame, 1))
    builder.ret_void()
    return task


def _uncounted(context, builder, value, kind):
    """Return a worker's argument with its arrays, including those in tuples, as arrays without reference counts.

    The caller holds them until all workers have returned. With counts, all workers would share one counter per array,
    and update it wherever an array is passed on.
    """
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo, array.parent = (cgutils.get_null_value(x.type) for x in (array.meminfo, array.parent))
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, each in enumerate(list(kind)):  # type: ignore[var-annotated, call-overload]
            element = _uncounted(context, builder, builder.extract_value(value, i), each)
            value = builder.insert_value(value, element, i)
    return value
