"""Discrete Fourier transforms along the last one to three axes: `fft`."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from covector import lax
from covector._ir import dtypes
from covector._ir.avals import ShapedArray
from covector._trace.primitive import LINEAR, Primitive
from covector._trace.trace import typeof
from covector._transform.batch import move_batch_axis
from covector.lax._axes import int_tuple
from covector.lax.elementwise import scale
from covector.lax.filling import zeros_of


class FftType(enum.IntEnum):
    """The kinds of Fourier transforms: complex or real, forward or inverse.

    >>> lax.FftType.RFFT.name
    'RFFT'
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


_REAL_SIDE = (FftType.RFFT, FftType.IRFFT)


def fft(x: Any, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Any:
    """The Fourier transform of ``x`` along its last ``len(fft_lengths)`` axes.

    Args:
      fft_type: an `FftType` or its name. FFT and IFFT map complex to complex; RFFT maps n reals to
        the first n // 2 + 1 frequencies; IRFFT is its inverse. The inverses divide by the size.
      fft_lengths: the sizes of one to three axes, on the real side for RFFT and IRFFT. With none,
        ``x`` is returned.

    Raises:
      ValueError: the kind, the lengths or the dtype do not fit.

    >>> lax.fft(np.array([1.0, 2.0, 3.0]), "RFFT", (3,)).shape
    (2,)
    """
    kind = _kind_of(fft_type)
    lengths = int_tuple("fft", "fft_lengths", fft_lengths)
    aval = typeof(x)
    if kind == FftType.RFFT and dtypes.is_complex(aval.dtype):
        raise ValueError(f"RFFT input must be float32 or float64, got {aval.dtype}")
    if kind == FftType.RFFT and not dtypes.is_float(aval.dtype):
        x = lax.convert_element_type(x, dtypes.to_real_dtype(_complex_dtype(aval.dtype)))
    elif kind != FftType.RFFT:
        x = lax.convert_element_type(x, _complex_dtype(aval.dtype))
    return fft_p.bind(x, fft_type=kind, fft_lengths=lengths) if lengths else x


def _kind_of(fft_type: Any) -> FftType:
    if isinstance(fft_type, str):
        if fft_type in FftType.__members__:
            return FftType[fft_type]
        raise ValueError(
            f"fft: unknown fft_type {fft_type!r}, expected one of {', '.join(FftType.__members__)}"
        )
    return FftType(fft_type)


def _complex_dtype(dtype: np.dtype) -> np.dtype:
    """The complex dtype that transforms of ``dtype`` have."""
    if dtypes.is_complex(dtype):
        return dtype
    wide = np.dtype(dtype) in (np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.uint64))
    return dtypes.DTYPES["complex128" if wide else "complex64"]


def _abstract(aval: ShapedArray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> ShapedArray:
    rank, name = len(fft_lengths), fft_type.name
    if aval.ndim < rank:
        raise ValueError(
            f"{name} input shape {aval.shape} must have at least as many input dimensions as "
            f"fft_lengths {fft_lengths}."
        )
    if rank > 3:
        raise ValueError(f"fft: fft_lengths must name at most 3 axes, got {fft_lengths}")
    wanted = ("float32", "float64") if fft_type == FftType.RFFT else ("complex64", "complex128")
    if aval.dtype not in [dtypes.DTYPES[w] for w in wanted]:
        raise ValueError(f"{name} input must be {' or '.join(wanted)}, got {aval.dtype}")
    outer, inner = aval.shape[:-rank], aval.shape[-rank:]
    half = (*fft_lengths[:-1], fft_lengths[-1] // 2 + 1)
    expected = half if fft_type == FftType.IRFFT else fft_lengths
    if inner != expected:
        raise ValueError(
            f"{name} input shape {aval.shape} minor dimensions must be equal to "
            f"{'the halved ' if fft_type == FftType.IRFFT else ''}fft_lengths {expected}"
        )
    dtype, sizes = aval.dtype, fft_lengths
    if fft_type == FftType.RFFT:
        dtype, sizes = dtypes.to_complex_dtype(dtype), half
    elif fft_type == FftType.IRFFT:
        dtype = dtypes.to_real_dtype(dtype)
    return ShapedArray((*outer, *sizes), dtype)


def _lower(
    ctx: Any, args: Any, in_avals: Any, out_avals: Any, *, fft_type: Any, fft_lengths: Any
) -> list[str]:
    if 0 in in_avals[0].shape or 0 in out_avals[0].shape:
        zero = out_avals[0].update(shape=())
        return [ctx.broadcast(ctx.constant(0, zero), zero, out_avals[0])]
    lengths = ", ".join(map(str, fft_lengths))
    return ctx.emit(
        f"stablehlo.fft {args[0]}, type = {fft_type.name}, length = [{lengths}] : "
        f"({in_avals[0].mlir}) -> {out_avals[0].mlir}"
    )


def _transpose(ct: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> list[Any]:
    """The matrix of a transform is symmetric; the real kinds drop or mirror half of it."""
    if fft_type not in _REAL_SIDE:
        return [fft_p.bind(ct, fft_type=fft_type, fft_lengths=fft_lengths)]
    if 0 in x.shape:
        return [zeros_of(x.aval)]
    n = fft_lengths[-1]
    half = n // 2 + 1
    if fft_type == FftType.RFFT:
        padding = [(0, 0, 0)] * (x.ndim - 1) + [(0, n - half, 0)]
        full = lax.pad(ct, np.zeros((), typeof(ct).dtype), padding)
        whole = fft_p.bind(full, fft_type=FftType.FFT, fft_lengths=fft_lengths)
        return [lax.real(whole)]
    weights = np.full(half, 2.0)
    weights[0] = 1.0
    if n % 2 == 0:
        weights[-1] = 1.0
    weights = (weights / math.prod(fft_lengths)).astype(x.dtype)
    spectrum = lax.conj(fft_p.bind(ct, fft_type=FftType.RFFT, fft_lengths=fft_lengths))
    return [scale(spectrum, lax.broadcast_in_dim(weights, x.shape, (x.ndim - 1,)))]


def _batch(axis: Any, args: Any, dims: Any, *, fft_type: Any, fft_lengths: Any) -> tuple[Any, int]:
    x, dim = args[0], dims[0]
    if dim >= typeof(x).ndim - len(fft_lengths):
        x, dim = move_batch_axis(x, axis.size, dim, 0), 0
    return fft_p.bind(x, fft_type=fft_type, fft_lengths=fft_lengths), dim


fft_p = Primitive(
    "fft", abstract=_abstract, lower=_lower, jvp=LINEAR, transpose=_transpose, batch=_batch
)
