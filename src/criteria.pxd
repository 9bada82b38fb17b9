"""Split criteria on a contingency table, for selecting a split.

A split with two branches sends l[k] of the N[k] rows (or weights) of class k to the left and r[k] = N[k] - l[k] to the
right; nl, nr and n are the sums over the classes.  Each criterion has a *gain*, what is reported (``table_gain``: any
number of branches), and a *score*, what is compared while searching one node: an increasing function of the gain whose
terms that depend on the node alone are left out.  Counts are doubles, exact for whole numbers below 2^53, so that rows
repeated twice and rows of weight two have the same score to the last bit.

=============== ================================================== ====================================================
criterion       gain                                               reference
=============== ================================================== ====================================================
error           (sum_v max_k n_vk - max_k N_k) / n                 Shalev-Shwartz & Ben-David 2014, ch. 18 (Peng 18.2)
gini            G(N) - sum_v n_v/n G(n_v),  G = 1 - sum p_k^2      Breiman et al. 1984
entropy         H(N) - sum_v n_v/n H(n_v),  H = -sum p_k log2 p_k  Quinlan 1986
gain_ratio      entropy gain / H(n_1, ..., n_V)                    Quinlan 1986, 1993 (without his mean-gain rule)
chi2            sum_vk (n_vk - e_vk)^2 / e_vk, e_vk = n_v N_k / n  Pearson 1900; Mingers 1987
orthogonality   mean of 1 - cos(n_u, n_v) over pairs of branches,  Fayyad & Irani 1992 (two branches); pairs are
                weight n_u n_v                                     weighted as ``significance.pxd`` derives
hypergeometric  -ln P0, P0 = prod N_k! prod n_v! /                 Martin & Hirschberg 1996; Martin 1995
                (n! prod n_vk!)
=============== ================================================== ====================================================

**Bounds.** For two classes every score here is quasi-convex, or convex in each coordinate, as a function of (l0, l1) at
fixed N, so over a box of left counts it is largest at a corner.  Error, Gini, entropy and chi-squared are convex (sums of
perspectives of convex functions); the gain ratio is convex over concave; 1 - cos of the angle between l and N - l is at
most c exactly where the triangle (0, l, N) has an angle of at least pi - c at l, which is a lens of two discs; for the
hypergeometric the second derivative in l_k is psi'(l_k + 1) - psi'(nl + 1) >= 0, as the trigamma function falls.
"""

from libc.math cimport fabs, log, log2, sqrt

cdef enum:
    ERROR = 0
    GINI = 1
    ENTROPY = 2
    GAIN_RATIO = 3
    CHI2 = 4
    ORTHOGONALITY = 5
    HYPERGEOMETRIC = 6


cdef inline double x_log2_x(double x) noexcept nogil:
    """x log2 x, 0 at 0."""
    return x * log2(x) if x > 0.0 else 0.0


cdef inline double log_factorial(double x) noexcept nogil:
    """ln Gamma(x + 1) for x >= 0: Stirling's series at x + 8 or more, then down by the product of the steps."""
    cdef double shift = 1.0, z = x + 1.0, w
    while z < 8.0:
        shift *= z
        z += 1.0
    w = 1.0 / (z * z)
    w = (1.0 / 12.0 - w * (1.0 / 360.0 - w * (1.0 / 1260.0 - w * (1.0 / 1680.0 - w * (
        1.0 / 1188.0 - w * (691.0 / 360360.0 - w / 156.0)))))) / z
    return (z - 0.5) * log(z) - z + 0.91893853320467274178 + w - (log(shift) if shift != 1.0 else 0.0)


cdef inline double table_value(int criterion, double x) noexcept nogil:
    """The function whose table a search keeps: log-factorial for the hypergeometric, x log2 x otherwise."""
    return log_factorial(x) if criterion == HYPERGEOMETRIC else x_log2_x(x)


cdef inline double look(int criterion, const double* T, double x) noexcept nogil:
    """``table_value`` from the table T of whole arguments, computed where there is no table (fractional weights)."""
    return T[<Py_ssize_t> x] if T != NULL else table_value(criterion, x)


# ---- scores for two classes: l0, l1 on the left, r0, r1 on the right -------------------------------------------------

cdef inline double gini_pair(double l0, double l1, double r0, double r1) noexcept nogil:
    """(l1 r0 - l0 r1)^2 / (nl nr): the Gini gain is 2 / n^2 times it, Pearson's chi-squared n / (N0 N1) times it."""
    cdef double cross = l1 * r0 - l0 * r1
    return cross * cross / ((l0 + l1) * (r0 + r1))


cdef inline double error_pair(double l0, double l1, double r0, double r1) noexcept nogil:
    """Rows that the majority classes of the two sides get right."""
    return (l0 if l0 > l1 else l1) + (r0 if r0 > r1 else r1)


cdef inline double table_pair(int criterion, const double* T, double l0, double l1, double r0, double r1) noexcept nogil:
    """Entropy and hypergeometric: sum T(n_vk) - sum T(n_v)."""
    return ((look(criterion, T, l0) + look(criterion, T, l1) - look(criterion, T, l0 + l1))
            + (look(criterion, T, r0) + look(criterion, T, r1) - look(criterion, T, r0 + r1)))


cdef inline double split_information(int criterion, const double* T, double nl, double nr) noexcept nogil:
    """n H(nl, nr), the denominator of the gain ratio; concave in nl."""
    return look(criterion, T, nl + nr) - (look(criterion, T, nl) + look(criterion, T, nr))


cdef inline double ratio_pair(const double* T, double l0, double l1, double r0, double r1) noexcept nogil:
    """Gain ratio: (n times the entropy gain) / (n H(nl, nr))."""
    cdef double gain = table_pair(ENTROPY, T, l0, l1, r0, r1) - (
        look(ENTROPY, T, l0 + r0) + look(ENTROPY, T, l1 + r1) - look(ENTROPY, T, l0 + l1 + r0 + r1))
    return gain / split_information(ENTROPY, T, l0 + l1, r0 + r1)


cdef inline double orthogonality_pair(double l0, double l1, double r0, double r1) noexcept nogil:
    """1 - cos of the angle between the class vectors of the two sides."""
    return 1.0 - (l0 * r0 + l1 * r1) / sqrt((l0 * l0 + l1 * l1) * (r0 * r0 + r1 * r1))


cdef inline double score_pair(int criterion, const double* T, double l0, double l1, double r0, double r1) noexcept nogil:
    """The score of a two-class table; both sides hold something."""
    if criterion == GINI or criterion == CHI2:
        return gini_pair(l0, l1, r0, r1)
    if criterion == ENTROPY or criterion == HYPERGEOMETRIC:
        return table_pair(criterion, T, l0, l1, r0, r1)
    if criterion == GAIN_RATIO:
        return ratio_pair(T, l0, l1, r0, r1)
    if criterion == ERROR:
        return error_pair(l0, l1, r0, r1)
    return orthogonality_pair(l0, l1, r0, r1)


# ---- scores for K classes --------------------------------------------------------------------------------------------

cdef inline double gini_score(Py_ssize_t K, const double* l, const double* N, double nl, double nr) noexcept nogil:
    """sum l_k^2 / nl + sum r_k^2 / nr."""
    cdef double left = 0.0, right = 0.0, r
    cdef Py_ssize_t k
    for k in range(K):
        r = N[k] - l[k]
        left += l[k] * l[k]
        right += r * r
    return left / nl + right / nr


cdef inline double error_score(Py_ssize_t K, const double* l, const double* N) noexcept nogil:
    """max l_k + max r_k."""
    cdef double left = 0.0, right = 0.0
    cdef Py_ssize_t k
    for k in range(K):
        left = l[k] if l[k] > left else left
        right = N[k] - l[k] if N[k] - l[k] > right else right
    return left + right


cdef inline double table_score(
    int criterion, const double* T, Py_ssize_t K, const double* l, const double* N, double nl, double nr
) noexcept nogil:
    """Entropy and hypergeometric: sum T(n_vk) - sum T(n_v)."""
    cdef double left = 0.0, right = 0.0
    cdef Py_ssize_t k
    for k in range(K):
        left += look(criterion, T, l[k])
        right += look(criterion, T, N[k] - l[k])
    return (left - look(criterion, T, nl)) + (right - look(criterion, T, nr))


cdef inline double ratio_score(
    const double* T, Py_ssize_t K, const double* l, const double* N, double nl, double nr
) noexcept nogil:
    """Gain ratio: (n times the entropy gain) / (n H(nl, nr))."""
    cdef double gain = table_score(ENTROPY, T, K, l, N, nl, nr) + look(ENTROPY, T, nl + nr)
    cdef Py_ssize_t k
    for k in range(K):
        gain -= look(ENTROPY, T, N[k])
    return gain / split_information(ENTROPY, T, nl, nr)


cdef inline double chi2_score(Py_ssize_t K, const double* l, const double* N, double nl, double nr) noexcept nogil:
    """sum l_k^2 / (N_k nl) + sum r_k^2 / (N_k nr); the statistic is n (score - 1)."""
    cdef double left = 0.0, right = 0.0, r
    cdef Py_ssize_t k
    for k in range(K):
        if N[k] > 0.0:
            r = N[k] - l[k]
            left += l[k] * l[k] / N[k]
            right += r * r / N[k]
    return left / nl + right / nr


cdef inline double orthogonality_score(Py_ssize_t K, const double* l, const double* N) noexcept nogil:
    """1 - cos of the angle between the class vectors of the two sides."""
    cdef double left = 0.0, right = 0.0, dot = 0.0, r
    cdef Py_ssize_t k
    for k in range(K):
        r = N[k] - l[k]
        left += l[k] * l[k]
        right += r * r
        dot += l[k] * r
    return 1.0 - dot / sqrt(left * right)


cdef inline double score_counts(
    int criterion, const double* T, Py_ssize_t K, const double* l, const double* N, double nl, double nr
) noexcept nogil:
    """The score of left counts l in a node with counts N; nl, nr > 0.  Cost O(K)."""
    if K == 2:
        return score_pair(criterion, T, l[0], l[1], N[0] - l[0], N[1] - l[1])
    if criterion == GINI:
        return gini_score(K, l, N, nl, nr)
    if criterion == ENTROPY or criterion == HYPERGEOMETRIC:
        return table_score(criterion, T, K, l, N, nl, nr)
    if criterion == GAIN_RATIO:
        return ratio_score(T, K, l, N, nl, nr)
    if criterion == CHI2:
        return chi2_score(K, l, N, nl, nr)
    if criterion == ERROR:
        return error_score(K, l, N)
    return orthogonality_score(K, l, N)


# ---- gains of a whole table: V branches, K classes, row-major, n_vk = n[v * K + k] -----------------------------------

cdef inline double entropy_bits(Py_ssize_t K, const double* p, Py_ssize_t step) noexcept nogil:
    """n H in bits of the K counts p[0], p[step], ..."""
    cdef double total = 0.0, out = 0.0
    cdef Py_ssize_t k
    for k in range(K):
        total += p[k * step]
        out -= x_log2_x(p[k * step])
    return out + x_log2_x(total)


cdef inline double impurity(int criterion, Py_ssize_t K, const double* p) noexcept nogil:
    """What the gain takes from: training error, entropy in bits, or Gini (also shown for the remaining criteria)."""
    cdef double total = 0.0, square = 0.0, largest = 0.0
    cdef Py_ssize_t k
    for k in range(K):
        total += p[k]
        square += p[k] * p[k]
        largest = p[k] if p[k] > largest else largest
    if total <= 0.0:
        return 0.0
    if criterion == ERROR:
        return (total - largest) / total
    if criterion == ENTROPY or criterion == GAIN_RATIO:
        return entropy_bits(K, p, 1) / total
    return 1.0 - square / (total * total)


cdef inline double hypergeometric_gain(
    Py_ssize_t V, Py_ssize_t K, const double* n, const double* N, const double* T
) noexcept nogil:
    """-ln P0 = ln n! + sum ln n_vk! - sum ln N_k! - sum ln n_v!"""
    cdef double total = 0.0, row, out = 0.0
    cdef Py_ssize_t v, k
    for v in range(V):
        row = 0.0
        for k in range(K):
            row += n[v * K + k]
            out += look(HYPERGEOMETRIC, T, n[v * K + k])
        out -= look(HYPERGEOMETRIC, T, row)
        total += row
    for k in range(K):
        out -= look(HYPERGEOMETRIC, T, N[k])
    return out + look(HYPERGEOMETRIC, T, total)


cdef inline double chi2_gain(Py_ssize_t V, Py_ssize_t K, const double* n, const double* N) noexcept nogil:
    """sum (n_vk - e_vk)^2 / e_vk with e_vk = n_v N_k / n; empty rows and columns add nothing."""
    cdef double total = 0.0, row, expected, out = 0.0
    cdef Py_ssize_t v, k
    for k in range(K):
        total += N[k]
    for v in range(V):
        row = 0.0
        for k in range(K):
            row += n[v * K + k]
        for k in range(K):
            expected = row * N[k] / total
            if expected > 0.0:
                out += (n[v * K + k] - expected) * (n[v * K + k] - expected) / expected
    return out


cdef inline double orthogonality_gain(Py_ssize_t V, Py_ssize_t K, const double* n) noexcept nogil:
    """Mean of 1 - cos(n_u, n_v) over pairs u < v of branches that hold something, weight n_u n_v."""
    cdef double out = 0.0, weight = 0.0, dot, left, right, nu, nv
    cdef Py_ssize_t u, v, k
    for u in range(V):
        for v in range(u + 1, V):
            dot = left = right = nu = nv = 0.0
            for k in range(K):
                dot += n[u * K + k] * n[v * K + k]
                left += n[u * K + k] * n[u * K + k]
                right += n[v * K + k] * n[v * K + k]
                nu += n[u * K + k]
                nv += n[v * K + k]
            if left > 0.0 and right > 0.0:
                out += nu * nv * (1.0 - dot / sqrt(left * right))
                weight += nu * nv
    return out / weight if weight > 0.0 else 0.0


cdef inline double impurity_gain(
    int criterion, Py_ssize_t V, Py_ssize_t K, const double* n, const double* N
) noexcept nogil:
    """I(N) - sum n_v / n I(n_v) with I the training error, the Gini index or the entropy."""
    cdef double total = 0.0, row, out = 0.0
    cdef Py_ssize_t v, k
    for v in range(V):
        row = 0.0
        for k in range(K):
            row += n[v * K + k]
        out += row * impurity(criterion, K, n + v * K)
        total += row
    out = impurity(criterion, K, N) - out / total
    return out if out > 0.0 else 0.0


cdef inline double ratio_gain(Py_ssize_t V, Py_ssize_t K, const double* n, const double* N) noexcept nogil:
    """Entropy gain over the entropy of the branch sizes; 0 when one branch holds everything."""
    cdef double total = 0.0, row, information = 0.0
    cdef Py_ssize_t v, k
    for v in range(V):
        row = 0.0
        for k in range(K):
            row += n[v * K + k]
        information -= x_log2_x(row)
        total += row
    information += x_log2_x(total)
    if information <= 0.0:
        return 0.0
    return impurity_gain(ENTROPY, V, K, n, N) * total / information


cdef inline double table_gain(
    int criterion, Py_ssize_t V, Py_ssize_t K, const double* n, const double* N, const double* T
) noexcept nogil:
    """The gain of a table with V branches; N[k] are its column sums.  T is a log-factorial table or NULL."""
    if criterion == HYPERGEOMETRIC:
        return hypergeometric_gain(V, K, n, N, T)
    if criterion == CHI2:
        return chi2_gain(V, K, n, N)
    if criterion == ORTHOGONALITY:
        return orthogonality_gain(V, K, n)
    if criterion == GAIN_RATIO:
        return ratio_gain(V, K, n, N)
    return impurity_gain(criterion, V, K, n, N)
