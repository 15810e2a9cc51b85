"""The array object: attributes and protocols of jaxlib's `ArrayImpl`, attached at import.

Operators and most methods come from `covector.numpy`, if it is installed; without it, using one
says what to install.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import jaxlib._jax as _jaxlib
import numpy as np

from covector._run.array_type import Array as Array
from covector._run.runtime import shards
from covector._run.shardings import shard_indices
from covector._trace.trace import Tracer

ArrayImpl = _jaxlib.ArrayImpl

# Extension point: the module that attaches operators and methods to arrays and tracers.
MEMBERS_MODULE = "covector.numpy._array_members"

SingleDeviceSharding = _jaxlib.SingleDeviceSharding


def value_of(x: Any) -> np.ndarray:
    """The array's elements as a read-only NumPy array (no copy for one CPU device)."""
    return x._to_np_array_did_copy()[0]


def _array(x: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
    value = value_of(x)
    if dtype is not None and dtype != value.dtype:
        if copy is False:
            raise ValueError(
                f"Array of dtype {value.dtype} cannot be given as {np.dtype(dtype)} without a copy."
            )
        return value.astype(dtype)
    return value.copy() if copy else value


def _dlpack(
    x: Any, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None
) -> Any:
    """A capsule of the elements, read-only for who knows DLPack's versions from 1.0 on."""
    theirs, ours = tuple(map(int, dl_device or _dlpack_device(x))), _dlpack_device(x)
    if theirs != ours and (theirs[0] != 1 or copy is False):
        raise BufferError(
            f"__dlpack__: the array is on DLPack's device {ours}, not on {theirs}. Move it with "
            "covector.device_put first."
        )
    copied = bool(copy) or theirs != ours
    if copied:
        x = rebuild(value_of(x), x.aval.weak_type, on_cpu=theirs[0] == 1)
    if max_version is not None and max_version >= (1, 0) and hasattr(_jaxlib, "dlpack_version"):
        return _jaxlib.buffer_to_dlpack_managed_tensor(
            x, stream=stream, max_version=max_version, copied=copied
        )
    return _jaxlib.buffer_to_dlpack_managed_tensor(x, stream=stream)


def _dlpack_device(x: Any) -> tuple[int, int]:
    device = _single_device(x)
    kinds = {"cpu": 1, "gpu": 2, "cuda": 2}
    if device.platform not in kinds:
        raise BufferError(f"DLPack is not offered for arrays on platform {device.platform}.")
    return kinds[device.platform], max(device.local_hardware_id or 0, 0)


def _single_device(x: Any) -> Any:
    sharding = x._sharding
    if isinstance(sharding, SingleDeviceSharding):
        return sharding._device
    raise BufferError("DLPack needs an array on one device; this one is sharded.")


def rebuild(value: np.ndarray, weak_type: bool, on_cpu: bool = False) -> Any:
    """An array from a NumPy array of exactly its dtype (used by pickle and copy)."""
    from covector._ir.avals import ShapedArray
    from covector._run.client import default_device, devices
    from covector._run.transfer import put_on_device

    aval = ShapedArray(value.shape, value.dtype, weak_type)
    return put_on_device(value, devices("cpu")[0] if on_cpu else default_device(), False, aval)


def _scalar(kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert(x: Any) -> Any:
        if x.aval.shape != ():
            raise TypeError(
                f"Only scalar arrays can be converted to Python scalars; got {x.aval.str_short()}. "
                "Use x.item() for an array of one element."
            )
        if kind is not complex and x.aval.dtype.kind == "c":
            raise TypeError(
                f"{kind.__name__}() of a complex number is not defined; got {x.aval.str_short()}. "
                "Use x.real or abs(x)."
            )
        return kind(value_of(x)[()])

    return convert


def _bool(x: Any) -> bool:
    if x.aval.size != 1:
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or "
            "a.all()"
            if x.aval.size
            else "The truth value of an empty array is ambiguous. Use `array.size > 0` to check "
            "that an array is not empty."
        )
    return bool(value_of(x).reshape(())[()])


def _index(x: Any) -> int:
    if x.aval.shape != () or x.aval.dtype.kind not in "iub" or x.aval.dtype.kind == "b":
        raise TypeError(
            f"Only integer scalar arrays can be converted to a scalar index; got "
            f"{x.aval.str_short()}."
        )
    return int(value_of(x))


def _format(x: Any, spec: str) -> str:
    value = value_of(x)
    return format(value if value.ndim else value[()], spec)


def _repr(x: Any) -> str:
    if x.is_deleted():
        return f"Array(shape={x.aval.shape}, dtype={x.aval.dtype.name}) (deleted)"
    dtype = f"dtype={x.aval.dtype.name}" + (", weak_type=True" if x.aval.weak_type else "")
    if not x.is_fully_addressable:
        return f"Array(shape={x.aval.shape}, {dtype})"
    if x.aval.size == 0:
        return f"Array([], shape={x.aval.shape}, {dtype})"
    body = np.array2string(value_of(x), separator=", ", prefix="Array(")
    tail = body[body.rfind("\n") + 1 :] if "\n" in body else "Array(" + body
    width = np.get_printoptions()["linewidth"]
    separator = ", " if len(tail) + len(dtype) + 3 <= width else ",\n" + " " * len("Array(")
    return f"Array({body}{separator}{dtype})"


def _iterate(x: Any) -> Iterator[Any]:
    if not x.aval.shape:
        raise TypeError("iteration over a 0-d array")
    from covector.lax.index import unstack

    return iter(unstack(x))


def _refuse_assignment(x: Any, index: Any, value: Any) -> None:
    raise TypeError(
        "Array objects are immutable and do not support item assignment. Instead of x[idx] = y, "
        "use x = x.at[idx].set(y) or another .at[] method."
    )


def _devices(x: Any) -> set[Any]:
    if isinstance(x._sharding, SingleDeviceSharding):
        return {x._sharding._device}
    return set(x._sharding._internal_device_list)


def _device(x: Any) -> Any:
    sharding = x._sharding
    return sharding._device if isinstance(sharding, SingleDeviceSharding) else sharding


class Shard:
    """One device's part of an array: `device`, `index` (slices), `data`, `replica_id`."""

    def __init__(self, device: Any, index: tuple, data: Any, replica_id: int = 0):
        self.device = device
        self.index = index
        self.data = data
        self.replica_id = replica_id

    def __repr__(self) -> str:
        return f"Shard(device={self.device}, index={self.index}, replica_id={self.replica_id})"


def _addressable_shards(x: Any) -> list[Shard]:
    if isinstance(x._sharding, SingleDeviceSharding):
        return [Shard(x._sharding._device, tuple(slice(None) for _ in x.shape), x)]
    found: list[Shard] = []
    seen: dict[Any, int] = {}
    indices = shard_indices(x._sharding, x.aval.shape)
    for part, index in zip(shards(x), indices, strict=False):
        key = tuple([(s.start, s.stop) for s in index])
        seen[key] = seen.get(key, -1) + 1
        found.append(Shard(part._sharding._device, index, part, seen[key]))
    return found


def _length(x: Any) -> int:
    shape = x.aval.shape
    return shape[0] if shape else len(x.aval)  # which raises


_PROPERTIES: dict[str, Callable[[Any], Any]] = {
    # Not a lambda where an attrgetter does: it runs in C.
    "shape": attrgetter("aval.shape"),
    "dtype": attrgetter("aval.dtype"),
    "ndim": attrgetter("aval.ndim"),
    "size": attrgetter("aval.size"),
    "weak_type": attrgetter("aval.weak_type"),
    "itemsize": attrgetter("aval.dtype.itemsize"),
    "nbytes": lambda x: x.aval.size * x.aval.dtype.itemsize,
    "sharding": attrgetter("_sharding"),
    "committed": attrgetter("_committed"),
    "device": _device,
    "is_fully_addressable": lambda x: (
        isinstance(x._sharding, SingleDeviceSharding)
        or x._sharding._internal_device_list.is_fully_addressable
    ),
    "is_fully_replicated": lambda x: (
        isinstance(x._sharding, SingleDeviceSharding)
        or x._sharding._to_xla_hlo_sharding(x.ndim).is_replicated()
    ),
    "addressable_shards": _addressable_shards,
    "global_shards": _addressable_shards,
    "_value": value_of,
}

_METHODS: dict[str, Any] = {
    "devices": _devices,
    "addressable_data": lambda x, index: _addressable_shards(x)[index].data,
    "copy_to_host_async": lambda x: _jaxlib.batched_copy_to_host_async([x]),
    "item": lambda x, *args: value_of(x).item(*args),
    "tolist": lambda x: value_of(x).tolist(),
    "__array__": _array,
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack_device,
    "__repr__": _repr,
    "__str__": lambda x: str(value_of(x)),
    "__format__": _format,
    "__bool__": _bool,
    "__float__": _scalar(float),
    "__int__": _scalar(int),
    "__complex__": _scalar(complex),
    "__index__": _index,
    "__len__": _length,
    "__iter__": _iterate,
    "__setitem__": _refuse_assignment,
    "__reduce__": lambda x: (rebuild, (np.array(value_of(x)), x.aval.weak_type)),
    "__copy__": lambda x: x,
    "__deepcopy__": lambda x, memo: rebuild(value_of(x), x.aval.weak_type),
    # NumPy's operators defer to ours.
    "__array_priority__": 100,
    "__hash__": None,
}


# A tracer answers what can be answered without a value.
_TRACER_PROPERTIES = ("itemsize", "nbytes")
_TRACER_METHODS = ("__len__", "__setitem__", "__array_priority__")


def _attach() -> None:
    for name, function in _PROPERTIES.items():
        setattr(ArrayImpl, name, property(function))
    for name, method in _METHODS.items():
        setattr(ArrayImpl, name, method)
    for name in _TRACER_PROPERTIES:
        setattr(Tracer, name, property(_PROPERTIES[name]))
    for name in _TRACER_METHODS:
        setattr(Tracer, name, _METHODS[name])
    Tracer.__iter__ = _iterate  # type: ignore[attr-defined]


_OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "divmod",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "radd",
    "rsub",
    "rmul",
    "rtruediv",
    "rfloordiv",
    "rmod",
    "rpow",
    "rmatmul",
    "rand",
    "ror",
    "rxor",
    "rlshift",
    "rrshift",
    "neg",
    "pos",
    "abs",
    "invert",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "getitem",
    "round",
]
_LAZY_ATTRIBUTES = frozenset(
    [
        "T",
        "mT",
        "real",
        "imag",
        "flat",
        "at",
        "all",
        "any",
        "argmax",
        "argmin",
        "argpartition",
        "argsort",
        "astype",
        "choose",
        "clip",
        "compress",
        "conj",
        "conjugate",
        "copy",
        "cumprod",
        "cumsum",
        "diagonal",
        "dot",
        "flatten",
        "max",
        "mean",
        "min",
        "nonzero",
        "prod",
        "ptp",
        "ravel",
        "repeat",
        "reshape",
        "round",
        "searchsorted",
        "sort",
        "squeeze",
        "std",
        "sum",
        "swapaxes",
        "take",
        "to_device",
        "trace",
        "transpose",
        "var",
        "view",
        "byteswap",
        "tobytes",
        "__array_namespace__",
        "__array_ufunc__",
    ]
)


def _load_members(name: str) -> None:
    """Import what attaches NumPy's operators and methods, or say what to install."""
    package, _, _ = MEMBERS_MODULE.rpartition(".")
    try:
        installed = importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        installed = False
    if not installed:
        raise TypeError(
            f"Array operators and methods ({name}) come with covector.numpy, which is not "
            "installed. Install it with 'pip install covector-numpy-api', or call the function of "
            "covector.lax."
        )
    importlib.import_module(MEMBERS_MODULE)


def _lazy_operator(name: str) -> Callable[..., Any]:
    """An operator that, at its first use, is replaced by the real one."""

    def operator(x: Any, *args: Any) -> Any:
        _load_members(name)
        return getattr(type(x), name)(x, *args)

    return operator


def _lazy_attribute(x: Any, name: str) -> Any:
    """Called for attributes that are not there (yet): methods that covector.numpy attaches."""
    if name in _LAZY_ATTRIBUTES:
        _load_members(name)
        if hasattr(type(x), name):
            return getattr(x, name)
    raise AttributeError(f"'{type(x).__name__}' object has no attribute '{name}'")


def _attach_lazy_operators() -> None:
    for cls in (ArrayImpl, Tracer):
        for name in _OPERATORS:
            setattr(cls, f"__{name}__", _lazy_operator(f"__{name}__"))
        cls.__getattr__ = _lazy_attribute  # type: ignore[attr-defined]


_attach()
_attach_lazy_operators()
