"""Products that sum over axes, `einsum` among them, against the oracle."""

import functools

import covector
import covector.numpy as jnp
import numpy as np
import pytest

from numpy_api.compare import compare_all, compare_errors

TOLERANCE = {"float32": 1e-5, "bfloat16": 2e-2, "complex64": 1e-5}


def test_dot(oracle):
    compare_all(
        oracle,
        """
            jnp.dot(1.0, 2.0)
            jnp.dot(2, f)
            jnp.dot(f, w)
            jnp.dot(v, v)
            jnp.dot(t, w.T[:4])
            jnp.dot(v, w)
            jnp.dot(f, v)
            jnp.dot(i8, i8.T)
            jnp.dot(i8, w)
            jnp.dot(h, h.T)
            jnp.dot(b[0], b[1])
            jnp.dot(s, f)
            f.dot(w)
            jnp.dot(c, c.T)
            jnp.dot(h, h.T, preferred_element_type=jnp.float32)
            jnp.dot(f, w, precision='highest')
            jnp.dot(empty.T, empty)
            jnp.vdot(c, c)
            jnp.vdot(f, g)
            jnp.inner(f, g)
            jnp.inner(2, f)
            jnp.inner(t, w)
            jnp.outer(i8, f)
            jnp.outer(2, v)
            jnp.kron(f, w)
            jnp.kron(v, 2)
            jnp.kron(v, f)
            jnp.cross(v, v[::-1])
            jnp.cross(f, g)
            jnp.cross(f.T, g.T, axis=0)
            jnp.cross(t.mT, v, axisc=0)
            """,
        rtol=TOLERANCE,
        atol=1e-6,
    )


def test_matmul(oracle):
    compare_all(
        oracle,
        """
            jnp.matmul(f, w)
            jnp.matmul(v, w)
            jnp.matmul(f, v)
            jnp.matmul(v, v)
            jnp.matmul(t.mT, t)
            jnp.matmul(f, w[None])
            jnp.matmul(t[:, None].mT, t)
            jnp.matmul(t.mT, v)
            jnp.matmul(v, t)
            jnp.matmul(t[None, :1].mT, t[:, None])
            f @ w
            jnp.matmul(i8, i8.T)
            jnp.matmul(h, h.T, preferred_element_type=jnp.float32)
            jnp.vecdot(f, g)
            jnp.vecdot(c, c)
            jnp.vecdot(t, t[:1], axis=1)
            jnp.matvec(f, v)
            jnp.matvec(t.mT, f)
            jnp.vecmat(v, w)
            jnp.vecmat(f, t)
            """,
        rtol=TOLERANCE,
        atol=1e-6,
    )


def test_tensordot(oracle):
    compare_all(
        oracle,
        """
            jnp.tensordot(f, w, 1)
            jnp.tensordot(f, g, axes=([0, 1], [0, 1]))
            jnp.tensordot(f, g, axes=0)
            jnp.tensordot(f, g, axes=(1, 1))
            jnp.tensordot(t, w, axes=[[1, 2], [0, 1]])
            jnp.tensordot(t, w)
            jnp.tensordot(f, w, axes=([-1], [0]))
            """,
        rtol=TOLERANCE,
        atol=1e-6,
    )


def test_einsum(oracle):
    compare_all(
        oracle,
        """
            jnp.einsum('ij,jk->ik', f, w)
            jnp.einsum('ij,jk', f, w)
            jnp.einsum('ij->j', f)
            jnp.einsum('ij->', f)
            jnp.einsum('ji', f)
            jnp.einsum('ii', f @ f.T)
            jnp.einsum('ii->i', f @ f.T)
            jnp.einsum('i,i', i8[0], i8[1])
            jnp.einsum('i,j->ij', v, v)
            jnp.einsum('...ij,jk', t.mT, w)
            jnp.einsum(f, [0, 1], g, [2, 1])
            jnp.einsum(f, [0, 1], [1, 0])
            jnp.einsum('bij,bjk->bik', t.mT, t)
            jnp.einsum('bij,bjk->ikb', t.mT, t)
            jnp.einsum('ij,ij->i', f, g)
            jnp.einsum('i,j,k->kij', v, v, v)
            jnp.einsum('ij,jk,kl->il', f, w, w.T)
            jnp.einsum('ij,jk,kl,lm->im', f, w, w.T, w)
            jnp.einsum('ij,kj->k', f, g)
            jnp.einsum('i...->...', t)
            jnp.einsum(' ij , j -> i ', f, v)
            jnp.einsum('iij->j', (f @ f.T)[:, :, None])
            jnp.einsum('i,i', h[0], h[1])
            jnp.einsum('ij,jk->ik', f, w, preferred_element_type=jnp.float32)
            jnp.einsum('ab,bc', i8, w)
            jnp.einsum('...i,...i->...', t, t[:1])
            jnp.einsum('i,->i', v, 2.0)
            jnp.einsum('ij,jk,kl->il', f, w, w.T, optimize=False)
            jnp.einsum('ijk,jil->kl', t, t.swapaxes(0, 1))
            jnp.einsum('ij,jk,kl->il', f, w, w.T, optimize='greedy')
            """,
        rtol=TOLERANCE,
        atol=1e-5,
    )


def test_errors(oracle):
    compare_errors(
        oracle,
        """
            f @ g
            jnp.dot(f, g)
            jnp.matmul(f, 2)
            jnp.matmul(t, t)
            jnp.matmul(jnp.ones((2, 3, 4)), jnp.ones((3, 4, 5)))
            jnp.vdot(f, v)
            jnp.inner(f, w)
            jnp.tensordot(f, f, 1)
            jnp.tensordot(f, g, axes=(0, 1, 2))
            jnp.einsum('ij,kj->ik', f, w)
            jnp.einsum('ij,jk', f)
            jnp.einsum('i->ii', v)
            jnp.einsum('i->j', v)
            jnp.einsum('ij->i', v)
            jnp.cross(v, f.T)
            jnp.dot([1], [2])
            """,
    )


def test_a_mismatch_suggests_the_transpose():
    with pytest.raises(
        covector.errors.ShapeError, match=r"a has shape \(2, 3\).*Did you mean a @ b\.T"
    ):
        jnp.ones((2, 3)) @ jnp.ones((2, 3))


def test_einsum_of_two_is_one_product():
    x, y = np.ones((2, 3, 4), np.float32), np.ones((2, 5, 4), np.float32)
    program = covector.make_jaxpr(lambda x, y: jnp.einsum("bij,bkj->bik", x, y))(x, y)
    assert [e.primitive.name for e in program.eqns] == ["dot_general"]


@pytest.mark.parametrize(
    "product",
    [jnp.matmul, jnp.dot, functools.partial(jnp.einsum, "ij,jk->ik")],
    ids=["matmul", "dot", "einsum"],
)
def test_gradients(product):
    x, w = np.ones((2, 3), np.float32), np.full((3, 4), 2.0, np.float32)
    dx, dw = covector.grad(lambda a, b: product(a, b).sum(), argnums=(0, 1))(x, w)
    np.testing.assert_allclose(dx, np.ones((2, 4)) @ w.T)
    np.testing.assert_allclose(dw, x.T @ np.ones((2, 4)))
