"""Updating by index: ``x.at[index].set(values)`` and its kin give a new array.

An update reads the block of the index (`_index_block.py`), changes it, and writes it back: by
plain arithmetic if there are no index arrays, by a scatter if there are, and by a selection for a
boolean mask with a value that broadcasts over it, so that this works for traced masks too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from covector import lax
from covector._api.jit import library_function
from covector._ir import dtypes
from covector._trace.trace import is_arraylike, typeof
from covector.errors import ShapeError
from covector.lax.convert import convert_type
from covector.numpy import _arithmetic, _indexing
from covector.numpy._creation import asarray, ones_like
from covector.numpy._index_block import (
    Block,
    block_of,
    locate,
    read_block,
    write_block,
)
from covector.numpy._index_parsing import Index, Mask, NewAxis, Point, Points, array_group, parse
from covector.numpy._indexing import Layout, fills, layout_of, result_shape, stacked_positions
from covector.numpy._operands import broadcast_to_shape, promote_dtypes

Shape = tuple[int, ...]

# update: (how it combines an element with a value, the scatter that does so at index arrays)
_UPDATES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "set": (lambda x, v: v, "scatter"),
    "add": (lambda x, v: lax.add(x, v), "scatter_add"),
    "subtract": (lambda x, v: lax.sub(x, v), "scatter_sub"),
    "multiply": (lambda x, v: lax.mul(x, v), "scatter_mul"),
    "min": (lambda x, v: lax.min(x, v), "scatter_min"),
    "max": (lambda x, v: lax.max(x, v), "scatter_max"),
}


class IndexUpdate:
    """``x.at``: index it to say where, then call `set`, `add`, ... to say what.

    >>> jnp.zeros(3).at[1].set(5.0)
    Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("array",)

    def __init__(self, array: Any):
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"IndexUpdate({self.array!r})"


class IndexUpdateRef:
    """``x.at[index]``. All methods give a new array and take these options:

    - ``mode``: what to do with positions out of bounds. ``"drop"`` (or ``"fill"``; the default of
      updates) ignores them, ``"clip"`` moves them to the nearest one within bounds,
      ``"promise_in_bounds"`` does not check. `get` by default clamps.
    - ``indices_are_sorted``, ``unique_indices``: promises that may make it faster.
    - ``wrap_negative_indices``: whether -1 is the last position.

    Without a ``mode``, a position that is known to be out of bounds is an `IndexError`.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any):
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Any = None,
        fill_value: Any = None,
        out_sharding: Any = None,
        wrap_negative_indices: bool = True,
        strategy: str = "auto",
    ) -> Any:
        """``x[index]``, with the options of indexing.

        With mode "fill", elements out of bounds are ``fill_value`` (by default NaN, the lowest
        signed or the highest unsigned integer).

        >>> jnp.arange(3).at[7].get(mode="fill", fill_value=-1)
        Array(-1, dtype=int32)
        """
        return _indexing.read_with_mode(
            self.array,
            self.index,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=canonical_mode(mode),
            fill_value=fill_value,
            wrap=wrap_negative_indices,
        )

    def set(self, values: Any, **options: Any) -> Any:
        """The array with the elements replaced: ``x[index] = values``.

        >>> jnp.zeros((2, 2)).at[0].set(jnp.array([1.0, 2.0]))
        Array([[1., 2.],
               [0., 0.]], dtype=float32)
        """
        return update("set", self.array, self.index, values, **options)

    def add(self, values: Any, **options: Any) -> Any:
        """The array with values added. An index that occurs twice is added to twice.

        >>> jnp.zeros(3).at[jnp.array([0, 0, 2])].add(1.0)
        Array([2., 0., 1.], dtype=float32)
        """
        return update("add", self.array, self.index, values, **options)

    def subtract(self, values: Any, **options: Any) -> Any:
        """The array with values subtracted: ``x[index] -= values``."""
        return update("subtract", self.array, self.index, values, **options)

    def multiply(self, values: Any, **options: Any) -> Any:
        """The array with elements multiplied: ``x[index] *= values``."""
        return update("multiply", self.array, self.index, values, **options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Any:
        """The array with elements divided: ``x[index] /= values``. Integers become floats."""
        divisor = update("multiply", ones_like(self.array), self.index, values, **options)
        return _arithmetic.divide(self.array, divisor)

    def power(self, values: Any, **options: Any) -> Any:
        """The array with elements raised to a power: ``x[index] **= values``."""
        exponent = update("multiply", ones_like(self.array), self.index, values, **options)
        return _arithmetic.power(self.array, exponent)

    def min(self, values: Any, **options: Any) -> Any:
        """The array with elements limited: ``x[index] = minimum(x[index], values)``."""
        return update("min", self.array, self.index, values, **options)

    def max(self, values: Any, **options: Any) -> Any:
        """The array with elements limited: ``x[index] = maximum(x[index], values)``."""
        return update("max", self.array, self.index, values, **options)

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Any:
        """The array with ``func``, an elementwise function, applied to the elements.

        An element whose index occurs twice has it applied twice.

        >>> jnp.arange(3.0).at[1].apply(jnp.negative)
        Array([ 0., -1.,  2.], dtype=float32)
        """
        return _apply(self.array, self.index, func, **options)


def canonical_mode(mode: Any) -> Any:
    """A ``mode`` argument as a `GatherScatterMode`, or None."""
    return None if mode is None else lax.GatherScatterMode.from_any(mode)


def update(
    kind: str,
    x: Any,
    expression: Any,
    values: Any,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    out_sharding: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    """``x`` with ``values`` combined into the elements at an index."""
    values = _checked_values(kind, x, values)
    mode = canonical_mode(mode)
    index = _parse(x, expression, values, mode, wrap_negative_indices)
    block, starts = block_of(index.entries, typeof(x).shape, wrap_negative_indices)
    arrays = [e.positions for e in index.entries if isinstance(e, Points)]
    masks = [e.mask for e in index.entries if isinstance(e, Mask)]
    hints = (
        ("indices_are_sorted", indices_are_sorted),
        ("unique_indices", unique_indices),
    )
    form = _form_of(index, block, bool(arrays), bool(masks))
    return _update(
        x, starts, arrays, masks, values, kind=kind, block=block, form=form, mode=mode, hints=hints
    )


def _parse(x: Any, expression: Any, values: Any, mode: Any, wrap: bool) -> Index:
    """The parsed index; masks stay only where the values broadcast over them."""
    shape = typeof(x).shape
    options = {"checked": mode is None and wrap, "wrap": wrap}
    index = parse(expression, shape, keep_masks=True, **options)
    masks = sum([isinstance(e, Mask) for e in index.entries])
    points = any(isinstance(e, Points) for e in index.entries)
    if masks == 0 or (masks == 1 and not points and _spreads(index, typeof(values).shape)):
        return index
    return parse(expression, shape, **options)


def _spreads(index: Index, shape: Shape) -> bool:
    """Whether values of a shape have one element for all that the mask selects."""
    place = _mask_place(index)
    axes_behind = sum([not isinstance(e, (Point, Mask)) for e in index.entries]) - place
    at = len(shape) - 1 - axes_behind
    return at < 0 or shape[at] == 1


def _mask_place(index: Index) -> int:
    """How many axes of the result precede the one that the mask makes."""
    together, first = array_group(index.entries)
    before = index.entries[:first] if together else ()
    return sum([not isinstance(e, Point) for e in before])


def _checked_values(kind: str, x: Any, values: Any) -> Any:
    values = values if is_arraylike(values) else asarray(values)
    ours, theirs = typeof(x), typeof(values)
    if not theirs.weak_type and not _converts_safely(theirs.dtype, ours.dtype):
        warnings.warn(
            f"scatter inputs have incompatible types: cannot safely cast value from dtype="
            f"{theirs.dtype} to dtype={ours.dtype} in x.at[...].{kind}. In future releases this "
            "will result in an error.",
            FutureWarning,
            stacklevel=4,
        )
    return values


def _converts_safely(old: np.dtype, new: np.dtype) -> bool:
    return dtypes.lattice_result_type((old, new), (False, False))[0] == new


def _form_of(index: Index, block: Block, arrays: bool, masks: bool) -> tuple:
    """How values are laid out: ("block", shape), ("arrays", layout) or ("mask", ...)."""
    if arrays:
        return "arrays", layout_of(index, block)
    if not masks:
        return "block", result_shape(index.entries, block)
    place = _mask_place(index)
    kept = [e for e in index.entries if not isinstance(e, Point)]
    others = [e for e in kept if not isinstance(e, Mask)]
    new = tuple([i + (i >= place) for i, e in enumerate(others) if isinstance(e, NewAxis)])
    before = 0  # the block's axes before the mask's
    for entry in kept:
        if isinstance(entry, Mask):
            break
        before += not isinstance(entry, NewAxis)
    ndim = next(e.ndim for e in kept if isinstance(e, Mask))
    return "mask", place, new, before, ndim


@library_function(static_argnames=("kind", "block", "form", "mode", "hints"))
def _update(
    x: Any,
    starts: Any,
    arrays: Any,
    masks: Any,
    values: Any,
    *,
    kind: str,
    block: Block,
    form: tuple,
    mode: Any,
    hints: tuple,
) -> Any:
    aval = typeof(x)
    x, values = promote_dtypes(x, values) if kind != "set" else (x, _as_dtype_of(x, values))
    combine, scatter = _UPDATES[kind]
    place = locate(x, starts, block, checked=mode is None or fills(mode))
    overwritten = kind == "set" and form[0] == "block"
    part = None if overwritten else read_block(x, place, block)
    if form[0] == "arrays":
        new = _scattered(getattr(lax, scatter), part, arrays, values, form[1], block, mode, hints)
    elif form[0] == "block" and 0 in form[1] and 0 not in block.shape:  # x.at[False]
        return convert_type(x, aval.dtype, weak_type=aval.weak_type)
    elif form[0] == "block":
        new = combine(part, lax.reshape(broadcast_values(values, form[1]), block.shape))
    else:
        new = _selected(combine, part, masks[0], values, *form[1:])
    out = write_block(x, new, place, block)
    return convert_type(out, aval.dtype, weak_type=aval.weak_type)


def _as_dtype_of(x: Any, values: Any) -> Any:
    """Values converted; of complex ones the real part where ``x`` is real."""
    if dtypes.is_complex(typeof(values).dtype) and not dtypes.is_complex(typeof(x).dtype):
        values = lax.real(values)
    return convert_type(values, typeof(x).dtype, weak_type=typeof(x).weak_type)


def broadcast_values(values: Any, shape: Shape) -> Any:
    """Values spread over the shape of what is indexed."""
    own = typeof(values).shape
    fits = len(own) <= len(shape) and all(
        n in (1, m) for n, m in zip(reversed(own), reversed(shape))
    )
    if not fits:
        raise ShapeError(
            f"x.at[...]: values of shape {own} do not broadcast to {shape}, the shape of what is "
            "indexed."
        )
    return broadcast_to_shape(values, shape)


def _scattered(
    scatter: Any,
    part: Any,
    arrays: Any,
    values: Any,
    layout: Layout,
    block: Block,
    mode: Any,
    hints: tuple,
) -> Any:
    values = lax.reshape(broadcast_values(values, layout.full_shape), layout.squeezed)
    shape = typeof(part).shape
    indices = stacked_positions(arrays, [shape[a] for a in layout.axes], block.wrap)
    batch = range(layout.position, layout.position + typeof(indices).ndim - 1)
    numbers = scatter_numbers(layout.axes, batch, len(layout.squeezed))
    return scatter(part, indices, values, numbers, mode=mode, **dict(hints))


def scatter_numbers(axes: Shape, batch: range, ndim: int) -> Any:
    """Dimension numbers where index arrays fill the updates' axes ``batch``."""
    return lax.ScatterDimensionNumbers(
        update_window_dims=tuple([i for i in range(ndim) if i not in batch]),
        inserted_window_dims=axes,
        scatter_dims_to_operand_dims=axes,
    )


def _selected(
    combine: Any, part: Any, mask: Any, values: Any, place: int, new: Shape, before: int, ndim: int
) -> Any:
    """The block with values combined in where the mask is true; they broadcast over the mask."""
    shape = typeof(part).shape
    rank = len(shape) - ndim + 1 + len(new)
    own = typeof(values).shape
    if len(own) > rank:
        raise ShapeError(f"x.at[...]: values of shape {own} have more axes than what is indexed.")
    values = lax.reshape(values, (1,) * (rank - len(own)) + own)
    if any(typeof(values).shape[i] != 1 for i in new):
        raise ShapeError(f"x.at[...]: values of shape {own} do not broadcast to what is indexed.")
    values = lax.squeeze(values, new)
    order = list(range(typeof(values).ndim))
    order.insert(before, order.pop(place - sum([i < place for i in new])))
    values = lax.transpose(values, order)
    wide = typeof(values).shape
    values = lax.reshape(values, (*wide[:before], *(1,) * ndim, *wide[before + 1 :]))
    mask = lax.broadcast_in_dim(mask, shape, range(before, before + ndim))
    return lax.select(mask, combine(part, broadcast_values(values, shape)), part)


def _apply(
    x: Any,
    expression: Any,
    func: Callable[[Any], Any],
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: Any = None,
    wrap_negative_indices: bool = True,
) -> Any:
    mode = canonical_mode(mode)
    wrap = wrap_negative_indices
    checked = mode is None and wrap
    index = parse(expression, typeof(x).shape, keep_masks=True, checked=checked, wrap=wrap)
    masks = [e for e in index.entries if isinstance(e, Mask)]
    if masks and (len(masks) > 1 or any(isinstance(e, Points) for e in index.entries)):
        index = parse(expression, typeof(x).shape, checked=checked, wrap=wrap)
        masks = []
    block, starts = block_of(index.entries, typeof(x).shape, wrap)
    place = locate(x, starts, block, checked=mode is None or fills(mode))
    part = read_block(x, place, block)
    if masks:
        before, ndim = _form_of(index, block, False, True)[-2:]
        whole = range(before, before + ndim)
        mask = lax.broadcast_in_dim(masks[0].mask, typeof(part).shape, whole)
        changed = lax.select(mask, _checked_result(func(part), part), part)
    elif index.is_basic:
        changed = _checked_result(func(part), part)
    else:
        layout = layout_of(index, block)
        arrays = [e.positions for e in index.entries if isinstance(e, Points)]
        indices = stacked_positions(arrays, [typeof(part).shape[a] for a in layout.axes], wrap)
        batch = range(layout.position, layout.position + typeof(indices).ndim - 1)
        changed = lax.scatter_apply(
            part,
            indices,
            lambda element: _checked_result(func(element), element),
            scatter_numbers(layout.axes, batch, len(layout.squeezed)),
            update_shape=layout.squeezed,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
        )
    return write_block(x, changed, place, block)


def _checked_result(result: Any, operand: Any) -> Any:
    aval, expected = typeof(result), typeof(operand)
    if aval.shape != expected.shape or aval.dtype != expected.dtype:
        raise TypeError(
            f"x.at[...].apply: the function must keep shape and dtype, but it made "
            f"{aval.str_short()} of {expected.str_short()}."
        )
    return convert_type(result, expected.dtype, weak_type=expected.weak_type)
