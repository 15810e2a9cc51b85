"""Programs under stacks of transformations, against the oracle.

A program is a snippet that defines ``f``, a function of float arrays that gives a tree of arrays,
and ``args``. The oracle computes what all stacks give in one jitted function; Covector does so in
eager code too, where every transformation works on concrete values.
"""

from __future__ import annotations

from oracle import Oracle, Tolerance, agree

PRELUDE = """
args = tuple([jax.device_put(x) for x in args])
every = tuple(range(len(args)))

def total(*a):
    out = 0.0
    for x in tree.leaves(f(*a)):
        if x.dtype.kind in "fc":
            x = lax.real(lax.mul(x, x)) if x.dtype.kind == "c" else lax.sin(x)
            out = lax.add(out, lax.reduce_sum(x, tuple(range(x.ndim))))
    return out

def tangents(a):
    return tuple([lax.cos(x) for x in a])

def alone(i, a):
    return lambda x: total(*a[:i], x, *a[i + 1 :])

def batched(a, which, axis=0):
    def pair(x):
        where = axis % (x.ndim + 1)
        other = lax.mul(x, np.asarray(0.75, x.dtype)[()])
        return lax.concatenate([lax.expand_dims(y, (where,)) for y in (x, other)], where)
    return [pair(x) if i in which else x for i, x in enumerate(a)]

def axes(which, axis=0):
    return tuple([axis if i in which else None for i in every])

def few(*a):
    return [
        f(*a),
        jax.jvp(total, a, tangents(a)),
        jax.grad(total, every)(*a),
        jax.vmap(f, axes(every))(*batched(a, every)),
        jax.vmap(jax.grad(total, every), axes([0], -1))(*batched(a, [0], -1)),
    ]

def forward(*a):
    return [
        f(*a),
        jax.jvp(total, a, tangents(a)),
        [jax.jvp(alone(i, a), (a[i],), (lax.cos(a[i]),)) for i in every],
        jax.linearize(total, *a)[1](*tangents(a)),
        jax.jacfwd(jax.jacfwd(total))(*a),
        jax.vmap(f, axes(every))(*batched(a, every)),
        [jax.vmap(f, axes([i], -1), -1)(*batched(a, [i], -1)) for i in every],
        jax.vmap(jax.vmap(f, axes([0])), axes(every))(*batched(batched(a, [0]), every)),
        jax.vmap(lambda *b: jax.jvp(total, b, tangents(b)), axes([0]))(*batched(a, [0])),
    ]

def reverse(*a):
    return [
        *forward(*a),
        jax.grad(total, every)(*a),
        [jax.grad(total, i)(*a) for i in every],
        jax.jacfwd(jax.grad(total))(*a),
        jax.jacrev(jax.grad(total))(*a),
        jax.jacrev(jax.jacfwd(total))(*a),
        jax.vmap(jax.grad(total, every), axes(every))(*batched(a, every)),
        [jax.vmap(jax.grad(total, i), axes([i]))(*batched(a, [i])) for i in every],
        jax.grad(lambda *b: lax.reduce_sum(jax.vmap(total, axes([0]))(*b), (0,)))(*batched(a, [0])),
    ]
"""

TOLERANCE = Tolerance(rtol=2e-5, atol=2e-5, check_weak_type=False)


def check(oracle: Oracle, program: str, which: str = "few") -> None:
    """Assert that Covector agrees with the oracle on the program, eager and jitted.

    ``which`` is "few" for some stacks, "reverse" for all, and "forward" for all of a program that
    cannot be differentiated in reverse.
    """
    expected = oracle.run(f"{program}\n{PRELUDE}\njax.jit({which})(*args)")
    assert expected.error is None, f"the oracle raised\n{expected.error.traceback}"
    checked = oracle.using(enable_checks=True)
    for function in (which, f"jax.jit({which})"):
        actual = checked.run_covector(f"{program}\n{PRELUDE}\n{function}(*args)")
        differences = agree(actual, expected, TOLERANCE)
        assert not differences, "\n".join([program, function, *differences])
