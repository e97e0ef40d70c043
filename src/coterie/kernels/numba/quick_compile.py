"""Numba without the work that kernels do not need: about a quarter of the time of compiling.

Numba makes machine code of every function that a kernel calls, with LLVM's full optimisation,
although the kernel contains an optimised copy of its own: only a function that Python calls is ever
run as such. In a block `compiling_kernels()`, a function without an entry for Python is therefore
*link-only*: it is simplified and kept as LLVM's intermediate code, and optimised as a part of the
kernels that contain it. Results do not change: the code of a kernel is optimised as before.

Also left out: passes over functions that are only declared, entries for C, and a slow comparison of
compiler options. Other users of Numba in the same process are not affected.

The functions of Numba that are replaced are internal. With a version that does not have them
(`install` returns False), everything is compiled as Numba does it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LINKABLE = "linkable"  # the kind of a stored library, next to Numba's "object" and "bitcode"
_ENVIRONMENT = "_ZN08NumbaEnv"
_here = threading.local()
_installed: bool | None = None
_lock = threading.Lock()


@contextmanager
def compiling_kernels(wanted: bool = True) -> Iterator[None]:
    """Compile as described above in a block of code of this thread, or as usual if not `wanted`."""
    outer = _is_active()
    _here.active = wanted
    try:
        yield
    finally:
        _here.active = outer


def is_link_only(library: Any) -> bool:
    """Return whether a compiled library is there for other kernels only."""
    return bool(getattr(library, "_coterie_link_only", False))


def install() -> bool:
    """Prepare Numba, once; return whether this version of Numba is known."""
    global _installed
    with _lock:
        if _installed is None:
            _installed = _is_known()
            if _installed:
                _replace_library_methods()
                _replace_context_methods()
                _replace_comparison_of_flags()
                _replace_coloured_messages()
    return _installed


def _is_active() -> bool:
    return bool(getattr(_here, "active", False))


def _is_known() -> bool:
    from numba.core import codegen, cpu, targetconfig

    wanted = {
        codegen: ["create_pass_builder"],
        codegen.CPUCodeLibrary: [
            "_optimize_functions",
            "_optimize_final_module",
            "_finalize_final_module",
            "_finalize_dynamic_globals",
            "_get_module_for_linking",
            "serialize_using_object_code",
            "_unserialize",
        ],
        codegen.JITCodeLibrary: ["get_pointer_to_function"],
        codegen.JITCPUCodegen: ["set_env", "_function_pass_manager"],
        codegen.JitEngine: ["is_symbol_defined"],
        cpu.CPUContext: ["create_cpython_wrapper", "create_cfunc_wrapper"],
        targetconfig.TargetConfig: ["values", "options"],
    }
    return all(hasattr(owner, name) for owner, names in wanted.items() for name in names)


def _replace_library_methods() -> None:
    from llvmlite import binding
    from numba.core import codegen

    library: Any = codegen.JITCodeLibrary
    optimize_functions = library._optimize_functions
    optimize = library._optimize_final_module
    emit = library._finalize_final_module
    pointer = library.get_pointer_to_function
    serialize = library.serialize_using_object_code
    unserialize = library._unserialize.__func__

    def _optimize_functions(self: Any, module: Any) -> None:
        if not _is_active():
            optimize_functions(self, module)
            return
        module.data_layout = self._codegen._data_layout
        manager, builder = self._codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                manager.run(function, builder)

    def _optimize_final_module(self: Any) -> None:
        self._coterie_link_only = _is_active() and not getattr(self, "_coterie_has_entry", False)
        if not self._coterie_link_only:
            optimize(self)

    def _finalize_final_module(self: Any) -> None:
        if is_link_only(self):
            self._finalize_dynamic_globals()
            self._finalized = True
            return
        emit(self)
        if _is_active():
            _set_environments(self)

    def get_pointer_to_function(self: Any, name: str) -> Any:
        self._ensure_finalized()
        if is_link_only(self) and _defines(self._final_module, name):
            self._coterie_link_only = False  # somebody wants to run it after all
            optimize(self)
            emit(self)
        return pointer(self, name)

    def serialize_using_object_code(self: Any) -> Any:
        self._ensure_finalized()
        if is_link_only(self):
            return self.name, _LINKABLE, self._get_module_for_linking().as_bitcode()
        return serialize(self)

    def _unserialize(cls: Any, owner: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != _LINKABLE:
            return unserialize(cls, owner, state)
        self = owner.create_library(name)
        self._final_module = self._shared_module = binding.parse_bitcode(data)
        self._finalized = self._coterie_link_only = True
        return self

    library._optimize_functions = _optimize_functions
    library._optimize_final_module = _optimize_final_module
    library._finalize_final_module = _finalize_final_module
    library.get_pointer_to_function = get_pointer_to_function
    library.serialize_using_object_code = serialize_using_object_code
    library._unserialize = classmethod(_unserialize)


def _replace_context_methods() -> None:
    from numba.core import codegen, cpu

    context: Any = cpu.CPUContext
    generator: Any = codegen.JITCPUCodegen
    entry_for_python = context.create_cpython_wrapper
    entry_for_c = context.create_cfunc_wrapper
    set_environment = generator.set_env

    def create_cpython_wrapper(self: Any, library: Any, *args: Any, **named: Any) -> None:
        library._coterie_has_entry = True
        entry_for_python(self, library, *args, **named)

    def create_cfunc_wrapper(self: Any, library: Any, *args: Any, **named: Any) -> None:
        if not _is_active():
            library._coterie_has_entry = True
            entry_for_c(self, library, *args, **named)

    def set_env(self: Any, name: str, environment: Any) -> None:
        if self._engine.is_symbol_defined(name):  # not for a library that is link-only
            set_environment(self, name, environment)

    context.create_cpython_wrapper = create_cpython_wrapper
    context.create_cfunc_wrapper = create_cfunc_wrapper
    generator.set_env = set_env


def _replace_comparison_of_flags() -> None:
    """Compare compiler options with less work: Numba does so at every call of a NumPy function."""
    from numba.core.targetconfig import TargetConfig

    options: Any = TargetConfig
    hashes: dict[type, int] = {}
    equal = options.__eq__

    def hash_of(self: Any) -> int:
        kind = type(self)
        if kind not in hashes:  # Numba's hash: that of the names, not of the values
            hashes[kind] = hash(tuple(sorted(self.options)))
        return hashes[kind]

    def is_equal(self: Any, other: Any) -> Any:
        if type(self) is type(other) and self._values == other._values:
            return True
        return equal(self, other)

    options.__hash__ = hash_of
    options.__eq__ = is_equal


def _replace_coloured_messages() -> None:
    """Do not colour messages that nobody sees: Numba tries many types that do not fit."""
    from numba.core import errors

    scheme = getattr(errors, "HighlightColorScheme", None)
    if scheme is None or not hasattr(scheme, "_markup"):
        return
    coloured = scheme._markup

    def _markup(self: Any, message: str, *args: Any, **named: Any) -> Any:
        return message if _is_active() else coloured(self, message, *args, **named)

    scheme._markup = _markup


def _set_environments(library: Any) -> None:
    """Tell a kernel where the constants of the functions are that it contains."""
    from numba.core.environment import lookup_environment

    for variable in library._final_module.global_variables:
        if variable.name.startswith(_ENVIRONMENT):
            environment = lookup_environment(variable.name)
            if environment is not None:
                library.codegen.set_env(variable.name, environment)


def _defines(module: Any, name: str) -> bool:
    try:
        return not module.get_function(name).is_declaration
    except NameError:
        return False
