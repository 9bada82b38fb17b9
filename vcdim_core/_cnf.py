r"""The formula "some sample of m points is shattered" in conjunctive normal form, built from the problem alone.

The checker builds it again and compares digests, so that a proof of unsatisfiability is one about the problem.

**Sample.** Of a real feature only the order of the points matters, and ties never help: the splits of an order with
ties are among those of an order that breaks them. So ``o[f, i, j]`` (i < j) says that point i is below point j, made
transitive. A binary or ordinal feature has ``x > c`` for each threshold c; a nominal or multiway one has ``x = c`` for
each category, exactly one of them true (with two categories one variable says ``x = 1``).

**Labelling.** For each labelling y that is asked for, the first point labelled 0 (a tree with its leaf labels
exchanged realises the complement): each node has a variable for each test it may make, at least one of them true,
and each point variables that say to which child it would go. A test with real feature f says that the points going to
the lower child are closed downwards: no threshold is written. A subset test has a side for each category, both sides
used. A leaf has a label, and a point whose path leads there must have it. Children that are the same structure are not
exchanged: the tree with their subtrees exchanged does the same.

A node over two leaves, the case met most, needs no directions. Its leaves have different labels or the same one; if the
same, all points that come there have it. If different, the test and the label of its upper side say what the labels
are: of a real feature, that every point with that label that comes there is above every one with the other. The case
of one label needs no test of its own where a real feature exists: a threshold beyond all points does it.

Satisfiable for all labellings = shattered. A formula for some of the labellings only is weaker, so its
unsatisfiability says the same.

**Symmetry of real features, by cases** (orientation free, 2 to 4 of them). Each real feature has a lowest and a highest
point: its ends. Permuting and reversing real features and renaming points keep a sample shattered. So write the ends
down, feature by feature, the lower first; number the points as they appear, and choose the order and the directions of
the features for which the sequence is smallest. Every sample falls into one of the cases, the sequences that no order
and no directions make smaller (they are the multigraphs without loops with an edge for each feature). One formula for
each case: the ends are given, and the points that are no ends are numbered along the first feature. Some orders and
directions of the other features give the same case with its points renamed. Take, among these, the sample whose
points 0, 1, ... have the lexicographically smallest places in the first feature. Places differ, so for each such
renaming it is enough to say that the first point i whose name another point j takes comes before j there.

**Symmetry of real features, otherwise.** Points are numbered along the first real feature. Let :math:`O_f` be the bits
"not i below j" of the feature f >= 1, pairs in order. Exchanging features f >= 1 and (free) reversing them keeps a
sample shattered, so take :math:`(O_1, O_2, \ldots)` lexicographically smallest. Then the first bit of each is 0 (free),
else reverse f; and :math:`O_f \le O_{f+1}`, else exchange the two.

**Symmetry of finite features.** Let X be the matrix of their values, a row per point. Exchanging like columns, renaming
the categories of a nominal feature and (free) renaming those of a multiway one or reversing a binary or ordinal one
keep a sample shattered; without real features so does renumbering the points. Take X, read by rows, lexicographically
smallest; what is done to real features does not matter to it. In it

* without real features the rows increase strictly (equal points are never shattered): else exchange neighbours;
* neighbouring like columns increase weakly: at the first row where they differ, exchanging them would help;
* the first row has value 0 in a feature whose categories may be renamed, and at most (C-1)/2 in one that may be
  reversed: else rename or reverse.

All hold at once, as they hold for one smallest description. Hence adding them keeps satisfiability.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence

from ._check_problem import Problem, Shape, arrangements, can_test

Clause = tuple[int, ...]
Case = tuple[int, ...]
"""The lowest and the highest point of each real feature, one after the other; () if they are not given."""

MAX_CASE_FEATURES = 4
"""Real features up to which cases are made: 3, 8 and 23 of them for 2, 3 and 4."""


def cases(problem: Problem, m: int) -> list[Case]:
    """Return the cases into which samples of m points fall.

    Examples
    --------
    >>> cases(Problem(((), ()), (("real", 0),) * 2, True, False), 3)
    [(0, 1, 0, 1), (0, 1, 0, 2)]
    """
    if not (problem.free and 2 <= problem.n_real <= MAX_CASE_FEATURES and m >= 2):
        return [()]
    found: list[Case] = [()]
    for _ in range(2 * problem.n_real):
        found = [(*ends, i) for ends in found for i in range(min(m, 1 + max(ends, default=-1) + 1))]
    return [ends for ends in found if _is_smallest(ends)]


def _is_smallest(ends: Case) -> bool:
    """Whether the ends of each feature differ and no order and directions of the features make them smaller."""
    pairs = [ends[i : i + 2] for i in range(0, len(ends), 2)]
    if any(low == high for low, high in pairs):
        return False
    for order in itertools.permutations(pairs):
        for turned in itertools.product((1, -1), repeat=len(pairs)):
            names: dict[int, int] = {}
            image = (names.setdefault(i, len(names)) for i in _rearrange(order, turned))
            for old, new in zip(ends, image, strict=True):
                if new < old:
                    return False
                if new > old:
                    break
    return True


def _rearrange(pairs: Sequence[Case], turned: Sequence[int]) -> Iterator[int]:
    """Yield the ends of features, some of them reversed."""
    return (i for pair, by in zip(pairs, turned, strict=True) for i in pair[::by])


def _renamings(ends: Case) -> Iterator[tuple[int, int]]:
    """Yield for each way to rename the points that keeps a case and its first feature the first change, i to j."""
    first, *others = (ends[i : i + 2] for i in range(0, len(ends), 2))
    for order in itertools.permutations(others):
        for turned in itertools.product((1, -1), repeat=len(others)):
            listed = (*first, *_rearrange(order, turned))
            if len(set(zip(ends, listed, strict=True))) == len(set(ends)) == len(set(listed)):
                moved = [(i, j) for i, j in zip(ends, listed, strict=True) if i != j]
                if moved:
                    yield min(moved)


class Formula:
    """Clauses over variables 1, 2, ...; a literal is a variable or its negative."""

    def __init__(self) -> None:
        self.n_variables = 0
        self.clauses: list[Clause] = []

    def new(self) -> int:
        """Return a new variable."""
        self.n_variables += 1
        return self.n_variables

    def add(self, *literals: int) -> None:
        """Say that one of these is true."""
        self.clauses.append(literals)

    def add_lex(self, low: Sequence[int], high: Sequence[int], strict: bool) -> None:
        """Say that one vector of literals is lexicographically at most, or below, the other (false before true)."""
        equal: tuple[int, ...] = ()  # negated: the vectors agree so far
        for a, b in zip(low, high, strict=True):
            self.add(*equal, -a, b)
            after = self.new()
            self.add(*equal, a, b, after)
            self.add(*equal, -a, -b, after)
            equal = (-after,)
        if strict:
            self.add(*equal)

    @property
    def digest(self) -> str:
        """SHA-256 of the formula in the DIMACS format."""
        text = hashlib.sha256(f"p cnf {self.n_variables} {len(self.clauses)}\n".encode())
        for clause in self.clauses:
            text.update((" ".join(map(str, clause)) + " 0\n").encode())
        return text.hexdigest()


class SampleVariables:
    """The unknown sample: m points on the features of a problem."""

    def __init__(self, formula: Formula, problem: Problem, m: int, case: Case = ()) -> None:
        self.formula, self.problem, self.m = formula, problem, m
        self.below: dict[tuple[int, int, int], int] = {}
        self.bits: dict[tuple[int, int], list[int]] = {}
        for f, (kind, categories) in enumerate(problem.columns):
            if kind != "real":
                for i in range(m):
                    self.bits[f, i] = self._finite_value(kind, categories)
            else:
                self._order(f)
        if case:
            self._fix_ends(case)
        elif problem.n_real:
            self._break_real_symmetry()
        self._break_finite_symmetry()

    def _order(self, f: int) -> None:
        """A strict total order of the points."""
        for i, j in itertools.combinations(range(self.m), 2):
            o = self.formula.new()
            self.below[f, i, j], self.below[f, j, i] = o, -o
        for i, j, k in itertools.combinations(range(self.m), 3):
            self.formula.add(-self.below[f, i, j], -self.below[f, j, k], self.below[f, i, k])
            self.formula.add(self.below[f, i, j], self.below[f, j, k], -self.below[f, i, k])

    def _finite_value(self, kind: str, categories: int) -> list[int]:
        """Literals whose lexicographic order is that of the values."""
        add, new = self.formula.add, self.formula.new
        if categories == 2:
            return [new()]
        if kind == "ordinal":
            more = [new() for _ in range(categories - 1)]
            for low, high in itertools.pairwise(more):
                add(low, -high)
            return more
        equal = [new() for _ in range(categories)]
        add(*equal)
        for a, b in itertools.combinations(equal, 2):
            add(-a, -b)
        return [-e for e in equal]

    def more(self, f: int, i: int, c: int) -> int:
        """Literal: point i has a value above c in a binary or ordinal feature."""
        return self.bits[f, i][c]

    def equal(self, f: int, i: int, c: int) -> int:
        """Literal: point i has category c of a nominal or multiway feature."""
        if self.problem.columns[f][1] == 2:
            return self.bits[f, i][0] if c else -self.bits[f, i][0]
        return -self.bits[f, i][c]

    def _fix_ends(self, case: Case) -> None:
        """The ends of each feature; the other points along the first one."""
        for f in range(self.problem.n_real):
            low, high = case[2 * f], case[2 * f + 1]
            for i in range(self.m):
                if i != low:
                    self.formula.add(self.below[f, low, i])
                if i not in (low, high):
                    self.formula.add(self.below[f, i, high])
        ordered = [*itertools.pairwise(range(max(case) + 1, self.m)), *sorted(set(_renamings(case)))]
        for i, j in ordered:
            self.formula.add(self.below[0, i, j])

    def _break_real_symmetry(self) -> None:
        """The first feature numbers the points; the others are the smallest."""
        pairs = list(itertools.combinations(range(self.m), 2))
        for i, j in pairs:
            self.formula.add(self.below[0, i, j])
        vectors = [[-self.below[f, i, j] for i, j in pairs] for f in range(1, self.problem.n_real)]
        if self.problem.free and pairs:
            for vector in vectors:
                self.formula.add(-vector[0])
        for low, high in itertools.pairwise(vectors):
            self.formula.add_lex(low, high, strict=False)

    def _break_finite_symmetry(self) -> None:
        problem, rows = self.problem, range(self.m)
        finite = range(problem.n_real, len(problem.columns))
        if not problem.n_real:
            for i, j in itertools.pairwise(rows):
                low, high = ([bit for f in finite for bit in self.bits[f, row]] for row in (i, j))
                self.formula.add_lex(low, high, strict=True)
        for f, g in itertools.pairwise(finite):
            if problem.columns[f] == problem.columns[g]:
                low, high = ([bit for i in rows for bit in self.bits[column, i]] for column in (f, g))
                self.formula.add_lex(low, high, strict=False)
        for f in finite if self.m else ():
            kind, categories = problem.columns[f]
            if kind == "nominal" or (kind == "multiway" and problem.free):
                self.formula.add(self.equal(f, 0, 0))
            elif kind != "multiway" and problem.free:
                self.formula.add(-self.more(f, 0, (categories - 1) // 2))


class _Labelling:
    """A tree, chosen by the solver, that gives the points these labels."""

    def __init__(self, sample: SampleVariables, labels: Sequence[int]) -> None:
        self.sample, self.formula, self.problem = sample, sample.formula, sample.problem
        self.labels, self.points = labels, range(sample.m)
        self._place(self.problem.shape, [()] * sample.m)

    def _place(self, shape: Shape, away: list[Clause]) -> None:
        """Add a substructure; ``away[i]`` is a literal that is true unless point i comes here, or () if it does."""
        if not shape:
            self._leaf(away)
        elif shape == ((), ()):
            self._stump(away)
        else:
            goes = [self._direction(len(shape)) for _ in self.points]
            self._tests(shape, goes)
            for place, child in enumerate(shape):
                self._place(child, [self._beyond(away[i], -goes[i][place]) for i in self.points])

    def _beyond(self, away: Clause, turns_off: int) -> Clause:
        """Return a literal that is true where a point does not come here, or comes here but turns off."""
        if not away:
            return (turns_off,)
        here = self.formula.new()
        self.formula.add(*away, turns_off, here)
        return (-here,)

    def _leaf(self, away: list[Clause]) -> None:
        """All points that come here have the same label."""
        label = self.formula.new()
        for i in self.points:
            self.formula.add(*away[i], label if self.labels[i] else -label)

    # Stumps: a test says directly which labels it can give

    def _stump(self, away: list[Clause]) -> None:
        """Let a test separate the labels of the points that come here, or let them all have one label."""
        chosen = []
        for f, (kind, categories) in enumerate(self.problem.columns):
            if not can_test(2, kind, categories):
                continue
            if kind == "real":
                chosen += [self._real_stump(f, upper, away) for upper in (0, 1)]
            elif kind == "nominal" and (self.problem.subset or categories == 2):
                chosen.append(self._subset_stump(f, away))
            else:
                chosen += [
                    self._stump_of(away, lambda i, g=f, d=c: self._is_second(g, d, i), upper)  # type: ignore[misc]
                    for c in range(categories if kind == "nominal" else categories - 1)
                    for upper in (0, 1)
                ]
        if not self.problem.n_real:
            chosen += [self._one_label(label, away) for label in (0, 1)]
        self.formula.add(*chosen)

    def _is_second(self, f: int, c: int, i: int) -> int:
        """Literal: point i gives the second answer to test c of a finite feature."""
        kind, _ = self.problem.columns[f]
        if kind == "nominal":
            return -self.sample.equal(f, i, c)
        return self.sample.equal(f, i, 1) if kind == "multiway" else self.sample.more(f, i, c)

    def _stump_of(self, away: list[Clause], second: Callable[[int], int], upper: int) -> int:
        """Points with the second answer have the label ``upper``, the others not."""
        test = self.formula.new()
        for i in self.points:
            self.formula.add(-test, *away[i], second(i) if self.labels[i] == upper else -second(i))
        return test

    def _real_stump(self, f: int, upper: int, away: list[Clause]) -> int:
        """Points with the label ``upper`` are above the others."""
        test = self.formula.new()
        for i, j in itertools.permutations(self.points, 2):
            if self.labels[i] != upper and self.labels[j] == upper:
                self.formula.add(-test, *away[i], *away[j], self.sample.below[f, i, j])
        return test

    def _subset_stump(self, f: int, away: list[Clause]) -> int:
        """Points of the same category have the same label."""
        test = self.formula.new()
        for c in range(self.problem.columns[f][1]):
            label = self.formula.new()
            for i in self.points:
                here = -self.sample.equal(f, i, c)
                self.formula.add(-test, *away[i], here, label if self.labels[i] else -label)
        return test

    def _one_label(self, label: int, away: list[Clause]) -> int:
        test = self.formula.new()
        for i in self.points:
            if self.labels[i] != label:
                self.formula.add(-test, *away[i])
        return test

    # Other nodes: a test says which points go where

    def _direction(self, arity: int) -> list[int]:
        """Literals: a point would go to child 0, 1, ..."""
        if arity == 2:
            right = self.formula.new()
            return [-right, right]
        goes = [self.formula.new() for _ in range(arity)]
        self.formula.add(*goes)
        for a, b in itertools.combinations(goes, 2):
            self.formula.add(-a, -b)
        return goes

    def _tests(self, shape: Shape, goes: list[list[int]]) -> None:
        """Let a node choose a test."""
        chosen: list[int] = []
        for order in arrangements(self.problem, shape):
            for f, (kind, categories) in enumerate(self.problem.columns):
                if not can_test(len(shape), kind, categories):
                    continue
                if kind == "real":
                    chosen.append(self._real_test(f, order, goes))
                elif kind == "multiway":
                    chosen.append(self._finite_test(f, list(range(categories)), order, goes))
                elif kind != "nominal":
                    chosen += [self._threshold_test(f, c, order, goes) for c in range(categories - 1)]
                elif self.problem.subset:
                    chosen += [self._subset_test(f, goes)] if order == (0, 1) else []
                else:
                    chosen += [
                        self._finite_test(f, [int(v != c) for v in range(categories)], order, goes)
                        for c in range(categories)
                    ]
        self.formula.add(*chosen)

    def _real_test(self, f: int, order: tuple[int, ...], goes: list[list[int]]) -> int:
        """The points that go to the lower child are closed downwards."""
        test, lower = self.formula.new(), order[0]
        for i, j in itertools.permutations(self.points, 2):
            self.formula.add(-test, -self.sample.below[f, i, j], -goes[j][lower], goes[i][lower])
        return test

    def _threshold_test(self, f: int, c: int, order: tuple[int, ...], goes: list[list[int]]) -> int:
        test = self.formula.new()
        for i in self.points:
            more = self.sample.more(f, i, c)
            self.formula.add(-test, more, goes[i][order[0]])
            self.formula.add(-test, -more, goes[i][order[1]])
        return test

    def _finite_test(self, f: int, answers: list[int], order: tuple[int, ...], goes: list[list[int]]) -> int:
        """Category c gives the answer ``answers[c]``."""
        test = self.formula.new()
        for i in self.points:
            for c, given in enumerate(answers):
                self.formula.add(-test, -self.sample.equal(f, i, c), goes[i][order[given]])
        return test

    def _subset_test(self, f: int, goes: list[list[int]]) -> int:
        """Each category takes a side, not all the same; both orders of the children are among these."""
        test = self.formula.new()
        sides = [self.formula.new() for _ in range(self.problem.columns[f][1])]
        self.formula.add(-test, *sides)
        self.formula.add(-test, *(-side for side in sides))
        for i in self.points:
            for c, side in enumerate(sides):
                here = -self.sample.equal(f, i, c)
                self.formula.add(-test, here, -side, goes[i][1])
                self.formula.add(-test, here, side, goes[i][0])
        return test


def labels_of(labelling: int, m: int) -> list[int]:
    """Return the labels of m points: 0 for the first, then the bits of the labelling, lowest first."""
    return [0, *(labelling >> i & 1 for i in range(m - 1))][:m]


def add_labelling(sample: SampleVariables, labelling: int) -> None:
    """Ask for a tree that realises one more labelling."""
    _Labelling(sample, labels_of(labelling, sample.m))


def encode(problem: Problem, m: int, labellings: Sequence[int], case: Case = ()) -> Formula:
    """Return the formula "some sample of m points in this case has these labellings realised", up to symmetry.

    Examples
    --------
    >>> stump = Problem(((), ()), (("real", 0),) * 2, True, False)
    >>> formula = encode(stump, 4, range(1, 8), (0, 1, 2, 3))
    >>> formula.n_variables, len(formula.clauses)
    (40, 130)
    """
    formula = Formula()
    sample = SampleVariables(formula, problem, m, case)
    for labelling in labellings:
        add_labelling(sample, labelling)
    return formula
