"""The text forms of StableHLO that need care: constants, and lists inside attributes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from covector._ir.avals import ShapedArray

_MAX_LIST = 16  # longer constants are written as one string of hexadecimal bytes


def constant_text(value: Any, aval: ShapedArray) -> str:
    """``stablehlo.constant dense<...> : tensor<...>`` for a scalar or array of type ``aval``."""
    array = np.asarray(value).astype(aval.dtype, copy=False)
    if array.ndim == 0:
        body = element_text(array[()]) if aval.size else ""
    else:
        body = _dense(np.broadcast_to(array, aval.shape))
    return f"stablehlo.constant dense<{body}> : {aval.mlir}"


def _dense(array: np.ndarray) -> str:
    if array.size == 0:
        return ""
    if array.size > 1 and _is_splat(array):
        return element_text(array.reshape(-1)[0])
    if array.size > _MAX_LIST:
        return '"0x' + np.ascontiguousarray(array).tobytes().hex().upper() + '"'
    return _nested(array)


def _is_splat(array: np.ndarray) -> bool:
    flat = np.ascontiguousarray(array).reshape(-1)
    data = flat.view(np.uint8).reshape(flat.size, flat.dtype.itemsize)
    return bool((data == data[0]).all())


def _nested(array: np.ndarray) -> str:
    if array.ndim == 0:
        return element_text(array[()])
    return "[" + ", ".join([_nested(part) for part in array]) + "]"


def element_text(x: Any) -> str:
    """One NumPy number as it is written inside ``dense<...>``."""
    dtype = x.dtype
    kind = dtype.kind
    if kind == "b":
        return "true" if x else "false"
    if kind in "iu":
        return str(int(x))
    if kind == "c":
        part = np.float32 if dtype.itemsize == 8 else np.float64
        return f"({element_text(part(x.real))}, {element_text(part(x.imag))})"
    if kind == "f" and dtype.itemsize >= 4 and np.isfinite(x):
        return np.format_float_scientific(x, unique=True)
    if dtype.name.startswith(("int", "uint")):
        return str(int(x))
    bits = np.asarray(x).tobytes()[::-1].hex().upper()
    return "0x" + bits


def int_array(values: Iterable[int]) -> str:
    """``array<i64: 1, 2>``, the form of integer lists in generic attributes."""
    text = ", ".join(str(int(v)) for v in values)
    return f"array<i64: {text}>" if text else "array<i64>"


def int_list(values: Iterable[int]) -> str:
    """``[1, 2]``, the form of dimension lists in the pretty forms."""
    return "[" + ", ".join(str(int(v)) for v in values) + "]"


def int_matrix(rows: Iterable[Iterable[int]], shape: tuple[int, int]) -> str:
    """``dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>``."""
    text = ", ".join(int_list(row) for row in rows)
    body = f"[{text}]" if 0 not in shape else ""
    return f"dense<{body}> : tensor<{shape[0]}x{shape[1]}xi64>"


def quoted(text: str) -> str:
    """A string literal of the program's text."""
    safe = [c if c.isprintable() and c.isascii() and c not in '"\\' else "" for c in text]
    if all(safe):
        return f'"{text}"'
    codes = [c if s else "".join([f"\\{b:02X}" for b in c.encode()]) for c, s in zip(text, safe)]
    return '"' + "".join(codes) + '"'
