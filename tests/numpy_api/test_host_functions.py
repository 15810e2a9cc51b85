"""Functions that give texts and plans: what they print, and the options of printing."""

import covector.numpy as jnp
import numpy as np


def test_texts():
    x = jnp.array([[0.12345678, 1.0], [-2.5, 1e-9]])
    assert jnp.array_repr(x) == repr(x) and jnp.array_str(x) == str(x)
    assert jnp.array_repr(x[0], precision=2) == "Array([0.12, 1.  ], dtype=float32)"
    assert jnp.array_repr(x[1], suppress_small=True) == "Array([-2.5,  0. ], dtype=float32)"
    assert jnp.array_repr(jnp.arange(3), max_line_width=9).count("\n") >= 2
    assert jnp.array_str(x[0], precision=1) == "[0.1 1. ]"
    assert jnp.array_str(jnp.float32(1.5)) == "1.5"


def test_options_of_printing():
    assert jnp.get_printoptions() == np.get_printoptions()
    with jnp.printoptions(precision=2):
        assert str(jnp.array([0.123456])) == "[0.12]"
    before = jnp.get_printoptions()["precision"]
    try:
        jnp.set_printoptions(precision=3)
        assert str(jnp.array([0.123456])) == "[0.123]"
    finally:
        jnp.set_printoptions(precision=before)
    assert str(jnp.array([0.123456])) == "[0.123456]"


def test_einsum_path():
    x, y, z = np.ones((2, 3)), np.ones((3, 40)), np.ones((40, 2))
    for optimize in (True, "optimal", "greedy", False):
        path, text = jnp.einsum_path("ij,jk,kl->il", x, y, z, optimize=optimize)
        assert sorted(len(step) for step in path) in ([2, 2], [3])
        assert isinstance(str(text), str)
    assert jnp.einsum_path("ij,jk", x, y)[0] == [(0, 1)]
