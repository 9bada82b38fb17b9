"""Bounds of candidates with the tight form of the growth function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bounds_growth import log_growth_bound
from ..features import Features
from ..structures import LEAF, Structure, join

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

TIE = 1e-12
"""Bounds that differ by a smaller factor are equal."""


class StructurePruner:
    """A tree that shrinks; the growth function of every candidate is asked for by its structure, once for each
    structure.

    Parameters are those of `vcdim_core._boundprune.LoosePruner`, with Features in the place of a number.
    """

    def __init__(
        self, parent: Ints, left: Ints, right: Ints, errors: Doubles, prior: Doubles, points: int, features: Any,
        n_classes: int, kind: int, rows: float, fixed: float, log_r: float, raising: bool,
    ) -> None:  # fmt: skip
        self.parent, self.left, self.right = parent.tolist(), left.tolist(), right.tolist()
        self.own, self.wrong, self.prior = errors.tolist(), errors.tolist(), prior
        self.points, self.features, self.n_classes, self.kind = points, features, n_classes, kind
        self.rows, self.fixed, self.log_r, self.raising = rows, fixed, log_r, raising
        self.raised: dict[int, tuple[float, float]] = {}
        self.shape: list[Structure] = [LEAF] * len(self.parent)
        self.known: dict[Structure, float] = {}
        for v in range(len(self.parent) - 1, -1, -1):
            if self.left[v] >= 0:
                self._sum_up(v)

    def _sum_up(self, v: int) -> None:
        x, y = self.left[v], self.right[v]
        self.shape[v] = join(self.shape[x], self.shape[y]).canonical()
        self.wrong[v] = self.wrong[x] + self.wrong[y]

    def growth(self, shape: Structure) -> float:
        """ln tau of a structure."""
        if shape not in self.known:
            features: Features = self.features
            self.known[shape] = log_growth_bound(shape, self.points, self.n_classes, features=features, form="tight")
        return self.known[shape]

    def bound_of(self, wrong: float, growth: float, leaves: int) -> float:
        """The risk bound."""
        core = self.fixed + growth + float(self.prior[leaves])
        if self.kind == 0:
            return (2.0 * wrong + 4.0 * (core - wrong * self.log_r)) / self.rows
        eps, error = 4.0 * core / self.rows, wrong / self.rows
        return error + 0.5 * (eps + math.sqrt(eps * eps + 4.0 * error * eps))

    def now(self) -> tuple[int, float, float, float]:
        leaves, growth = self.shape[0].n_leaves, self.growth(self.shape[0])
        return leaves, self.wrong[0], growth, self.bound_of(self.wrong[0], growth, leaves)

    def _nodes(self) -> list[int]:
        out, pending = [], [0]
        while pending:
            v = pending.pop()
            if self.left[v] >= 0:
                out.append(v)
                pending.extend((self.left[v], self.right[v]))
        return sorted(out)

    def _with(self, v: int, shape: Structure) -> Structure:
        """The whole structure with another one in the place of v."""
        while self.parent[v] >= 0:
            u = self.parent[v]
            other = self.right[u] if self.left[u] == v else self.left[u]
            shape, v = join(shape, self.shape[other]), u
        return shape.canonical()

    def candidates(self) -> list[tuple[int, int, Structure, float]]:
        """Node, action, structure that takes its place, and errors of the whole tree, for every replacement."""
        out = []
        for v in self._nodes():
            rest = self.wrong[0] - self.wrong[v]
            out.append((v, -1, LEAF, rest + self.own[v]))
            for action, child in enumerate((self.left[v], self.right[v])):
                errors = self.raised.get(v, (math.inf, math.inf))[action]
                if self.raising and self.left[child] >= 0 and errors < math.inf:
                    out.append((v, action, self.shape[child], rest + errors))
        return out

    def best(self) -> tuple[int, int, int, float, float, float] | None:
        found = []
        for v, action, inside, wrong in self.candidates():
            whole = self._with(v, inside)
            growth = self.growth(whole)
            found.append((v, action, whole.n_leaves, wrong, growth, self.bound_of(wrong, growth, whole.n_leaves)))
        if not found:
            return None
        least = min(entry[5] for entry in found)
        return min((e for e in found if e[5] <= least + TIE * abs(least)), key=lambda e: (e[2], e[0], e[1]))

    def set_raised(self, v: int, left: float, right: float) -> None:
        self.raised[v] = (left, right)

    def replace(self, v: int, action: int, nodes: Ints, own: Doubles, wrong: Doubles) -> None:
        if action < 0:
            self.left[v] = self.right[v] = -1
            self.shape[v], self.wrong[v] = LEAF, self.own[v]
        else:
            for at, node in enumerate(nodes.tolist()):
                self.own[node], self.wrong[node] = float(own[at]), float(wrong[at])
            source = self.left[v] if action == 0 else self.right[v]
            self.own[v], self.wrong[v], self.shape[v] = self.own[source], self.wrong[source], self.shape[source]
            self.left[v], self.right[v] = self.left[source], self.right[source]
            if self.left[v] >= 0:
                self.parent[self.left[v]] = self.parent[self.right[v]] = v
        u = self.parent[v]
        while u >= 0:
            self._sum_up(u)
            u = self.parent[u]


class TightPruner(StructurePruner):
    """The same on real features, where the number of features stands for them."""

    def __init__(
        self, parent: Ints, left: Ints, right: Ints, errors: Doubles, prior: Doubles, points: int, real: int,
        n_classes: int, kind: int, rows: float, fixed: float, log_r: float, raising: bool,
    ) -> None:  # fmt: skip
        features = Features(real=real)
        super().__init__(
            parent, left, right, errors, prior, points, features, n_classes, kind, rows, fixed, log_r, raising
        )
