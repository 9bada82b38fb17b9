"""Two groups of classes for a node to separate.

Let the classes i = 1..K have n_i rows and means c_i in coordinates where the total scatter of the rows is the identity
and their mean is 0. Linear discriminant analysis of a group g against the rest explains the share

    R2(g) = n / (n_g (n - n_g)) |sum_{i in g} n_i c_i|^2,    n_g = sum_{i in g} n_i,

of the variance of the group's indicator (1 minus Wilks' lambda); it is what is maximised here. With K classes there
are 2^(K-1) - 1 groupings, so from four classes on a heuristic is used: two-means on the class means gives a start
(Loh and Shih's way in QUEST), and then the class whose change of sides raises R2 most changes sides, until none does
(an exchange search, as Guo and Gelfand 1992). Every step raises R2, so it ends. Up to three classes every grouping is
one exchange away from every other, and the answer is exact. A step costs O(K).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_MAX_LLOYD = 100
"""Rounds of two-means; it stops by itself long before, as groupings are finite and the cost falls."""


def explained(means: Floats, counts: Floats, group: Mask) -> float:
    """R2 of a grouping, 0 if a group is empty.

    Examples
    --------
    >>> import numpy as np
    >>> explained(np.array([[-0.5], [0.5]]), np.array([1.0, 1.0]), np.array([False, True]))
    0.5
    """
    n, inside = float(counts.sum()), float(counts[group].sum())
    if inside <= 0.0 or inside >= n:
        return 0.0
    total = counts[group] @ means[group]
    return float(n / (inside * (n - inside)) * (total @ total))


def two_means(means: Floats, counts: Floats) -> Mask:
    """Split the classes by two-means on their means, weighted by their counts.

    The start is deterministic: the two means that are farthest apart (the first such pair). The group of the first
    class is the one that is False.
    """
    squares = np.einsum("ij,ij->i", means, means)
    distances = squares[:, None] + squares[None, :] - 2.0 * (means @ means.T)
    a, b = np.unravel_index(int(np.argmax(np.triu(distances, 1))), distances.shape)
    group = distances[:, b] < distances[:, a]
    group[b], group[a] = True, False
    for _ in range(_MAX_LLOYD):
        centres = [np.average(means[side], axis=0, weights=counts[side]) for side in (~group, group)]
        far, near = (((means - centre) ** 2).sum(axis=1) for centre in centres)
        moved = near < far
        if moved.all() or not moved.any() or np.array_equal(moved, group):
            break
        group = moved
    out: Mask = group ^ group[0]
    return out


def exchange(means: Floats, counts: Floats, group: Mask) -> Mask:
    """Move one class at a time to the other side while that raises R2; the move that raises it most goes first."""
    weighted = means * counts[:, None]
    gram = weighted @ weighted.T
    n, side = float(counts.sum()), group.copy()
    pull = gram @ side.astype(np.float64)  # pull_i = <n_i c_i, sum over the group>
    square, inside = float(pull @ side), float(counts[side].sum())
    best = square * n / (inside * (n - inside))
    while True:
        sign = np.where(side, -1.0, 1.0)
        squares, sizes = square + 2.0 * sign * pull + gram.diagonal(), inside + sign * counts
        usable = (sizes > 0.0) & (sizes < n)
        values = np.where(usable, squares * n / np.where(usable, sizes * (n - sizes), 1.0), -np.inf)
        move = int(values.argmax())
        if not values[move] > best * (1.0 + 1e-9):
            out: Mask = side ^ side[0]
            return out
        best, square, inside = float(values[move]), float(squares[move]), float(sizes[move])
        pull = pull + sign[move] * gram[move]
        side[move] = not side[move]


def find_groups(means: Floats, counts: Floats) -> Mask:
    """Return which classes form the second group; classes without rows are in the first.

    Parameters
    ----------
    means : array of shape (K, k)
        Class means where the total scatter is the identity and the mean of all rows 0.
    counts : array of shape (K,)
        Rows of each class; at least two classes have some.

    Examples
    --------
    >>> import numpy as np
    >>> find_groups(np.array([[0.5], [-0.3], [-0.2], [0.0]]), np.array([1.0, 1.0, 1.0, 0.0])).tolist()
    [False, True, True, False]
    """
    present = np.flatnonzero(counts > 0)
    out = np.zeros(counts.size, dtype=np.bool_)
    if present.size == 2:
        out[present[1]] = True
        return out
    start = np.arange(3) > 0 if present.size == 3 else two_means(means[present], counts[present])
    out[present] = exchange(means[present], counts[present], start)
    return out
