"""Configuration flags: setting, scoping, the environment, keys of memos, and the page on them.

Run as a program, this file writes the tables of docs/configuration.md anew.
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from covector import _config, _flags
from covector._config import config, enable_x64, trace_context
from jaxlib import _jax

FLAGS = list(_flags.FLAGS.values())
PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


@pytest.fixture(autouse=True)
def restored():
    """Put back the process-wide values that a test changes."""
    values = {flag: flag.get_global() for flag in FLAGS}
    inert = dict(_config.INERT)
    yield
    for flag, value in values.items():
        if flag.get_global() != value:
            flag.update(value)
    _config.INERT.update(inert)


def other_value(flag):
    """A value of the flag that differs from its present one."""
    if flag is _config.default_device:
        return "cpu"
    text = {"a bool": "1", "an int": "7", "a number": "2.5"}.get(flag.kind.description)
    if flag.kind is _flags.BOOLEAN:
        return not flag.value
    if text is not None:
        return flag.kind.parse(text)
    options = flag.kind.description.removeprefix("one of ").removesuffix(" or None").split(", ")
    chosen = [o.strip("'") for o in options if o.strip("'") != flag.value]
    return chosen[0] if chosen and options[0].startswith("'") else "some text"


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.flag_name)
def test_every_flag_is_read_set_and_scoped(flag):
    name, before, new = flag.flag_name, flag.value, other_value(flag)
    assert getattr(config, name) == before == config.read(_config.full_name(name))
    with flag(new):
        assert flag.value == new == getattr(config, _config.full_name(name))
    assert flag.value == before
    config.update(_config.full_name(name), new)
    assert flag.value == new == config.values[_config.full_name(name)]
    config.update(name, before)
    assert flag.value == before


def test_flags_have_the_defaults_of_jax(oracle):
    ours = {_config.full_name(f.flag_name): f.default for f in FLAGS} | _config.INERT
    expected = oracle.value(
        "{name: getattr(v, 'value', v) for name, v in jax.config.values.items()"
        " if name != 'jax_explicit_x64_dtypes'}"
    )
    different = {name for name in ours.keys() & expected.keys() if ours[name] != expected[name]}
    different -= {"jax_num_cpu_devices", "jax_platforms"}  # the oracle's process sets these
    # Covector caches the programs of eager operations too, which compile in milliseconds.
    assert different == {"jax_persistent_cache_min_compile_time_secs"}


@pytest.mark.parametrize("value", ["yes", 3, None, 1.0])
def test_a_boolean_flag_takes_only_booleans(value):
    with pytest.raises(ValueError, match="enable_x64: the value must be a bool, but got"):
        config.update("jax_enable_x64", value)


@pytest.mark.parametrize(
    "name, value",
    [
        ("jax_default_matmul_precision", "foo"),
        ("jax_numpy_dtype_promotion", "foo"),
        ("jax_numpy_rank_promotion", None),
        ("jax_default_prng_impl", "foo"),
        ("jax_legacy_prng_key", "foo"),
        ("jax_default_device", "foo"),
        ("jax_default_device", 3),
        ("jax_num_cpu_devices", "two"),
        ("jax_platforms", 3),
        ("jax_transfer_guard", "foo"),
    ],
)
def test_wrong_values_raise_as_in_jax(oracle, name, value):
    error = oracle.run(f"jax.config.update({name!r}, {value!r})").error
    assert "ValueError" in error.names
    with pytest.raises(ValueError, match=name.removeprefix("jax_")):
        config.update(name, value)


def test_an_unknown_flag_raises_with_the_nearest_names():
    for attempt in (lambda: config.update("jax_enable_x46", True), lambda: config.jax_enable_x46):
        with pytest.raises(AttributeError, match=r"no flag 'jax_enable_x46'.*jax_enable_x64"):
            attempt()
    with pytest.raises(AttributeError, match=r"config\.update\('enable_x64', True\)"):
        config.enable_x64 = True


def test_numpy_booleans_are_booleans():
    import numpy as np

    config.update("enable_x64", np.bool_(True))
    assert enable_x64.value is True


def test_inert_flags_warn_when_changed(recwarn):
    config.update("jax_use_shardy_partitioner", True)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="jax_use_shardy_partitioner has no effect"):
        config.update("jax_use_shardy_partitioner", False)
    assert config.jax_use_shardy_partitioner is False


def test_scopes_nest_and_are_reusable():
    scope = enable_x64(True)
    with scope, enable_x64(False):
        assert enable_x64.value is False
        with scope:
            assert enable_x64.value is True
        assert enable_x64.value is False
    assert enable_x64.value is False and enable_x64.get_local() is _flags.UNSET


def test_a_scope_is_left_by_an_exception():
    with pytest.raises(KeyError), enable_x64(True):
        raise KeyError
    assert enable_x64.value is False


def test_a_scope_decorates_a_function():
    @enable_x64(True)
    def value(x, *, y):
        """Documented."""
        return enable_x64.value, x, y

    assert value(1, y=2) == (True, 1, 2) and value.__doc__ == "Documented."
    assert enable_x64.value is False


def test_values_that_may_be_left_out():
    with _config.disable_jit():
        assert config.disable_jit is True
        with _config.disable_jit(disable=False):
            assert config.disable_jit is False
    with enable_x64():
        assert enable_x64.value is True
    with _config.checking_leaks():
        assert config.check_tracer_leaks is True
    for flag in (_config.default_device, _config.numpy_rank_promotion, _config.transfer_guard):
        with pytest.raises(TypeError, match="the new value is missing"):
            flag()


def test_a_flag_has_no_truth_value():
    with pytest.raises(TypeError, match=r"enable_x64\.value"):
        bool(enable_x64)


def test_a_scope_is_shared_by_threads():
    """As a decorator of a function that many threads call is."""
    failures = []

    @enable_x64(True)
    def inner(depth):
        failures.extend([depth] if enable_x64.value is not True else [])
        return depth and inner(depth - 1)

    def work():
        for _ in range(200):
            inner(3)
            failures.extend(["outside"] if enable_x64.value is not False else [])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_local_values_belong_to_their_thread():
    seen, scope = [], enable_x64(True)
    inside, done = threading.Event(), threading.Event()

    def other():
        seen.append(enable_x64.value)
        with scope:
            seen.append(enable_x64.value)
            inside.set()
            done.wait(10)
        seen.append(enable_x64.value)

    thread = threading.Thread(target=other)
    with scope:
        thread.start()
        inside.wait(10)
    assert enable_x64.value is False  # left here while the other thread is inside
    done.set()
    thread.join()
    assert seen == [False, True, False]


# --- Keys -------------------------------------------------------------------------------------


@pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.flag_name)
def test_trace_context_holds_the_flags_of_the_key(flag):
    before = trace_context()
    assert trace_context() is before
    with flag(other_value(flag)):
        assert (trace_context() is not before) == any(f.in_key for f in flag.members)
        assert trace_context() is trace_context()
    assert trace_context() is before
    old = flag.value
    flag.update(other_value(flag))
    assert (trace_context() is not before) == any(f.in_key for f in flag.members)
    flag.update(old)
    assert trace_context() is before


def test_trace_context_sees_changes_of_other_threads():
    contexts, changed, seen = [], threading.Event(), threading.Event()

    def other():
        contexts.append(trace_context())
        seen.set()
        changed.wait(10)
        contexts.append(trace_context())
        with enable_x64(False):
            contexts.append(trace_context())

    thread = threading.Thread(target=other)
    thread.start()
    seen.wait(10)
    before = trace_context()
    config.update("jax_enable_x64", True)
    changed.set()
    thread.join()
    assert contexts == [before, trace_context(), before]


def test_everything_in_the_trace_context_is_keyed_state():
    """A bare Config there would change it without `trace_context()` noticing."""
    program = (
        "import gc, covector.lax, covector._flags as flags\n"
        "names = flags.m.config.trace_context_names()\n"
        "keyed = [o.name for o in gc.get_objects() if isinstance(o, flags.KeyedState) and o.in_key]"
        "\nassert sorted(keyed) == sorted(names), set(names) ^ set(keyed)"
    )
    run(program)


def test_keyed_state_of_others_joins_the_trace_context():
    program = (
        "from covector._flags import KeyedState, UNSET, trace_context\n"
        "before = trace_context(); state = KeyedState('mesh', None)\n"
        "first = trace_context(); assert first is not before\n"
        "state.set_local(3); assert 'mesh=3' in repr(trace_context())\n"
        "assert state.swap_local(UNSET) == 3 and trace_context() is first\n"
        "state.set_global(4); assert 'mesh=4' in repr(trace_context())\n"
    )
    run(program)


def test_jit_keys_see_keyed_flags_and_not_disable_jit():
    """`disable_jit` changes the key of C++ calls, but does not turn them off."""
    misses = []

    def miss(x):
        misses.append(config.disable_jit)
        return x, None, False

    call = _jax.pjit(
        "f", lambda x: 1 / 0, miss, (), (), "test", _jax.pytree.PyTreeRegistry(), lambda *_: None
    )
    with _config.disable_jit():
        assert call(1.0) == 1.0
    assert misses == [True]


# --- jaxlib's own state -----------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["host_to_device", "device_to_device", "device_to_host"])
def test_transfer_guards_reach_jaxlib(direction):
    flag = getattr(_config, f"transfer_guard_{direction}")
    local, process = _jax.guard_lib.thread_local_state(), _jax.guard_lib.global_state()
    with flag("log"):
        assert getattr(local, direction) == _jax.guard_lib.TransferGuardLevel.LOG
        with _config.transfer_guard("disallow"):
            assert getattr(local, direction) == _jax.guard_lib.TransferGuardLevel.DISALLOW
            assert flag.value == "disallow"
        assert getattr(local, direction) == _jax.guard_lib.TransferGuardLevel.LOG
    assert getattr(local, direction) is None and flag.value is None
    config.update("jax_transfer_guard", "allow")
    assert getattr(process, direction) == _jax.guard_lib.TransferGuardLevel.ALLOW


def test_garbage_collection_guard_reaches_jaxlib():
    local = _jax.guard_lib.thread_local_state()
    with _config.array_garbage_collection_guard("log"):
        assert local.garbage_collect_array == _jax.guard_lib.GarbageCollectionGuardLevel.LOG
    assert local.garbage_collect_array is None


def test_a_callback_may_refuse_a_change():
    def refuse(value, thread_local):
        raise RuntimeError("too late")

    flag = _config.num_cpu_devices
    flag.notify(refuse)
    try:
        with pytest.raises(RuntimeError, match="too late"):
            config.update("jax_num_cpu_devices", 3)
        assert flag.value == flag.default
    finally:
        flag.on_change.remove(refuse)


# --- Environment ------------------------------------------------------------------------------


def run(program, **environment):
    """Run a program in a new process, with only these of our variables; return what it prints."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "COVECTOR_"))}
    result = subprocess.run(
        [sys.executable, "-c", program],
        env=kept | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if result.returncode:
        raise AssertionError(result.stderr)
    return result.stdout.strip()


def test_environment_variables():
    program = (
        "from covector._config import config as c\n"
        "print(c.enable_x64, c.disable_jit, c.num_cpu_devices, c.default_matmul_precision,"
        " c.transfer_guard_device_to_host, c.persistent_cache_min_compile_time_secs,"
        " c.jax2tf_associative_scan_reductions)"
    )
    out = run(
        program,
        JAX_ENABLE_X64="TRUE",
        COVECTOR_DISABLE_JIT="on",
        JAX_DISABLE_JIT="0",  # the other name wins
        JAX_NUM_CPU_DEVICES="4",
        COVECTOR_DEFAULT_MATMUL_PRECISION="highest",
        JAX_TRANSFER_GUARD="log",
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="2.5",
        JAX2TF_ASSOCIATIVE_SCAN_REDUCTIONS="1",
    )
    assert out == "True True 4 highest log 2.5 True"


@pytest.mark.parametrize(
    "variable, text",
    [
        ("JAX_ENABLE_X64", "maybe"),
        ("COVECTOR_NUM_CPU_DEVICES", "x"),
        ("JAX_NUMPY_RANK_PROMOTION", "foo"),
        ("JAX_DEFAULT_DEVICE", "foo"),
    ],
)
def test_a_wrong_environment_variable_is_named(variable, text):
    with pytest.raises(AssertionError, match=f"ValueError: the environment variable {variable}"):
        run("import covector._config", **{variable: text})


def test_flags_of_the_command_line(monkeypatch):
    arguments = ["program", "--jax_enable_x64", "--covector_debug_nans=1", "--steps=3", "--jax_foo"]
    monkeypatch.setattr(sys, "argv", arguments)
    config.parse_flags_with_absl()
    assert (enable_x64.value, _config.debug_nans.value) == (True, True)
    monkeypatch.setattr(sys, "argv", ["program", "--jax_enable_x64=maybe"])
    with pytest.raises(ValueError, match="--jax_enable_x64=maybe must be a bool"):
        config.config_with_absl()


def test_import_is_light():
    """The flags need jaxlib, but nothing else that is large."""
    program = (
        "import sys, jaxlib._jax; before = set(sys.modules); import covector._config\n"
        "print(*sorted(n for n in set(sys.modules) - before if not n.startswith('covector')))"
    )
    assert run(program) == ""
    assert "jaxlib" not in run("import sys, covector, covector.errors; print(*sys.modules)")


# --- The page ---------------------------------------------------------------------------------


def tables():
    """The tables of the page: the flags of each section of the source."""
    lines = []
    for title, flags in sections():
        lines += [f"## {title}", "", "| flag | default | values | key | meaning |"]
        lines += ["| --- | --- | --- | --- | --- |", *map(row, flags), ""]
    lines += ["## Without effect", "", "These names of JAX can be set, and do nothing:", ""]
    lines += [", ".join(f"`{name}`" for name in _config.INERT) + ".", ""]
    return "\n".join(lines)


def sections():
    """The flags under each heading of `_config.py`."""
    title, found = "", []
    for line in Path(_config.__file__).read_text("utf-8").splitlines():
        if line.startswith("# --- "):
            title = line.strip("# -")
            found.append((title, []))
        elif " = " in line and line.split(" = ")[0] in _flags.FLAGS and line.endswith("("):
            found[-1][1].append(_flags.FLAGS[line.split(" = ")[0]])
    return [section for section in found if section[1]]


def row(flag):
    values = flag.kind.description.replace("|", "/")
    key = "yes" if flag.in_key else ""
    name = _config.full_name(flag.flag_name)
    return f"| `{name}` | `{flag.default!r}` | {values} | {key} | {flag.help} |"


def test_the_page_shows_every_flag():
    assert sum(len(flags) for _, flags in sections()) == len(FLAGS)
    page = PAGE.read_text("utf-8")
    assert page.endswith(tables()), "run this file to write the tables anew"


if __name__ == "__main__":
    head = PAGE.read_text("utf-8").partition("## Numbers")[0]
    PAGE.write_text(head + tables(), "utf-8")
