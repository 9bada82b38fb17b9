"""What pruning returns: the new tree, and the path that led to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..trees import Tree

COLUMNS = ("step", "node", "n_leaves", "error", "vc", "bound", "alternative", "chosen", "reason")
_SHOWN = 30
"""Rows of a path that are printed; the rest is counted."""


@dataclass(frozen=True, slots=True)
class PruneStep:
    """One step of pruning.

    The methods that go from the leaves to the root (srm, holdout, pessimistic, hypergeometric, merge) have a step for
    each node that they look at; size, error, VC value and bound are those of its subtree, ``alternative`` those of a
    leaf, and chosen means that it became a leaf. The others (bound, cost_complexity, m_cost_complexity, mdl, generic)
    have a step for each tree on the way; all values are those of the tree, and chosen means that it was accepted.
    """

    step: int
    """0, 1, 2, ..."""
    node: int
    """Node of the tree before pruning that the step looks at; -1 for the tree as it came."""
    n_leaves: int
    """Leaves."""
    error: float
    """Training error, a share of the rows that were looked at (for holdout: of the rows put aside)."""
    vc: float
    """VC value: a lower bound, or what ``vc=`` asked for; NaN where there is none."""
    bound: float
    """What the method minimises or compares; NaN where there is nothing of the kind."""
    alternative: float
    """What the bound was compared with."""
    chosen: bool
    """Whether the step was taken."""
    reason: str
    """Why, or why not."""


@dataclass(frozen=True, eq=False)
class Path:
    """Steps as columns, so that a tree of 10,000 leaves costs nothing but arrays."""

    node: npt.NDArray[np.int64]
    n_leaves: npt.NDArray[np.int64]
    error: npt.NDArray[np.float64]
    vc: npt.NDArray[np.float64]
    bound: npt.NDArray[np.float64]
    alternative: npt.NDArray[np.float64]
    chosen: npt.NDArray[np.bool_]
    reason: npt.NDArray[np.int8]
    """Places in ``reasons``."""
    reasons: tuple[str, ...]

    def __len__(self) -> int:
        return int(self.node.size)

    def __getitem__(self, at: int) -> PruneStep:
        at = range(len(self))[at]
        return PruneStep(
            at, int(self.node[at]), int(self.n_leaves[at]), float(self.error[at]), float(self.vc[at]),
            float(self.bound[at]), float(self.alternative[at]), bool(self.chosen[at]),
            self.reasons[int(self.reason[at])],
        )  # fmt: skip

    def __iter__(self) -> Iterator[PruneStep]:
        return (self[at] for at in range(len(self)))

    def columns(self) -> dict[str, list[Any]]:
        """Plain lists by name."""
        return {
            "step": list(range(len(self))), "node": self.node.tolist(), "n_leaves": self.n_leaves.tolist(),
            "error": self.error.tolist(), "vc": self.vc.tolist(), "bound": self.bound.tolist(),
            "alternative": self.alternative.tolist(), "chosen": self.chosen.tolist(),
            "reason": [self.reasons[code] for code in self.reason.tolist()],
        }  # fmt: skip


def path_of(
    node: Any, n_leaves: Any, error: Any, vc: Any, bound: Any, alternative: Any, chosen: Any, reason: Any,
    reasons: tuple[str, ...],
) -> Path:  # fmt: skip
    """A path from anything that arrays can be made of; single numbers stand for columns of them."""
    nodes = np.asarray(node, dtype=np.int64)

    def column(values: Any, dtype: Any) -> npt.NDArray[Any]:
        return np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=dtype), nodes.shape))

    return Path(
        nodes, column(n_leaves, np.int64), column(error, np.float64), column(vc, np.float64),
        column(bound, np.float64), column(alternative, np.float64), column(chosen, np.bool_),
        column(reason, np.int8), reasons,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class PruneResult:
    """A pruned tree and how it came about.

    Examples
    --------
    >>> from vcdim_core import grow_tree
    >>> from vcdim_core.learn import prune
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "b", "b", "b"]
    >>> result = prune(grow_tree(X, y), X, y, "merge")
    >>> result.tree.n_leaves, result.before.n_leaves
    (2, 2)
    """

    tree: Tree
    """The pruned tree; of a forest, its first tree."""
    before: Tree
    """The tree as it came."""
    method: str
    """How it was pruned."""
    path: Path
    """Steps; a sequence of `PruneStep`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The options with which it was pruned, and what was chosen by cross-validation."""
    bound: float = float("nan")
    """What the method minimises, of the returned tree; NaN for methods that minimise nothing."""
    estimator: Any = None
    """A fitted estimator of the class that came, or None if a Tree came."""
    members: tuple[PruneResult, ...] = ()
    """Of a forest: one result for each of its trees."""

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The pruned trees: one, or all of a forest."""
        return tuple(member.tree for member in self.members) if self.members else (self.tree,)

    def __repr__(self) -> str:
        sizes = f"{self.before.n_leaves} -> {self.tree.n_leaves} leaves"
        if self.members:
            before = sum(member.before.n_leaves for member in self.members)
            sizes = f"{len(self.members)} trees, {before} -> {sum(t.n_leaves for t in self.trees)} leaves"
        return f"<PruneResult: {self.method}, {sizes}, {len(self.path)} steps>"

    def __str__(self) -> str:
        if self.members:
            return "\n\n".join(f"tree {i}\n{member}" for i, member in enumerate(self.members))
        return "\n".join([repr(self)[1:-1], *_table(self.path)])

    def to_frame(self) -> Any:
        """Return the path as a pandas data frame; of a forest with a column ``tree``."""
        try:
            import pandas as pd  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise ImportError("expected pandas for to_frame, got none: install it with pip install pandas") from None
        if not self.members:
            return pd.DataFrame(self.path.columns(), columns=list(COLUMNS))
        parts = [member.to_frame().assign(tree=i) for i, member in enumerate(self.members)]
        return pd.concat(parts, ignore_index=True)[["tree", *COLUMNS]]

    def curve(self) -> tuple[list[int], list[float], list[float], int]:
        """Return leaves, errors and bounds along the path, and the place of the returned tree.

        For the methods that go from the leaves to the root these are the trees after each node that became a leaf.
        """
        path = self.path
        if self.method in _WHOLE:
            # The last tree that was accepted, or of a sequence the one that is chosen.
            at = int(np.flatnonzero(path.chosen)[-1]) if path.chosen.any() else 0
            return path.n_leaves.tolist(), path.error.tolist(), path.bound.tolist(), at
        if self.settings.get("surgery"):  # subtrees change place: only the ends are known
            ends = [float(self.settings.get(name, float("nan"))) for name in ("error_before", "error_after")]
            return [self.before.n_leaves, self.tree.n_leaves], ends, [float("nan")] * 2, 1
        leaves, errors = [self.before.n_leaves], [float(self.settings.get("error_before", float("nan")))]
        for step in np.flatnonzero(path.chosen).tolist():
            leaves.append(leaves[-1] - int(path.n_leaves[step]) + 1)
            errors.append(float("nan"))
        errors[-1] = float(self.settings.get("error_after", float("nan")))
        return leaves, errors, [float("nan")] * len(leaves), len(leaves) - 1

    def plot(self, ax: Any = None) -> Any:
        """Draw errors and bounds against the number of leaves with matplotlib, and return the axes."""
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError(
                "expected matplotlib for plot, got none: install it with pip install 'vcdim_core[plot]'"
            ) from None
        if ax is None:
            ax = plt.subplots()[1]
        leaves, errors, bounds, at = self.curve()
        if self.method in _WHOLE:
            ax.plot(leaves, bounds, ".-", label="bound")
            ax.plot(leaves, errors, ".-", label="training error")
            ax.plot([leaves[at]], [bounds[at]], "o", mfc="none", ms=12, label="returned")
            ax.set_xlabel("leaves")
        else:
            ax.step(range(len(leaves)), leaves, where="post", label="leaves")
            ax.set_xlabel("nodes made leaves")
        ax.set_title(f"{self.method}: {self.before.n_leaves} to {self.tree.n_leaves} leaves")
        ax.legend()
        return ax

    def report(self) -> str:
        """Return a self-contained HTML page: the tree before and after, the path and its curve."""
        from ._prune_report import report_html

        return report_html(self)


_WHOLE = frozenset({"bound", "cost_complexity", "m_cost_complexity", "mdl", "generic"})


def _number(value: float) -> str:
    return "-" if value != value else f"{value:.6g}"


def cells_of(step: PruneStep) -> list[str]:
    """One row of the table, as text."""
    return [
        str(step.step), "-" if step.node < 0 else str(step.node), str(step.n_leaves), f"{step.error:.4f}",
        _number(step.vc), _number(step.bound), _number(step.alternative), "yes" if step.chosen else "no", step.reason,
    ]  # fmt: skip


def _table(path: Path) -> list[str]:
    """The path as lines; a long one shows its ends."""
    places = list(range(len(path)))
    cut = len(places) > _SHOWN
    if cut:
        places = places[: _SHOWN // 2] + places[-_SHOWN // 2 :]
    rows = [list(COLUMNS), *(cells_of(path[at]) for at in places)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        lines.append("  ".join([*cells, row[-1]]))
    if cut:
        lines.insert(1 + _SHOWN // 2, f"... {len(path) - _SHOWN} more steps")
    return lines
