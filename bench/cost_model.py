"""The cost model of Martin & Hirschberg (1996), measured: python bench/cost_model.py

Building.  Trees on generated nominal data are timed for many N (rows), A (attributes) and stopping levels (which set
the height), and the paper's pro-rated model is fitted by non-negative least squares in its coefficients:

    T_B = [(E1 N + E2 C) A (A + 1) / 2 + K1 A N + K0 f1(V, h)] h / (A - 1) + (E1 N + E2 C) A + K0 + K1 N

with C classes, branching factor V, f1(V, h) = (V^h - 1) / (V - 1) and h the average height weighted by rows.

Post-processing.  Pessimistic pruning with surgery (Figure 2) evaluates, below every node, its larger child on all rows
of the node; the rows so handled are counted and set against N (1 + xi)^h: the logarithm of rows / N must rise linearly
with the height, while simple pruning, at most h + 1 rows handled per row, must not.

Criteria.  Height, leaves, time and accuracy of the criteria, grown fully and stopped at alpha = 0.05.
"""

import time

import numpy as np

from vcdim_core.growing import grow_tree


def generated(m, n_attributes, arity, rng, noise=0.15, n_classes=2):
    """Nominal attributes; a random tree of depth 3 on them gives the class, then some labels are redrawn."""
    X = rng.integers(0, arity, size=(m, n_attributes)).astype(float)
    used = rng.integers(0, n_attributes, size=3)
    y = rng.integers(0, n_classes, size=(arity,) * 3)[tuple(X[:, used].astype(int).T)]
    flip = rng.random(m) < noise
    y[flip] = rng.integers(0, n_classes, size=int(flip.sum()))
    return X, y


def mean_height(tree):
    """Average depth of the leaves weighted by rows."""
    leaf = tree.feature < 0
    return float((tree.depths() * tree.n_samples)[leaf].sum() / tree.n_samples[0])


def timed(work, rounds=3):
    """Least CPU seconds and the last answer."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        answer = work()
        best = min(best, time.process_time() - start)
    return best, answer


def nonnegative_fit(rows, times, rounds=20000):
    """Relative non-negative least squares by coordinate descent."""
    A = np.array(rows) / np.array(times)[:, None]
    scale = np.sqrt((A**2).sum(axis=0))
    A = A / scale
    gram, target, x = A.T @ A, A.sum(axis=0), np.zeros(A.shape[1])
    for _ in range(rounds):
        for j in range(x.size):
            x[j] = max(0.0, x[j] + (target[j] - gram[j] @ x) / gram[j, j])
    return x / scale, A @ x


def building(rng):
    """Fit the model of building time."""
    rows, times = [], []
    for m in (500, 2000, 8000, 32000):
        for n_attributes in (6, 12, 24):
            for alpha in (None, 0.1, 1e-4):
                arity, n_classes = 3, 2
                X, y = generated(m, n_attributes, arity, rng)
                spent, tree = timed(lambda: grow_tree(X, y, "hypergeometric", tree="multiway", alpha=alpha))  # noqa: B023
                h, a = mean_height(tree), n_attributes
                f1 = (arity**h - 1) / (arity - 1)
                share = h / (a - 1)
                e1 = m * (a * (a + 1) / 2 * share + a)
                e2 = n_classes * (a * (a + 1) / 2 * share + a)
                rows.append([e1, e2, a * m * share + m, f1 * share + 1])
                times.append(spent)
    coefficients, fitted = nonnegative_fit(rows, times)
    names = ("E1", "E2", "K1", "K0")
    print("building: " + ", ".join(f"{n} = {c * 1e9:.1f} ns" for n, c in zip(names, coefficients, strict=True)))
    error = np.abs(np.log(np.maximum(fitted, 1e-9)))
    half, most = np.exp(np.quantile(error, [0.5, 0.9]))
    print(f"  {len(times)} trees, model / measured within a factor {half:.2f} for half, {most:.2f} for nine in ten")


def rows_evaluated(tree, X):
    """Rows handled by Eval of Figure 2 (with surgery), and by pruning without it."""
    left, right = tree.children_left, tree.children_right
    surgery, simple = 0, 0
    pending = [(0, np.arange(len(X)))]
    while pending:  # each entry: Eval(node, rows)
        node, rows = pending.pop()
        surgery += rows.size
        if left[node] < 0:
            continue
        goes = X[rows, tree.feature[node]] <= tree.threshold[node]
        one, two = rows[goes], rows[~goes]
        pending += [(left[node], one), (right[node], two)]
        larger = left[node] if one.size > two.size else right[node]
        pending.append((larger, rows))
    simple = int((tree.n_samples * 1).sum())
    return surgery, simple


def post_processing(rng):
    """Show exponential growth with surgery, linear without."""
    points = []
    for m in (200, 800, 2000):
        X = rng.normal(size=(m, 6))
        y = (X[:, 0] + rng.normal(size=m) > 0).astype(int)
        for depth in range(1, 12):
            tree = grow_tree(X, y, max_depth=depth)
            surgery, simple = rows_evaluated(tree, X)
            points.append((mean_height(tree), surgery / m, simple / m))
    h, surgery, simple = np.array(points).T
    slope = np.polyfit(h, np.log(surgery), 1)
    line = np.polyfit(h, simple, 1)
    fit = np.corrcoef(h, np.log(surgery))[0, 1]
    print(f"post-processing with surgery: rows / N = {np.exp(slope[1]):.2f} * (1 + {np.exp(slope[0]) - 1:.3f})^h"
          f" (correlation {fit:.4f}); without: {line[1]:.2f} + {line[0]:.2f} h")  # fmt: skip


def criteria(rng):
    """Compare the criteria on held-out rows."""
    print(f"{'criterion':16s}{'tree':10s}{'alpha':>6s}{'height':>8s}{'leaves':>8s}{'ms':>8s}{'accuracy':>10s}")
    names = ("error", "gini", "entropy", "gain_ratio", "chi2", "orthogonality", "hypergeometric")
    for form in ("binary", "multiway"):
        for alpha in (None, 0.05):
            for name in names:
                results = []
                for seed in range(6):
                    X, y = generated(4000, 12, 4, np.random.default_rng(seed))
                    kinds = "nominal" if form == "binary" else "multiway"
                    spent, tree = timed(
                        lambda: grow_tree(X[:2000], y[:2000], name, tree=form, feature_kinds=kinds, alpha=alpha), 1  # noqa: B023
                    )
                    results.append((mean_height(tree), tree.n_leaves, spent * 1e3, tree.score(X[2000:], y[2000:])))
                h, leaves, spent, right = np.mean(results, axis=0)
                print(f"{name:16s}{form:10s}{alpha or '-':>6}{h:8.2f}{leaves:8.0f}{spent:8.2f}{right:10.3f}")


if __name__ == "__main__":
    generator = np.random.default_rng(1996)
    building(generator)
    post_processing(generator)
    criteria(generator)
