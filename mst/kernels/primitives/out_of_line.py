"""Calls by address between compiled functions: the callee is compiled once, not again in each caller.

numba copies the code of a compiled function into each of its callers, to inline it, and optimises it there again: code
at the end of a call chain is compiled once for every function above it. That pays off for small functions in loops.
Functions that process a whole chunk of edges, or are rarely needed, are called by address here instead.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import Any

import llvmlite.binding as llvm
import numba  # noqa: F401
from numba.core import cgutils, types
from numba.core.errors import TypingError

from mst.kernels.primitives.jit import BY_NAME, intrinsic


@intrinsic
def call(typing_context, function, *arguments):
    """Return ``function(*arguments)``; `function` is at the top of a module and compiled by `njit`.

    For compiled code only.
    """
    called = called_as(typing_context, function, arguments)

    def generate(context, builder, signature, values):
        target = address_of(context, builder, function.dispatcher, called)
        passed = unpacked(context, builder, values[1], arguments, called.args)
        kinds = called.return_type, called.args
        status, result = context.call_conv.call_function(builder, target, *kinds, passed)
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    return called.return_type(function, types.StarArgTuple.from_types(arguments)), generate


def called_as(typing_context: Any, function: Any, argument_types: tuple) -> Any:
    """Return the signature of a function of numba type `function` for these arguments, and compile it.

    Raises
    ------
    numba.TypingError
        The function is not at the top of a module.
    """
    python = function.dispatcher.py_func
    if "." in python.__qualname__:
        raise TypingError(
            f"{python.__qualname__} is not a function of a module, by whose name it could be loaded"
        )
    return function.get_call_type(typing_context, tuple(map(types.unliteral, argument_types)), {})


def unpacked(context: Any, builder: Any, value: Any, given: tuple, wanted: tuple) -> list:
    """Return the elements of a tuple, which have the types `given`, as values of the types `wanted`."""
    return [
        context.cast(builder, builder.extract_value(value, i), of, to)
        for i, (of, to) in enumerate(zip(given, wanted, strict=True))
    ]


def address_of(context: Any, builder: Any, dispatcher: Any, signature: Any) -> Any:
    """Return a declaration of a compiled function in the module of `builder`; its code stays where it is.

    When the caller's machine code is loaded from disk, it loads the function first.
    """
    python = dispatcher.py_func
    place = python.__module__, python.__name__, signature.args
    context.active_code_library._reload_init.add(partial(_load, *place))
    kind = context.call_conv.get_function_type(signature.return_type, signature.args)
    return cgutils.get_or_insert_function(builder.module, kind, _load(*place))


def _load(module: str, name: str, arguments: tuple) -> str:
    """Compile a function of a module for arguments of these types, or load its code; return its address's symbol.

    The module is loaded already, since the caller's module imports it.
    """
    dispatcher = BY_NAME[module, name]
    dispatcher.compile(arguments)
    compiled = dispatcher.overloads[arguments]
    digest = hashlib.sha256(repr(arguments).encode()).hexdigest()[:16]
    symbol = f"{module}.{name}.{digest}"
    llvm.add_symbol(symbol, compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
    return symbol
