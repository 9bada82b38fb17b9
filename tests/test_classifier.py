"""TreeClassifier: the rules of scikit-learn, frames, weights, ties."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from vcdim_core.learn import TreeClassifier
from vcdim_core.structures import as_structure


@parametrize_with_checks(
    [
        TreeClassifier(),
        TreeClassifier("hypergeometric", alpha=0.5, random_state=0),
        TreeClassifier("entropy", missing="best", max_leaf_nodes=5),
        TreeClassifier("chi2", discretise="quartiles", tree="multiway", class_weight="balanced"),
        TreeClassifier(prune="bound"),
    ]
)
def test_follows_the_rules_of_scikit_learn(estimator, check):
    check(estimator)


def test_categorical_columns_of_a_pandas_frame_are_nominal():
    pandas = pytest.importorskip("pandas")
    colours = pandas.Categorical(["red", "blue", "red", "green"])
    frame = pandas.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": colours})
    model = TreeClassifier().fit(frame, ["a", "b", "a", "b"])
    assert str(model.tree_) == "colour = red?\n|- yes: a (2)\n`- no: b (2)"
    assert model.predict(frame).tolist() == ["a", "b", "a", "b"]
    unseen = pandas.DataFrame({"size": [9.0], "colour": ["violet"]})
    assert model.predict(unseen).tolist() == ["b"]


def test_text_columns_of_a_polars_frame_are_nominal():
    polars = pytest.importorskip("polars")
    flags = [True, False, True, True, False]
    frame = polars.DataFrame({"colour": ["red", "blue", "red", "green", None], "flag": flags})
    model = TreeClassifier(missing="best").fit(frame, [0, 1, 0, 1, 1])
    assert model.predict(frame).tolist() == [0, 1, 0, 1, 1]
    assert model.tree_.feature_names == ("colour", "flag")
    multiway = TreeClassifier(tree="multiway", missing="best").fit(frame, [0, 1, 0, 1, 1])
    assert multiway.tree_.children(0) == (1, 2, 3, 4)
    assert multiway.predict(frame).tolist() == [0, 1, 0, 1, 1]


def test_weights_of_zero_and_two_are_rows_left_out_and_repeated():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)).round(1), rng.integers(0, 3, 60)
    weights = rng.integers(0, 3, 60)
    again = np.repeat(np.arange(60), weights)
    for criterion in ("error", "gini", "entropy", "gain_ratio", "chi2", "orthogonality", "hypergeometric"):
        a = TreeClassifier(criterion).fit(X, y, sample_weight=weights)
        b = TreeClassifier(criterion).fit(X[again], y[again])
        assert a.tree_.feature.tolist() == b.tree_.feature.tolist()
        assert np.allclose(a.tree_.value, b.tree_.value)


def test_class_weight_moves_the_border():
    X, y = np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([0, 0, 1, 1])
    assert TreeClassifier(max_depth=1).fit(X, y).predict([[0.0]]).tolist() == [0]
    assert TreeClassifier(max_depth=1, class_weight={0: 1, 1: 5}).fit(X, y).predict([[0.0]]).tolist() == [1]


def test_random_state_shuffles_ties_only():
    X, y = np.repeat([[0.0], [1.0]], 4, axis=1), [0, 1]
    chosen = {int(TreeClassifier(random_state=seed).fit(X, y).tree_.feature[0]) for seed in range(20)}
    assert chosen == {0, 1, 2, 3}
    assert TreeClassifier().fit(X, y).tree_.feature[0] == 0


def test_interoperates_with_structures_pickle_and_clone():
    X, y = load_iris(return_X_y=True)
    model = clone(TreeClassifier(max_depth=3)).fit(X, y)
    assert as_structure(model) == model.structure == model.tree_.structure
    assert pickle.loads(pickle.dumps(model)).tree_ == model.tree_
    path = model.decision_path(X)
    assert path.shape == (150, model.tree_.n_all)
    assert (np.asarray(path.sum(axis=1)).ravel() == model.tree_.depths()[model.apply(X)] + 1).all()
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert (model.get_depth(), model.get_n_leaves()) == (model.tree_.height, model.tree_.n_leaves)
    assert np.allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))


def test_discretised_trees_predict_from_raw_values():
    X, y = load_breast_cancer(return_X_y=True)
    for method in ("quartiles", "natural"):
        for tree in ("binary", "multiway"):
            model = TreeClassifier("hypergeometric", discretise=method, tree=tree, alpha=0.01).fit(X, y)
            assert model.score(X, y) > 0.8
    assert "<=" in str(model.tree_) or "(" in str(model.tree_)


def test_bad_arguments_are_named():
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(ValueError, match="expected criterion to be one of"):
        TreeClassifier("giny").fit(X, y)
    with pytest.raises(ValueError, match="expected one kind for each of 1 features, got 2"):
        TreeClassifier(feature_kinds=["real", "real"]).fit(X, y)
    with pytest.raises(ValueError, match=r'expected tree="multiway" for multiway features'):
        TreeClassifier(feature_kinds="multiway").fit(X, y)
    with pytest.raises(ValueError, match="expected alpha <= 1, got 2"):
        TreeClassifier(alpha=2).fit(X, y)
