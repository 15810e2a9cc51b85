"""Pytrees against the oracle: structure, mapping, paths, registration, prefixes, pickling."""

import copy
import pickle
import threading
from collections import OrderedDict, defaultdict, namedtuple

import pytest
from covector import tree, tree_util
from covector._tree import registry as registries
from covector._tree.prefix import broadcast_prefix, flatten_axes, prefix_errors

Pair = namedtuple("Pair", "x y")

# What the snippets below use: named tuples and registered classes, made in each implementation.
PRELUDE = """
__name__ = "builtins"  # dataclasses look up the module that defines them
import collections, dataclasses, functools
T = jax.tree_util
NT = collections.namedtuple("NT", "x y")
class Sub(NT): pass
OD, DD = collections.OrderedDict, collections.defaultdict
class V:
    def __init__(self, *c): self.c = c
    def tree_flatten(self): return self.c, None
    @classmethod
    def tree_unflatten(cls, aux, children): return cls(*children)
    def __repr__(self): return f"V{self.c}"
T.register_pytree_node_class(V)
class K:
    def __init__(self, *c): self.c = c
    def tree_flatten_with_keys(self):
        return [(T.GetAttrKey(f"k{i}"), c) for i, c in enumerate(self.c)], "aux"
    @classmethod
    def tree_unflatten(cls, aux, children): return cls(*children)
    def __repr__(self): return f"K{self.c}"
T.register_pytree_with_keys_class(K)
@functools.partial(T.register_dataclass, data_fields=["b", "a"], meta_fields=["m"])
@dataclasses.dataclass
class D:
    a: int
    b: int
    m: str = "m"
@T.register_dataclass
@dataclasses.dataclass
class E:
    a: int
    s: int = jax.tree.static(default=7)
@T.register_static
@dataclasses.dataclass(frozen=True)
class S:
    name: str
"""

TREES = [
    "None",
    "3",
    "()",
    "[]",
    "{}",
    "'text'",
    "(1, [2, {'b': 3, 'a': None}], ())",
    "{'b': 1, 'a': (2, 3)}",
    "{2: 'x', 1: 'y'}",
    "{(1, 2): 0, (1, 1): 1}",
    "NT(1, [2, 3])",
    "Sub(1, NT(2, 3))",
    "OD(b=1, a=2)",
    "DD(list, b=1, a=2)",
    "collections.deque([1, 2])",
    "V(1, V(), (2,))",
    "K(1, {'z': 2})",
    "[D(1, 2), E(3)]",
    "[S('s'), 1]",
    "T.Partial(max, 1, b=3, a=(4, 5))",
    "[True, 1.5, {'z': [None, None]}]",
]


def case(snippet):
    """A snippet whose result is shown as text, since treedefs and nodes are not plain data."""
    return f"{PRELUDE}repr(({snippet}))"


@pytest.mark.parametrize("given", TREES)
def test_flatten_and_unflatten(oracle, given):
    oracle.compare(case(f"T.tree_flatten({given})"))
    oracle.compare(case(f"T.tree_flatten_with_path({given})"))
    oracle.compare(case(f"[T.keystr(path) for path, _ in T.tree_leaves_with_path({given})]"))
    oracle.compare(case(f"T.tree_unflatten(T.tree_structure({given}), T.tree_leaves({given}))"))
    oracle.compare(case(f"T.tree_map(lambda x: (x, 0), {given})"))


SNIPPETS = [
    "T.tree_leaves([(1, 2), 3], is_leaf=lambda x: isinstance(x, tuple))",
    "T.tree_leaves([None, 1], is_leaf=lambda x: x is None)",
    "T.tree_flatten_with_path([(1, 2)], is_leaf=lambda x: isinstance(x, tuple))",
    "T.tree_leaves_with_path([(1, 2), (3,)], is_leaf=lambda p, x: p == (T.SequenceKey(0),),"
    " is_leaf_takes_path=True)",
    "T.tree_map(lambda x, y: (x, y), {'a': 1}, {'a': (1, 2)})",
    "T.tree_map(lambda x, y, z: x + y + z, [1, (2,)], [3, (4,)], [5, (6,)])",
    "T.tree_map(lambda x, y: (x, y), [None, 1], [None, 2])",
    "T.tree_map(lambda x, y: (x, y), [(1, 2)], [3], is_leaf=lambda x: isinstance(x, tuple))",
    "T.tree_map_with_path(lambda p, x, y: (T.keystr(p), x, y), {'a': 1}, {'a': 2})",
    "T.tree_map_with_path(lambda p, x, y: (T.keystr(p), x, y), [(1, 2)], [3],"
    " is_leaf=lambda x: isinstance(x, tuple))",
    "T.tree_map_with_path(lambda p, x: (T.keystr(p), x), [(1, 2)],"
    " is_leaf=lambda p, x: len(p) == 1, is_leaf_takes_path=True)",
    "T.tree_reduce(lambda a, b: f'({a}{b})', list('abcd'))",
    "T.tree_reduce(lambda a, b: a + b, [], 5)",
    "T.tree_reduce(lambda a, b: a + b, [(1,), (2,)], (), is_leaf=lambda x: isinstance(x, tuple))",
    "[T.tree_reduce_associative(lambda a, b: f'({a}{b})', list('abcdefgh')[:n])"
    " for n in range(1, 9)]",
    "T.tree_reduce_associative(lambda a, b: a + b, [], identity=3)",
    "[T.tree_all([True, 1, [0]]), T.tree_all([]), T.tree_all([(), None])]",
    "T.tree_all({'a': (True, False)}, is_leaf=lambda x: isinstance(x, tuple))",
    "[T.all_leaves(x) for x in ([1, 2], [1, (2,)], [1, None], [])]",
    "T.all_leaves([(1, 2)], is_leaf=lambda x: isinstance(x, tuple))",
    "T.all_leaves([(1, 2)], is_leaf=lambda x: True)",
    "T.tree_transpose(T.tree_structure([0, 0]), T.tree_structure({'a': 0, 'b': 0}),"
    " [{'a': 1, 'b': 2}, {'a': 3, 'b': 4}])",
    "T.tree_transpose(T.tree_structure([0, 0]), None, [{'a': 1}, {'a': 2}])",
    "T.tree_transpose(T.tree_structure([0]), T.tree_structure([]), [[]])",
    "T.tree_broadcast([1, 2], [(1, 2), {'a': 3}])",
    "T.tree_broadcast(1, [(1, 2), {'a': None}])",
    "T.tree_broadcast([1, None], [(1, 2), None])",
    "T.tree_broadcast([None], [[3, None]], is_leaf=lambda x: x is None)",
    "T.tree_broadcast([(1, 2)], [[3, 4]], is_leaf=lambda x: isinstance(x, tuple))",
    "T.tree_broadcast(1, [(1, 2)], is_leaf=lambda x: isinstance(x, tuple))",
    "T.keystr(())",
    "T.keystr((T.SequenceKey(0), T.DictKey('a'), T.GetAttrKey('x'), T.FlattenedIndexKey(3)))",
    "T.keystr((T.SequenceKey(0), T.DictKey('a'), T.GetAttrKey('x'), T.FlattenedIndexKey(3)),"
    " simple=True, separator='/')",
    "T.keystr((T.DictKey(3), 'foo', 7), simple=True, separator='.')",
    "T.keystr((T.DictKey(3), 'foo', 7))",
    "T.keystr((T.DictKey('a'),), separator='/')",
    "[T.flatten_one_level(x) for x in ([1, (2, 3)], None, {'b': 1, 'a': 2}, V(1))]",
    "[tuple(T.flatten_one_level_with_keys(x)[0]) for x in ({'b': 1, 'a': 2}, V(1), K(1), D(1, 2))]",
    "[T.is_tree_node(t) for t in (list, int, NT, D, type(None), OD, DD, collections.Counter,"
    " T.Partial, V, S)]",
    "[T.treedef_is_leaf(T.tree_structure(t)) for t in (1, None, (), (1,))]",
    "T.treedef_children(T.tree_structure([1, (2, 3)]))",
    "T.treedef_tuple(iter([T.tree_structure(1), T.tree_structure([1])]))",
    "T.tree_structure(V(1)) == T.tree_structure(V(2)), T.tree_structure(D(1, 2, 'p')) =="
    " T.tree_structure(D(1, 2, 'q')), T.tree_structure([1]) == 3",
    "T.tree_structure(T.Partial(max, 1)) == T.tree_structure(T.Partial(max, 2))",
    "T.Partial(lambda x, *, y: x - y, y=1)(5), T.Partial(T.Partial(max, 1), 3)(2)",
    "T.tree_map(lambda x: x + 1, T.Partial(lambda *a: a, 1))(7)",
    "T.tree_leaves_with_path(T.Partial(T.Partial(max, 1), 2, key=None))",
    "T.tree_leaves_with_path(T.Partial(functools.partial(max, 1), 2))",
    "jax.tree.static(metadata={'other': 1}).metadata",
    "T.register_dataclass(dataclasses.make_dataclass('C', [('a', int), ('b', int, 3)]),"
    " data_fields=['a'], meta_fields=[], drop_fields=['b'])(1).b",
    "T.tree_structure([1, 2]).num_leaves, T.tree_structure([1, 2]).num_nodes",
]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_functions(oracle, snippet):
    oracle.compare(case(snippet))


ERRORS = [
    "T.tree_map(lambda x, y: x, {'a': 1}, {'b': 1})",
    "T.tree_map(lambda x, y: x, [1, 2], [1, 2, 3])",
    "T.tree_map(lambda x, y: x, [1, 2], (1, 2))",
    "T.tree_map(lambda x, y: x, V(1), V(1, 2))",
    "T.tree_map(lambda x, y: x, [None, 1], [3, 2])",
    "T.tree_map_with_path(lambda p, x, y: x, {'a': 1}, {'b': 2})",
    "T.tree_map(3, [1])",
    "T.tree_flatten({1: 2, 'a': 3})",
    "T.tree_unflatten(T.tree_structure([1, 2]), [1])",
    "T.tree_unflatten(T.tree_structure([1, 2]), [1, 2, 3])",
    "T.tree_reduce(max, [])",
    "T.tree_reduce_associative(max, [])",
    "T.tree_broadcast([1, 2], [(1, 2), 3, 4])",
    "T.tree_broadcast({'a': 1}, {'b': 2})",
    "T.tree_broadcast(None, [1, 2])",
    "T.tree_broadcast([(1,)], [1])",
    "T.tree_transpose(T.tree_structure([0, 0]), T.tree_structure({'a': 0}), [{'a': 1}])",
    "T.tree_transpose(T.tree_structure([0]), T.tree_structure({'a': 0}), [{'a': (1, 2)}])",
    "T.tree_transpose(T.tree_structure([]), None, [])",
    "T.flatten_one_level(1)",
    "T.flatten_one_level_with_keys(1)",
    "T.register_pytree_node(D, lambda d: ((), 0), lambda *_: None)",
    "T.register_pytree_node(list, lambda d: ((), 0), lambda *_: None)",
    "T.register_static(D)",
    "T.register_dataclass(D, ['a', 'b'], ['m'])",
    "T.register_dataclass(int)",
    "T.register_dataclass(D, data_fields=['a'])",
    "T.register_dataclass(D, ['a'], ['m'])",
    "T.register_dataclass(D, ['a', 'b', 'z'], ['m'])",
    "T.register_dataclass(D, ['a', 'b', 'm'], ['m'])",
    "T.Partial(3)",
]


@pytest.mark.parametrize("snippet", ERRORS)
def test_errors(oracle, snippet):
    oracle.compare_error(case(snippet))
    assert snippet in oracle.run(case(snippet)).error.traceback  # not the prelude


def test_short_names_are_the_long_ones():
    for name in tree.__all__:
        if name != "static":
            assert getattr(tree, name) is getattr(tree_util, f"tree_{name}")


# --- Messages ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prefix, full, message",
    [
        ([0, 0], [0, 0, 0], "at the top, the first is a list of 2 but the second is a list of 3"),
        ({"a": [0]}, {"a": (0,)}, r"at \['a'\], the first is a list of 1 but .* a tuple of 1"),
        ([{"a": 0}], [{"b": 0}], r"at \[0\], .* dict with the keys \['a'\] .* the keys \['b'\]"),
        (Pair(0, [0]), Pair(0, 1), r"at \.y, the first is a list of 1 but the second is a leaf"),
        ((0, None), (0, 1), r"at \[1\], the first is None but the second is a leaf"),
        (Pair(0, 0), (0, 0), "the first is a Pair of 2 but the second is a tuple of 2"),
        ([], [1], "the first is a list of 0 but the second is a list of 1"),
        (OrderedDict(a=0), OrderedDict(b=0), r"OrderedDict with the metadata \('a',\) but"),
    ],
)
def test_mismatches_are_shown_with_their_path(prefix, full, message):
    with pytest.raises(ValueError, match=f"tree_map: tree 2 must have the structure.*{message}"):
        tree.map(lambda x, y: x, prefix, full)
    with pytest.raises(ValueError, match=f"broadcast_prefix: .*{message}"):
        broadcast_prefix(prefix, full)
    (error,) = prefix_errors(prefix, full)
    assert error and not prefix_errors(full, full)


def test_the_wrong_tree_is_numbered():
    with pytest.raises(ValueError, match="tree 3 must"):
        tree.map(lambda *x: x, [1], [2], (3,))


def test_flatten_axes():
    structure = tree.structure(((1, 2), {"a": 3, "b": [4, 5]}, None))
    assert flatten_axes("in_axes", structure, 0) == [0] * 5
    assert flatten_axes("in_axes", structure, None) == [None] * 5
    assert flatten_axes("in_axes", structure, (1, None, 2)) == [1, 1, None, None, None]
    axes = ((0, None), {"a": 1, "b": None}, None)
    assert flatten_axes("in_axes", structure, axes) == [0, None, 1, None, None]
    assert flatten_axes("in_axes", structure, (0, {"a": 1, "b": [2, 3]}, 4)) == [0, 0, 1, 2, 3]


@pytest.mark.parametrize(
    "axes, message",
    [
        ((0, 0), "at the top, vmap: in_axes is a tuple of 2 but the value is a tuple of 3"),
        ((0, {"a": 0}, 0), r"at \[1\], .* keys \['a'\] .* keys \['a', 'b'\]"),
        (
            ((0, (0,)), 0, 0),
            r"at \[0\]\[1\], vmap: in_axes is .* of 1 but the value is a leaf",
        ),
    ],
)
def test_flatten_axes_errors(axes, message):
    structure = tree.structure(((1, 2), {"a": 3, "b": [4, 5]}, None))
    with pytest.raises(ValueError, match=f"vmap: in_axes must have .*{message}"):
        flatten_axes("vmap: in_axes", structure, axes)


def test_prefixes_do_not_build_objects():
    """A class that checks its fields is not called with placeholders."""

    class Checked:
        def __init__(self, x):
            assert isinstance(x, int)
            self.x = x

    tree_util.register_pytree_node(
        Checked, lambda c: ((c.x,), None), lambda _, children: Checked(*children)
    )
    structure = tree.structure([Checked(1), 2])
    assert flatten_axes("in_axes", structure, [None, 0]) == [None, 0]
    assert broadcast_prefix("a", [Checked(1), 2]) == ["a", "a"]


# --- Registries -------------------------------------------------------------------------------


def test_registration_reaches_dispatch_and_not_conversely():
    class Both:
        pass

    class Dispatch:
        value = 5

    tree_util.register_pytree_node(Both, lambda _: ((1, 2), None), lambda *_: Both())
    registries.register_dispatch_node(
        Dispatch, lambda d: ((d.value,), None), lambda _, children: Dispatch()
    )
    instance = Dispatch()
    assert tree.leaves([Both(), instance]) == [1, 2, instance]
    assert registries.dispatch_registry.flatten([Both(), instance])[0] == [1, 2, 5]
    for given in (OrderedDict(b=1, a=[2]), defaultdict(int, a=1), {"a": (Pair(1, 2), None)}):
        ours = tree.flatten(given)
        assert registries.dispatch_registry.flatten(given) == ours
    with pytest.raises(ValueError, match="Dispatch is already registered"):
        tree_util.register_pytree_node(Dispatch, None, None)
    with pytest.raises(TypeError, match="must be a type, but got 3"):
        tree_util.register_pytree_node(3, None, None)


def test_registrations_race():
    """Many threads register one class: one succeeds, and both registries know it."""
    for _ in range(20):
        cls, outcomes = type("Contended", (), {}), []

        def register(cls=cls, outcomes=outcomes):
            try:
                tree_util.register_pytree_node(cls, lambda _: ((1,), None), lambda *_: cls())
                outcomes.append(True)
            except ValueError:
                outcomes.append(False)

        threads = [threading.Thread(target=register) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(outcomes) == [False, False, False, True]
        assert registries.dispatch_registry.is_node(cls) and tree_util.is_tree_node(cls)


@pytest.mark.parametrize(
    "given", [[1, (2, {"a": 3})], OrderedDict(b=1), Pair(1, None), tree_util.Partial(max, 1)]
)
def test_structures_are_pickled_and_copied(given):
    structure = tree.structure(given)
    for same in (pickle.loads(pickle.dumps(structure)), copy.deepcopy(structure)):
        assert same == structure and hash(same) == hash(structure)
        assert tree.leaves(same.unflatten(tree.leaves(given))) == tree.leaves(given)
    dispatch = registries.dispatch_registry.flatten(given)[1]
    assert pickle.loads(pickle.dumps(dispatch)) == dispatch == structure


def test_partial_is_pickled_and_keeps_nested_partials_apart():
    nested = tree_util.Partial(tree_util.Partial(max, 1), 2)
    assert nested.args == (2,) and nested(0) == 2
    assert tree.leaves(nested) == [2]
    assert pickle.loads(pickle.dumps(tree_util.Partial(max, 1)))(0) == 1
    assert tree_util.Partial.__module__ == "covector.tree_util"


def test_keys_are_values():
    key = tree_util.DictKey("a")
    assert key == tree_util.DictKey("a") and hash(key) == hash(tree_util.DictKey("a"))
    assert (key.key, tree_util.SequenceKey(1).idx, tree_util.GetAttrKey("n").name) == ("a", 1, "n")
    assert tree_util.KeyPath.__origin__ is tuple
