"""The problem of a certificate, read by the checker: structure, features, and what a node may ask of a sample.

Nothing but the standard library, and no other part of the package: what is checked here is not computed by the engine.

A *shape* is nested tuples, () for a leaf. A node with two children may test a real feature (x <= t), a binary or an
ordinal one (x <= c, c not the last category), a nominal one (x = c, or x in a proper non-empty subset), or a multiway
feature with two values; a node with k > 2 children only a multiway feature with k values. The points with the first
answer (<=, =, in, value 0) go to the first child; with orientation free the children may be taken in any order. A node
that no feature can test is a leaf.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Shape = tuple["Shape", ...]
Values = tuple[float, ...]
"""A point: one number for each feature; integers except for real features."""
Parts = tuple[int, ...]
"""The points that go to each child of a node, as bits."""

MAX_NODES = 400
MAX_FEATURES = 64
MAX_CATEGORIES = 64
MAX_ORDERS = 5040
"""Orders of the children of a node with many different ones; every one is a test of its own."""


class Refused(ValueError):
    """The certificate is not what it should be; the message says where."""


@dataclass(frozen=True)
class Problem:
    """A structure on features, with the rules of its tests."""

    shape: Shape
    """Nodes that no feature can test are leaves here."""
    columns: tuple[tuple[str, int], ...]
    """Kind and number of categories of each feature; 0 categories for a real one."""
    free: bool
    """Whether any child may take any answer."""
    subset: bool
    """Whether nominal features are tested by subsets."""

    @property
    def n_real(self) -> int:
        """Number of real features; they are the first columns."""
        return sum(kind == "real" for kind, _ in self.columns)

    @property
    def finite(self) -> tuple[tuple[str, int], ...]:
        """The other columns."""
        return self.columns[self.n_real :]

    @property
    def n_values(self) -> int:
        """Number of different points on the features that are not real."""
        return math.prod(categories for _, categories in self.finite)


def read_problem(data: object) -> Problem:
    """Read the part "problem" of a certificate, or raise `Refused`.

    Examples
    --------
    >>> features = {"real": 1, "binary": 1, "ordinal": [], "nominal": [], "multiway": []}
    >>> read_problem({"structure": "((..).)", "features": features, "orientation": "free", "nominal_splits": "one"})
    Problem(shape=(((), ()), ()), columns=(('real', 0), ('binary', 2)), free=True, subset=False)
    """
    fields = expect_fields("problem", data, ("structure", "features", "orientation", "nominal_splits"))
    for name, choices in (("orientation", ("free", "fixed")), ("nominal_splits", ("one", "subset"))):
        if fields[name] not in choices:
            raise Refused(f"expected {name} to be one of {', '.join(choices)}, got {fields[name]!r}")
    columns = _read_columns(fields["features"])
    shape = _prune(read_shape(fields["structure"]), columns)
    return Problem(shape, columns, fields["orientation"] == "free", fields["nominal_splits"] == "subset")


def expect_fields(where: str, data: object, names: Sequence[str], more: Sequence[str] = ()) -> Mapping[str, object]:
    """Return ``data`` if it is an object with these fields, perhaps some of ``more``, and no others."""
    if not isinstance(data, dict):
        raise Refused(f"expected {where} to be an object, got {data!r:.60}")
    for name in names:
        if name not in data:
            raise Refused(f"expected a field {name!r} in {where}, got none")
    for name in data:
        if name not in names and name not in more:
            raise Refused(f"expected only known fields in {where}, got {name!r}")
    return data


def expect_int(where: str, value: object, low: int, high: int | None = None) -> int:
    """Return ``value`` if it is an integer in the range."""
    if not isinstance(value, int) or isinstance(value, bool) or value < low or (high is not None and value > high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise Refused(f"expected {where} to be an integer {limits}, got {value!r:.60}")
    return value


def expect_list(where: str, value: object) -> list[object]:
    """Return ``value`` if it is a list."""
    if not isinstance(value, list):
        raise Refused(f"expected {where} to be a list, got {value!r:.60}")
    return value


def read_shape(text: object) -> Shape:
    """Read a spelling: '.' is a leaf, '(' children ')' a node with two or more.

    Examples
    --------
    >>> read_shape("((..).)")
    (((), ()), ())
    """
    if not isinstance(text, str) or len(text) > 4 * MAX_NODES:
        raise Refused(f"expected a structure of at most {MAX_NODES} nodes, got {text!r:.60}")
    stack: list[list[Shape]] = [[]]
    for character in text:
        if character == ".":
            stack[-1].append(())
        elif character == "(":
            stack.append([])
        elif character == ")" and len(stack) > 1 and len(stack[-1]) >= 2:
            done = tuple(stack.pop())
            stack[-1].append(done)
        else:
            raise Refused(f"expected a structure such as '((..).)', got {text!r:.60}")
    if len(stack) != 1 or len(stack[0]) != 1 or text.count("(") > MAX_NODES:
        raise Refused(f"expected one structure of at most {MAX_NODES} nodes, got {text!r:.60}")
    return stack[0][0]


def _read_columns(data: object) -> tuple[tuple[str, int], ...]:
    """Read the features: counts of real and binary ones, numbers of categories of the others."""
    fields = expect_fields("features", data, ("real", "binary", "ordinal", "nominal", "multiway"))
    columns: list[tuple[str, int]] = []
    for kind, categories in (("real", 0), ("binary", 2)):
        columns += [(kind, categories)] * expect_int(kind, fields[kind], 0, MAX_FEATURES)
    for kind in ("ordinal", "nominal", "multiway"):
        listed = expect_list(kind, fields[kind])
        columns += [(kind, expect_int(f"categories of {kind}", c, 2, MAX_CATEGORIES)) for c in listed]
    if len(columns) > MAX_FEATURES:
        raise Refused(f"expected at most {MAX_FEATURES} features, got {len(columns)}")
    return tuple(columns)


def can_test(arity: int, kind: str, categories: int) -> bool:
    """Whether a node with so many children may test such a feature."""
    return categories == arity if kind == "multiway" else arity == 2


def _prune(shape: Shape, columns: Sequence[tuple[str, int]]) -> Shape:
    """Make leaves of the nodes that no feature can test."""
    if not any(can_test(len(shape), *column) for column in columns):
        return ()
    return tuple(_prune(child, columns) for child in shape)


def canonical(shape: Shape) -> Shape:
    """Return the one arrangement that is the same however children are swapped."""
    return tuple(sorted(map(canonical, shape)))


def n_leaves(shape: Shape) -> int:
    """Number of leaves."""
    return sum(map(n_leaves, shape)) if shape else 1


def n_nodes(shape: Shape) -> int:
    """Number of nodes that are not leaves."""
    return 1 + sum(map(n_nodes, shape)) if shape else 0


def is_binary(shape: Shape) -> bool:
    """Whether every node has two children."""
    return not shape or (len(shape) == 2 and all(map(is_binary, shape)))


def n_orders(problem: Problem, shape: Shape) -> int:
    """Return in how many different orders the children may take the answers."""
    if not problem.free:
        return 1
    forms = [canonical(child) for child in shape]
    return math.factorial(len(forms)) // math.prod(math.factorial(forms.count(form)) for form in set(forms))


def arrangements(problem: Problem, shape: Shape) -> list[tuple[int, ...]]:
    """Return these orders, each as the children that take the answers 0, 1, ...

    Examples
    --------
    >>> ternary = Problem((((), (), ()), (), ()), (("multiway", 3),), True, False)
    >>> arrangements(ternary, ternary.shape)
    [(0, 1, 2), (1, 0, 2), (1, 2, 0)]
    """
    if not problem.free:
        return [tuple(range(len(shape)))]
    if n_orders(problem, shape) > MAX_ORDERS:
        raise Refused(f"expected at most {MAX_ORDERS} orders of the children of a node, got more")
    forms = [canonical(child) for child in shape]
    found: list[tuple[int, ...]] = [()]
    for _ in shape:
        longer = []
        for order in found:
            left = [i for i in range(len(shape)) if i not in order]
            longer += [(*order, i) for i in left if all(forms[j] != forms[i] for j in left if j < i)]
        found = longer
    return found


def cuts(problem: Problem, column: int, values: Sequence[float] = ()) -> list[object]:
    """Return the tests of a feature as a tree writes them; for a real one those that divide these values."""
    kind, categories = problem.columns[column]
    if kind == "real":
        lowest = min(values, default=0)
        return [lowest - 1, *sorted(set(values))]
    if kind == "multiway":
        return [None]
    if kind != "nominal":
        return list(range(categories - 1))
    if not problem.subset:
        return list(range(categories))
    sets = [[c for c in range(categories) if bits >> c & 1] for bits in range(1, 2**categories - 1)]
    return list(sets)


def answer(kind: str, cut: object, value: float) -> int:
    """Return which answer a point with this value gives; 0 goes to the first child."""
    if kind == "multiway":
        return int(value)
    if isinstance(cut, list):
        return int(value not in cut)
    assert isinstance(cut, int | float)
    return int(value != cut) if kind == "nominal" else int(value > cut)


def divide(problem: Problem, sample: Sequence[Values], column: int, cut: object) -> Parts:
    """Return the points that give each answer to a test, as bits."""
    kind, categories = problem.columns[column]
    parts = [0] * (categories if kind == "multiway" else 2)
    for i, point in enumerate(sample):
        parts[answer(kind, cut, point[column])] |= 1 << i
    return tuple(parts)


def all_divisions(problem: Problem, sample: Sequence[Values]) -> dict[int, dict[Parts, tuple[int, object]]]:
    """Return for each arity the ways to divide a sample, each with the first test that does so."""
    found: dict[int, dict[Parts, tuple[int, object]]] = {}
    for column in range(len(problem.columns)):
        for cut in cuts(problem, column, [point[column] for point in sample]):
            parts = divide(problem, sample, column, cut)
            found.setdefault(len(parts), {}).setdefault(parts, (column, cut))
    return found
