"""Arrays without reference counts, for inner loops.

Numba counts references atomically whenever an array is read from a tuple, sliced or passed on; two
threads that share an array then compete for the cache line of the counter. A kernel whose caller
keeps its arguments alive for the whole call can use bare pointers instead.
"""

from __future__ import annotations

from numba.core import cgutils, types
from numba.extending import intrinsic


@intrinsic
def borrow_without_refcount(typingctx, value):
    """Return the same array or tuple of arrays; the caller must hold it."""

    def codegen(context, builder, signature, args):
        return _without_counters(context, builder, value, args[0])

    return value(value), codegen


def _without_counters(context, builder, kind, value):
    """Generate code that clears the counters of an array, or of every array in a tuple."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value=value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = zip(kind.types, cgutils.unpack_tuple(builder, value), strict=True)
        return context.make_tuple(
            builder, kind, [_without_counters(context, builder, t, v) for t, v in parts]
        )
    return value
