"""Solutions of equations, with derivatives by the implicit function theorem.

How a solution is found does not matter for its derivative: `custom_linear_solve` differentiates the
linear system that it solves, `custom_root` the equation whose root it finds (Blondel et al.,
"Efficient and Modular Implicit Differentiation", 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from covector._api.tracing import Staged, stage_function
from covector._ir.avals import ShapedArray
from covector._ir.jaxpr import Jaxpr
from covector._trace.primitive import Primitive
from covector._trace.trace import current_trace_state, typeof
from covector._transform.batch import BatchAxis, batch, move_batch_axis
from covector._transform.custom import CustomJVP
from covector._transform.jvp import jvp, zeros
from covector._transform.symbolic_zeros import fill_zeros
from covector._tree.registry import dispatch_registry
from covector.lax.barriers import stop_gradient
from covector.lax.control.programs import split
from covector.lax.elementwise import neg, sub

# --- custom_linear_solve --------------------------------------------------------------------------


def custom_linear_solve(
    matvec: Callable[..., Any],
    b: Any,
    solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """The solution x of ``matvec(x) = b``, with the derivatives that this equation implies.

    Args:
      matvec: a linear function from trees like ``b`` to trees like ``b``; it may close over traced
        values, and derivatives flow into them.
      solve: ``solve(matvec, b) -> x``, in any way; it is not differentiated.
      transpose_solve: ``transpose_solve(vecmat, b)`` solves the transposed system; needed for
        reverse mode, unless ``symmetric``.
      symmetric: promise that ``matvec`` is symmetric, so that ``solve`` solves both systems.
      has_aux: ``solve`` and ``transpose_solve`` return ``(x, aux)``, and so does this function.

    Raises:
      ValueError: ``matvec`` or ``solve`` gives something else than a tree like ``b``.
      TypeError: reverse mode without ``transpose_solve``.

    >>> import covector
    >>> from covector import lax
    >>> double = lambda x: lax.mul(x, 2.0)
    >>> halve = lambda matvec, b: lax.div(b, 2.0)
    >>> float(lax.custom_linear_solve(double, 3.0, halve))
    1.5
    """
    leaves, tree = dispatch_registry.flatten(b)
    avals = [typeof(x) for x in leaves]
    forward = _stage_on(matvec, tree, avals)
    _check_like("matvec", forward.out_tree, forward.jaxpr.out_avals, tree, avals)
    solver = _stage_on(lambda y: solve(_plain(matvec), y), tree, avals)
    x_tree, aux_tree = _split_tree("solve", solver, has_aux, tree, avals)
    matrix = Solver(forward.jaxpr, len(forward.consts))
    programs = [matrix, Solver(solver.jaxpr, len(solver.consts)), None, None]
    consts = [*forward.consts, *solver.consts]
    if symmetric:
        programs[2:] = programs[:2]
        consts += consts
    elif transpose_solve is not None:
        transposed = _transpose_of(forward, tree, avals)
        back = _stage_on(lambda y: transpose_solve(transposed, y), tree, avals)
        _split_tree("transpose_solve", back, has_aux, tree, avals)
        flipped = _stage_on(transposed, tree, avals)
        programs[2:] = [
            Solver(flipped.jaxpr, len(flipped.consts)),
            Solver(back.jaxpr, len(back.consts)),
        ]
        consts += [*flipped.consts, *back.consts]
    outs = custom_linear_solve_p.bind(*consts, *leaves, programs=tuple(programs))
    x = x_tree.unflatten(outs[: len(leaves)])
    return (x, aux_tree.unflatten(outs[len(leaves) :])) if has_aux else x


class Solver(NamedTuple):
    """A program that takes ``num_consts`` values that it closes over, and then a vector."""

    jaxpr: Jaxpr
    num_consts: int


Programs = tuple[Solver, Solver, Solver | None, Solver | None]


def _plain(matvec: Callable[..., Any]) -> Callable[..., Any]:
    """``matvec`` as its solver sees it: a function of one tree."""
    return lambda x: matvec(x)


def _stage_on(fun: Callable[..., Any], tree: Any, avals: Sequence[ShapedArray]) -> Staged:
    """The program of a function of one tree."""
    example = tree.unflatten([0] * tree.num_leaves)
    return stage_function(fun, dispatch_registry.flatten(((example,), {}))[1], avals)


def _transpose_of(forward: Staged, tree: Any, avals: Sequence[ShapedArray]) -> Callable[..., Any]:
    from covector._api.linear import linear_transpose

    def matvec(x: Any) -> Any:
        values = [*forward.consts, *dispatch_registry.flatten(x)[0]]
        return tree.unflatten(current_trace_state.value.call(forward.jaxpr, values))

    transposed = linear_transpose(matvec, tree.unflatten(avals))
    return lambda y: transposed(y)[0]


def _check_like(
    name: str,
    out_tree: Any,
    outs: Sequence[ShapedArray],
    tree: Any,
    avals: Sequence[ShapedArray],
) -> None:
    """Raise unless ``name``'s result is like b."""
    shapes, wanted = [a.shape for a in outs], [a.shape for a in avals]
    if shapes != wanted:
        raise ValueError(f"{name}() output shapes must match b, got {shapes} and {wanted}")
    if out_tree != tree:
        raise TypeError(
            f"{name}() output pytree structure must match b, got {out_tree} and {tree}."
        )
    given, asked = [a.dtype for a in outs], [a.dtype for a in avals]
    if given != asked:
        raise TypeError(f"{name}() output dtypes must match b, got {given} and {asked}")


def _split_tree(
    name: str, staged: Staged, has_aux: bool, tree: Any, avals: Sequence[ShapedArray]
) -> tuple[Any, Any]:
    """The trees of the solution and of aux."""
    out_tree, aux_tree = _parts(name, staged.out_tree, has_aux)
    _check_like(name, out_tree, staged.jaxpr.out_avals[: out_tree.num_leaves], tree, avals)
    return out_tree, aux_tree


def _parts(name: str, tree: Any, has_aux: bool) -> tuple[Any, Any]:
    """The trees of x and of aux, in what a function returns."""
    if not has_aux:
        return tree, None
    result = tree.unflatten(range(tree.num_leaves))
    if not (isinstance(result, tuple) and len(result) == 2):
        raise TypeError(f"{name}() must return a pair (x, aux) with has_aux, got {tree}.")
    x_tree, aux_tree = [dispatch_registry.flatten(part)[1] for part in result]
    return x_tree, aux_tree


def _groups(programs: Programs, values: Sequence[Any]) -> list[list[Any]]:
    """The consts of each program, and b."""
    return split(values, *[0 if p is None else p.num_consts for p in programs])


def _jvp_solve(primals: list, tangents: list, *, programs: Programs) -> tuple[list, list]:
    """From A x = b: A dx = db - dA x. How the solver depends on its consts does not matter."""
    outs = custom_linear_solve_p.bind(*primals, programs=programs)
    consts, b = split(primals, len(primals) - len(_groups(programs, primals)[-1]))
    x = outs[: len(b)]
    matrix_tangents, *_, b_tangents = _groups(programs, tangents)
    right = list(b_tangents)
    if any(t is not None for t in matrix_tangents):
        matrix = programs[0]
        mask = tuple([t is not None for t in matrix_tangents]) + (False,) * len(x)
        derived, out_mask = jvp(matrix.jaxpr, mask)
        values = [*consts[: matrix.num_consts], *x, *[t for t in matrix_tangents if t is not None]]
        found = iter(current_trace_state.value.call(derived, values)[len(x) :])
        changes = [next(found) if m else None for m in out_mask]
        right = [_difference(t, c) for t, c in zip(right, changes, strict=True)]
    if all(t is None for t in right):
        return outs, [None] * len(outs)
    right = [zeros(typeof(y).tangent) if t is None else t for t, y in zip(right, b, strict=True)]
    solved = custom_linear_solve_p.bind(*consts, *right, programs=programs)
    return outs, [*solved[: len(b)], *[None] * (len(outs) - len(b))]


def _difference(x: Any, y: Any) -> Any:
    if y is None:
        return x
    return neg(y) if x is None else sub(x, y)


def _transpose_solve(cts: list, *args: Any, programs: Programs) -> list:
    if programs[3] is None:
        raise TypeError(
            "transpose_solve required for backwards mode automatic differentiation of "
            "custom_linear_solve. Pass it, or symmetric=True."
        )
    *groups, b = _groups(programs, args)
    cts = [zeros(x.aval.tangent) if ct is None else ct for ct, x in zip(cts, b, strict=False)]
    consts = [x for i in (2, 3, 0, 1) for x in groups[i]]
    outs = custom_linear_solve_p.bind(*consts, *cts, programs=(*programs[2:], *programs[:2]))
    return [None] * len(consts) + outs[: len(b)]


def _batch_solve(
    axis: BatchAxis, args: list, dims: tuple, *, programs: Programs
) -> tuple[list, list]:
    """All of b is batched: so a solution is."""
    *groups, b_dims = _groups(programs, dims)
    args = list(args)
    first = len(args) - len(b_dims)
    for i, dim in enumerate(b_dims):
        args[first + i] = move_batch_axis(args[first + i], axis.size, dim, 0)
    batched = []
    for program, own in zip(programs, groups, strict=True):
        if program is not None:
            all_dims = (*own, *[0] * len(b_dims))
            out_dims = (0,) * len(program.jaxpr.out_avals)
            derived = batch(program.jaxpr, axis, all_dims, out_dims).jaxpr
            program = Solver(derived, program.num_consts)
        batched.append(program)
    outs = custom_linear_solve_p.bind(*args, programs=tuple(batched))
    return outs, [0] * len(outs)


def _lower_solve(
    ctx: Any, args: Sequence[str], in_avals: Any, out_avals: Any, *, programs: Programs
) -> list[str]:
    _, consts, _, _, b = _groups(programs, args)
    assert programs[1] is not None
    return ctx.inline(programs[1].jaxpr, [*consts, *b])


custom_linear_solve_p = Primitive(
    "custom_linear_solve",
    abstract=lambda *avals, programs: list(programs[1].jaxpr.out_avals),
    lower=_lower_solve,
    jvp=_jvp_solve,
    transpose=_transpose_solve,
    batch=_batch_solve,
    effects=lambda params: params["programs"][1].jaxpr.effects,
    multiple_results=True,
)
linear_solve_p = custom_linear_solve_p


# --- custom_root ----------------------------------------------------------------------------------


def custom_root(
    f: Callable[..., Any],
    initial_guess: Any,
    solve: Callable[..., Any],
    tangent_solve: Callable[..., Any],
    has_aux: bool = False,
) -> Any:
    """A root x of ``f(x) = 0``, with the derivatives that this equation implies.

    Args:
      f: from trees like ``initial_guess`` to trees of the same structure; derivatives flow into
        the traced values that it closes over.
      initial_guess: where ``solve`` starts; the root does not depend on it.
      solve: ``solve(f, initial_guess) -> x``, in any way; it is not differentiated.
      tangent_solve: ``tangent_solve(g, y)`` solves the linear system ``g(x) = y``; for reverse
        mode it must be a linear function of y that can be transposed.
      has_aux: ``solve`` returns ``(x, aux)``, and so does this function.

    Raises:
      TypeError: ``f`` or ``solve`` gives another structure than ``initial_guess`` has.

    >>> import covector
    >>> from covector import lax
    >>> def square_root(y):
    ...     f = lambda x: lax.sub(lax.mul(x, x), y)
    ...     solve = lambda f, x: lax.fori_loop(
    ...         0, 9, lambda i, x: lax.sub(x, lax.div(f(x), lax.mul(x, 2.0))), x)
    ...     return lax.custom_root(f, 1.0, solve, lambda g, y: lax.div(y, g(1.0)))
    >>> float(square_root(4.0)), float(covector.grad(square_root)(4.0))
    (2.0, 0.25)
    """
    guess, tree = dispatch_registry.flatten(initial_guess)
    avals = [typeof(x) for x in guess]
    function = _stage_on(f, tree, avals)
    _check_structure("f", function.out_tree, tree)
    solver = _stage_on(lambda x: solve(f, x), tree, avals)
    x_tree, aux_tree = _parts("solve", solver.out_tree, has_aux)
    _check_structure("solve", x_tree, tree)
    x_avals = solver.jaxpr.out_avals[: tree.num_leaves]
    tangent = _stage_tangent_solve(f, tangent_solve, tree, x_avals, function.jaxpr.out_avals)
    fixed = [stop_gradient(x) for x in (*solver.consts, *tangent.consts, *guess)]
    outs = _Root(function, solver, tangent)([*function.consts, *fixed])
    x = tree.unflatten(outs[: tree.num_leaves])
    return (x, aux_tree.unflatten(outs[tree.num_leaves :])) if has_aux else x


def _stage_tangent_solve(
    f: Callable[..., Any],
    tangent_solve: Callable[..., Any],
    tree: Any,
    x_avals: Sequence[ShapedArray],
    out_avals: Sequence[ShapedArray],
) -> Staged:
    """The program that takes x and y to the solution t of J t = y, where J is f's derivative."""
    from covector._api.autodiff import linearize

    def solution(x: Any, y: Any) -> Any:
        return tangent_solve(linearize(f, x)[1], y)

    example = tree.unflatten([0] * tree.num_leaves)
    pair_tree = dispatch_registry.flatten(((example, example), {}))[1]
    return stage_function(solution, pair_tree, [*x_avals, *[a.tangent for a in out_avals]])


class _Root(NamedTuple):
    """A root by its programs, which take what they close over, and then a guess, or x, or x and y.

    It is called with what all of them close over, and the guess. Only what `function` closes over
    is differentiated.
    """

    function: Staged
    solver: Staged
    tangent: Staged

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        custom = CustomJVP("custom_root", self.run, self.rule)
        return current_trace_state.value.custom_call(custom, values)

    def groups(self, values: Sequence[Any]) -> list[list[Any]]:
        """What each program closes over, and the guess."""
        return split(values, *[len(program.consts) for program in self])

    def run(self, *values: Any) -> list[Any]:
        """The root, and aux."""
        _, consts, _, guess = self.groups(values)
        return current_trace_state.value.call(self.solver.jaxpr, [*consts, *guess])

    def rule(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list, list]:
        """From f(x, c) = 0: J dx = -dc, where dc is how f moves with what it closes over."""
        outs = self(primals)
        consts, _, others, guess = self.groups(primals)
        x = outs[: len(guess)]
        moved = self._movement(consts, x, tangents[: len(consts)])
        right = [neg(t) for t in moved]
        solution = current_trace_state.value.call(self.tangent.jaxpr, [*others, *x, *right])
        return outs, [*solution, *[None] * (len(outs) - len(x))]

    def _movement(self, consts: list, x: list, tangents: Sequence[Any]) -> list[Any]:
        """How ``f(x)`` moves with what it closes over."""
        avals = [typeof(c) for c in consts]
        mask = tuple([a.has_tangent for a in avals])
        directions = fill_zeros(tangents, avals, symbolic_zeros=False)
        fixed, wanted = (False,) * len(x), (True,) * len(x)
        derived = jvp(self.function.jaxpr, mask + fixed, wanted).jaxpr
        given = [t for t, m in zip(directions, mask, strict=True) if m]
        return current_trace_state.value.call(derived, [*consts, *x, *given])[len(x) :]


def _check_structure(name: str, got: Any, tree: Any) -> None:
    if got != tree:
        raise TypeError(
            f"{name}() output pytree structure must match initial_guess, got {got} and {tree}."
        )
