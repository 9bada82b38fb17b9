"""Structures against nested tuples: the oracle is recursive, plain, and shares no code with the package."""

from __future__ import annotations

import copy
import doctest
import importlib
import itertools
import json
import pickle
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vcdim_core import LEAF, STUMP, Structure, as_structure, comb, full, join, structures, structures_of_height

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")

GOLDEN = Path(__file__).parent / "golden"

# Canonical spellings with up to 4 nodes, by hand.
CANONICAL = {
    0: {"."},
    1: {"(..)"},
    2: {"((..).)"},
    3: {"(((..).).)", "((..)(..))"},
    4: {"((((..).).).)", "(((..)(..)).)", "(((..).)(..))"},
}

# The canonical spellings that the tables of exact values use, 5 and 6 nodes.
CANONICAL_LARGER = [
    "(((((..).).).).)",
    "((((..)(..)).).)",
    "((((..).)(..)).)",
    "((((..).).)(..))",
    "(((..)(..))(..))",
    "(((..).)((..).))",
    "((((((..).).).).).)",
    "(((((..)(..)).).).)",
    "(((((..).)(..)).).)",
    "(((((..).).)(..)).)",
    "(((((..).).).)(..))",
    "((((..)(..))(..)).)",
    "((((..)(..)).)(..))",
    "((((..).)((..).)).)",
    "((((..).)(..))(..))",
    "((((..).).)((..).))",
    "(((..)(..))((..).))",
]

# text, first line of the message, character that the caret is under
BAD_SPELLINGS = [
    ("(..", "expected ')' for the '(' at position 0, got the end of the text", "("),
    ("((..)", "expected ')' for the '(' at position 0, got the end of the text", "("),
    ("..", "expected nothing after the structure, got '.' at position 1", "."),
    ("(..))", "expected nothing after the structure, got ')' at position 4", ")"),
    ("(..) (..)", "expected nothing after the structure, got '(' at position 5", "("),
    (")", "expected '.' or '(', got ')' at position 0", ")"),
    ("(.x)", "expected '.', '(' or ')', got 'x' at position 2", "x"),
    ("[..]", "expected '.', '(' or ')', got '[' at position 0", "["),
    ("(.)", "expected at least 2 children for the node at position 0, got 1", "("),
    (". ( )", "expected nothing after the structure, got '(' at position 2", "("),
    ("(.())", "expected at least 2 children for the node at position 2, got 0", "("),
    ("(.\n(.))", "expected at least 2 children for the node at position 3, got 1", "("),
]

nested = st.recursive(st.just(()), lambda part: st.lists(part, min_size=2, max_size=4).map(tuple), max_leaves=25)
nested_binary = st.recursive(st.just(()), lambda part: st.tuples(part, part), max_leaves=25)


# The oracle


def spell(t):
    return "(" + "".join(spell(c) for c in t) + ")" if t else "."


def n_nodes(t):
    return 1 + sum(n_nodes(c) for c in t) if t else 0


def n_leaves(t):
    return sum(n_leaves(c) for c in t) if t else 1


def height(t):
    return 1 + max(height(c) for c in t) if t else 0


def rank(t):
    if not t:
        return 0
    a, b = rank(t[0]), rank(t[1])
    return a + 1 if a == b else max(a, b)


def arities(t):
    return {len(t)}.union(*map(arities, t)) if t else set()


def order(t):
    return n_nodes(t), height(t), spell(t)


def canonical(t):
    return tuple(sorted(map(canonical, t), key=order, reverse=True))


def substructures(t):
    return {t}.union(*map(substructures, t))


def shuffled(t, random):
    parts = [shuffled(c, random) for c in t]
    random.shuffle(parts)
    return tuple(parts)


def from_table(table):
    made = []
    for children in table:
        made.append(tuple(made[i] for i in children))
    return made


def check_table(table):
    """The invariants of a table, whatever the structure."""
    assert table[0] == ()
    assert len(set(table)) == len(table)
    for i, children in enumerate(table[1:], 1):
        assert len(children) >= 2
        assert all(0 <= child < i for child in children)
    used = set(itertools.chain.from_iterable(table))
    assert used == set(range(len(table) - 1))  # everything but the root is somebody's child


# Degenerate inputs


def test_the_leaf_has_no_nodes_and_no_children():
    assert (LEAF.n_nodes, LEAF.n_leaves, LEAF.height, LEAF.rank) == (0, 1, 0, 0)
    assert LEAF.is_leaf and LEAF.is_binary
    assert LEAF.children == ()
    assert LEAF.arities == frozenset() and LEAF.max_arity == 0
    assert LEAF.table() == LEAF.table(unordered=False) == ((),)
    assert LEAF.canonical() is LEAF
    assert LEAF.grow_leaf(0) == STUMP
    assert LEAF.draw(ascii=True, max_depth=0) == "o"


def test_the_smallest_full_structures_and_combs_agree():
    assert full(0) == comb(0) == LEAF
    assert full(1) == comb(1) == STUMP == join(LEAF, LEAF)
    assert structures(0) == [LEAF]
    assert structures(1) == structures_of_height(1) == [STUMP]
    assert structures_of_height(0) == []


def test_whitespace_is_ignored():
    assert str(Structure.parse(" ( (. .)\n\t. ) ")) == "((..).)"


def test_a_stump_at_the_depth_limit_is_drawn_whole():
    assert STUMP.draw(ascii=True, max_depth=0) == "*\n|- o\n`- o"
    assert comb(2).draw(ascii=True, max_depth=0) == "* ... 1 more node below"


# Worked by hand


def test_one_structure_in_all_its_aspects():
    #        *
    #      / | \
    #     *  o  *
    #    / \   / \
    #   o   o o   *
    #            / \
    #           o   o
    s = Structure.parse("((..).(.(..)))")
    assert (s.n_nodes, s.n_leaves, s.height) == (4, 6, 3)
    assert s.children == (STUMP, LEAF, join(LEAF, STUMP))
    assert not s.is_leaf and not s.is_binary
    assert s.arities == {2, 3} and s.max_arity == 3
    assert s.table() == ((), (0, 0), (0, 1), (0, 1, 2))
    assert s.table(unordered=False) == ((), (0, 0), (0, 1), (1, 0, 2))
    assert str(s.canonical()) == "(((..).)(..).)"
    assert repr(s) == "Structure('((..).(.(..)))')" and eval(repr(s)) == s
    assert s.draw() == (
        "●\n"
        "├─ ●\n"
        "│  ├─ ○\n"
        "│  └─ ○\n"
        "├─ ○\n"
        "└─ ●\n"
        "   ├─ ○\n"
        "   └─ ●\n"
        "      ├─ ○\n"
        "      └─ ○"
    )


@pytest.mark.parametrize("n", CANONICAL)
def test_small_lists_by_hand(n):
    assert {str(s) for s in structures(n)} == CANONICAL[n]


@pytest.mark.parametrize("spelling", CANONICAL_LARGER)
def test_canonical_spelling_is_that_of_the_tables(spelling):
    mirrored = spelling[::-1].translate(str.maketrans("()", ")("))
    assert str(Structure(mirrored).canonical()) == spelling


def test_siblings_of_one_size_and_height_are_told_apart():
    one, other = Structure("(((..)(..)).)"), Structure("(((..).)(..))")
    assert (one.n_nodes, one.height) == (other.n_nodes, other.height)
    assert join(one, other).canonical() == join(other, one).canonical() == join(other, one)


def test_order_is_nodes_then_height_then_spelling():
    assert LEAF < STUMP < comb(2) < full(2) < comb(3) < Structure("(((..)(..)).)") < Structure("(((..).)(..))")
    assert sorted([comb(3), LEAF, full(2)]) == [LEAF, full(2), comb(3)]
    assert comb(2) <= Structure("((..).)") and comb(2) >= Structure("((..).)") and STUMP > LEAF


def test_structures_of_height_four():
    found = structures_of_height(4)
    assert len(found) == len(set(found)) == 66
    assert found == sorted(found) and max(s.height for s in found) == 4
    assert found[0] == STUMP and found[-1] == full(4)


# Agreement with the oracle


@given(nested)
def test_measures_agree(t):
    s = Structure(spell(t))
    assert (s.n_nodes, s.n_leaves, s.height) == (n_nodes(t), n_leaves(t), height(t))
    assert s.children == tuple(Structure(spell(c)) for c in t)
    assert s.arities == arities(t) and s.is_binary == (arities(t) <= {2}) and s.is_leaf == (t == ())


@given(nested_binary)
def test_rank_agrees(t):
    assert as_structure(t).rank == rank(t)


@given(nested)
def test_canonical_form_agrees(t):
    assert str(as_structure(t).canonical()) == spell(canonical(t))


@given(nested)
def test_tables_agree(t):
    ordered, unordered = as_structure(t).table(unordered=False), as_structure(t).table()
    for table in (ordered, unordered):
        check_table(table)
    assert from_table(ordered)[-1] == t
    assert set(from_table(ordered)) == substructures(t) | {()}
    assert canonical(from_table(unordered)[-1]) == canonical(t)
    assert {canonical(u) for u in from_table(unordered)} == substructures(canonical(t))
    assert all(list(children) == sorted(children) for children in unordered)


@given(nested, nested)
def test_order_agrees(t, u):
    assert (as_structure(t) < as_structure(u)) == (order(t) < order(u))
    assert (as_structure(t) == as_structure(u)) == (t == u)


@pytest.mark.parametrize("n", range(7))
def test_lists_hold_every_class_once(n):
    def ordered(k):
        if k == 0:
            return [()]
        return [(a, b) for i in range(k) for a in ordered(i) for b in ordered(k - 1 - i)]

    assert [str(s) for s in structures(n)] == [spell(t) for t in sorted({canonical(t) for t in ordered(n)}, key=order)]


@pytest.mark.parametrize("h", range(5))
def test_lists_by_height_and_by_nodes_agree(h):
    by_nodes = [s for n in range(1, 2**h) for s in structures(n) if s.height <= h]
    assert structures_of_height(h) == by_nodes


def test_counts_are_the_wedderburn_etherington_numbers():
    counts = json.loads((GOLDEN / "wedderburn_etherington.json").read_text())  # by number of leaves
    for n in range(15):
        assert len(structures(n)) == int(counts[str(n + 1)])


def test_lists_are_canonical_distinct_and_in_order():
    for n in range(12):
        found = structures(n)
        assert all(s.canonical() is s and s.n_nodes == n and s.is_binary for s in found)
        assert all(s < t for s, t in itertools.pairwise(found))


# Properties


@given(nested)
def test_every_form_reads_back(t):
    s = as_structure(t)
    assert Structure.parse(str(s)) == s == eval(repr(s))
    assert hash(Structure.parse(str(s))) == hash(s)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(s, protocol)) == s
    assert copy.copy(s) is s and copy.deepcopy([s])[0] is s
    assert s.is_leaf or join(*s.children) == s


@given(nested, st.randoms(use_true_random=False))
def test_canonical_form_forgets_the_order_of_children_only(t, random):
    c = as_structure(t).canonical()
    assert as_structure(shuffled(t, random)).canonical() == c
    assert c.canonical() is c
    assert (c.n_nodes, c.n_leaves, c.height) == (n_nodes(t), n_leaves(t), height(t))
    assert all(a >= b for a, b in itertools.pairwise(c.children))


@given(nested, st.data())
def test_growing_a_leaf_adds_one_node_at_that_place(t, data):
    s = as_structure(t)
    i = data.draw(st.integers(0, s.n_leaves - 1))
    grown = s.grow_leaf(i)
    assert (grown.n_nodes, grown.n_leaves) == (s.n_nodes + 1, s.n_leaves + 1)
    before = str(s).split(".")
    assert str(grown) == ".".join(before[: i + 1]) + "(..)" + ".".join(before[i + 1 :])


@given(nested)
def test_drawings_show_every_node_and_leaf(t):
    s = as_structure(t)
    lines = s.draw(max_depth=None).splitlines()
    assert sum(line.endswith("●") for line in lines) == s.n_nodes
    assert sum(line.endswith("○") for line in lines) == s.n_leaves
    assert s.draw(max_depth=None, ascii=True).isascii()
    svg = ElementTree.fromstring(s._repr_svg_())
    name = "{http://www.w3.org/2000/svg}"
    circles, squares = svg.findall(f".//{name}circle"), svg.findall(f".//{name}rect")
    assert (len(circles), len(squares)) == (s.n_nodes, s.n_leaves)
    gaps = {round(float(b.get("x")) - float(a.get("x")), 6) for a, b in itertools.pairwise(squares)}
    assert len(gaps) <= 1  # evenly spaced


@given(nested, st.integers(0, 4))
def test_a_shortened_drawing_accounts_for_every_node(t, depth):
    lines = as_structure(t).draw(max_depth=depth, ascii=True).splitlines()
    shown = sum("*" in line for line in lines)
    left_out = sum(int(line.split("... ")[1].split()[0]) for line in lines if "..." in line)
    assert shown + left_out == n_nodes(t)


# Deep structures

DEEP = 10_000


@contextmanager
def within(seconds: float) -> Iterator[None]:
    start = time.perf_counter()
    yield
    assert time.perf_counter() - start < seconds


@pytest.fixture(scope="module", params=["left", "right"])
def deep_spelling(request):
    return "(" * DEEP + "." + ".)" * DEEP if request.param == "left" else "(." * DEEP + "." + ")" * DEEP


@pytest.mark.parametrize(
    "action",
    [
        repr,
        str,
        hash,
        Structure.canonical,
        Structure.table,
        Structure.draw,
        Structure._repr_svg_,
        copy.deepcopy,
        lambda s: pickle.loads(pickle.dumps(s)),
        lambda s: s.table(unordered=False),
        lambda s: (s < comb(DEEP), s == comb(DEEP), s.rank, s.height, s.max_arity),
        lambda s: s.children[0].children,
        lambda s: s.grow_leaf(DEEP // 2),
        lambda s: join(s, s).canonical(),
    ],
)
def test_a_deep_comb_is_handled_fast(deep_spelling, action):
    s = Structure.parse(deep_spelling)
    with within(2.0):  # about a hundredth of a second each; the rest is room for a busy machine
        action(s)


def test_a_deep_comb_is_right(deep_spelling):
    s = Structure.parse(deep_spelling)
    assert (s.n_nodes, s.n_leaves, s.height, s.rank) == (DEEP, DEEP + 1, DEEP, 1)
    assert s.canonical() == comb(DEEP)
    assert s.table() == ((), (0, 0), *((0, i) for i in range(1, DEEP)))


def test_deep_nested_tuples_are_read():
    t: tuple = ()
    for _ in range(DEEP):
        t = (t, ())
    assert as_structure(t) == comb(DEEP)


def test_a_deep_path_can_be_walked_and_forgotten():
    s, n = comb(2_000), 0
    kept = s
    while not s.is_leaf:
        s, n = s.children[0], n + 1
    assert n == kept.n_nodes


# Other objects


def test_nested_tuples_and_lists_may_be_mixed_and_hold_structures():
    assert as_structure(()) == as_structure([]) == LEAF
    assert as_structure([((), []), full(2), ()]) == Structure("((..)((..)(..)).)")
    part = [(), ()]
    assert as_structure([part, part]) == full(2)  # the same list twice is no cycle


def test_an_object_with_a_structure():
    assert as_structure(types.SimpleNamespace(structure=STUMP)) == STUMP


def test_child_arrays_are_read_from_the_root():
    tree = types.SimpleNamespace(children_left=[1, -1, 3, -1, -1], children_right=[2, -1, 4, -1, -1])
    assert as_structure(tree) == as_structure(types.SimpleNamespace(tree_=tree)) == Structure("(.(..))")
    assert as_structure(types.SimpleNamespace(children_left=[-1], children_right=[-1])) == LEAF


def test_a_fitted_scikit_learn_tree():
    sklearn_tree = pytest.importorskip("sklearn.tree")
    X = [[0.0], [1.0], [2.0], [3.0]]
    for estimator in (sklearn_tree.DecisionTreeClassifier(), sklearn_tree.DecisionTreeRegressor()):
        fitted = estimator.fit(X, [0, 1, 1, 0])
        s = as_structure(fitted)
        assert (s.n_leaves, s.height) == (fitted.get_n_leaves(), fitted.get_depth())
        assert as_structure(fitted.tree_) == s
    with pytest.raises(TypeError, match=r"expected a Structure, .* got DecisionTreeClassifier"):
        as_structure(sklearn_tree.DecisionTreeClassifier())


def test_a_fitted_tree_keeps_left_and_right():
    sklearn_tree = pytest.importorskip("sklearn.tree")
    fitted = sklearn_tree.DecisionTreeClassifier(max_leaf_nodes=3).fit([[0.0], [5.0], [6.0], [7.0]], [0, 1, 2, 2])
    left, right = fitted.tree_.children_left, fitted.tree_.children_right

    def read(i):
        return () if left[i] == -1 else (read(left[i]), read(right[i]))

    assert as_structure(fitted) == as_structure(read(0))


# Errors


@pytest.mark.parametrize(("text", "message", "pointed"), BAD_SPELLINGS)
def test_bad_spelling_points_at_the_character(text, message, pointed):
    with pytest.raises(ValueError) as caught:
        Structure.parse(text)
    first, excerpt, caret = str(caught.value).split("\n")
    assert first == message
    assert excerpt[caret.index("^")] == pointed


def test_bad_spelling_in_a_long_text_shows_an_excerpt():
    with pytest.raises(ValueError) as caught:
        Structure.parse(str(comb(500)).replace("..", ".x", 1))
    first, excerpt, caret = str(caught.value).split("\n")
    assert first == "expected '.', '(' or ')', got 'x' at position 501"
    assert len(excerpt) < 80 and excerpt[caret.index("^")] == "x"


@pytest.mark.parametrize("text", ["", "  \n"])
def test_empty_text(text):
    with pytest.raises(ValueError, match=r"^expected a structure such as '\(\.\.\)', got empty text"):
        Structure.parse(text)


@pytest.mark.parametrize("text", [None, 3, b"(..)", ()])
def test_spelling_that_is_no_text(text):
    with pytest.raises(TypeError, match=f"^expected the spelling of a structure as a str, got {type(text).__name__}$"):
        Structure.parse(text)


@pytest.mark.parametrize("name", ["n_nodes", "_spelling", "anything"])
def test_a_structure_cannot_be_changed(name):
    with pytest.raises(AttributeError, match=f"^a Structure is immutable, got an assignment to '{name}'$"):
        setattr(STUMP, name, 3)
    with pytest.raises(AttributeError, match=r"^a Structure is immutable, got a deletion of '_spelling'$"):
        del STUMP._spelling


@pytest.mark.parametrize("children", [(), (LEAF,)])
def test_join_needs_two_children(children):
    with pytest.raises(ValueError, match=f"^expected at least 2 children, got {len(children)}$"):
        join(*children)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: full(-1), ValueError, "expected height >= 0, got -1"),
        (lambda: full(26), ValueError, "expected height <= 25, got 26"),
        (lambda: full(2.0), TypeError, "expected height to be an integer, got 2.0"),
        (lambda: comb(-1), ValueError, "expected n_nodes >= 0, got -1"),
        (lambda: comb(True), TypeError, "expected n_nodes to be an integer, got True"),
        (lambda: structures(-1), ValueError, "expected n_nodes >= 0, got -1"),
        (lambda: structures(23), ValueError, "expected n_nodes <= 22, got 23"),
        (lambda: structures_of_height(7), ValueError, "expected height <= 6, got 7"),
        (lambda: STUMP.grow_leaf(2), ValueError, "expected index <= 1, got 2"),
        (lambda: STUMP.grow_leaf(-1), ValueError, "expected index >= 0, got -1"),
        (lambda: STUMP.draw(max_depth=-1), ValueError, "expected max_depth >= 0, got -1"),
        (lambda: Structure("(...)").rank, ValueError, "expected a binary structure, got a node with 3 children"),
        (lambda: as_structure(((),)), ValueError, "expected at least 2 children for every node, got a node with 1"),
        (
            lambda: as_structure(((), 3)),
            TypeError,
            "expected nested tuples or lists with () for a leaf, got int inside",
        ),
        (
            lambda: as_structure(3.5),
            TypeError,
            "expected a Structure, a str, nested tuples or lists, a fitted scikit-learn tree or an object with "
            ".structure, got float",
        ),
    ],
)
def test_messages(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


def test_a_list_inside_itself():
    loop: list = [()]
    loop.append(loop)
    with pytest.raises(ValueError, match=r"^expected a finite structure, got a list that contains itself$"):
        as_structure(loop)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, -1], [-1, -1]),  # one child
        ([0, -1, -1], [1, -1, -1]),  # the root below itself
        ([1, -1, -1], [1, -1, -1]),  # one child twice
        ([1, -1, -1], [3, -1, -1]),  # out of range
        ([1, -1, -1], [-2, -1, -1]),
    ],
)
def test_child_arrays_that_are_no_tree(left, right):
    with pytest.raises(ValueError, match=r"^expected children_left and children_right to describe a binary tree"):
        as_structure(types.SimpleNamespace(children_left=left, children_right=right))


@pytest.mark.parametrize(("left", "right"), [([], []), ([-1], [-1, -1]), ([-1.0], [-1.0]), (-1, -1)])
def test_child_arrays_that_are_no_arrays(left, right):
    with pytest.raises(ValueError, match=r"^expected children_left and children_right to be integer arrays of one len"):
        as_structure(types.SimpleNamespace(children_left=left, children_right=right))


def test_structures_are_not_compared_with_other_things():
    assert STUMP != "(..)"
    with pytest.raises(TypeError):
        sorted([STUMP, "(..)"])


def test_docstrings():
    result = doctest.testmod(importlib.import_module("vcdim_core.structures"))
    assert result.attempted > 0 and result.failed == 0
