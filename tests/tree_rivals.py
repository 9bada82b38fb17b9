"""A slow, plain tree grower on top of `best_split`: one call per node, rows copied, no list kept."""

import heapq

import numpy as np

from vcdim_core.split import best_split


def grow(X, y, max_depth=None, max_leaf_nodes=None, min_samples_split=2, min_gain=0.0, alpha=None, **options):
    """Return the tree as nested tuples: (feature, threshold, categories, left, right), or class counts for a leaf."""
    X, y = np.asarray(X), np.asarray(y)
    classes = np.unique(y)
    nodes = []  # [rows, depth, split or None, left, right]

    def add(rows, depth):
        split = None
        if len(rows) >= min_samples_split and (max_depth is None or depth < max_depth):
            weights = options.get("sample_weight")
            rest = {**options, "sample_weight": None if weights is None else np.asarray(weights)[rows]}
            split = best_split(X[rows], y[rows], **rest)
        if split is not None and (split.gain < min_gain or (alpha is not None and split.p_value > alpha)):
            split = None
        nodes.append([rows, depth, split, None, None])
        return len(nodes) - 1

    queue, leaves, count = [], 1, 0

    def push(node):
        split = nodes[node][2]
        if split is not None:
            share = 1.0 if split.criterion in ("chi2", "hypergeometric") else len(nodes[node][0]) / len(y)
            heapq.heappush(queue, (-split.gain * share if max_leaf_nodes else 0.0, node))

    push(add(np.arange(len(y)), 0))
    while queue and (max_leaf_nodes is None or leaves < max_leaf_nodes):
        _, node = heapq.heappop(queue)
        rows, depth, split = nodes[node][:3]
        branch = split.branch(X[rows])
        nodes[node][3] = add(rows[branch == 0], depth + 1)
        nodes[node][4] = add(rows[branch == 1], depth + 1)
        push(nodes[node][3])
        push(nodes[node][4])
        leaves += 1
        count += 1

    def nested(node):
        rows, _, split, left, right = nodes[node]
        if left is None:
            return tuple((y[rows] == label).sum() for label in classes)
        return (split.feature, split.threshold, split.categories, nested(left), nested(right))

    return nested(0)


def nested(tree, node=0):
    """A Tree in the same form."""
    children = tree.children(node)
    if not children:
        return tuple(tree.value[node].astype(int).tolist())
    test = int(tree.test[node])
    threshold = float(tree.threshold[node])
    categories = () if test == 0 else (threshold,) if test == 1 else tree.set_of(node)
    left, right = (nested(tree, child) for child in children)
    return (int(tree.feature[node]), threshold if test == 0 else None, categories, left, right)
