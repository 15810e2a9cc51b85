"""A call of a warm function goes to C++ at once: nothing in Python checks or prepares arguments."""

import sys

import covector.numpy as jnp
import numpy as np
import pytest

X = jnp.array([0.25, 0.5, 0.75])
M = jnp.array(np.diag(np.float32([1, 2, 3])) + 1)
N = jnp.arange(3)
SCOPE = {"jnp": jnp, "x": X, "m": M, "n": N}

CALLS = """
jnp.add(x,x) jnp.sin(x) jnp.dot(x,x) jnp.matmul(x,x) jnp.outer(x,x)
jnp.cross(x,x) jnp.clip(x,0,1) jnp.round(x,1) jnp.nan_to_num(x) jnp.modf(x) jnp.cumsum(x)
jnp.cumprod(x,axis=0) jnp.cumulative_sum(x) jnp.count_nonzero(x) jnp.minmax(x) jnp.nansum(x)
jnp.nanmean(x) jnp.nanvar(x) jnp.nanargmax(x) jnp.nancumsum(x) jnp.median(x) jnp.quantile(x,0.5)
jnp.percentile(x,50.0) jnp.sort(x) jnp.argsort(x,axis=0) jnp.partition(x,1) jnp.top_k(x,2)
jnp.lexsort((x,x)) jnp.searchsorted(x,x) jnp.digitize(x,x) jnp.take_along_axis(x,n,0)
jnp.diff(x) jnp.ediff1d(x) jnp.gradient(x) jnp.unwrap(x) jnp.trapezoid(x) jnp.cov(x)
jnp.corrcoef(m) jnp.convolve(x,x) jnp.correlate(x,x) jnp.polyadd(x,x) jnp.polyval(x,x)
jnp.polyfit(x,x,1) jnp.polyint(x) jnp.poly(x) jnp.ravel(m) jnp.rot90(m) jnp.swapaxes(m,0,1)
jnp.rollaxis(m,1) jnp.atleast_2d(x) jnp.append(x,x) jnp.block([x,x]) jnp.unstack(m)
jnp.resize(x,(2,2)) jnp.trace(m) jnp.diagonal(m) jnp.diag_indices(3) jnp.linalg.norm(m)
jnp.linalg.cond(m) jnp.linalg.cholesky(m) jnp.linalg.inv(m) jnp.linalg.matrix_power(m,2)
jnp.linalg.matrix_rank(m)
jnp.linalg.tensorsolve(m,x) jnp.broadcast_arrays(x,m)
"""


@pytest.mark.parametrize("call", CALLS.split())
def test_no_python_runs(call):
    code = compile(call, "<call>", "eval")
    eval(code, SCOPE)
    frames = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code is not code:
            frames.append(frame.f_code.co_qualname)

    sys.setprofile(note)
    try:
        eval(code, SCOPE)
    finally:
        sys.setprofile(None)
    assert frames == []
