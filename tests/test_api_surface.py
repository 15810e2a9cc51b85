"""How much of the public API there is: names and signatures, by module, against a floor.

`data/api_surface.json` lists every public name of the API at version 0.12.0, with signatures.
`data/api_surface_floor.json` holds, for each module, how many of its names resolve here and how
many of the functions among them have the parameters listed. The floor only goes up. After adding
to the API, raise it and see what is left:

    uv run tests/test_api_surface.py            raise the floor, print the counts
    uv run tests/test_api_surface.py NAME ...   print what these modules lack, too
"""

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

DATA = Path(__file__).parent / "data"
FLOOR = DATA / "api_surface_floor.json"
SURFACE: dict[str, dict[str, dict[str, str]]] = json.loads(
    (DATA / "api_surface.json").read_text(encoding="utf-8")
)


class Coverage(NamedTuple):
    """What this installation offers of one module of the surface."""

    missing: list[str]
    mismatched: list[str]
    names: int
    signatures: int


def coverage(module: str) -> Coverage:
    """Looks up every name of a module of the surface, and compares the signatures it can."""
    missing, mismatched, names, signatures = [], [], 0, 0
    holder = find_holder(module)
    for name, entry in SURFACE[module].items():
        if holder is None or not has(holder, name):
            missing.append(name)
            continue
        names += 1
        listed = entry.get("signature") if entry["kind"] == "function" else None
        if listed is None:
            continue
        if (ours := parameters_of(getattr(holder, name))) == listed_parameters(listed):
            signatures += 1
        else:
            mismatched.append(f"{name}: {listed} is here ({', '.join(ours or ['unknown'])})")
    return Coverage(missing, mismatched, names, signatures)


def find_holder(module: str) -> object | None:
    """The module, class or object whose attributes a module of the surface lists."""
    if module == "covector.Array.at[...]":
        array = find_holder("covector.numpy")
        return array.ones(3).at[0] if array and has(array, "ones") else None
    if module == "covector.Array (attributes)":
        array = find_holder("covector.numpy")
        return type(array.ones(3).T) if array and has(array, "ones") else None
    try:
        return import_module(module)
    except ModuleNotFoundError:
        package, _, name = module.rpartition(".")
        holder = find_holder(package) if package else None
        return getattr(holder, name) if has(holder, name) else None


def has(holder: object, name: str) -> bool:
    try:
        return hasattr(holder, name)
    except ModuleNotFoundError:
        return False


def parameters_of(function: Callable) -> list[str] | None:
    """The names of a function's parameters in order, with the stars of `*args` and `**kwargs`."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    return [stars.get(parameter.kind, "") + parameter.name for parameter in parameters]


def listed_parameters(signature: str) -> list[str]:
    """The same of a signature as text, where a default may be any text with balanced brackets."""
    parts = [part.split("=")[0].split(":")[0].strip() for part in split(signature[1:-1])]
    return [part for part in parts if part not in ("", "*", "/")]


def split(text: str) -> Iterator[str]:
    """The parts of `text` between the commas outside of all brackets and quotes."""
    start, depth, quote = 0, 0, ""
    for i, character in enumerate(text):
        if quote or character in "'\"":
            quote = "" if character == quote else quote or character
        elif character in "([{<":
            depth += 1
        elif character in ")]}>":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:i]
            start = i + 1
    yield text[start:]


def read_floor() -> dict[str, dict[str, int]]:
    return json.loads(FLOOR.read_text(encoding="utf-8")) if FLOOR.exists() else {}


@pytest.mark.parametrize("module", SURFACE)
def test_surface_does_not_shrink(module):
    found = coverage(module)
    floor = read_floor()[module]
    assert found.names >= floor["names"], f"{module} lacks {', '.join(found.missing)}"
    assert found.signatures >= floor["signatures"], "\n".join(found.mismatched)


@pytest.mark.parametrize(
    "signature, parameters",
    [
        ("()", []),
        ("(x)", ["x"]),
        (
            "(fun, argnums=0, *, axes=(0, 1), names={'a, b'})",
            ["fun", "argnums", "axes", "names"],
        ),
        (
            "(fun=<not-specified>, /, *args, key='=,', **rest)",
            ["fun", "*args", "key", "**rest"],
        ),
    ],
)
def test_listed_parameters(signature, parameters):
    assert listed_parameters(signature) == parameters


def test_a_difference_of_signatures_is_seen():
    assert parameters_of(lambda x, axis=None, *more, keepdims=False, **rest: x) == (
        listed_parameters("(x, axis=0, *more, keepdims=True, **rest)")
    )
    assert parameters_of(lambda x, axes: x) != listed_parameters("(x, axis)")


def raise_floor(shown: list[str]) -> None:
    """Lifts the floor to what this installation offers, never lowers it, and prints a report."""
    floor = read_floor()
    for module, listed in SURFACE.items():
        found = coverage(module)
        old = floor.get(module, {"names": 0, "signatures": 0})
        now = {"names": found.names, "signatures": found.signatures}
        floor[module] = {key: max(old[key], now[key]) for key in now}
        print(
            f"{module:55} {found.names:4} of {len(listed):4} names, "
            f"{len(found.mismatched):3} signatures differ"
        )
        if module in shown:
            print(*(f"    {line}\n" for line in found.missing + found.mismatched), sep="", end="")
    lines = [f"  {json.dumps(module)}: {json.dumps(counts)}" for module, counts in floor.items()]
    FLOOR.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{sum(entry['names'] for entry in floor.values())} names in all")


if __name__ == "__main__":
    raise_floor(sys.argv[1:])
