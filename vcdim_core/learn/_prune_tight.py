"""Bounds of candidates with the tight form of the growth function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..bounds_growth import log_growth_bound
from ..features import Features
from ..structures import LEAF, Structure, join
from ._tight_growth import TightGrowth

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


class TightPruner:
    """A tree that shrinks, on real features; parameters are those of `vcdim_core._boundprune.LoosePruner`.

    Candidates differ from the tree in the rows of one path to the root (`TightGrowth`), and all are computed in the
    first step. Later on a candidate's growth function is foretold: what its removal took off when it was last
    computed, put right by a formula for how much less it takes off since other nodes went,

        H(T) = N ln(2 l M n) + sum over nodes of ln B(p + 1, q + 1) - ln 2 for each node with two equal children,

    p and q the nodes below its children, B the beta function: the growth function of large samples, where rows are
    powers and sums of them are beta integrals. Candidates are computed in the order of what is foretold, as long as
    it is below the best bound computed plus a margin: three times the largest error of any forecast so far, at least
    0.05 in the logarithm of the growth function.
    """

    def __init__(
        self, parent: Ints, left: Ints, right: Ints, errors: Doubles, prior: Doubles, points: int, real: int,
        n_classes: int, kind: int, rows: float, fixed: float, log_r: float, raising: bool,
    ) -> None:  # fmt: skip
        self.parent, self.left, self.right = parent.tolist(), left.tolist(), right.tolist()
        self.own, self.wrong, self.prior = errors.tolist(), errors.tolist(), prior
        self.kind, self.rows, self.fixed, self.log_r, self.raising = kind, rows, fixed, log_r, raising
        self.raised: dict[int, tuple[float, float]] = {}
        n = len(self.parent)
        self.shape, self.hook = [0] * n, [0.0] * n
        self.rate = math.log(2.0 * real * points * n_classes)
        self.rows_of = TightGrowth(points, n_classes, real, n // 2)
        self.residual: dict[tuple[int, int], float] = {}
        self.worst = 0.0
        for v in range(n - 1, -1, -1):
            if self.left[v] >= 0:
                self._sum_up(v)

    def _beta(self, x: int, y: int) -> float:
        """What a node adds to H."""
        p, q = self.rows_of.leaves[x] - 1, self.rows_of.leaves[y] - 1
        half = math.log(2.0) if x == y else 0.0
        return self.rate + math.lgamma(p + 1) + math.lgamma(q + 1) - math.lgamma(p + q + 2) - half

    def _sum_up(self, v: int) -> None:
        x, y = self.left[v], self.right[v]
        self.shape[v] = self.rows_of.join(self.shape[x], self.shape[y])
        self.hook[v] = self.hook[x] + self.hook[y] + self._beta(self.shape[x], self.shape[y])
        self.wrong[v] = self.wrong[x] + self.wrong[y]

    def bound_of(self, wrong: float, growth: float, leaves: int) -> float:
        """The risk bound."""
        core = self.fixed + growth + float(self.prior[leaves])
        if self.kind == 0:
            return (2.0 * wrong + 4.0 * (core - wrong * self.log_r)) / self.rows
        eps, error = 4.0 * core / self.rows, wrong / self.rows
        return error + 0.5 * (eps + math.sqrt(eps * eps + 4.0 * error * eps))

    def now(self) -> tuple[int, float, float, float]:
        """As `LoosePruner.now`."""
        root = self.shape[0]
        if root not in self.rows_of.known:
            self.rows_of.settle(root)
        growth, leaves = self.rows_of.growth(root), self.rows_of.leaves[root]
        return leaves, self.wrong[0], growth, self.bound_of(self.wrong[0], growth, leaves)

    def _candidates(self) -> list[tuple[int, int, int, float, float]]:
        """Node, action, what takes its place, errors and H of the whole tree, for every replacement."""
        out, pending = [], [0]
        while pending:
            v = pending.pop()
            if self.left[v] < 0:
                continue
            pending.extend((self.left[v], self.right[v]))
            rest = self.wrong[0] - self.wrong[v]
            out.append((v, -1, 0, rest + self.own[v], self._hook_with(v, 0, 0.0)))
            for action, child in enumerate((self.left[v], self.right[v])):
                errors = self.raised.get(v, (math.inf, math.inf))[action]
                if self.raising and self.left[child] >= 0 and errors < math.inf:
                    hook = self._hook_with(v, self.shape[child], self.hook[child])
                    out.append((v, action, self.shape[child], rest + errors, hook))
        return out

    def _hook_with(self, v: int, inside: int, hook: float) -> float:
        """H of the whole tree with another structure in the place of v."""
        while (u := self.parent[v]) >= 0:
            other = self.right[u] if self.left[u] == v else self.left[u]
            hook += self.hook[other] + self._beta(inside, self.shape[other])
            inside, v = self.rows_of.join(inside, self.shape[other]), u
        return hook

    def _whole_with(self, v: int, inside: int) -> int:
        """The whole structure with another one in the place of v."""
        while (u := self.parent[v]) >= 0:
            other = self.right[u] if self.left[u] == v else self.left[u]
            inside, v = self.rows_of.join(inside, self.shape[other]), u
        return inside

    def best(self) -> tuple[int, int, int, float, float, float] | None:
        """As `LoosePruner.best`."""
        if self.left[0] < 0:
            return None
        rows, root = self.rows_of, self.shape[0]
        rows.settle(root)
        base = rows.growth(root)
        waiting, done = [], []
        for v, action, inside, wrong, hook in self._candidates():
            whole, change = self._whole_with(v, inside), hook - self.hook[0]
            guess = rows.known.get(whole)
            exact = guess is not None
            if guess is None:
                told = self.foretell((v, action), base + change)
                guess = -math.inf if told is None else told
            bound = self.bound_of(wrong, guess, rows.leaves[whole]) if guess > -math.inf else -math.inf
            waiting.append((bound, exact, v, action, whole, wrong, change, guess))
        waiting.sort()
        least = math.inf
        for bound, exact, v, action, whole, wrong, change, guess in waiting:
            leaves = rows.leaves[whole]
            if not exact and guess > -math.inf:
                room = max(0.05, 3.0 * self.worst)
                if self.bound_of(wrong, guess - room, leaves) > least:
                    continue
            growth = rows.growth(whole)
            if not exact and guess > -math.inf:
                self.worst = max(self.worst, abs(growth - guess))
            self.residual[v, action] = growth - base - change
            bound = self.bound_of(wrong, growth, leaves)
            least = min(least, bound)
            done.append((v, action, leaves, wrong, growth, bound))
        return min((e for e in done if e[5] <= least + TIE * abs(least)), key=lambda e: (e[2], e[0], e[1]))

    def foretell(self, candidate: tuple[int, int], by_formula: float) -> float | None:
        """The growth function of a candidate that was computed before, or None."""
        residual = self.residual.get(candidate)
        return None if residual is None else by_formula + residual

    def set_raised(self, v: int, left: float, right: float) -> None:
        """As `LoosePruner.set_raised`."""
        self.raised[v] = (left, right)

    def replace(self, v: int, action: int, nodes: Ints, own: Doubles, wrong: Doubles) -> None:
        """As `LoosePruner.replace`."""
        if action < 0:
            self.left[v] = self.right[v] = -1
            self.shape[v], self.hook[v], self.wrong[v] = 0, 0.0, self.own[v]
        else:
            for at, node in enumerate(nodes.tolist()):
                self.own[node], self.wrong[node] = float(own[at]), float(wrong[at])
            source = self.left[v] if action == 0 else self.right[v]
            self.own[v], self.wrong[v] = self.own[source], self.wrong[source]
            self.shape[v], self.hook[v] = self.shape[source], self.hook[source]
            self.left[v], self.right[v] = self.left[source], self.right[source]
            if self.left[v] >= 0:
                self.parent[self.left[v]] = self.parent[self.right[v]] = v
            # Other nodes stand below v now: what was computed for them there says nothing any more.
            self.residual.clear()
        u = self.parent[v]
        while u >= 0:
            self._sum_up(u)
            u = self.parent[u]
