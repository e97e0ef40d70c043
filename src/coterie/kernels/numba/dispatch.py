"""`njit` for kernels: as plain Python while that is quicker than compiling, else compiled by Numba.

Compiling the kernels of one command takes 20 to 50 s, which is absurd for a graph of 34 nodes. A
kernel of this package is therefore a `Kernel`. A call uses, in this order:

1. the compiled version, if this process has loaded it;
2. the same function as plain Python, if the arguments are small (`SMALL` bytes in total) and the
   kernel has spent less time as plain Python than loading it from the cache on disk would take,
   or half of what compiling it would take, if it is not there. A kernel with `many_steps=True`,
   which goes over its arguments many times in one call, is loaded from the cache at once;
3. the compiled version from the cache;
4. as plain Python, while another process compiles it (`background.py`; only on the command line),
   but not longer than `_PATIENCE` times as long as in 2;
5. Numba, which compiles the kernel and stores it in the cache (`kernels/numba/cache.py`).

Both versions return the same bits, so it does not matter when a kernel changes from one to the
other. `tests/kernels/test_plain_kernels.py` compares them. Kernels for which this cannot be
promised are always compiled: those with `fastmath`, and the packages in `_ALWAYS_COMPILED`. Write
products instead of powers, `math.log` instead of `np.log`, and a loop instead of the sum of a
float array: NumPy rounds these differently.

A small function that must be part of its caller has `forceinline=True`, which LLVM obeys: the same
machine code as `inline="always"`, for which Numba analyses every copy anew, in less time.
(Callers with `fastmath` use `inline="always"`, because a copy must follow their rules.)

Numba is imported when the first kernel needs it. `COTERIE_KERNELS=compiled` (or `plain`) in the
environment, or `set_mode`, turns the choice off.
"""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import math
import os
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from coterie.kernels.numba.compile_events import (
    background_announcer,
    compilation_starts,
    current_plan,
)

AUTO, COMPILED, PLAIN = MODES = ("auto", "compiled", "plain")
SMALL = 1 << 16  # bytes of array arguments up to which a kernel may run as plain Python

_MANY_STEPS = 1 << 13  # bytes from which a call with `many_steps` takes longer than loading it
_MATRIX_SHARE = 32  # a square matrix counts as this part of its size

# float32, which NumPy promotes differently, and sums of arrays
_ALWAYS_COMPILED = ("coterie.kernels.additive.", "coterie.kernels.interaction.")

# Compiling takes 7e-4 s per byte of bytecode, inlined functions included (33 kernels of hard
# clustering, correlation 0.94). A kernel that has run for half of that will probably run on.
_SECONDS_PER_KERNEL = 0.1
_SECONDS_PER_BYTE = 3.5e-4
_PATIENCE = 3.0  # another process may be slow: it has the lowest priority

# Seconds to load Numba, and then each kernel, from the disk
_SECONDS_TO_LOAD_NUMBA = 0.3
_SECONDS_TO_LOAD = 0.01

_mode = _chosen = os.environ.get("COTERIE_KERNELS") or AUTO
_total_spent = 0.0  # seconds of all kernels as plain Python
_forced = 0  # how many blocks of code want compiled kernels now
_lock = threading.RLock()
_compiling = threading.local()  # .depth > 0: this thread may compile
_without_garbage_collection = 0  # how many threads compile
_lookup_tables: dict[int, np.ndarray] = {}
_plain_modules: dict[str, dict[str, Any]] = {}
_numba_modules: dict[str, dict[str, Any]] = {}
_background: Any = None  # the BackgroundCompiler of this command, if it has one

# Plain scalars need NumPy 2: before, an int32 and a Python integer gave other types.
_PLAIN_IS_EXACT = int(np.__version__.split(".")[0]) >= 2


class NotCompiledError(Exception):
    """The cache has no compiled version for these arguments; `Kernel` decides what happens."""


def mode() -> str:
    """Return how kernels run now: "auto", "compiled" or "plain"."""
    return _mode


def set_mode(new: str) -> None:
    """Choose how kernels run in this process: "auto", "compiled" or "plain"."""
    global _chosen
    if new not in MODES:
        raise ValueError(f"invalid mode of kernels: {new!r}; use one of {', '.join(MODES)}")
    _chosen = new
    _update_mode()


@contextmanager
def always_compiled() -> Iterator[None]:
    """Compile every kernel that is called in a block of code; several threads may be in one."""
    global _forced
    with _lock:
        _forced += 1
    _update_mode()
    try:
        yield
    finally:
        with _lock:
            _forced -= 1
        _update_mode()


def worth_compiling(*arrays: Any) -> bool:
    """Return whether a fit to these arrays should compile its kernels before the clock starts.

    Not if the data are so small that most kernels will run as plain Python."""
    return _mode == COMPILED or (_mode == AUTO and _bytes(arrays) > 16 * SMALL)


def _update_mode() -> None:
    global _mode
    with _lock:
        _mode = COMPILED if _forced and _chosen == AUTO else _chosen


def finish_background() -> None:
    """Have compiled what ran as plain Python for long; called at the end of a command."""
    global _background
    if _background is not None:
        _background.finish()
        _background = None


def start_helpers() -> None:
    """Start processes that compile what the present command needs, if it has a list of that."""
    helper = _background_compiler() if _mode == AUTO else None
    if helper is not None:
        helper.start_plan(current_plan())


def _background_compiler() -> Any:
    global _background
    announce = background_announcer()
    if _background is None and announce is not None:
        from coterie.kernels.numba.background import background_compiler

        _background = background_compiler(announce)
    return _background


def seconds_uncompiled() -> float:
    """Return the time that this process has spent in kernels as plain Python."""
    return _total_spent


def lookup_table(array: np.ndarray) -> np.ndarray:
    """Return the array, whose size says nothing about the work of a kernel that gets it."""
    _lookup_tables[id(array)] = array  # the reference keeps the id valid
    return array


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a kernel of a function; the options are those of `numba.njit`, and `many_steps`."""
    return lambda function: Kernel(function, options)


class Kernel:
    """A function that runs compiled or as plain Python."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func: Any = function
        self._may_be_plain = not options.get("fastmath") and not function.__module__.startswith(
            _ALWAYS_COMPILED
        )
        self._is_inner = function.__name__.startswith("_")
        self._many_steps = bool(options.get("many_steps"))
        self._options = {k: v for k, v in options.items() if k not in ("cache", "many_steps")}
        self._dispatcher: Any = None
        self._linked: Any = None
        self._ready = False  # the dispatcher has a compiled version
        self._in_cache: bool | None = None  # the cache has a file of this kernel
        self._plain: Any = None
        self._spent = 0.0
        self._worth: float | None = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        if named:
            args = inspect.signature(self.py_func).bind(*args, **named).args
        if self._is_inner:
            raise TypeError(f"{self!r} is called by other kernels only; remove the underscore")
        if self._ready and _mode != PLAIN:
            try:
                return self._dispatcher(*args)
            except NotCompiledError:  # new argument types
                return self._compiled(args)
        if _mode == COMPILED or (_mode == AUTO and not self._may_be_plain):
            return self._compiled(args)
        if _mode == AUTO:
            if self._in_cache is None:
                self._in_cache = self.has_cache_file()
            helper = _background_compiler() if _may_be_plain(args) else None
            if helper and not self._in_cache and helper.has_compiled(self):
                self._in_cache = True
            if self._in_cache and not self._plain_is_quicker(args):
                try:
                    result = self.dispatcher(*args)
                except NotCompiledError:
                    self._in_cache = False
                else:
                    self._ready = True
                    return result
            if not self._plain_is_quicker(args) and not self._is_awaited(helper):
                return self._compiled(args)
        result = self._run_plain(args)
        if _background is not None and _may_be_plain(args):
            _background.after_plain_run(self, args)
        return result

    def __getattr__(self, name: str) -> Any:
        """Look up what else a dispatcher of Numba has (`stats`, `signatures`, `inspect_llvm`)."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> Any:
        return _named_kernel, (self.py_func.__module__, self.py_func.__qualname__)

    def __repr__(self) -> str:
        return f"<kernel {self.py_func.__module__}.{self.py_func.__qualname__}>"

    @property
    def dispatcher(self) -> Any:
        """The dispatcher of Numba, which is made when it is first needed."""
        if self._dispatcher is None:
            with _lock:
                if self._dispatcher is None:
                    self._dispatcher = _make_dispatcher(self)
        return self._dispatcher

    @property
    def linked(self) -> Any:
        """The dispatcher of Numba for calls by other kernels, which need no entry for Python.

        That of a kernel which commands call themselves is used for both, and compiled once."""
        if self._linked is None:
            with _lock:
                if self._linked is None:
                    self._linked = _make_linked_dispatcher(self)
        return self._linked

    @property
    def plain(self) -> Any:
        """The function as plain Python; the kernels that it calls are plain, too."""
        if self._plain is None:
            with _lock:
                if self._plain is None:
                    self._plain = _with_globals(self.py_func, _plain_globals(self.__module__))
        return self._plain

    @property
    def _numba_type_(self) -> Any:
        """The type that Numba gives to this object inside functions of other packages."""
        from numba.core.types import Dispatcher

        _fill_globals(self.__module__)
        return Dispatcher(self.dispatcher)

    @property
    def seconds_plain(self) -> float:
        """The time that it has run as plain Python in this process."""
        return self._spent

    @property
    def is_stored(self) -> bool:
        """Whether the cache may have a compiled version for the arguments of the last call."""
        return self._ready or bool(self._in_cache)

    def compile_for(self, examples: tuple[Any, ...], *, unless_claimed: bool = False) -> None:
        """Compile it for the types of these arguments, and store it, without running it.

        Do nothing if it is stored, or, with `unless_claimed`, if another process compiles it now.
        """
        import numba

        signature = tuple(map(numba.typeof, examples))
        if self.dispatcher._cache.has_stored(signature):
            return
        _compiling.unless_claimed = self.dispatcher._cache if unless_claimed else None
        try:
            with _may_compile():
                self.dispatcher.compile(signature)
        except NotCompiledError:
            if not unless_claimed:
                raise
        finally:
            _compiling.unless_claimed = None

    def seconds_before_compiling(self) -> float:
        """Return how long it may run as plain Python, from the length of its code."""
        if self._worth is None:
            self._worth = _SECONDS_PER_KERNEL + _SECONDS_PER_BYTE * _code_length(self, set())
        return self._worth

    def _compiled(self, args: tuple[Any, ...]) -> Any:
        with _may_compile():
            result = self.dispatcher(*args)
        self._ready = True
        return result

    def has_cache_file(self, *, look_again: bool = False) -> bool:
        """Whether a compiled version may be on disk; files are listed once, or `look_again`."""
        from coterie.kernels.numba.cache import has_file

        return has_file(self.py_func, look_again=look_again)

    def _plain_is_quicker(self, args: tuple[Any, ...]) -> bool:
        if not self._in_cache:
            limit = self.seconds_before_compiling()
        elif "numba" in sys.modules or _total_spent > _SECONDS_TO_LOAD_NUMBA:
            limit = _SECONDS_TO_LOAD
        else:
            limit = _SECONDS_TO_LOAD_NUMBA
        if self._in_cache and self._many_steps and _bytes(args) > _MANY_STEPS:
            return False
        return self._spent < limit and _may_be_plain(args)

    def _is_awaited(self, helper: Any) -> bool:
        """Return whether another process compiles it and will be ready soon."""
        patient = self._spent < _PATIENCE * self.seconds_before_compiling()
        return bool(patient and helper and helper.compiles(self))

    def _run_plain(self, args: tuple[Any, ...]) -> Any:
        global _total_spent
        start = time.thread_time()
        with np.errstate(all="ignore"):  # uint64 wraps around, as in compiled code
            result = self.plain(*args)
        spent = time.thread_time() - start
        self._spent += spent
        _total_spent += spent
        return _python_values(result)


class Intrinsic:
    """Something that only compiled code can do, with a plain function that stands for it.

    `build` imports Numba and returns the intrinsic; `plain` runs otherwise."""

    def __init__(self, build: Callable[[], Any], plain: Callable[..., Any]) -> None:
        self._build, self.plain = build, plain

    def __call__(self, *args: Any) -> Any:
        return self.plain(*args)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The intrinsic of Numba."""
        return self._build()

    @property
    def _numba_type_(self) -> Any:
        """The type that Numba gives to this object inside functions of other packages."""
        from numba.core.registry import cpu_target

        dispatcher = self.dispatcher
        cpu_target.typing_context.refresh()  # it knows the intrinsic only then
        return cpu_target.typing_context.resolve_value_type(dispatcher)


def about_to_compile(kernel_name: str) -> None:
    """Raise an error if this thread shall not compile; called by the cache if it has no file."""
    if getattr(_compiling, "depth", 0) == 0:
        raise NotCompiledError(kernel_name)
    _pause_garbage_collection()
    compilation_starts(kernel_name)
    start_helpers()


def leaves_to_others(cache: Any) -> bool:
    """Return whether this thread does not wait for a kernel that another process compiles."""
    return getattr(_compiling, "unless_claimed", None) is cache


@contextmanager
def _may_compile() -> Iterator[None]:
    """Let this thread compile in a block of code."""
    from coterie.kernels.numba.quick_compile import compiling_kernels

    depth = getattr(_compiling, "depth", 0)
    _compiling.depth = depth + 1
    try:
        with compiling_kernels():
            yield
    finally:
        _compiling.depth = depth
        if depth == 0:
            _resume_garbage_collection()
            if "coterie.kernels.numba.cache" in sys.modules:
                sys.modules["coterie.kernels.numba.cache"].release_claims()


def _pause_garbage_collection() -> None:
    """Stop looking for cycles, which takes a seventh of the time of compiling and finds little."""
    global _without_garbage_collection
    if getattr(_compiling, "pauses", False):
        return
    with _lock:
        if gc.isenabled() or _without_garbage_collection:
            _compiling.pauses = True
            _without_garbage_collection += 1
            gc.disable()


def _resume_garbage_collection() -> None:
    global _without_garbage_collection
    if getattr(_compiling, "pauses", False):
        _compiling.pauses = False
        with _lock:
            _without_garbage_collection -= 1
            if not _without_garbage_collection:
                gc.enable()


def _named_kernel(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _make_dispatcher(kernel: Kernel, *, link_only: bool = False) -> Any:
    import numba

    from coterie.kernels.numba.cache import KernelCache
    from coterie.kernels.numba.quick_compile import install

    is_known = install()
    function = _with_globals(kernel.py_func, _numba_modules.setdefault(kernel.__module__, {}))
    # Nothing here is called from C, and the code for it would take a tenth of the time
    options: dict[str, Any] = {"no_cfunc_wrapper": True, **kernel._options}
    # An inner kernel has nothing that Python could call: making it takes time
    options["no_cpython_wrapper"] = kernel._is_inner or link_only
    dispatcher = numba.njit(**options)(function)
    if hasattr(dispatcher, "_cache"):  # not with NUMBA_DISABLE_JIT
        dispatcher._cache = KernelCache(
            function,
            lambda: _fill_globals(kernel.__module__),
            link_only=is_known and options["no_cpython_wrapper"],
        )
    return dispatcher


def _make_linked_dispatcher(kernel: Kernel) -> Any:
    from coterie.kernels.numba.compile_plans import planned_kernels
    from coterie.kernels.numba.quick_compile import install

    name = kernel.py_func.__module__, kernel.py_func.__qualname__
    if kernel._is_inner or name in planned_kernels() or not install():
        return kernel.dispatcher
    return _make_dispatcher(kernel, link_only=True)


def _with_globals(function: Any, namespace: dict[str, Any]) -> Any:
    """Return the function with other global names."""
    copy = types.FunctionType(
        function.__code__, namespace, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    copy.__doc__ = function.__doc__
    return copy


def _plain_globals(module: str) -> dict[str, Any]:
    """Return the global names of a module with plain functions in place of kernels."""
    if module not in _plain_modules:
        names = _plain_modules[module] = dict(vars(importlib.import_module(module)))
        for name, value in names.items():
            if isinstance(value, Kernel | Intrinsic):
                names[name] = value.plain
            elif value is math:
                names[name] = _C_MATH
    return _plain_modules[module]


def _fill_globals(module: str) -> None:
    """Put the dispatchers into the global names of a module, which compiling needs."""
    with _lock:
        names = _numba_modules.setdefault(module, {})
        if "__name__" in names:
            return
        names.update(vars(importlib.import_module(module)))
        for name, value in list(names.items()):
            if isinstance(value, Intrinsic):
                names[name] = value.dispatcher
            if isinstance(value, Kernel):
                names[name] = value.linked
                _fill_globals(value.__module__)  # inlined code needs its own names


def _may_be_plain(args: tuple[Any, ...]) -> bool:
    return _PLAIN_IS_EXACT and _bytes(args) <= SMALL


def _bytes(value: Any) -> int:
    """Return the size of all arrays in nested tuples, look-up tables not included.

    Of a square matrix, such as the cells of all pairs of blocks, a call reads few entries."""
    if isinstance(value, np.ndarray):
        if id(value) in _lookup_tables:
            return 0
        is_square = value.ndim > 1 and value.shape[-1] == value.shape[-2]
        return value.nbytes // _MATRIX_SHARE if is_square else value.nbytes
    if isinstance(value, tuple):
        return sum(map(_bytes, value))
    return 0


def _python_values(value: Any) -> Any:
    """Return scalars as Python's numbers, as compiled code does."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        items = [_python_values(item) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


def _code_length(kernel: Kernel, seen: set[Kernel]) -> int:
    """Return the length of the bytecode, inlined calls counted each, other kernels once."""
    length = len(kernel.py_func.__code__.co_code)
    module = vars(importlib.import_module(kernel.__module__))
    for name in kernel.py_func.__code__.co_names:
        callee = module.get(name)
        if isinstance(callee, Kernel) and callee is not kernel:
            if not callee._options.keys() & {"inline", "forceinline"}:
                if callee in seen:
                    continue
                seen.add(callee)
            length += _code_length(callee, seen)
    return length


def _c_function(function: Callable[..., Any], wrong: Callable[..., float]) -> Callable[..., Any]:
    """Return the function of `math` without exceptions, as the C library has it."""

    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except (ValueError, OverflowError):
            return wrong(*args)

    return call


def _log_of_wrong(x: float, *_: float) -> float:
    return -math.inf if x == 0.0 else math.nan


_C_MATH = types.SimpleNamespace(**{n: v for n, v in vars(math).items() if not n.startswith("_")})
_C_MATH.log = _c_function(math.log, _log_of_wrong)
_C_MATH.log2 = _c_function(math.log2, _log_of_wrong)
_C_MATH.log10 = _c_function(math.log10, _log_of_wrong)
_C_MATH.log1p = _c_function(math.log1p, lambda x: -math.inf if x == -1.0 else math.nan)
_C_MATH.sqrt = _c_function(math.sqrt, lambda x: math.nan)
_C_MATH.exp = _c_function(math.exp, lambda x: math.inf)
_C_MATH.expm1 = _c_function(math.expm1, lambda x: math.inf)

set_mode(_chosen)
