"""Types of six bits and of one: arrays of them are made, moved and read."""

import covector
import covector.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

SIX_BITS = ("float6_e2m3fn", "float6_e3m2fn")
ONE_BIT = tuple([name for name in ("int1", "uint1") if hasattr(ml_dtypes, name)])
PROGRAMS = (
    "jnp.{t}(1)",
    "jnp.array([0.0, 1.0, 1.3, -2.0]).astype(jnp.{t})",
    "jax.jit(lambda x: x)(jnp.array([0, 1, 2], jnp.{t}))",
    "jnp.stack([jnp.array([0, 1, 2], jnp.{t})] * 2).reshape(3, 2)",
    "jnp.array([0, 1, 2], jnp.{t})[1]",
    "jnp.zeros(3, jnp.{t}), jnp.ones((), 'float32').astype(jnp.{t})",
    "jax.vmap(lambda x: x.astype(jnp.{t}))(jnp.arange(3.0))",
    "jax.eval_shape(lambda x: x + 1, jax.ShapeDtypeStruct((2,), jnp.{t}))",
)


@pytest.mark.parametrize("name", SIX_BITS)
def test_six_bits(oracle, name):
    for program in PROGRAMS:
        oracle.compare(program.format(t=name), check_weak_type=False)
    info = jnp.finfo(getattr(jnp, name))
    assert (info.bits, info.dtype) == (6, np.dtype(getattr(ml_dtypes, name)))


@pytest.mark.parametrize("name", ONE_BIT)
def test_one_bit(name):
    """JAX reads zeros and ones of this type as booleans."""
    dtype = np.dtype(getattr(ml_dtypes, name))
    value = np.array([0, 1, 1, 0]).astype(dtype)
    scalar = getattr(jnp, name)
    for x in (jnp.asarray(value), covector.device_put(value), jnp.array([0, 1, 1, 0], scalar)):
        assert x.dtype == scalar
        np.testing.assert_array_equal(np.asarray(x), value)
    assert np.asarray(jnp.ones(2, scalar)).tolist() == [value[1]] * 2
    assert np.asarray(scalar(1)) == value[1]
    assert jnp.iinfo(scalar).bits == 1


@pytest.mark.parametrize("name", ONE_BIT)
def test_no_program_takes_one_bit(name):
    x = jnp.zeros(2, getattr(jnp, name))
    for function in (covector.jit(lambda x: x), lambda x: x.astype("float32"), lambda x: x[0]):
        with pytest.raises(TypeError, match=f"no operations on arrays of dtype {name}"):
            function(x)
