"""Prefetch rows of a large table before they are needed.

Observations refer to columns in an order that a processor cannot predict. If the table is larger
than the caches, prefetching a row a few observations early halves the time of a pass.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_LINE = 64  # bytes; the hardware continues by itself after the first lines of a row
_LINES = 3
_READ, _KEEP, _DATA = 0, 3, 1


def _fetch(context, builder, kind, array, indices, lines):
    """Generate code that prefetches the cache lines from array[indices] on."""
    array = context.make_array(kind)(context, builder, array)
    first = cgutils.get_item_pointer(context, builder, kind, array, indices, wraparound=False)
    byte = ir.IntType(8).as_pointer()
    number = ir.IntType(32)
    shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
    for line in range(lines):
        place = builder.gep(
            builder.bitcast(first, byte), [ir.Constant(ir.IntType(64), line * _LINE)]
        )
        builder.call(fetch, [place, number(_READ), number(_KEEP), number(_DATA)])
    return context.get_dummy_value()


@intrinsic
def prefetch_row(typingctx, table, row):
    """Prefetch the beginning of table[row] (a C-ordered 2-d array)."""

    def generate(context, builder, signature, arguments):
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        zero = context.get_constant(types.intp, 0)
        return _fetch(context, builder, signature.args[0], arguments[0], [index, zero], _LINES)

    return types.void(table, row), generate


@intrinsic
def prefetch(typingctx, array, place):
    """Prefetch array[place] (a 1-d array)."""

    def generate(context, builder, signature, arguments):
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        return _fetch(context, builder, signature.args[0], arguments[0], [index], 1)

    return types.void(array, place), generate
