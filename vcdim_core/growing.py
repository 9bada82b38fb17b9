"""Growing trees: checks, the choice of the kernel, and the wrapping of its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _bitgrow, _flatten, _grow, _multiway
from ._table import CRITERIA, MULTIWAY, ONE, SUBSET, Data, check_values, prepare
from ._validation import check_choice, check_int, check_number
from .trees import Tree, multiway_tree, tree_from_arrays

_UNLIMITED = 2**62

_SHARED = 4096
"""Rows from which threads share one node; handing out the columns costs about a tenth of a millisecond."""

_CODES = 32
"""Most values of a feature whose tests become columns of bits; beyond it sorted lists are smaller and faster."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """When growing stops; the numbers that the kernels take."""

    criterion: int
    max_depth: int
    max_leaves: int
    min_split: int
    least: int
    lightest: float
    min_gain: float
    alpha: float


def grow_tree(
    X: Any,
    y: Any,
    criterion: str = "gini",
    *,
    tree: str = "binary",
    feature_kinds: str | Sequence[str] | None = None,
    nominal: str = "one-vs-rest",
    sample_weight: Any = None,
    missing: str = "raise",
    max_depth: int | None = None,
    max_leaf_nodes: int | None = None,
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    min_weight_fraction_leaf: float = 0.0,
    min_gain: float = 0.0,
    alpha: float | None = None,
    n_jobs: int = 1,
    feature_names: Sequence[str] | None = None,
    categories: Mapping[int, Sequence[str]] | None = None,
) -> Tree:
    """Grow a decision tree, greedily and exactly.

    Parameters
    ----------
    X, y, criterion, feature_kinds, nominal, sample_weight, missing
        As for `best_split`.
    tree : {"binary", "multiway"}
        Two children per node; or one per value of the tested attribute, each attribute used once per path (ID3, TDIDT).
        A multiway tree takes category codes only: discretise real features first.
    max_depth : int, optional
        Most tests on a path.
    max_leaf_nodes : int, optional
        Most leaves.  The tree is then grown best first: the node with the largest weighted gain next.
    min_samples_split, min_samples_leaf : int
        Fewest rows in a node that is split, and in every branch that holds any.
    min_weight_fraction_leaf : float
        Least share of the whole weight in every branch that holds any row.
    min_gain : float
        Least gain of a split.
    alpha : float, optional
        Split only where the criterion's own test of significance gives at most this probability (for the
        hypergeometric: P0 <= alpha).
    n_jobs : int
        Threads.
    feature_names : sequence of str, optional
        Names for exports.
    categories : mapping of int to sequence of str, optional
        Names of the categories of nominal features.

    Returns
    -------
    Tree

    Notes
    -----
    A node is a leaf when it is pure, when a rule above says so, or when no feature has two values in it.  A split of
    gain 0 is made: it may be what a later split needs.  Every split is the one that `best_split` finds on the node's
    rows (where gains tie on paper, with more than two classes, rounding may choose another one of them); the result
    does not depend on ``n_jobs``.

    Cost: O(d m log m) for sorting, then O(d m) per level; features with at most 32 whole-number values are not sorted
    but kept as columns of bits.  Extra memory: 4 bytes per entry of X and 21 bytes per row while growing (5 more per
    row and thread), then what the tree takes, for a moment twice.

    References
    ----------
    J. K. Martin, D. S. Hirschberg, On the Complexity of Learning Decision Trees, AI & Mathematics 1996, Figure 1.
    J. R. Quinlan, Induction of decision trees, Machine Learning 1 (1986), doi:10.1007/BF00116251.

    Examples
    --------
    >>> grow_tree([[0.0], [1.0]], [1, 1])
    <Tree: 0 nodes, 1 leaves, height 0, 1 classes>
    >>> print(grow_tree([[0, 0], [0, 1], [1, 0], [1, 1]], ["no", "yes", "yes", "no"]))
    x0 <= 0.5?
    |- yes: x1 <= 0.5?
    |  |- yes: no (1)
    |  `- no: yes (1)
    `- no: x1 <= 0.5?
       |- yes: yes (1)
       `- no: no (1)
    """
    check_choice("criterion", criterion, CRITERIA)
    check_choice("tree", tree, ("binary", "multiway"))
    jobs = check_int("n_jobs", n_jobs, 1)
    data = prepare(X, y, sample_weight, feature_kinds, nominal, missing)
    rules = _rules(
        data, criterion, max_depth, max_leaf_nodes, min_samples_split, min_samples_leaf, min_weight_fraction_leaf,
        min_gain, alpha,
    )  # fmt: skip
    rest = {
        "classes": data.classes, "n_features": data.X.shape[1], "takes_missing": missing == "best",
        "feature_names": feature_names, "categories": categories, "criterion": criterion,
        "weighted": data.weights is not None,
    }  # fmt: skip
    if feature_names is not None and len(feature_names) != data.X.shape[1]:
        raise ValueError(f"expected {data.X.shape[1]} feature names, got {len(feature_names)}")
    if tree == "multiway":
        if max_leaf_nodes is not None:
            raise ValueError(f"expected no max_leaf_nodes for a multiway tree, got {max_leaf_nodes}")
        return _grow_multiway(data, rules, rest)
    if (data.tests == MULTIWAY).any():
        raise ValueError('expected tree="multiway" for multiway features, got tree="binary"')
    return tree_from_arrays(_grow_binary(data, rules, jobs), **rest)


def _rules(
    data: Data, criterion: str, max_depth: int | None, max_leaf_nodes: int | None, min_samples_split: int,
    min_samples_leaf: int, min_weight_fraction_leaf: float, min_gain: float, alpha: float | None,
) -> _Rules:  # fmt: skip
    """Check the stopping rules; a least weight of rows that all count once becomes a least number of rows."""
    share = check_number("min_weight_fraction_leaf", min_weight_fraction_leaf, 0.0, 0.5)
    least = check_int("min_samples_leaf", min_samples_leaf, 1)
    if data.weights is None:
        least = max(least, math.ceil(share * data.X.shape[0]))
    return _Rules(
        CRITERIA.index(criterion),
        _UNLIMITED if max_depth is None else check_int("max_depth", max_depth, 1),
        0 if max_leaf_nodes is None else check_int("max_leaf_nodes", max_leaf_nodes, 2),
        check_int("min_samples_split", min_samples_split, 2),
        least,
        0.0 if data.weights is None else share * float(data.weights.sum()),
        check_number("min_gain", min_gain, 0.0),
        1.0 if alpha is None else check_number("alpha", alpha, 0.0, 1.0),
    )


def _grow_binary(data: Data, rules: _Rules, jobs: int) -> dict[str, npt.NDArray[Any]]:
    """Run the kernel that fits the data."""
    if data.weights is None and not data.has_missing and not (data.tests == SUBSET).any():
        threads = min(jobs, data.X.shape[0] // _SHARED)
        if threads < 2:
            planted = _plant_bits(data, rules, None, 1)
            if planted is not None:
                planted.run()
                return _flattened(planted)
        else:
            with ThreadPoolExecutor(threads) as pool:
                planted = _plant_bits(data, rules, pool, threads)
                if planted is not None:
                    try:
                        _share_bits(pool, planted, data.X.shape[0], threads, rules.max_leaves == 0)
                    except BaseException:
                        planted.halt()
                        raise
                    return _flattened(planted)
    return _grow_lists(data, rules, jobs)


def _flattened(grower: _bitgrow.BitGrower | _grow.Grower) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a grown tree; what growing took is given back before they are made."""
    grower.release()
    return _flatten.arrays(grower.address())


def _plant_bits(data: Data, rules: _Rules, pool: ThreadPoolExecutor | None, jobs: int) -> _bitgrow.BitGrower | None:
    """A grower on columns of bits, or None where some feature has too many values or others than whole numbers."""
    m, d = data.X.shape
    # A look at a few rows spares real data the pass over everything.
    sample = data.X[:: max(1, m // 16)]
    if bool((sample != np.floor(sample)).any()) or float(sample.max() - sample.min()) > 1e6:
        return None
    run: Any = map if pool is None else pool.map
    rows = [slice(m * part // jobs, m * (part + 1) // jobs) for part in range(jobs)]
    low, high = data.ranges if data.ranges is not None else (data.X.min(axis=0), data.X.max(axis=0))
    low = low.astype(np.float64, copy=False)
    sizes = high - low + 1
    if not sizes.max() <= _CODES or int(np.where(data.tests == ONE, sizes, sizes - 1).sum()) > 16 * d:
        return None
    codes = np.empty((d, m), dtype=np.uint8)
    if not all(run(lambda part: _bitgrow.encode(data.X[rows[part]], low, codes[:, rows[part]]), range(jobs))):
        return None
    grower = _bitgrow.BitGrower(
        codes, sizes.astype(np.int32), low, data.tests, data.codes, int(data.classes.size), rules.criterion,
        rules.least, rules.max_depth, rules.max_leaves, rules.min_split, rules.min_gain, rules.alpha,
        jobs + 1 if jobs > 1 else 1,
    )  # fmt: skip
    cuts = [d * part // jobs for part in range(jobs + 1)]
    list(run(grower.plant_columns, cuts[:-1], cuts[1:]))
    grower.plant()
    return grower


def _share_bits(pool: ThreadPoolExecutor, grower: _bitgrow.BitGrower, m: int, jobs: int, depth_first: bool) -> None:
    """Share the work out: the children of large nodes, wave by wave, then whole subtrees."""
    limit = max(m // (8 * jobs), _SHARED)
    threads = list(range(1, jobs + 1))

    def with_thread(method: Any, places: Any) -> None:
        def one(place: int) -> None:
            thread = threads.pop()
            try:
                method(thread, place)
            finally:
                threads.append(thread)

        for future in [pool.submit(one, place) for place in places]:
            future.result()

    while count := grower.wave(limit):
        with_thread(grower.build, range(count))
        grower.close()
    if depth_first:
        with_thread(grower.grow_subtree, grower.subtrees())
        grower.join()


def _grow_lists(data: Data, rules: _Rules, jobs: int) -> dict[str, npt.NDArray[Any]]:
    """Grow from presorted lists."""
    single, wide = (data.X, None) if data.X.dtype == np.float32 else (None, data.X)
    general = data.has_missing or data.weights is not None
    grower = _grow.Grower(
        single, wide, data.codes, data.weights, data.tests, int(data.classes.size), rules.criterion, rules.least,
        rules.lightest, general, data.shift, rules.max_depth, rules.max_leaves, rules.min_split, rules.min_gain,
        rules.alpha, jobs + 1,
    )  # fmt: skip
    m, d = data.X.shape
    if jobs == 1:
        grower.sort(0, d)
        if grower.start():
            grower.run()
    else:
        with ThreadPoolExecutor(jobs) as pool:
            try:
                _share(pool, grower, m, d, jobs, rules.max_leaves == 0)
            except BaseException:
                grower.halt()
                raise
    return _flattened(grower)


def _share(pool: ThreadPoolExecutor, grower: _grow.Grower, m: int, d: int, jobs: int, depth_first: bool) -> None:
    """Share the work out: columns while sorting and in large nodes, then whole subtrees."""
    parts = min(jobs, d)
    cuts = [d * part // parts for part in range(parts + 1)]
    spans = list(zip(range(parts), cuts[:-1], cuts[1:], strict=True))

    def on_columns(method: Any) -> None:
        waiting = [pool.submit(method, *span) for span in spans]
        for future in waiting:
            future.result()

    on_columns(lambda part, first, last: grower.sort(first, last))
    if not grower.start():
        return
    if not depth_first:
        grower.run()
        return
    grower.push_root()
    limit = max(m // (8 * jobs), _SHARED)
    while grower.take(limit):
        on_columns(grower.scan)
        if grower.choose(parts):
            on_columns(grower.partition)
            grower.push_children()
    places = grower.subtrees()
    # Worker 0 owns the tree; each thread has one of the others.  The largest subtrees go first.
    workers = list(range(1, jobs + 1))

    def one(place: int) -> None:
        worker = workers.pop()
        try:
            grower.grow_subtree(worker, place)
        finally:
            workers.append(worker)

    for future in [pool.submit(one, place) for place in places]:
        future.result()
    grower.join()


def _grow_multiway(data: Data, rules: _Rules, rest: dict[str, Any]) -> Tree:
    """Grow by BuildTree on category codes; missing values are one more category."""
    check_values(data.X, tuple("multiway" for _ in data.kinds))
    m, d = data.X.shape
    codes, values = np.empty((d, m), dtype=np.int32), []
    for feature in range(d):
        found, place = np.unique(data.X[:, feature], return_inverse=True)
        codes[feature] = place.reshape(-1)
        values.append(found.astype(np.float64))
    arity = np.array([found.size for found in values], dtype=np.int32)
    grown: list[npt.NDArray[Any]] = list(_multiway.grow(
        codes, arity, data.codes, data.weights, int(data.classes.size), rules.criterion, rules.max_depth,
        rules.min_split, rules.least, rules.lightest, rules.min_gain, rules.alpha,
    ))  # fmt: skip
    del codes
    return multiway_tree(grown, values, **rest)
