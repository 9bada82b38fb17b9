"""Pruning written plainly from the papers: nested dicts, lists of rows, recursion. Shares no code with the package."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import cache

# A tree is a dict: a leaf has "label"; a node has "feature", "threshold", "kids" (two of them) and "label" as well, the
# class it predicts as a leaf. Rows are pairs (x, y).


def nested(tree, node=0):
    """A binary tree of the package, tests x <= threshold, as nested dicts."""
    value = tree.value[node].tolist()
    made = {"label": tree.classes.tolist()[value.index(max(value))], "id": node}
    kids = tree.children(node)
    if kids:
        made |= {
            "feature": int(tree.feature[node]),
            "threshold": float(tree.threshold[node]),
            "kids": [nested(tree, kid) for kid in kids],
        }
    return made


def shape(t):
    """What two trees have in common when they are the same: tests and labels of leaves."""
    if "kids" not in t:
        return t["label"]
    return (t["feature"], t["threshold"], *(shape(kid) for kid in t["kids"]))


def as_leaf(t, label=None):
    return {"label": t["label"] if label is None else label, "id": t["id"]}


def split(t, rows):
    sides = [[], []]
    for row in rows:
        sides[0 if row[0][t["feature"]] <= t["threshold"] else 1].append(row)
    return sides


def predict(t, x):
    while "kids" in t:
        t = t["kids"][0 if x[t["feature"]] <= t["threshold"] else 1]
    return t["label"]


def wrong(t, rows):
    return sum(predict(t, x) != y for x, y in rows)


def n_leaves(t):
    return sum(n_leaves(kid) for kid in t["kids"]) if "kids" in t else 1


def n_all(t):
    return 1 + sum(n_all(kid) for kid in t.get("kids", []))


def inner(t):
    """Nodes in preorder."""
    if "kids" in t:
        yield t
        for kid in t["kids"]:
            yield from inner(kid)


def with_node(t, node_id, new):
    """The tree with the node of this id replaced."""
    if t["id"] == node_id:
        return new
    if "kids" not in t:
        return t
    return t | {"kids": [with_node(kid, node_id, new) for kid in t["kids"]]}


def all_pruned(t):
    """Every tree that making nodes leaves can give."""
    yield as_leaf(t)
    if "kids" in t:
        for kids in itertools.product(*(list(all_pruned(kid)) for kid in t["kids"])):
            yield t | {"kids": list(kids)}


# Structural risk minimisation


def generalisation(error, v, n, a1=0.1, a2=2.0, nu=None):
    """Eq. 2 and 3 of Yildiz 2012; V no larger than a2 N; the default of nu for n >= 3 only."""
    v = min(v, a2 * n)
    log_nu = -math.log(max(n, 3)) / 2 * (n / 3 if n < 3 else 1) if nu is None else math.log(nu)
    eps = a1 * (v * (math.log(a2 * n / v) + 1) - log_nu) / n
    return error + eps / 2 * (1 + math.sqrt(1 + 4 * error / eps))


def real_stump(n_features):
    m = 1
    while math.comb(m + 1, (m + 1) // 2) <= 2 * n_features:
        m += 1
    return m


def vc_real(t, n_features):
    """Sum over children; a node over leaves has the exact value of a stump."""
    if "kids" not in t:
        return 1
    single = real_stump(n_features)
    if all("kids" not in kid for kid in t["kids"]):
        return single
    return max(single, sum(vc_real(kid, n_features) for kid in t["kids"]))


def vc_binary(t, d):
    """Theorem 4 of Yildiz 2012 with 1 for d <= 0, and at least that of a single node."""
    if "kids" not in t or d <= 0:
        return 1
    single = int(math.log2(d + 1)) + 1
    if all("kids" not in kid for kid in t["kids"]):
        return single
    return max(single, sum(vc_binary(kid, d - 1) for kid in t["kids"]))


def srm(t, rows, vc, depth=0, **constants):
    if "kids" not in t:
        return t
    halves = zip(t["kids"], split(t, rows), strict=True)
    t = t | {"kids": [srm(kid, part, vc, depth + 1, **constants) for kid, part in halves]}
    n = len(rows)
    below = generalisation(wrong(t, rows) / n, vc(t, depth), n, **constants)
    leaf = generalisation(wrong(as_leaf(t), rows) / n, 1, n, **constants)
    return as_leaf(t) if leaf < below else t


# Rows put aside


def holdout(t, rows):
    if "kids" not in t:
        return t
    t = t | {"kids": [holdout(kid, part) for kid, part in zip(t["kids"], split(t, rows), strict=True)]}
    return as_leaf(t) if wrong(as_leaf(t), rows) <= wrong(t, rows) else t


# Pessimistic pruning


@cache
def upper_limit(errors, n, cf):
    """Bisection on P[Binomial(n, p) <= errors] = cf."""
    if errors >= n:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(200):
        p = (low + high) / 2
        tail = math.fsum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(errors + 1))
        low, high = (p, high) if tail > cf else (low, p)
    return (low + high) / 2


def majority(rows):
    labels = sorted({y for _, y in rows})
    return max(labels, key=lambda label: (sum(y == label for _, y in rows), -labels.index(label)))


def errors_of_majority(rows):
    return sum(y != majority(rows) for _, y in rows) if rows else 0


def estimate(t, rows, cf, surgery):
    """Eval of Figure 2: the smallest of what can be done, times the rows; and the three, with the larger child."""
    pruned = len(rows) * upper_limit(errors_of_majority(rows), len(rows), cf) if rows else 0.0
    if "kids" not in t or not rows:
        return pruned, (pruned, pruned, pruned, None)
    parts = split(t, rows)
    as_is = sum(estimate(kid, part, cf, surgery)[0] for kid, part in zip(t["kids"], parts, strict=True))
    larger = t["kids"][0 if len(parts[0]) >= len(parts[1]) else 1]
    raised = estimate(larger, rows, cf, surgery)[0] if surgery else math.inf
    return min(as_is, pruned, raised), (as_is, pruned, raised, larger)


def pessimistic(t, rows, cf, surgery=False):
    """PostProc of Figure 2, with the children looked at where a node stays."""
    if not rows:
        return as_leaf(t)
    if "kids" not in t:
        return as_leaf(t, majority(rows))
    _, (as_is, pruned, raised, larger) = estimate(t, rows, cf, surgery)
    if as_is > min(pruned, raised) * (1 + 1e-12):
        if pruned <= raised * (1 + 1e-12):
            return as_leaf(t, majority(rows))
        return pessimistic(larger, rows, cf, surgery)
    halves = zip(t["kids"], split(t, rows), strict=True)
    return t | {"kids": [pessimistic(kid, part, cf, surgery) for kid, part in halves]}


# Cost-complexity pruning, minimum description length


def best_of_all(t, objective):
    """The pruned tree of smallest objective, the smallest tree of equals."""
    found = [(objective(p), n_leaves(p), i, p) for i, p in enumerate(all_pruned(t))]
    least = min(entry[0] for entry in found)
    return min((e for e in found if e[0] <= least + 1e-12), key=lambda e: (e[1], e[2]))[3]


def cost_complexity(t, rows, alpha):
    """The smallest minimiser of R + alpha L among all pruned trees."""
    return best_of_all(t, lambda p: wrong(p, rows) / len(rows) + alpha * n_leaves(p))


def phi(leaves, n_features, m):
    d = min(leaves * math.log(leaves * n_features), m / math.e)
    return d / m * math.log(m / d) if d > 0 else 0.0


def m_cost_complexity(t, rows, n_features, alpha):
    """Weakest links with phi, up to alpha."""
    m = len(rows)
    while "kids" in t:
        links = []
        for node in inner(t):
            cut = with_node(t, node["id"], as_leaf(node))
            rise = (wrong(cut, rows) - wrong(t, rows)) / m
            gain = phi(n_leaves(t), n_features, m) - phi(n_leaves(cut), n_features, m)
            links.append((0.0 if rise <= 0 else rise / gain if gain > 0 else math.inf, node["id"], cut))
        link, _, cut = min(links, key=lambda entry: (entry[0], entry[1]))
        if link > alpha:
            break
        t = cut
    return t


def mdl(t, rows, n_features, n_classes, delta=0.05):
    def bound(p):
        bits = (n_all(p) + 1) * math.log2(n_features + n_classes + 1)
        return wrong(p, rows) / len(rows) + math.sqrt((bits + math.log(2 / delta)) / (2 * len(rows)))

    best = best_of_all(t, bound)
    return best, bound(best)


# Risk bounds


@cache
def structures_with(leaves):
    """Every unordered binary structure with so many leaves, as sorted nested tuples."""
    if leaves == 1:
        return ((),)
    found = set()
    for left in range(1, leaves // 2 + 1):
        for pair in itertools.product(structures_with(left), structures_with(leaves - left)):
            found.add(tuple(sorted(pair)))
    return tuple(sorted(found))


def structure_of(t):
    return tuple(sorted(structure_of(kid) for kid in t["kids"])) if "kids" in t else ()


def leaves_of(s):
    return sum(map(leaves_of, s)) if s else 1


@cache
def stirling(m, c):
    if c > m or (c == 0 and m > 0):
        return 0
    if m == 0 or c == m:
        return 1
    return c * stirling(m - 1, c) + stirling(m - 1, c - 1)


@cache
def parts(s, m, c, n_features, form):
    """Theorem 9 of Leboeuf et al. 2020 in exact numbers, with m - L + 1 terms in the loose form."""
    if c == 1:
        return int(m >= 1)
    if not s:
        return 0
    size = leaves_of(s)
    if m <= size:
        return stirling(m, c)
    x, y = s
    lx, ly = leaves_of(x), leaves_of(y)

    def glued(kx, ky):
        total = 0
        for a in range(1, c + 1):
            for b in range(max(1, c - a), c + 1):
                ways = math.comb(a, c - b) * math.comb(b, c - a) * math.factorial(a + b - c)
                total += ways * parts(x, kx, a, n_features, form) * parts(y, ky, b, n_features, form)
        return total

    if form == "loose":
        total = (m - size + 1) * 2 * n_features * glued(m - ly, m - lx)
    else:
        total = sum(min(2 * n_features, math.comb(m, k)) * glued(k, m - k) for k in range(lx, m - ly + 1))
    return min(stirling(m, c), total // 2 if x == y else total)


def growth(s, m, n_classes, n_features, form):
    total = sum(math.perm(n_classes, a) * parts(s, m, a, n_features, form) for a in range(1, n_classes + 1))
    return min(total, n_classes**m)


def risk(t, rows, n_classes, n_features, form="loose", r=2**-13.7, delta=0.05, kind="shawe_taylor"):
    m, k = len(rows), wrong(t, rows)
    s = structure_of(t)
    p = 6 / (math.pi**2 * leaves_of(s) ** 2) / len(structures_with(leaves_of(s)))
    log_tau = math.log(growth(s, 2 * m, n_classes, n_features, form))
    if kind == "vapnik":
        eps = 4 / m * (math.log(4 / delta / p) + log_tau)
        return k / m + eps / 2 * (1 + math.sqrt(1 + 4 * (k / m) / eps))
    return (2 * k + 4 * (math.log(4 / (delta * (1 - r) * p)) + log_tau - k * math.log(r))) / m


def relabelled(t, rows):
    """Every leaf and node predicts the largest class of its rows."""
    t = t if not rows else t | {"label": majority(rows)}
    if "kids" not in t:
        return t
    return t | {"kids": [relabelled(kid, part) for kid, part in zip(t["kids"], split(t, rows), strict=True)]}


def algorithm3(t, rows, n_classes, n_features, raising=False, **options):
    """The replacement of smallest bound (of equals the larger cut, then the first node) while it does not rise."""
    value = risk(t, rows, n_classes, n_features, **options)
    while True:
        tried = []
        for node in inner(t):
            news = [(-1, as_leaf(node))]
            if raising:
                news += [(i, kid) for i, kid in enumerate(node["kids"]) if "kids" in kid]
            for action, new in news:
                cut = with_node(t, node["id"], new | {"id": node["id"]})
                cut = relabelled(cut, rows) if raising else cut
                value_of = risk(cut, rows, n_classes, n_features, **options)
                tried.append((value_of, n_leaves(cut), node["id"], action, cut))
        if not tried:
            return t, value
        least = min(entry[0] for entry in tried)
        best = min((e for e in tried if e[0] <= least + 1e-12 * abs(least)), key=lambda e: e[1:4])
        if best[0] > value + 1e-12 * abs(value):
            return t, value
        value, t = best[0], best[4]


# Algorithm 2


def algorithm2(t, rows, classes, objective):
    """Five replacements of each node from the last to the first: two leaves, two children, none; better ones only."""
    value = objective(t)
    for node_id in sorted((node["id"] for node in inner(t)), reverse=True):
        node = next((n for n in inner(t) if n["id"] == node_id), None)
        if node is None:
            continue
        news = [as_leaf(node, label) | {"given": True} for label in classes] + list(node["kids"])
        tried = [(objective(cut), i, cut) for i, cut in enumerate(with_node(t, node_id, new) for new in news)]
        best = min(tried, key=lambda entry: entry[:2])
        if best[0] < value:
            value, t = best[0], best[2]
    return t, value


# Significance and labels


def chance(tables):
    """P0 of Martin and Hirschberg: the probability of a table given its margins."""
    classes = [sum(column) for column in zip(*tables, strict=True)]
    f = math.factorial
    top = math.prod(f(n) for n in classes) * math.prod(f(sum(row)) for row in tables)
    return Fraction(top, f(sum(classes)) * math.prod(f(n) for row in tables for n in row))


def hypergeometric(t, rows, classes, alpha):
    if "kids" not in t:
        return t
    halves = split(t, rows)
    t = t | {"kids": [hypergeometric(kid, part, classes, alpha) for kid, part in zip(t["kids"], halves, strict=True)]}
    if any("kids" in kid for kid in t["kids"]):
        return t
    tables = [[sum(y == label for _, y in part) for label in classes] for part in halves]
    trivial = sum(any(row) for row in tables) < 2 or sum(any(column) for column in zip(*tables, strict=True)) < 2
    return as_leaf(t) if trivial or chance(tables) > alpha else t


def merge(t):
    if "kids" not in t:
        return t
    t = t | {"kids": [merge(kid) for kid in t["kids"]]}
    if all("kids" not in kid for kid in t["kids"]) and len({kid["label"] for kid in t["kids"]}) == 1:
        return as_leaf(t, t["kids"][0]["label"])
    return t


def relabelled_below(t, rows):
    """Leaves of the tree as it came get the largest class of their rows; leaves that were put in keep their label."""
    if "kids" not in t:
        return t if not rows or t.get("given") else t | {"label": majority(rows)}
    return t | {"kids": [relabelled_below(kid, part) for kid, part in zip(t["kids"], split(t, rows), strict=True)]}
