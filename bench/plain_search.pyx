# cython: language_level=3, cdivision=True, freethreading_compatible=True
"""VC dimension on binary features by plain exhaustive search: what a fast search is measured against.

After Aslan, Yildiz and Alpaydin, "Calculating the VC-dimension of decision trees", ISCIS 2009, pages 193-198:

    for m = 1, 2, ...
        for every m-subset of {0,1}^d, in lexicographic order
            for every one of its 2^m labellings
                try the trees of the structure until one realises the labelling
            the subset is shattered if there is one for every labelling; then go on with m + 1
        if no m-subset is shattered the VC dimension is m - 1

There is no symmetry, no heredity between sizes and no memory of what was found before.  Two ways to try the trees:

joint      an odometer over the choices of all N nodes together, k^N trees with k choices per node; this is the search
           of the literature.  A tree fails at its first leaf that holds points of both labels, and then the next tree
           is tried.
recursive  each node tries its choices by itself and a child is asked only if the one before it has succeeded.  This is
           the same search with early failure, and far faster on structures that branch.

A choice is a feature (orientation fixed, 0 goes to the left child) or a feature with the side that the left child
takes (orientation free).  Under orientation free a node whose children have the same shape, left and right alike, does
not choose the side: it would only try every tree twice.  Leaf labels are not enumerated: a leaf is right if and only
if the points that reach it have one label.

Letters: d features, m points, N nodes.  A set of points of a sample is a bit mask over 0..m-1.
Cost of `joint`: the sum over m of C(2^d, m) 2^m k^N at worst, k = d or 2d.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint64_t
from libc.time cimport CLOCKS_PER_SEC, clock, clock_t

from typing import NamedTuple

ctypedef uint64_t mask_t

cdef enum:
    MAX_FEATURES = 6        # 2^6 points are the most that a 64-bit mask holds
    MAX_POINTS = 64
    MAX_NODES = 64
    LEAF = -1
    CHECK_EVERY = 1 << 20   # evaluations between two looks at the clock and at signals, some hundredths of a second

cdef enum:
    NO = 0
    YES = 1
    LIMIT = 2               # the budget or the time is used up
    FAILED = -1             # a Python exception is set (Ctrl-C)

# Nodes are numbered in preorder, so the children of a node come after it and node 0 is the root.
cdef struct search_t:
    int n_nodes
    int n_features
    int left[MAX_NODES]             # number of the left child, or LEAF
    int right[MAX_NODES]
    int n_choices[MAX_NODES]        # n_features, or twice that if the node chooses a side too
    int first_right[MAX_NODES]      # 1 if the right subtree is the smaller one and is asked first (recursive only)

    int n_points
    mask_t whole                    # all points of the sample
    mask_t side[2 * MAX_FEATURES]   # by choice, the points that go left: x_i = 0 for i < d, x_i = 1 for d + i

    uint64_t samples                # subsets looked at
    uint64_t labellings             # labellings looked at
    uint64_t trees                  # joint: trees evaluated; recursive: tests tried at nodes
    uint64_t budget                 # the most that `trees` may reach
    uint64_t next_check             # value of `trees` at which to look at the limits again
    clock_t deadline                # processor time at which to stop, or 0


class PlainSearch(NamedTuple):
    """What a plain search found and what it took."""

    vc: int | None
    """The VC dimension, or None if the search was not finished."""
    lower: int
    """The size of the largest shattered sample that was seen."""
    samples: int
    """Samples looked at."""
    labellings: int
    """Labellings looked at."""
    trees: int
    """Trees evaluated (joint) or tests tried at nodes (recursive)."""


cdef inline bint is_pure(mask_t points, mask_t labels) noexcept nogil:
    """Say whether the points have one label."""
    return (points & labels) == 0 or (points & ~labels) == 0


cdef int check_limits(search_t* s) except FAILED nogil:
    """Return LIMIT if the search must stop, and else NO; sets when to ask again."""
    if s.trees >= s.budget or (s.deadline != 0 and clock() >= s.deadline):
        return LIMIT
    s.next_check = min(s.budget, s.trees + <uint64_t>CHECK_EVERY)
    with gil:
        PyErr_CheckSignals()
    return NO


cdef inline bint evaluate_tree(search_t* s, const int* choice, mask_t labels) noexcept nogil:
    """Say whether every leaf of the tree with these choices at its nodes is pure."""
    cdef mask_t reach[MAX_NODES]    # the points that reach a node
    cdef mask_t points, to_left, to_right
    cdef int v
    reach[0] = s.whole
    for v in range(s.n_nodes):
        points = reach[v]
        to_left = points & s.side[choice[v]]
        to_right = points ^ to_left
        if s.left[v] != LEAF:
            reach[s.left[v]] = to_left
        elif not is_pure(to_left, labels):
            return False
        if s.right[v] != LEAF:
            reach[s.right[v]] = to_right
        elif not is_pure(to_right, labels):
            return False
    return True


cdef int realise_joint(search_t* s, mask_t labels) except FAILED nogil:
    """Return YES if some tree realises the labelling, trying the choices of all nodes together."""
    cdef int choice[MAX_NODES]
    cdef int v
    if s.n_nodes == 0:
        return YES if is_pure(s.whole, labels) else NO
    for v in range(s.n_nodes):
        choice[v] = 0
    while True:
        if s.trees >= s.next_check and check_limits(s) == LIMIT:
            return LIMIT
        s.trees += 1
        if evaluate_tree(s, choice, labels):
            return YES
        v = s.n_nodes - 1
        while v >= 0:
            choice[v] += 1
            if choice[v] < s.n_choices[v]:
                break
            choice[v] = 0
            v -= 1
        if v < 0:
            return NO


cdef int realise_at(search_t* s, int v, mask_t points, mask_t labels) except FAILED nogil:
    """Return YES if the substructure at v (or a leaf) can give the points their labels."""
    cdef mask_t to_left
    cdef int i, answer
    if is_pure(points, labels):
        return YES
    if v == LEAF:
        return NO
    for i in range(s.n_choices[v]):
        if s.trees >= s.next_check and check_limits(s) == LIMIT:
            return LIMIT
        s.trees += 1
        to_left = points & s.side[i]
        if s.first_right[v]:
            answer = realise_at(s, s.right[v], points ^ to_left, labels)
            if answer == YES:
                answer = realise_at(s, s.left[v], to_left, labels)
        else:
            answer = realise_at(s, s.left[v], to_left, labels)
            if answer == YES:
                answer = realise_at(s, s.right[v], points ^ to_left, labels)
        if answer != NO:
            return answer
    return NO


cdef int is_shattered(search_t* s, const int* sample, bint joint) except FAILED nogil:
    """Return YES if every labelling of the sample is realised; a point is the number whose bit i is feature d-1-i."""
    cdef mask_t labels = 0
    cdef int i, j, answer
    for i in range(s.n_features):
        s.side[s.n_features + i] = 0
        for j in range(s.n_points):
            s.side[s.n_features + i] |= (<mask_t>((sample[j] >> (s.n_features - 1 - i)) & 1)) << j
        s.side[i] = s.whole ^ s.side[s.n_features + i]
    s.samples += 1
    while True:
        s.labellings += 1
        answer = realise_joint(s, labels) if joint else realise_at(s, 0 if s.n_nodes else LEAF, s.whole, labels)
        if answer != YES:
            return answer
        if labels == s.whole:
            return YES
        labels += 1


cdef int some_sample_is_shattered(search_t* s, bint joint) except FAILED nogil:
    """Return YES if some n_points-subset of {0,1}^d is shattered, trying them in lexicographic order."""
    cdef int sample[MAX_POINTS]
    cdef int n_cube = 1 << s.n_features
    cdef int m = s.n_points
    cdef int i, j, answer
    if m > n_cube:
        return NO
    for i in range(m):
        sample[i] = i
    while True:
        answer = is_shattered(s, sample, joint)
        if answer != NO:
            return answer
        i = m - 1
        while i >= 0 and sample[i] == n_cube - m + i:
            i -= 1
        if i < 0:
            return NO
        sample[i] += 1
        for j in range(i + 1, m):
            sample[j] = sample[j - 1] + 1


cdef int run_search(search_t* s, bint joint, int* lower) except FAILED nogil:
    """Raise `lower` to the VC dimension; returns NO when that is done and LIMIT when it is not."""
    cdef int answer
    while True:
        s.n_points = lower[0] + 1
        s.whole = (~<mask_t>0) >> (64 - min(s.n_points, 64))
        answer = some_sample_is_shattered(s, joint)
        if answer != YES:
            return answer
        lower[0] += 1


def _parse(str spelling):
    """Return the structure with this spelling as nested tuples, a leaf being ()."""
    text = "".join(spelling.split())
    stack = [[]]
    for letter in text:
        if letter == ".":
            stack[-1].append(())
        elif letter == "(":
            stack.append([])
        elif letter == ")" and len(stack) > 1 and len(stack[-1]) == 2:
            node = tuple(stack.pop())
            stack[-1].append(node)
        else:
            raise ValueError(f"expected the spelling of a binary structure, got {spelling!r}")
    if len(stack) != 1 or len(stack[0]) != 1:
        raise ValueError(f"expected the spelling of a binary structure, got {spelling!r}")
    return stack[0][0]


def _canonical(structure):
    return tuple(sorted(_canonical(child) for child in structure))


def _count_nodes(structure):
    return 1 + sum(_count_nodes(child) for child in structure) if structure else 0


cdef int add_nodes(search_t* s, structure, bint free) except -2:
    """Number the nodes of a structure in preorder; returns the number of its root, or LEAF."""
    cdef int v
    if not structure:
        return LEAF
    v = s.n_nodes
    s.n_nodes += 1
    left, right = structure
    chooses_side = free and _canonical(left) != _canonical(right)
    s.n_choices[v] = s.n_features * (2 if chooses_side else 1)
    s.first_right[v] = _count_nodes(right) < _count_nodes(left)
    s.left[v] = add_nodes(s, left, free)
    s.right[v] = add_nodes(s, right, free)
    return v


def plain_search(str spelling, int d, budget=None, *, seconds=None, str method="joint", str orientation="free"):
    """Search for the VC dimension of a structure on d binary features, as described at the top of this file.

    Parameters
    ----------
    spelling : str
        The structure: '.' is a leaf, '(' left right ')' a node.
    d : int
        Number of binary features, 0 to 6.  With none the structure is a leaf.
    budget : int, optional
        The most trees (joint) or tests at nodes (recursive) to try.
    seconds : float, optional
        The most processor time to take, kept to within some hundredths of a second.
    method : {"joint", "recursive"}
    orientation : {"free", "fixed"}

    Returns
    -------
    PlainSearch
        With `vc` None if the budget or the time was used up.
    """
    cdef search_t s
    cdef int lower = 0
    cdef int answer
    cdef bint joint = method == "joint"
    if not 0 <= d <= MAX_FEATURES:
        raise ValueError(f"expected 0 <= d <= {MAX_FEATURES}, got {d}")
    if method not in ("joint", "recursive"):
        raise ValueError(f"expected method 'joint' or 'recursive', got {method!r}")
    if orientation not in ("free", "fixed"):
        raise ValueError(f"expected orientation 'free' or 'fixed', got {orientation!r}")
    structure = _parse(spelling) if d else ()
    if _count_nodes(structure) > MAX_NODES:
        raise ValueError(f"expected at most {MAX_NODES} nodes, got {_count_nodes(structure)}")
    s.n_nodes = 0
    s.n_features = d
    s.samples = s.labellings = s.trees = s.next_check = 0
    s.budget = ~<uint64_t>0 if budget is None else budget
    s.deadline = 0 if seconds is None else clock() + <clock_t>(<double>seconds * CLOCKS_PER_SEC)
    add_nodes(&s, structure, orientation == "free")
    with nogil:
        answer = run_search(&s, joint, &lower)
    return PlainSearch(lower if answer == NO else None, lower, s.samples, s.labellings, s.trees)


def plain_vc(str spelling, int d, budget=None, *, str orientation="free"):
    """Return the VC dimension by the joint search, or None if `budget` trees did not suffice."""
    return plain_search(spelling, d, budget, method="joint", orientation=orientation).vc


def plain_vc_recursive(str spelling, int d, budget=None, *, str orientation="free"):
    """Return the VC dimension by the recursive search, or None if `budget` tests did not suffice."""
    return plain_search(spelling, d, budget, method="recursive", orientation=orientation).vc
