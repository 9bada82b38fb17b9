"""Tree: invariants, exports, round trips, scikit-learn."""

import copy
import json
import pickle
from xml.etree import ElementTree

import numpy as np
import pytest

from vcdim_core.growing import grow_tree
from vcdim_core.structures import Structure, as_structure
from vcdim_core.trees import Tree


def grown(**options):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=80), rng.integers(0, 4, 80), rng.integers(0, 2, 80)])
    y = np.array(["no", "yes", "<&\">"])[rng.integers(0, 3, 80)]
    kinds = ["real", "nominal", "binary"]
    return grow_tree(X, y, feature_kinds=kinds, max_depth=4, feature_names=["<x>", 'a"b', "c"],
                     categories={1: ["red", "green", "b&w", "<i>"]}, **options), X, y  # fmt: skip


def several():
    yield grown()[0]
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, (50, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    yield grow_tree(X, rng.integers(0, 2, 50), tree="multiway", missing="best")
    yield grow_tree(X, rng.integers(0, 2, 50), missing="best", feature_kinds="nominal", nominal="subset")
    yield grow_tree([[np.nan], [1.0]], [0, 1], missing="best")
    yield grow_tree([[1.0]], [True])


def test_round_trips():
    for tree in several():
        tree.check()
        text = tree.to_json()
        json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
        assert Tree.from_json(text) == tree
        assert Tree.from_dict(tree.to_dict()) == tree
        assert pickle.loads(pickle.dumps(tree)) == copy.deepcopy(tree) == tree
        assert hash(Tree.from_json(text)) == hash(tree)


def test_a_tree_does_not_change():
    tree = grown()[0]
    with pytest.raises(AttributeError, match="expected no change to a tree"):
        tree.n_features = 3
    with pytest.raises(AttributeError, match="expected no change to a tree"):
        del tree.value
    with pytest.raises(ValueError, match="read-only"):
        tree.threshold[0] = 1
    assert tree != 3 and tree == tree


def test_drawings_escape_labels():
    tree = grown()[0]
    svg = ElementTree.fromstring(tree.to_svg())
    words = [element.text for element in svg.iter() if element.tag.endswith("text")]
    assert any("<&\">" in word for word in words)
    assert tree._repr_svg_() == tree.to_svg()
    dot = tree.to_dot()
    assert dot.count("->") == tree.n_all - 1
    assert '\\"' in dot and dot.count("{") == dot.count("}")


def test_rules_cover_the_leaves_and_merge_bounds():
    tree = grow_tree([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    assert tree.rules() == [
        "if x0 <= 0.5 then 0 (1)",
        "if 0.5 < x0 <= 1.5 then 1 (1)",
        "if 1.5 < x0 <= 2.5 then 0 (1)",
        "if x0 > 2.5 then 1 (1)",
    ]
    for tree in several():
        assert len(tree.rules()) == tree.n_leaves


def test_text_of_a_multiway_tree_names_its_categories():
    tree = grow_tree([[0], [1], [2], [2]], ["a", "b", "a", "b"], tree="multiway", feature_names=["colour"],
                     categories={0: ["red", "green", "blue"]})  # fmt: skip
    assert tree.to_text() == "colour?\n|- red: a (1)\n|- green: b (1)\n`- blue: a (1 of 2)"
    assert tree.to_text(max_depth=0).endswith("...")
    assert tree.to_text(unicode=True).splitlines()[1].startswith("├─ ")
    assert tree.structure == Structure.parse("(...)")
    with pytest.raises(AttributeError, match="expected a binary tree for children_left"):
        _ = tree.children_left


def test_predictions_follow_the_leaves():
    tree, X, y = grown()
    shares = tree.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (tree.classes[shares.argmax(axis=1)] == tree.predict(X)).all()
    starts, nodes = tree.decision_path(X)
    depth, leaf = tree.depths(), tree.apply(X)
    assert (np.diff(starts) == depth[leaf] + 1).all()
    assert (nodes[starts[:-1]] == 0).all() and (nodes[starts[1:] - 1] == leaf).all()
    assert tree.height == depth.max() == tree.structure.height
    assert tree.n_leaves == tree.structure.n_leaves == tree.n_nodes + 1
    assert tree.predict(np.empty((0, 3))).shape == (0,)
    assert 0.5 < tree.score(X, y) <= 1
    assert repr(tree).startswith("<Tree: ") and str(tree) == tree.to_text()


def test_missing_values_are_refused_unless_the_tree_takes_them():
    tree = grow_tree([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="expected X without missing values, got nan"):
        tree.predict([[np.nan]])
    with pytest.raises(ValueError, match="expected X to have 1 features, got 2"):
        tree.predict([[1.0, 2.0]])
    taking = grow_tree([[0.0], [0.0], [1.0]], [0, 0, 1], missing="best")
    assert taking.predict([[np.nan]]).tolist() == [0]


def test_scikit_learn_trees_come_over_and_predict_the_same():
    sklearn_tree = pytest.importorskip("sklearn.tree")
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 3, 300)
    X[rng.random(X.shape) < 0.05] = np.nan
    model = sklearn_tree.DecisionTreeClassifier(random_state=0).fit(X, y, sample_weight=rng.random(300) + 0.1)
    tree = Tree.from_sklearn(model)
    assert np.array_equal(tree.predict(X), model.predict(X))
    assert np.allclose(tree.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(tree.apply(X), model.apply(X))
    assert tree.structure == as_structure(model) == as_structure(tree)
    assert Tree.from_json(tree.to_json()) == tree
    with pytest.raises(TypeError, match="expected a fitted scikit-learn tree classifier, got DecisionTreeClassifier"):
        Tree.from_sklearn(sklearn_tree.DecisionTreeClassifier())
    several_outputs = sklearn_tree.DecisionTreeClassifier().fit([[0], [1]], [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="expected one output, got 2"):
        Tree.from_sklearn(several_outputs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature": [3, -1, -1]}, "expected features below 1, got 3"),
        ({"feature": [-1, -1, -1]}, "expected no child for a leaf"),
        ({"children": [(1, 1), (), ()]}, "expected every node but the root to be a child exactly once"),
        ({"value": [[1], [1], [1]]}, "expected value to have shape"),
        ({"test": [7, 0, 0]}, "expected every test to be one of 0, 1, 2, 3"),
        ({"test": [3, 0, 0]}, "expected one category for each child of a multiway node"),
        ({"missing": [5, -1, -1]}, "expected missing to name a child of its node"),
        ({"threshold": [0.5]}, "expected threshold to have one entry for each of 3 nodes"),
    ],
)
def test_broken_arrays_are_refused(change, message):
    fields = {"feature": [0, -1, -1], "test": [0, 0, 0], "threshold": [0.5, 0, 0], "children": [(1, 2), (), ()],
              "value": [[1, 1], [1, 0], [0, 1]], "classes": [0, 1], "n_features": 1, **change}  # fmt: skip
    with pytest.raises(ValueError, match=message):
        Tree(**fields)


def test_broken_json_is_refused():
    with pytest.raises(ValueError, match="expected a tree of format version 1, got None None"):
        Tree.from_json("{}")
    with pytest.raises(ValueError, match="expected a JSON object, got list"):
        Tree.from_json("[]")
    with pytest.raises(ValueError, match="expected the entry 'feature' of a tree, got none"):
        Tree.from_dict({"format": "vcdim_core tree", "version": 1})
