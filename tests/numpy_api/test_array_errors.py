"""What arrays and traced values answer to misuse: the class of JAX, what came, and the remedy."""

import math
import operator

import covector
import covector.numpy as jnp
import numpy as np
import pytest
from covector.errors import (
    ConcretizationTypeError,
    NonConcreteBooleanIndexError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)

VECTOR = np.arange(3, dtype=np.float32)


def assign(x):
    x[0] = 1


def add_in_place(x):
    x[0] += 1


# --- arrays ---------------------------------------------------------------------------------------

OF_ARRAYS = [
    (assign, TypeError, r"immutable.*x = x.at\[idx\].set\(y\)"),
    (add_in_place, TypeError, r"immutable.*x.at\[idx\]"),
    (lambda x: x["a"], TypeError, "a string is no index; got 'a'"),
    (lambda x: x[1.5], TypeError, "integer or boolean type, got indexer with type float64: 1.5"),
    (lambda x: x[x], TypeError, "got indexer with type float32"),
    (lambda x: x[[0, 1]], TypeError, r"x\[jnp.array\(seq\)\]"),
    (lambda x: x[0, 1], IndexError, "array is 1-dimensional, but 2 were indexed"),
    (lambda x: x[..., ...], IndexError, "single ellipsis"),
    (lambda x: x[{}], IndexError, "Got {}"),
    (lambda x: x[7], IndexError, "index 7 is out of bounds for axis 0 with size 3"),
    (lambda x: x[np.ones(4, bool)], IndexError, r"got \(4,\), expected \[3\]"),
    (lambda x: x[0.5:], TypeError, r"integers or None, got slice\(0.5, None, None\)"),
    (lambda x: x["a":], TypeError, "integers or None, got slice"),
    (lambda x: x[::0], ValueError, "slice step cannot be zero"),
    (lambda x: x == [0, 1, 2], TypeError, "Convert the sequence with covector.numpy.array"),
    (lambda x: x + [0, 1, 2], TypeError, "unsupported operand"),
    (lambda x: x + "a", TypeError, "unsupported operand"),
    (lambda x: jnp.sin([1.0]), TypeError, "sin.*<class 'list'>.*covector.numpy.array"),
    (lambda x: x + jnp.ones(4), ValueError, r"\(3,\), \(4,\)"),
    (lambda x: x @ jnp.ones(4), ValueError, r"matmul.*\(3,\).*\(4,\)"),
    (lambda x: x.reshape(2, 2), TypeError, r"shape \(3,\) \(size 3\) into shape \(2, 2\)"),
    (lambda x: x.sum(axis=1), ValueError, "axis 1 is out of bounds for array of dimension 1"),
    (lambda x: x.sum(axis=1.0), TypeError, "axis must be an integer.*got 1.0"),
    (lambda x: x.sum(axis="a"), TypeError, "axis must be an integer.*got 'a'"),
    (lambda x: jnp.zeros(1.5), TypeError, "zeros: a shape must be.*got 1.5"),
    (lambda x: jnp.zeros((2, "a")), TypeError, "zeros: a shape must be.*got "),
    (lambda x: x.at[0].set(jnp.ones(2)), ValueError, r"values of shape \(2,\)"),
    (lambda x: x.at[0].set(1, mode="foo"), ValueError, "expected one of clip, fill, drop"),
    (lambda x: x.flat, NotImplementedError, "immutable"),
    (lambda x: jnp.add(x, 1, out=VECTOR), NotImplementedError, "immutable.*use the function's"),
    (lambda x: jnp.asarray(["a"]), TypeError, "'a' with dtype <U1"),
]


@pytest.mark.parametrize("call, error, message", OF_ARRAYS)
def test_arrays(call, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        call(jnp.asarray(VECTOR))


def test_adding_to_a_name_binds_it_anew():
    x = y = jnp.asarray(VECTOR)
    y += 1
    assert x.tolist() == [0, 1, 2] and y.tolist() == [1, 2, 3]


# --- traced values --------------------------------------------------------------------------------

STATIC = "static_argnums, static_argnames"
SCALARS = [
    (bool, TracerBoolConversionError, "covector.numpy.where, covector.lax.cond"),
    (lambda x: 1 if x > 0 else 2, TracerBoolConversionError, "Python branch.*made at .*test_array"),
    (lambda x: x > 0 and x < 2, TracerBoolConversionError, "covector.lax.while_loop"),
    (float, ConcretizationTypeError, r"float\(\).*as an argument of.*\.astype\(float\)"),
    (int, ConcretizationTypeError, r"int\(\) needs the value.*\.astype\(int\)"),
    (complex, ConcretizationTypeError, r"complex\(\)"),
    (math.sqrt, ConcretizationTypeError, r"float\(\)"),
    (operator.index, TracerIntegerConversionError, r"i32\[\]"),
    (range, TracerIntegerConversionError, "covector.lax.fori_loop"),
    (lambda x: [1, 2][x], TracerIntegerConversionError, "Index an array in place of a list"),
    (np.asarray, TracerArrayConversionError, "covector.numpy in place of numpy"),
    (lambda x: np.add(x, 1), TracerArrayConversionError, "NumPy array"),
    (lambda x: np.ones(3)[x], TracerArrayConversionError, "NumPy array"),
    (lambda x: x.item(), ConcretizationTypeError, r"item\(\).*convert it outside"),
    (lambda x: x.tolist(), ConcretizationTypeError, r"tolist\(\)"),
    (lambda x: f"{x:d}", TypeError, "not known while it is traced"),
    (hash, TypeError, "unhashable.*as the key of a dictionary"),
    (lambda x: {x: 1}, TypeError, f"unhashable.*{STATIC}"),
    (lambda x: jnp.zeros(x), ConcretizationTypeError, "zeros: a shape must be known"),
    (lambda x: jnp.ones((2, x)), ConcretizationTypeError, r"ones.*got \(2, StageTracer<i32\[\]>\)"),
    (lambda x: VECTOR.sum() + jnp.reshape(VECTOR, (x, 1)), TypeError, "reshape: a shape must be"),
    (lambda x: jnp.arange(x), ConcretizationTypeError, "arange: the value of stop"),
    (lambda x: jnp.linspace(0, 1, x), ConcretizationTypeError, "linspace: the value of num"),
    (lambda x: jnp.sum(VECTOR, axis=x), ConcretizationTypeError, "axis must be known"),
    (lambda x: jnp.mean(VECTOR, axis=(x,)), TypeError, "axis must be known"),
    (lambda x: jnp.cumsum(VECTOR, axis=x), ValueError, f"as a static argument.*{STATIC}"),
    (lambda x: jnp.asarray(VECTOR)[:x], IndexError, r"x\[covector.ds\(start, size\)\]"),
    (lambda x: jnp.asarray(VECTOR)[0.5:], TypeError, "integers or None"),
]


@pytest.mark.parametrize("call, error, message", SCALARS)
def test_traced_scalars(call, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        covector.jit(call)(1)


SIZE = "Give `size=`"
VECTORS = [
    (jnp.nonzero, ConcretizationTypeError, f"nonzero.*{SIZE}"),
    (jnp.argwhere, ConcretizationTypeError, SIZE),
    (jnp.flatnonzero, ConcretizationTypeError, SIZE),
    (lambda x: jnp.where(x > 1), ConcretizationTypeError, f"{SIZE}.*three-argument jnp.where"),
    (jnp.unique, ConcretizationTypeError, f"unique.*{SIZE}"),
    (jnp.unique_values, ConcretizationTypeError, SIZE),
    (lambda x: jnp.union1d(x, x), ConcretizationTypeError, SIZE),
    (lambda x: x[x > 1], NonConcreteBooleanIndexError, r"bool\[3\].*jnp.where\(mask, x, fill\)"),
    (lambda x: jnp.bincount(x.astype(int)), ConcretizationTypeError, "without length"),
    (lambda x: jnp.repeat(x, x.astype(int)), ConcretizationTypeError, "total_repeat_length"),
    (lambda x: jnp.split(x, x.astype(int)), ConcretizationTypeError, "indices_or_sections"),
    (assign, TypeError, r"immutable.*x.at\[idx\]"),
    (lambda x: 1.0 in x, TracerBoolConversionError, "Python branch"),
    (lambda x: x["a"], TypeError, "string is no index"),
    (lambda x: x[1.5], TypeError, "float64: 1.5"),
    (lambda x: x[5], IndexError, "index 5 is out of bounds"),
    (lambda x: x.astype("foo"), TypeError, "'foo' not understood"),
]


@pytest.mark.parametrize("call, error, message", VECTORS)
def test_traced_vectors(call, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        covector.jit(call)(VECTOR)
