"""The exceptions that Covector raises.

Each class is also the builtin exception that a Python or NumPy user would expect, and has the
same builtin bases as the class of that name in JAX, so `except` clauses carry over. Everything
raised by Covector itself derives from :class:`CovectorError`. Importing this module loads nothing:
:class:`JaxRuntimeError`, the runtime's own class, is fetched on first access.

The classes take a finished message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxlib._jax import JaxRuntimeError

__all__ = [
    "ConcretizationTypeError",
    "CovectorError",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "NonConcreteBooleanIndexError",
    "ShapeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TypePromotionError",
    "UnexpectedTracerError",
]


class CovectorError(Exception):
    """Base of every exception that Covector itself raises.

    Catch it to handle any error of the library and to let the others pass::

        try:
            step(parameters, batch)
        except covector.errors.CovectorError as error:
            report(error)
    """


class ShapeError(CovectorError, TypeError, ValueError):
    """Shapes, ranks or axis sizes of the arguments do not fit together.

    It is both a `TypeError` and a `ValueError`: NumPy raises the one where JAX's primitives raise
    the other.

    Wrong: the inner axes differ::

        jnp.ones((2, 3)) @ jnp.ones((2, 3))

    Right::

        jnp.ones((2, 3)) @ jnp.ones((2, 3)).T
    """


class JAXTypeError(CovectorError, TypeError):
    """Base of the type errors that come from tracing.

    Catch it to handle all of :class:`ConcretizationTypeError`, :class:`TracerArrayConversionError`,
    :class:`TracerIntegerConversionError`, :class:`UnexpectedTracerError` and
    :class:`KeyReuseError` at once.
    """


class JAXIndexError(CovectorError, IndexError):
    """Base of the index errors that come from tracing.

    See :class:`NonConcreteBooleanIndexError`, its one subclass.
    """


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where a concrete Python value is needed.

    Under `jit` (and inside `scan`, `vmap`, ...) an array stands for many values, so it has a shape
    and a dtype but no numbers. Shapes and axes must be known while the function is traced.

    Wrong: the length depends on a traced value::

        @covector.jit
        def ramp(n):
            return jnp.arange(n)

    Right: mark the argument as static::

        @functools.partial(covector.jit, static_argnums=0)
        def ramp(n):
            return jnp.arange(n)
    """


class TracerBoolConversionError(ConcretizationTypeError):
    """A Python branch or loop asked for the truth of a traced value.

    `if`, `while`, `and`, `or`, `not`, `assert` and `bool()` need a concrete value.

    Wrong::

        @covector.jit
        def relu(x):
            return x if x > 0 else 0.0

    Right: select, or branch with `covector.lax.cond`::

        @covector.jit
        def relu(x):
            return jnp.where(x > 0, x, 0.0)
    """


class TracerArrayConversionError(JAXTypeError):
    """A traced value was given to NumPy, which needs its numbers.

    Wrong::

        @covector.jit
        def f(x):
            return np.sin(x)

    Right: call the function of `covector.numpy` with the same name::

        @covector.jit
        def f(x):
            return jnp.sin(x)
    """


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used as a Python integer.

    It happens where Python asks for an index: `range(n)`, `a_list[i]`, `np_array[i]`.

    Wrong: the index into a Python list is traced::

        @covector.jit
        def pick(i):
            return [1.0, 2.0, 3.0][i]

    Right: index an array::

        @covector.jit
        def pick(i):
            return jnp.array([1.0, 2.0, 3.0])[i]
    """


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean mask was used as an index.

    The size of the result would depend on the values of the mask.

    Wrong::

        @covector.jit
        def total_of_positive(x):
            return jnp.sum(x[x > 0])

    Right: keep the shape, and select with three-argument `where`::

        @covector.jit
        def total_of_positive(x):
            return jnp.sum(jnp.where(x > 0, x, 0))
    """


class UnexpectedTracerError(JAXTypeError):
    """A traced value was used after the transformation that made it had ended.

    A transformed function must hand out its values as return values, not as side effects.

    Wrong: the tracer escapes through a global::

        seen = []

        @covector.jit
        def f(x):
            seen.append(x)
            return x + 1

        f(1)
        seen[0] + 1

    Right: return it::

        @covector.jit
        def f(x):
            return x + 1, x
    """


class JaxprTypeError(CovectorError, TypeError):
    """A jaxpr breaks the rules of the intermediate representation.

    Raised by the checker (`covector.core.check_jaxpr`, and after each transformation when the flag
    `jax_enable_checks` is on). A program of the public API never meets it: when it does, a rule of
    some primitive is wrong.
    """


class KeyReuseError(JAXTypeError):
    """A random key was consumed twice, so that two draws are not independent.

    Raised only when the flag `jax_debug_key_reuse` is on.

    Wrong::

        key = covector.random.key(0)
        x = covector.random.normal(key)
        y = covector.random.uniform(key)

    Right: split it first::

        key_x, key_y = covector.random.split(covector.random.key(0))
        x = covector.random.normal(key_x)
        y = covector.random.uniform(key_y)
    """


class InconclusiveDimensionOperation(CovectorError):
    """The outcome of an operation on symbolic dimensions is not known.

    Raised with shape polymorphism, when a comparison of dimension expressions such as `a >= b`
    holds for some values of the variables and not for others.

    Wrong::

        a, b = covector.export.symbolic_shape("a, b")
        a >= b

    Right: state what holds::

        a, b = covector.export.symbolic_shape("a, b", constraints=["a >= b"])
        a >= b
    """


class TypePromotionError(CovectorError, ValueError):
    """The dtypes of the arguments have no common dtype under the promotion rules in force.

    Wrong: narrow floating-point types are never promoted implicitly::

        jnp.ones(3, jnp.float8_e4m3fn) + jnp.ones(3, jnp.float32)

    Right: convert first::

        jnp.ones(3, jnp.float8_e4m3fn).astype(jnp.float32) + jnp.ones(3, jnp.float32)

    Also raised for any mixture of dtypes while `jax_numpy_dtype_promotion` is "strict".
    """


def __getattr__(name: str) -> object:
    if name == "JaxRuntimeError":
        from jaxlib._jax import JaxRuntimeError

        globals()[name] = JaxRuntimeError
        return JaxRuntimeError
    raise AttributeError(f"module 'covector.errors' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def did_you_mean(name: str, known: list[str]) -> str:
    """A hint with the known names nearest to a misspelled one, or an empty string.

    >>> did_you_mean("enable_x46", ["enable_x64", "debug_nans"])
    ' Did you mean enable_x64?'
    """
    import difflib

    matches = difflib.get_close_matches(name, known, n=3)
    return f" Did you mean {' or '.join(matches)}?" if matches else ""


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user's program, outside all pieces of the library."""
    import sys
    import warnings

    folders = tuple(getattr(sys.modules.get("covector"), "__path__", ()))
    warnings.warn(message, category, stacklevel=2, skip_file_prefixes=folders)
