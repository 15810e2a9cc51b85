"""`checkpoint` and its policies: the same derivatives, from fewer residuals."""

from __future__ import annotations

import covector as cv
import numpy as np
import pytest
from core.transformed import check
from covector import lax
from covector.ad_checkpoint import checkpoint_name, print_saved_residuals, saved_residuals
from oracle import Case

PROGRAMS = {
    "no policy": "g = jax.checkpoint(h)\nf = lambda w, x: g(w, x)",
    "dots": "f = jax.checkpoint(h, policy=jax.checkpoint_policies.dots_saveable)",
    "names": "f = jax.checkpoint(h, policy=jax.checkpoint_policies.save_only_these_names('z'))",
    "second derivatives": """
g = jax.grad(lambda w, x: lax.reduce_sum(jax.checkpoint(h)(w, x), (0,)))
f = jax.checkpoint(lambda w, x: lax.mul(g(w, x), w))
""",
    "closure": "f = lambda w, x: jax.checkpoint(lambda y: lax.mul(h(w, y), x))(x)",
    "in a jit": "f = jax.jit(jax.checkpoint(jax.jit(h)))",
    "in a scan": """
step = jax.checkpoint(lambda c, w: (lax.sin(lax.mul(c, w)), c), prevent_cse=False)
f = lambda w, x: lax.scan(step, x, w)
""",
    "of a scan": """
step = lambda c, w: (lax.sin(lax.mul(c, w)), c)
f = jax.checkpoint(lambda w, x: lax.scan(step, x, w))
""",
}
SETUP = """
from jax.ad_checkpoint import checkpoint_name
def h(w, x):
    z = checkpoint_name(lax.dot(lax.sin(w), x), 'z')
    return lax.sin(lax.mul(z, z))
args = (np.array([[0.5, 0.25], [1.0, 2.0]], np.float32), np.array([0.5, -1.5], np.float32))
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_under_transformations(oracle, name):
    check(oracle, f"{SETUP}\n{PROGRAMS[name]}")


W, X = np.ones((3, 2), np.float32), np.ones(2, np.float32)


def layer(w, x):
    z = checkpoint_name(cv.jit(lax.dot)(w, x), "z")
    return lax.reduce_sum(checkpoint_name(lax.sin(lax.sin(z)), "y"), (0,))


ONLY_INPUTS = ["from the argument w", "from the argument x"]
POLICIES = cv.checkpoint_policies
# policy, and how the kept values start that are no inputs.
KEPT = {
    "none": (None, []),
    "nothing": (POLICIES.nothing_saveable, []),
    "everything": (POLICIES.everything_saveable, ["output of cos", "output of cos"]),
    "dots": (POLICIES.dots_saveable, ["output of dot_general"]),
    "products with weights": (
        POLICIES.dots_with_no_batch_dims_saveable,
        ["output of dot_general"],
    ),
    "one name": (POLICIES.save_only_these_names("z"), ["named 'z'"]),
    "other names": (POLICIES.save_any_names_but_these("z"), []),
    "names and dots": (
        POLICIES.save_from_both_policies(
            POLICIES.dots_saveable, POLICIES.save_only_these_names("z")
        ),
        ["named 'z'"],
    ),
    "kept and moved": (
        POLICIES.save_and_offload_only_these_names(
            names_which_can_be_saved=["y"],
            names_which_can_be_offloaded=["z"],
            offload_src="device",
            offload_dst="pinned_host",
        ),
        ["output of device_put"],
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_policy_decides_what_is_kept(name):
    policy, expected = KEPT[name]
    sources = [s for _, s in saved_residuals(cv.checkpoint(layer, policy=policy), W, X)]
    assert sources[:2] == ONLY_INPUTS
    assert len(sources) == 2 + len(expected), sources
    assert all(s.startswith(e) for s, e in zip(sources[2:], expected, strict=True)), sources


def test_dots_with_batch_dims_are_not_products_with_weights():
    def product(x, y):
        numbers = (((2,), (1,)), ((0,), (0,)))
        return lax.sin(lax.dot_general(x, y, numbers))

    policy = POLICIES.dots_with_no_batch_dims_saveable
    x = np.ones((2, 3, 3), np.float32)
    assert len(saved_residuals(cv.checkpoint(product, policy=policy), x, x)) == 2
    assert len(saved_residuals(cv.checkpoint(product, policy=POLICIES.checkpoint_dots), x, x)) == 3


def test_backward_program_computes_again_behind_a_barrier():
    def layer(w, x):
        return lax.reduce_sum(lax.sin(lax.dot_general(w, x, (((1,), (0,)), ((), ())))), (0,))

    text = cv.jit(cv.grad(cv.checkpoint(layer))).lower(W, X).as_text()
    assert text.count("stablehlo.dot_general") == 3  # forward, again, cotangent of w
    assert text.count("optimization_barrier") == 1
    text = cv.jit(cv.grad(cv.checkpoint(layer, prevent_cse=False))).lower(W, X).as_text()
    assert "optimization_barrier" not in text


def test_print_saved_residuals(capsys):
    print_saved_residuals(cv.checkpoint(lambda p: lax.sin(p["w"])), {"w": X})
    assert capsys.readouterr().out == "f32[2] from the argument p['w']\n"


CASES = (
    "jax.checkpoint(lambda x, n: lax.neg(x) if n else lax.abs(x), static_argnums=(1,))(1.0, True)",
    "jax.checkpoint(lambda x, n: lax.neg(x) if n else lax.abs(x), static_argnums=-1)(1.0, False)",
    "jax.grad(jax.remat(lambda x, n: lax.integer_pow(x, n), static_argnums=1))(3.0, 2)",
    "jax.checkpoint(lambda x: {'a': (lax.abs(x), lax.neg(x)), 'b': None})(1.0)",
    "jax.grad(jax.checkpoint(lambda x, i: lax.mul(x, lax.convert_element_type(i, np.float32))))"
    "(np.float32(3.0), 2)",
)


def test_values(oracle):
    oracle.compare_many([Case(case, may_raise=True) for case in CASES])


def test_static_argument_by_name():
    function = cv.checkpoint(lambda x, *, n: x if n == "a" else None, static_argnames="n")
    assert float(function(1.0, n="a")) == 1.0
    assert function(1.0, n="b") is None


def test_value_of_an_argument_that_is_not_static():
    with pytest.raises(cv.errors.ConcretizationTypeError) as caught:
        cv.checkpoint(lambda x: x if x else 0)(1.0)
    assert "static_argnums" in "".join(caught.value.__notes__)
    with pytest.raises(ValueError, match="names a position that the call of"):
        cv.checkpoint(lambda x: x, static_argnums=(1,))(1.0)
