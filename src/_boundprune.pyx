"""Which node of a tree, made a leaf, makes a risk bound smallest? Candidates that share all but a path to the root.

Bound-based pruning (Leboeuf, LeBlanc and Marchand 2020, Algorithm 3) asks for the growth function of every tree that one
replacement gives. Here for the loose form of Theorem 9, in numbers of any size (a double and an exponent of its own).

**One number for all leaves.** The loose form evaluates a node v with L_v leaves at m_v points, its children x and y at
m_v - L_y and m_v - L_x. So m_v - L_v is the same at every node: s = M - L for M points and L leaves in all, and the
weight w = 2 l (s + 1) as well.

**One number for all classes.** With P_v(n) = sum over c of (n)_c pi_v^c (Eq. 4: the growth function for n classes) the sum
over parts in Theorem 9 is a product of polynomials, as (n)_a (n)_b = sum over c of C(a, c-b) C(b, c-a) (a+b-c)! (n)_c.
Only pi^1, which is 1 and not w, has to be put right:

    P_v = w' (P_x P_y - n) + n,      w' = w, or w / 2 if x and y are the same structure,      P_leaf = n.

This is the loose form where no pi^c with c >= 2 exceeds the Stirling number S(m_v, c), of which all are checked at once:
P_root(c) / c! bounds every pi_v^c, and c^(s+2-c) <= S(s+2, c) every cap. Where the check fails, vectors pi^1 .. pi^n with
caps are used instead (n^2 products for each node). Without caps the value is an upper bound all the same, and never taken
above n^M.

**Sharing.** A candidate that cuts j leaves has s + j in place of s. For each s one pass gives P of all nodes; then every
candidate costs the path from its node to the root. As the growth bound grows with s, a pass at the smallest s + j bounds
all candidates from below, and only the j that can still win are computed: usually one or two.

Same structures are recognised by 64-bit fingerprints, equal for swapped children.

Cost for each replacement: O(nodes + sum of depths) products, twice or thrice.
"""

from libc.math cimport INFINITY, fabs, frexp, ldexp, log, log2, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from cpython.exc cimport PyErr_CheckSignals

import numpy as np

cdef double LN2 = 0.6931471805599453
cdef double TIE = 1e-12  # bounds that differ by less are equal: the same sum in another order
cdef uint64_t LEAF_PRINT = 0x9E3779B97F4A7C15ULL

cdef enum:
    SHAWE_TAYLOR = 0
    VAPNIK = 1
    SIGNAL_EVERY = 256  # candidates between two looks at the signals: a few milliseconds where parts are capped
    AS_LEAF = -1  # action: the node becomes a leaf; 0 and 1: its left or right child takes its place


# A number f * 2**e with 1/2 <= f < 1, or 0.
cdef struct Big:
    double f
    int64_t e


cdef inline Big big(double value, int64_t e) noexcept nogil:
    cdef Big out
    cdef int shift
    out.f = frexp(value, &shift)
    out.e = e + shift if out.f != 0.0 else 0
    return out


cdef inline double big_shift(double value, int64_t d) noexcept nogil:
    """value * 2**d; nothing is left below 2**-1000."""
    return 0.0 if d < -1000 else ldexp(value, <int>d)


cdef inline Big big_add(Big a, Big b) noexcept nogil:
    if a.f == 0.0:
        return b
    if b.f == 0.0:
        return a
    if a.e >= b.e:
        return big(a.f + big_shift(b.f, b.e - a.e), a.e)
    return big(b.f + big_shift(a.f, a.e - b.e), b.e)


cdef inline double big_log(Big a) noexcept nogil:
    return log(a.f) + <double>a.e * LN2


cdef inline bint big_less(Big a, Big b) noexcept nogil:
    if a.f == 0.0 or b.f == 0.0:
        return a.f < b.f
    return a.e < b.e or (a.e == b.e and a.f < b.f)


cdef inline uint64_t mix(uint64_t x) noexcept nogil:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> 30)) * <uint64_t>0xBF58476D1CE4E5B9ULL
    x = (x ^ (x >> 27)) * <uint64_t>0x94D049BB133111EBULL
    return x ^ (x >> 31)


cdef inline uint64_t print_of(uint64_t x, uint64_t y) noexcept nogil:
    """The fingerprint of a node, the same for swapped children."""
    return mix(mix(x) + mix(y) + LEAF_PRINT)


cdef inline Big glue(Big x, Big y, double w, double n) noexcept nogil:
    """w (x y - n) + n."""
    cdef double value = x.f * y.f
    cdef int64_t e = x.e + y.e
    cdef double small = big_shift(n, -e)
    return big(w * (value - small) + small, e)


cdef class LoosePruner:
    """A tree that shrinks, with the bound of every tree one replacement away.

    Nodes are numbered with parents before children. ``errors`` counts those of each node as a leaf; ``prior`` is -ln p of
    trees with so many leaves; the bound is (2 k + 4 (fixed + ln tau + prior[L] - k ln r)) / rows for ``kind`` 0, and the
    relative deviation bound with epsilon = 4 (fixed + ln tau + prior[L]) / rows for ``kind`` 1.
    """

    cdef int64_t[::1] parent, left, right, size, order
    cdef double[::1] own, wrong, prior, raised
    cdef uint64_t[::1] name
    cdef uint8_t[::1] alive
    cdef int64_t n_alive, points, parts
    cdef double weight, classes, fixed, log_r, rows
    cdef int kind
    cdef bint capped, raising
    # P of every node, or its pi^1 .. pi^parts, at one s; and what a path carries.
    cdef double[::1] vf, carry_f, next_f
    cdef int64_t[::1] ve, carry_e, next_e
    cdef double[::1] gf  # gluing coefficients [a-1, b-1, c-1], flat
    cdef double[:, ::1] cap_f  # Stirling numbers [c-1, m]
    cdef int32_t[:, ::1] cap_e
    cdef double[::1] lower, exact, growth
    cdef uint8_t[::1] known

    def __cinit__(
        self, const int64_t[::1] parent, const int64_t[::1] left, const int64_t[::1] right, const double[::1] errors,
        const double[::1] prior, int64_t points, double real, int64_t n_classes, int kind, double rows, double fixed,
        double log_r, bint raising, caps,
    ):
        n = parent.shape[0]
        self.parent, self.left, self.right = np.array(parent), np.array(left), np.array(right)
        self.own, self.wrong, self.prior = np.array(errors), np.array(errors), np.array(prior)
        self.size, self.name = np.ones(n, np.int64), np.full(n, LEAF_PRINT, np.uint64)
        self.alive, self.order = np.ones(n, np.uint8), np.arange(n, dtype=np.int64)
        self.raised = np.full(2 * n, INFINITY)
        self.points, self.weight, self.classes, self.kind = points, 2.0 * real, <double>n_classes, kind
        self.rows, self.fixed, self.log_r, self.raising = rows, fixed, log_r, raising
        self.lower, self.exact, self.growth = np.empty(3 * n), np.empty(3 * n), np.empty(3 * n)
        self.known = np.zeros(3 * n, np.uint8)
        for v in range(n - 1, -1, -1):
            if self.left[v] >= 0:
                self._sum_up(v)
        self.n_alive, self.parts = n, max(1, min(n_classes, self.size[0]))
        self.vf, self.ve = np.zeros(n), np.zeros(n, np.int64)
        self.capped = caps is not None and self._caps_bind()
        if self.capped:
            self._use_parts(caps(self.parts), n)

    def _use_parts(self, caps, n):
        """Make room for vectors of parts, with their coefficients and caps."""
        glue_table, self.cap_f, self.cap_e = caps
        self.gf = np.ascontiguousarray(glue_table).reshape(-1)
        self.vf, self.ve = np.zeros(n * self.parts), np.zeros(n * self.parts, np.int64)
        self.carry_f, self.carry_e = np.zeros(self.parts), np.zeros(self.parts, np.int64)
        self.next_f, self.next_e = np.zeros(self.parts), np.zeros(self.parts, np.int64)

    cdef void _sum_up(self, int64_t v) noexcept nogil:
        """Leaves, errors and fingerprint of a node from those of its children."""
        cdef int64_t x = self.left[v], y = self.right[v]
        self.size[v] = self.size[x] + self.size[y]
        self.wrong[v] = self.wrong[x] + self.wrong[y]
        self.name[v] = print_of(self.name[x], self.name[y])

    cdef bint _caps_bind(self) noexcept nogil:
        """Whether some pi^c may reach its Stirling number, now or after any replacement."""
        cdef int64_t s = self.points - self.size[0], c, height = 0, v, u
        cdef double log_factorial = 0.0, old = self.classes
        cdef Big top
        if self.size[0] == 1:
            return False
        if s < 2 or self.size[0] > 0.69 * (s + 1):
            return True
        # A candidate loses the factor 1/2 at most where its path crosses a node with two equal children.
        for v in range(self.n_alive):
            u = self.order[v]
            if self.left[u] >= 0 and self.name[self.left[u]] == self.name[self.right[u]]:
                height += 1
        for c in range(2, min(<int64_t>self.classes, self.size[0]) + 1):
            log_factorial += log2(<double>c)
            self.classes = <double>c
            self._fill(s)
            top = self._at(0)
            if log2(top.f) + top.e + height - log_factorial > (s + 2 - c) * log2(<double>c):
                self.classes = old
                return True
        self.classes = old
        return False

    # ---- one number for each node

    cdef inline Big _at(self, int64_t v) noexcept nogil:
        cdef Big out
        out.f, out.e = self.vf[v], self.ve[v]
        return out

    cdef inline Big _node(self, Big x, Big y, bint same, double w) noexcept nogil:
        return glue(x, y, 0.5 * w if same else w, self.classes)

    cdef void _fill(self, int64_t s) noexcept nogil:
        """P of all nodes at this s."""
        cdef int64_t i, v, x, y
        cdef double w = self.weight * (s + 1)
        cdef Big value, leaf = big(self.classes, 0)
        for i in range(self.n_alive - 1, -1, -1):
            v = self.order[i]
            x, y = self.left[v], self.right[v]
            value = leaf
            if x >= 0:
                value = self._node(self._at(x), self._at(y), self.name[x] == self.name[y], w)
            self.vf[v], self.ve[v] = value.f, value.e

    cdef double _walk(self, int64_t v, int64_t source, int64_t s) noexcept nogil:
        """ln tau of the tree in which ``source`` (-1 a leaf) takes the place of v, at this s, after _fill(s)."""
        cdef Big value
        cdef uint64_t name = LEAF_PRINT
        cdef int64_t u, y
        cdef double w = self.weight * (s + 1)
        if source < 0:
            value = big(self.classes, 0)
        else:
            value, name = self._at(source), self.name[source]
        u = self.parent[v]
        while u >= 0:
            y = self.right[u] if self.left[u] == v else self.left[u]
            value = self._node(value, self._at(y), name == self.name[y], w)
            name = print_of(name, self.name[y])
            v = u
            u = self.parent[v]
        return min(big_log(value), self.points * log(self.classes))

    # ---- vectors of parts, where a cap may bind

    cdef void _parts(
        self, const double* xf, const int64_t* xe, int64_t lx, const double* yf, const int64_t* ye, int64_t ly,
        bint same, int64_t s, double* zf, int64_t* ze,
    ) noexcept nogil:
        """pi^1 .. pi^parts of a node from those of its children, capped."""
        cdef int64_t a, b, c, p = self.parts, most = min(p, lx + ly)
        # Nodes that hold all leaves that a candidate cuts have more than M points at its s; it does not ask for them.
        cdef int64_t m = min(s + lx + ly, self.points)
        cdef double w = self.weight * (s + 1) * (0.5 if same else 1.0)
        cdef Big total, cap
        zf[0], ze[0] = 0.5, 1
        for c in range(2, most + 1):
            total.f, total.e = 0.0, 0
            for a in range(1, min(c, lx) + 1):
                for b in range(max(1, c - a), min(c, ly) + 1):
                    total = big_add(total, big(
                        self.gf[((a - 1) * p + b - 1) * p + c - 1] * xf[a - 1] * yf[b - 1], xe[a - 1] + ye[b - 1]))
            total = big(total.f * w, total.e)
            cap.f, cap.e = self.cap_f[c - 1, m], self.cap_e[c - 1, m]
            if big_less(cap, total):
                total = cap
            zf[c - 1], ze[c - 1] = total.f, total.e
        for c in range(most + 1, p + 1):
            zf[c - 1], ze[c - 1] = 0.0, 0

    cdef void _fill_parts(self, int64_t s) noexcept nogil:
        cdef int64_t i, v, x, y, c, p = self.parts
        for i in range(self.n_alive - 1, -1, -1):
            v = self.order[i]
            x, y = self.left[v], self.right[v]
            if x < 0:
                self.vf[v * p], self.ve[v * p] = 0.5, 1
                for c in range(1, p):
                    self.vf[v * p + c], self.ve[v * p + c] = 0.0, 0
            else:
                self._parts(&self.vf[x * p], &self.ve[x * p], self.size[x], &self.vf[y * p], &self.ve[y * p],
                            self.size[y], self.name[x] == self.name[y], s, &self.vf[v * p], &self.ve[v * p])

    cdef double _walk_parts(self, int64_t v, int64_t source, int64_t s) noexcept nogil:
        cdef int64_t u, y, c, p = self.parts, leaves = 1
        cdef uint64_t name = LEAF_PRINT
        for c in range(p):
            self.carry_f[c] = self.vf[source * p + c] if source >= 0 else (0.5 if c == 0 else 0.0)
            self.carry_e[c] = self.ve[source * p + c] if source >= 0 else (1 if c == 0 else 0)
        if source >= 0:
            name, leaves = self.name[source], self.size[source]
        u = self.parent[v]
        while u >= 0:
            y = self.right[u] if self.left[u] == v else self.left[u]
            self._parts(&self.carry_f[0], &self.carry_e[0], leaves, &self.vf[y * p], &self.ve[y * p], self.size[y],
                        name == self.name[y], s, &self.next_f[0], &self.next_e[0])
            self.carry_f, self.next_f = self.next_f, self.carry_f
            self.carry_e, self.next_e = self.next_e, self.carry_e
            name = print_of(name, self.name[y])
            leaves += self.size[y]
            v = u
            u = self.parent[v]
        return self._growth_of(&self.carry_f[0], &self.carry_e[0])

    cdef double _growth_of(self, const double* f, const int64_t* e) noexcept nogil:
        """ln of sum over c of (n)_c pi^c, at most M ln n."""
        cdef Big total, factor = big(1.0, 0)
        cdef int64_t c
        total.f, total.e = 0.0, 0
        for c in range(self.parts):
            factor = big(factor.f * (self.classes - c), factor.e)
            total = big_add(total, big(factor.f * f[c], factor.e + e[c]))
        return min(big_log(total), self.points * log(self.classes))

    # ---- bounds

    cdef double _tau(self, int64_t v, int64_t source, int64_t s) noexcept nogil:
        if s <= 0 and v >= 0:
            return self.points * log(self.classes)
        return self._walk_parts(v, source, s) if self.capped else self._walk(v, source, s)

    cdef void _pass(self, int64_t s) noexcept nogil:
        if s > 0:
            if self.capped:
                self._fill_parts(s)
            else:
                self._fill(s)

    cdef double _bound(self, double wrong, double tau, int64_t leaves) noexcept nogil:
        cdef double core = self.fixed + tau + self.prior[leaves], eps, error
        if self.kind == SHAWE_TAYLOR:
            return (2.0 * wrong + 4.0 * (core - wrong * self.log_r)) / self.rows
        eps, error = 4.0 * core / self.rows, wrong / self.rows
        return error + 0.5 * (eps + sqrt(eps * eps + 4.0 * error * eps))

    def now(self):
        """Leaves, errors, ln tau and bound of the tree as it is."""
        cdef int64_t s = self.points - self.size[0]
        cdef double tau
        if self.size[0] == 1:
            tau = log(self.classes)
        elif s <= 0:
            tau = self.points * log(self.classes)
        else:
            self._pass(s)
            tau = self._growth_of(&self.vf[0], &self.ve[0]) if self.capped else min(
                big_log(self._at(0)), self.points * log(self.classes))
        return self.size[0], self.wrong[0], tau, self._bound(self.wrong[0], tau, self.size[0])

    cdef inline int64_t _source(self, int64_t v, int action) noexcept nogil:
        return -1 if action == AS_LEAF else self.left[v] if action == 0 else self.right[v]

    cdef double _try(self, int64_t v, int action, int64_t s, double* tau) noexcept nogil:
        """The bound of a candidate with the growth function at this s, which is its own or a smaller one."""
        cdef int64_t source = self._source(v, action), leaves
        cdef double wrong
        leaves = self.size[0] - self.size[v] + (1 if source < 0 else self.size[source])
        wrong = self.wrong[0] - self.wrong[v] + (self.own[v] if source < 0 else self.raised[2 * v + action])
        tau[0] = log(self.classes) if leaves == 1 else self._tau(v, source, s)
        return self._bound(wrong, tau[0], leaves)

    cdef int64_t _cut(self, int64_t v, int action) noexcept nogil:
        """Leaves that a candidate cuts; 0 if it is none."""
        cdef int64_t source
        if self.left[v] < 0 or not self.alive[v]:
            return 0
        source = self._source(v, action)
        if source < 0:
            return self.size[v] - 1
        return self.size[v] - self.size[source] if self.left[source] >= 0 and self.raised[2 * v + action] < INFINITY else 0

    cdef int64_t _search(self, double* bound, double* tau) except -2 nogil:
        """The candidate (3 v + 1 + action) of smallest bound, of equals the one that cuts most; -1 if there is none."""
        cdef int64_t i, v, j, s = self.points - self.size[0], key, at
        cdef int action, last = 1 if self.raising else AS_LEAF
        cdef double best = INFINITY, value, growth
        self._pass(s + 1)
        for i in range(self.n_alive):
            v = self.order[i]
            if i % SIGNAL_EVERY == 0:
                with gil:
                    PyErr_CheckSignals()
            for action in range(AS_LEAF, last + 1):
                key = 3 * v + 1 + action
                self.lower[key], self.exact[key], self.known[key] = INFINITY, INFINITY, 0
                j = self._cut(v, action)
                if not j:
                    continue
                if s < 0 and j > 1:  # more leaves than points: the pass at s + 1 says nothing about smaller trees
                    self.lower[key] = -INFINITY
                    continue
                value = self._try(v, action, s + 1, &growth)
                self.lower[key] = value
                if j == 1:
                    self.exact[key], self.growth[key], self.known[key] = value, growth, 1
                    best = min(best, value)
        while True:
            at, value = -1, best + TIE * fabs(best)
            for i in range(self.n_alive):
                v = self.order[i]
                for action in range(AS_LEAF, last + 1):
                    key = 3 * v + 1 + action
                    if not self.known[key] and self.lower[key] <= value and self.lower[key] < INFINITY:
                        at, value = key, self.lower[key]
            if at < 0:
                break
            j = self._cut(at // 3, <int>(at % 3) - 1)
            self._pass(s + j)
            for i in range(self.n_alive):
                v = self.order[i]
                if i % SIGNAL_EVERY == 0:
                    with gil:
                        PyErr_CheckSignals()
                for action in range(AS_LEAF, last + 1):
                    key = 3 * v + 1 + action
                    if self.known[key] or self._cut(v, action) != j:
                        continue
                    self.exact[key] = self._try(v, action, s + j, &self.growth[key])
                    self.known[key] = 1
                    best = min(best, self.exact[key])
        return self._winner(best, last, bound, tau)

    cdef int64_t _winner(self, double best, int last, double* bound, double* tau) noexcept nogil:
        cdef int64_t i, v, j, key, most = 0, at = -1
        cdef int action
        for i in range(self.n_alive):
            v = self.order[i]
            for action in range(AS_LEAF, last + 1):
                key = 3 * v + 1 + action
                if self.known[key] and self.exact[key] <= best + TIE * fabs(best):
                    j = self._cut(v, action)
                    if j > most:
                        most, at = j, key
        if at >= 0:
            bound[0], tau[0] = self.exact[at], self.growth[at]
        return at

    def best(self):
        """The best candidate as (node, action, leaves, errors, ln tau, bound), or None for a leaf."""
        cdef double bound = INFINITY, tau = 0.0
        cdef int64_t at
        PyErr_CheckSignals()
        # A smaller tree may be far enough from all caps; one number for each node fits where the vectors are.
        self.capped = self.capped and self._caps_bind()
        with nogil:
            at = self._search(&bound, &tau)
        if at < 0:
            return None
        v, action = at // 3, at % 3 - 1
        source = self._source(v, action)
        leaves = self.size[0] - self._cut(v, action)
        wrong = self.wrong[0] - self.wrong[v] + (self.own[v] if source < 0 else self.raised[2 * v + action])
        return v, action, leaves, wrong, tau, bound

    def bounds(self):
        """Bounds of all candidates that the last search computed exactly, by node and action; for tests."""
        return {
            (v, action): self.exact[3 * v + 1 + action]
            for v in range(self.parent.shape[0]) for action in range(AS_LEAF, 2 if self.raising else 0)
            if self.alive[v] and self.left[v] >= 0 and self.known[3 * v + 1 + action]
        }

    def is_capped(self):
        """Whether vectors of parts with caps are in use."""
        return self.capped

    def set_raised(self, int64_t v, double left, double right):
        """Say how many errors the rows of v make in its left and in its right child."""
        self.raised[2 * v], self.raised[2 * v + 1] = left, right

    def replace(self, int64_t v, int action, const int64_t[::1] nodes, const double[::1] own, const double[::1] wrong):
        """Make v a leaf (action -1), or put its left or right child in its place.

        Raising a child sends more rows down it: ``nodes`` below it get new errors, as leaves and as subtrees.
        """
        cdef int64_t source = self._source(v, action), u, x
        cdef Py_ssize_t i
        if source < 0:
            self.left[v] = self.right[v] = -1
            self.size[v], self.wrong[v], self.name[v] = 1, self.own[v], LEAF_PRINT
            u = self.parent[v]
        else:
            for i in range(nodes.shape[0]):
                x = nodes[i]
                self.own[x], self.wrong[x] = own[i], wrong[i]
            # The child moves into v itself, so that the root stays node 0.
            self.own[v], self.wrong[v], self.size[v], self.name[v] = (
                self.own[source], self.wrong[source], self.size[source], self.name[source])
            self.left[v], self.right[v] = self.left[source], self.right[source]
            if self.left[v] >= 0:
                self.parent[self.left[v]] = self.parent[self.right[v]] = v
            u = self.parent[v]
        while u >= 0:
            self._sum_up(u)
            u = self.parent[u]
        self._collect()

    cdef void _collect(self):
        """List the nodes that are still in the tree, parents first."""
        cdef int64_t n = self.parent.shape[0], v, kept = 0
        cdef uint8_t[::1] alive = np.zeros(n, np.uint8)
        alive[0] = 1
        for v in range(n):
            if alive[v]:
                self.order[kept] = v
                kept += 1
                if self.left[v] >= 0:
                    alive[self.left[v]] = alive[self.right[v]] = 1
        self.alive, self.n_alive = alive, kept
