"""What a process can ask of the run: processes, live arrays, versions, waiting for effects."""

import covector
import numpy as np
import pytest
from covector import lax


def test_processes():
    assert covector.process_indices() == covector.process_indices("cpu") == [0]
    for old, new in (
        ("host_id", "process_index"),
        ("host_ids", "process_indices"),
        ("host_count", "process_count"),
    ):
        with pytest.warns(UserWarning, match=f"{old} has been renamed to covector.{new}"):
            assert getattr(covector, old)() == getattr(covector, new)()


@pytest.mark.parametrize("name", ["process_indices", "live_arrays"])
def test_unknown_platform(oracle, name):
    oracle.compare_error(f"jax.{name}('nonesuch')")


def test_live_arrays():
    x = covector.device_put(np.ones(3))
    assert any(y is x for y in covector.live_arrays())
    assert any(y is x for y in covector.live_arrays("cpu"))
    count = sum(y.shape == (17, 3) for y in covector.live_arrays())
    kept = lax.full((17, 3), 1.0)
    assert sum(y.shape == (17, 3) for y in covector.live_arrays()) == count + 1
    del kept
    assert sum(y.shape == (17, 3) for y in covector.live_arrays()) == count


def test_copy_to_host_async():
    """Other leaves are let alone; the same tree comes back."""
    tree = {"a": covector.device_put(np.ones(2)), "b": np.ones(1), "c": "text", "d": 1}
    assert covector.copy_to_host_async(tree) is tree


def test_effects_barrier():
    x = covector.jit(lambda x: lax.fori_loop(0, 1000, lambda _, c: lax.sin(c), x))(1.0)
    assert covector.effects_barrier() is None
    assert x.is_ready()


def test_environment_info(capsys):
    text = covector.print_environment_info(return_string=True)
    for name in ("covector:", "jaxlib:", "numpy:", "python:", "devices:", "platform:"):
        assert name in text
    assert covector.print_environment_info() is None
    assert capsys.readouterr().out.strip() == text
