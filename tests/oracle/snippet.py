"""Run a snippet under one implementation, and describe what came out in plain, picklable data.

A snippet is a block of Python statements. Its result is the value of its last line, if that is an
expression. These names are bound, each to the module of the implementation that runs it:
``jax``, ``jnp``, ``lax``, ``random``, ``tree``, ``jsp`` (``jax.scipy``), ``nn``; and ``np`` to
NumPy. Imports are translated likewise: ``from jax import grad`` under Covector imports from
``covector``. NumPy arrays among the inputs become arrays of the implementation; everything
else (Python and NumPy scalars, strings) reaches the snippet as it is.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import itertools
import linecache
import traceback
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MODULES = {
    "jax": "",
    "jnp": ".numpy",
    "lax": ".lax",
    "random": ".random",
    "tree": ".tree",
    "jsp": ".scipy",
    "nn": ".nn",
}
ALIASES = {"x64": "jax_enable_x64"}
_serial = itertools.count()


@dataclass(frozen=True)
class Leaf:
    """One leaf of a result. ``kind`` says what it was:

    - ``array``: an array of the implementation; a key array's value is its key data
    - ``numpy``: a NumPy array or scalar; ``python``: a number, string, bytes, or ``...``
    - ``struct``: has a shape and a dtype but no value, such as ``ShapeDtypeStruct``
    - ``dtype``: a dtype or scalar type, by name; ``object``: anything else, by its class
    """

    kind: str
    value: Any = None
    dtype: str | None = None
    shape: tuple[int, ...] | None = None
    weak_type: bool | None = None


@dataclass(frozen=True)
class Node:
    """A container: ``kind`` is ``dict``, ``list``, ``tuple`` or the name of a named tuple."""

    kind: str
    keys: tuple[Any, ...]
    children: tuple[Leaf | Node, ...]


@dataclass(frozen=True)
class Raised:
    """An exception: the names of its public classes, most derived first, and what it said."""

    names: tuple[str, ...]
    message: str
    traceback: str

    def __str__(self) -> str:
        return f"{self.names[0]}: {self.message}"


@dataclass(frozen=True)
class Outcome:
    """What a snippet did: a result or an error, what it printed, and what it warned of."""

    result: Leaf | Node | None = None
    error: Raised | None = None
    printed: str = ""
    warnings: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def value(self) -> Any:
        """The result in NumPy arrays and plain containers; raises if the snippet raised."""
        if self.error is not None:
            raise AssertionError(f"the snippet raised\n{self.error.traceback}")
        return rebuild(self.result)


def evaluate(snippet: str, inputs: dict[str, Any], root: str, settings: dict[str, Any]) -> Outcome:
    """Run ``snippet`` under the implementation whose top module is ``root``.

    ``settings`` are configuration values for this run only, such as ``{"x64": True}``.
    """
    printed = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter("always")
        result = error = None
        try:
            with configured(importlib.import_module(root), settings):
                result = _run(snippet, inputs, root)
        except Exception as exception:
            error = describe_error(exception, root)
    warned = tuple((type(w.message).__name__, str(w.message)) for w in caught)
    return Outcome(result, error, printed.getvalue(), warned)


def _run(snippet: str, inputs: dict[str, Any], root: str) -> Leaf | Node:
    body, last, names = _compile(snippet, root)
    module = importlib.import_module(root)
    scope: dict[str, Any] = {"np": np, "__name__": "snippet"}
    for name in names & MODULES.keys() - inputs.keys():
        scope[name] = importlib.import_module(root + MODULES[name])
    scope.update({name: to_device(value, module) for name, value in inputs.items()})
    exec(body, scope)
    return describe(eval(last, scope), root)


def _compile(snippet: str, root: str) -> tuple[Any, Any, set[str]]:
    """Compile the statements and the last expression; also give the names that they mention."""
    filename = f"<snippet {next(_serial)}>"
    linecache.cache[filename] = (len(snippet), None, snippet.splitlines(keepends=True), filename)
    program = ast.parse(snippet, filename)
    names = {node.id for node in ast.walk(program) if isinstance(node, ast.Name)}
    program = _TranslateImports(root).visit(program)
    last: ast.expr = ast.Constant(None)
    if program.body and isinstance(program.body[-1], ast.Expr):
        last = program.body.pop().value
    expression = ast.fix_missing_locations(ast.Expression(last))
    return compile(program, filename, "exec"), compile(expression, filename, "eval"), names


class _TranslateImports(ast.NodeTransformer):
    """Make imports from ``jax`` imports from ``root``."""

    def __init__(self, root: str) -> None:
        self.root = root

    def _translated(self, name: str) -> str:
        head, dot, tail = name.partition(".")
        return self.root + dot + tail if head == "jax" else name

    def visit_Import(self, node: ast.Import) -> ast.Import:
        for alias in node.names:
            if alias.name == "jax":
                alias.asname = alias.asname or "jax"
            alias.name = self._translated(alias.name)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.ImportFrom:
        if node.module is not None:
            node.module = self._translated(node.module)
        return node


@contextlib.contextmanager
def configured(module: Any, settings: dict[str, Any]) -> Any:
    """Set configuration values of ``module`` for the duration of the block."""
    flags = {flag_name(name): value for name, value in settings.items()}
    before = {flag: getattr(module.config, flag) for flag in flags}
    try:
        for flag, value in flags.items():
            module.config.update(flag, value)
        yield
    finally:
        for flag, value in before.items():
            module.config.update(flag, value)


def flag_name(name: str) -> str:
    """The full name of a configuration flag: ``x64`` and ``enable_x64`` are ``jax_enable_x64``."""
    name = ALIASES.get(name, name)
    return name if name.startswith("jax_") else f"jax_{name}"


def to_device(value: Any, module: Any) -> Any:
    """Replace the NumPy arrays in a tree of plain containers by arrays of ``module``."""
    if isinstance(value, np.ndarray):
        return module.device_put(value)
    if isinstance(value, dict):
        return {key: to_device(child, module) for key, child in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(to_device(child, module) for child in value))
    if isinstance(value, list | tuple):
        return type(value)(to_device(child, module) for child in value)
    return value


def describe(value: Any, root: str) -> Leaf | Node:
    """Describe a result in picklable data."""
    if isinstance(value, dict):
        keys = tuple(value)
        return Node("dict", keys, tuple(describe(value[key], root) for key in keys))
    if isinstance(value, list | tuple):
        fields = getattr(value, "_fields", None)
        kind = type(value).__name__ if fields or type(value) not in (list, tuple) else None
        children = tuple(describe(child, root) for child in value)
        return Node(kind or type(value).__name__, fields or tuple(range(len(children))), children)
    return _describe_leaf(value, root)


def _describe_leaf(value: Any, root: str) -> Leaf:
    if isinstance(value, np.ndarray | np.generic):
        return Leaf("numpy", np.array(value), dtype_name(value.dtype), value.shape)
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return Leaf("python", value, dtype=type(value).__name__)
    if isinstance(value, np.dtype):
        return Leaf("dtype", dtype_name(value))
    if _is_scalar_type(value):
        return Leaf("dtype", dtype_name(np.dtype(value)))
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _describe_array(value, root)
    return Leaf("object", type(value).__name__)


def _describe_array(value: Any, root: str) -> Leaf:
    dtype, shape = dtype_name(value.dtype), tuple(value.shape)
    weak_type = bool(getattr(value, "weak_type", False))
    if not isinstance(value, importlib.import_module(root).Array):
        return Leaf("struct", type(value).__name__, dtype, shape, weak_type)
    if dtype.startswith("key<"):
        value = importlib.import_module(f"{root}.random").key_data(value)
    return Leaf("array", np.array(value), dtype, shape, weak_type)


def _is_scalar_type(value: Any) -> bool:
    """Whether ``value`` stands for a dtype, as ``jnp.float32`` and ``np.float32`` do."""
    return isinstance(value, type) and (hasattr(value, "dtype") or issubclass(value, np.generic))


def dtype_name(dtype: Any) -> str:
    """The name of a dtype: ``float0`` too, which NumPy shows as a structure."""
    if isinstance(dtype, np.dtype) and dtype.names == ("float0",):
        return "float0"
    return str(dtype)


def describe_error(exception: Exception, root: str) -> Raised:
    """Describe an exception. Of the implementation's own classes, those that it makes public."""
    errors = importlib.import_module(f"{root}.errors")
    names = tuple(
        c.__name__
        for c in type(exception).__mro__
        if issubclass(c, Exception)
        and (c.__module__.partition(".")[0] != root or hasattr(errors, c.__name__))
    )
    text = "".join(traceback.format_exception(exception))
    return Raised(names, str(exception), text)


def rebuild(description: Leaf | Node | None) -> Any:
    """The value that a description stands for, in NumPy arrays and plain containers."""
    if isinstance(description, Node):
        children = [rebuild(child) for child in description.children]
        if description.kind == "dict":
            return dict(zip(description.keys, children))
        return children if description.kind == "list" else tuple(children)
    return None if description is None else description.value
