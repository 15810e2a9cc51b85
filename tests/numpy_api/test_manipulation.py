"""Shapes, axes, order of elements, joining and splitting, against the oracle."""

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors


def test_shapes(oracle):
    compare_all(
        oracle,
        """
            jnp.reshape(f, 6)
            jnp.reshape(f, (3, -1))
            jnp.reshape(f, (3, 2), order='F')
            f.reshape(3, 2)
            f.reshape((6,))
            f.reshape(-1)
            jnp.reshape(2.0, (1, 1))
            jnp.ravel(t)
            jnp.ravel(f, order='F')
            f.ravel()
            f.flatten()
            f.flatten('F')
            jnp.expand_dims(f, 0)
            jnp.expand_dims(f, (0, -1))
            jnp.squeeze(f[None])
            jnp.squeeze(f[None], 0)
            f[:, None].squeeze(axis=(1,))
            jnp.atleast_1d(2.0)
            jnp.atleast_2d(v)
            jnp.atleast_3d(f)
            jnp.atleast_3d(v)
            jnp.atleast_2d(v, 1)
            jnp.broadcast_to(v, (2, 3))
            jnp.broadcast_to(1.0, 3)
            jnp.broadcast_arrays(f, 1)
            jnp.broadcast_shapes((2, 1), (3,))
            jnp.shape(f)
            jnp.ndim(t)
            jnp.size(f)
            jnp.size(f, 0)
            jnp.broadcast_to(f[:, :1], (2, 3))
            jnp.reshape(empty, (3, 0))
            """,
    )


def test_axes(oracle):
    compare_all(
        oracle,
        """
            jnp.transpose(t)
            jnp.transpose(t, (1, 2, 0))
            t.T
            t.mT
            t.transpose(2, 0, 1)
            t.transpose((0, 2, 1))
            jnp.permute_dims(t, (2, 1, 0))
            jnp.matrix_transpose(t)
            jnp.swapaxes(t, 0, -1)
            t.swapaxes(1, 2)
            jnp.moveaxis(t, 0, -1)
            jnp.moveaxis(t, [0, 1], [-1, 0])
            jnp.rollaxis(t, 2)
            jnp.rollaxis(t, 0, 3)
            jnp.rollaxis(t, 1, 0)
            v.T
            """,
    )


def test_order(oracle):
    compare_all(
        oracle,
        """
            jnp.flip(f)
            jnp.flip(f, 0)
            jnp.flip(t, (0, 2))
            jnp.flipud(f)
            jnp.fliplr(f)
            jnp.rot90(f)
            jnp.rot90(f, 2)
            jnp.rot90(f, -1)
            jnp.rot90(t, 1, (1, 2))
            jnp.roll(f, 1)
            jnp.roll(f, -4, axis=1)
            jnp.roll(f, (1, 2), axis=(0, 1))
            jnp.roll(v, 7)
            jax.jit(jnp.roll)(f, 2)
            jnp.roll(f, 1, axis=(0, 1))
            jnp.roll(empty, 1, axis=0)
            """,
    )


def test_joining(oracle):
    compare_all(
        oracle,
        """
            jnp.concatenate([f, g])
            jnp.concatenate((f, g), axis=1)
            jnp.concatenate([f, v], axis=None)
            jnp.concatenate(t)
            jnp.concatenate([f, i])
            jnp.concatenate([i8, u8], dtype=jnp.int32)
            jnp.concat([f, g])
            jnp.stack([f, g])
            jnp.stack([f, i], axis=-1)
            jnp.stack([1.0, 2.0])
            jnp.stack([s, 2])
            jnp.stack(f)
            jnp.vstack([v, f])
            jnp.hstack([v, v])
            jnp.hstack([f, g])
            jnp.dstack([v, v])
            jnp.column_stack([v, v])
            jnp.append(v, 3)
            jnp.append(f, g, axis=1)
            jnp.block([[f, g], [g, f]])
            jnp.block([v, v])
            jnp.block(1.0)
            jnp.stack([f, g], axis=1, dtype=jnp.bfloat16)
            jnp.hstack([1, 2])
            """,
    )


def test_splitting(oracle):
    compare_all(
        oracle,
        """
            jnp.split(f, 3, axis=1)
            jnp.split(v, [1])
            jnp.split(jnp.arange(5), [2, 4, 7])
            jnp.split(jnp.arange(5), np.array([1, 3]))
            jnp.array_split(jnp.arange(5), 3)
            jnp.vsplit(f, 2)
            jnp.hsplit(f, 3)
            jnp.dsplit(t, 2)
            jnp.unstack(f)
            jnp.unstack(t, axis=1)
            jnp.split(jnp.arange(6), [-2])
            list(f)
            [x for x in v]
            """,
    )


def test_repetition(oracle):
    compare_all(
        oracle,
        """
            jnp.tile(f, 2)
            jnp.tile(f, (2, 1, 2))
            jnp.tile(v, ())
            jnp.tile(f, 0)
            jnp.repeat(f, 2)
            jnp.repeat(f, 2, axis=0)
            jnp.repeat(jnp.arange(3), jnp.array([1, 0, 2]))
            jnp.repeat(f, np.array([2, 1]), axis=0)
            f.repeat(2, 1)
            jnp.repeat(jnp.arange(3), jnp.array([1, 0, 2]), total_repeat_length=5)
            jnp.repeat(2.0, 3)
            jnp.repeat(jnp.arange(3), jnp.array([1, 0, 2]), total_repeat_length=2)
            jax.jit(lambda x, r: jnp.repeat(x, r, total_repeat_length=4))(v, jnp.array([0, 3, 1]))
            """,
    )


def test_padding(oracle):
    compare_all(
        oracle,
        """
            jnp.pad(f, 1)
            jnp.pad(f, ((1, 0), (0, 2)), constant_values=9)
            jnp.pad(v, (1, 2), mode='edge')
            jnp.pad(v, (2, 2), mode='reflect')
            jnp.pad(v, (4, 5), mode='reflect')
            jnp.pad(v, (4, 5), mode='symmetric')
            jnp.pad(v, (4, 5), mode='wrap')
            jnp.pad(f, 1, mode='edge')
            jnp.pad(i8, 1, constant_values=(1, 2))
            jnp.pad(f, 3, constant_values=((1, 2), (3, 4)))
            jnp.pad(s, 0)
            jnp.pad(i, ((1, 1),))
            jnp.pad(v, (1, 2), mode='empty').shape
            """,
    )


def test_errors(oracle):
    compare_errors(
        oracle,
        """
            jnp.reshape(f, (4,))
            jnp.reshape(f, (-1, -1))
            jnp.reshape(f, (-1, 4))
            jnp.reshape([1, 2], (2,))
            jnp.transpose(f, (0, 0))
            jnp.swapaxes(f, 0, 5)
            jnp.expand_dims(f, 5)
            jnp.squeeze(f, 0)
            jnp.broadcast_to(f, (2, 2))
            jnp.concatenate([f, v])
            jnp.concatenate([])
            jnp.concatenate([1.0, 2.0])
            jnp.stack([f, v])
            jnp.stack([])
            jnp.split(f, 2, axis=1)
            jnp.pad(f, -1)
            jnp.pad(f, 1, mode='foo')
            jnp.concatenate([f, g], axis=3)
            jnp.moveaxis(f, 0, 7)
            jnp.flip(f, 3)
            jnp.matrix_transpose(v)
            jnp.repeat(v, jnp.array([1, 2]))
            jnp.atleast_1d(1, [2])
            jnp.unstack(s)
            jax.jit(jnp.repeat)(v, 2)
            jnp.vstack(3)
            jnp.broadcast_shapes((2,), (3,))
            """,
    )


def test_cuts_that_are_not_sorted_split_as_in_numpy():
    parts = jnp.split(jnp.arange(6), [4, 2])
    for part, expected in zip(parts, np.split(np.arange(6), [4, 2]), strict=True):
        np.testing.assert_array_equal(part, expected)


def test_two_padding_values_meet_as_in_numpy():
    x = np.arange(1, 10).reshape(3, 3)
    np.testing.assert_array_equal(
        jnp.pad(x, 3, constant_values=(1, 2)), np.pad(x, 3, constant_values=(1, 2))
    )


@pytest.mark.parametrize("shape", [(6,), (3, 2), (1, 6, 1)])
def test_reshape_has_a_gradient(shape):
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    gradient = covector.grad(lambda v: (v.reshape(shape) ** 2).sum())(x)
    np.testing.assert_allclose(gradient, 2 * x)
