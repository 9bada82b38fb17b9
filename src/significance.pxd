"""Is the best split more than chance?  One test per criterion, on the same table that the criterion judged.

Martin & Hirschberg (1996) ask that a split be accepted or refused by the function that chose it.  For a table of V
branches and K classes that occur (f = (V - 1)(K - 1)):

* hypergeometric: P0 itself, the probability of the table given its margins.
* chi2: the tail of the chi-squared distribution with f degrees of freedom.
* entropy, gain_ratio: the likelihood-ratio statistic G = 2 n ln 2 * (entropy gain), the same tail (Wilks 1938).
* gini: C = (n - 1)(K - 1) * gain / G(N), the same tail (CATANOVA, Light & Margolin 1971).
* error: the sign test.  Of the rows whose prediction changes, b become right and c become wrong; the chance of b or
  more out of b + c fair coins.
* orthogonality: with p the class shares, expansion of the cosine to second order gives, without association,
  2 |p|^2 / n * sum_{u<v} n_u n_v (1 - cos(n_u, n_v)) -> sum_i lambda_i chi2_{V-1}, lambda the eigenvalues of
  Q diag(p) Q with Q the projection across p.  The tail is taken from the scaled chi-squared distribution with the same
  mean and variance (Satterthwaite 1946): sum lambda = 1 - S3/S2 and sum lambda^2 = S2 - 2 S4/S2 + (S3/S2)^2 with
  S_j = sum p^j.
"""

from libc.math cimport exp, fabs, log

from criteria cimport (CHI2, ENTROPY, ERROR, GAIN_RATIO, GINI, HYPERGEOMETRIC, ORTHOGONALITY,
                       chi2_gain, hypergeometric_gain, impurity, impurity_gain, log_factorial, orthogonality_gain)


cdef inline double gamma_tail(double a, double x) noexcept nogil:
    """Q(a, x) = Gamma(a, x) / Gamma(a): the series below a + 1, Lentz's continued fraction above."""
    cdef double scale, term, total, b, c, d, step
    cdef int i
    if x <= 0.0:
        return 1.0
    scale = exp(a * log(x) - x - log_factorial(a - 1.0) if a >= 1.0 else
                a * log(x) - x - log_factorial(a) + log(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        for i in range(1, 100000):
            term *= x / (a + i)
            total += term
            if term < total * 1e-17:
                break
        return 1.0 - scale * total
    b = x + 1.0 - a
    c = 1e300
    d = 1.0 / b
    total = d
    for i in range(1, 100000):
        step = -i * (i - a)
        b += 2.0
        d = step * d + b
        d = 1.0 / (d if fabs(d) > 1e-300 else 1e-300)
        c = b + step / c
        c = c if fabs(c) > 1e-300 else 1e-300
        total *= c * d
        if fabs(c * d - 1.0) < 1e-16:
            break
    return scale * total


cdef inline double chi2_tail(double statistic, double freedom) noexcept nogil:
    """P[chi-squared with ``freedom`` degrees of freedom >= statistic]; 1 with no freedom."""
    return gamma_tail(0.5 * freedom, 0.5 * statistic) if freedom > 0.0 else 1.0


cdef inline double sign_test(double b, double c) noexcept nogil:
    """P[Binomial(b + c, 1/2) >= b], by summing the shorter tail from its largest term down."""
    cdef double n = b + c, term, total, j, ratio
    cdef bint upper = b > c
    if b <= 0.0:
        return 1.0
    # upper: sum_{j >= b}; otherwise 1 - sum_{j < b}
    j = b if upper else b - 1.0
    term = exp(log_factorial(n) - log_factorial(j) - log_factorial(n - j) - n * 0.69314718055994530942)
    total = 0.0
    while term > total * 1e-17 and 0.0 <= j <= n:
        total += term
        ratio = (n - j) / (j + 1.0) if upper else j / (n - j + 1.0)
        term *= ratio
        j += 1.0 if upper else -1.0
    if not upper:
        total = 1.0 - total
    return total if total < 1.0 else 1.0


cdef inline double error_tail(Py_ssize_t V, Py_ssize_t K, const double* n, const double* N) noexcept nogil:
    """The sign test on the rows whose majority class changes; the first of equal classes is the majority."""
    cdef double right = 0.0, wrong = 0.0
    cdef Py_ssize_t v, k, major = 0, best
    for k in range(K):
        if N[k] > N[major]:
            major = k
    for v in range(V):
        best = major
        for k in range(K):
            if n[v * K + k] > n[v * K + best]:
                best = k
        if best != major:
            right += n[v * K + best]
            wrong += n[v * K + major]
    return sign_test(right, wrong)


cdef inline double orthogonality_tail(Py_ssize_t V, Py_ssize_t K, const double* n, const double* N) noexcept nogil:
    """Satterthwaite's approximation described at the head of this file."""
    cdef double total = 0.0, s2 = 0.0, s3 = 0.0, s4 = 0.0, p, row, rows2 = 0.0, first, second, statistic
    cdef Py_ssize_t v, k
    for k in range(K):
        total += N[k]
    for k in range(K):
        p = N[k] / total
        s2 += p * p
        s3 += p * p * p
        s4 += p * p * p * p
    for v in range(V):
        row = 0.0
        for k in range(K):
            row += n[v * K + k]
        rows2 += row * row
    # sum_{u<v} n_u n_v = (n^2 - sum n_v^2) / 2
    statistic = 2.0 * s2 / total * 0.5 * (total * total - rows2) * orthogonality_gain(V, K, n)
    first = 1.0 - s3 / s2
    second = s2 - 2.0 * s4 / s2 + (s3 / s2) * (s3 / s2)
    if first <= 0.0 or second <= 0.0:
        return 1.0
    return chi2_tail(statistic * first / second, (V - 1) * first * first / second)


cdef inline double significance(
    int criterion, Py_ssize_t V, Py_ssize_t K, const double* n, const double* N
) noexcept nogil:
    """The probability that chance alone gives such a split, by the test of the criterion; 1 with nothing to test."""
    cdef double total = 0.0, present = 0.0, freedom, spread
    cdef Py_ssize_t v, k, branches = 0
    for k in range(K):
        total += N[k]
        present += 1.0 if N[k] > 0.0 else 0.0
    for v in range(V):
        for k in range(K):
            if n[v * K + k] > 0.0:
                branches += 1
                break
    freedom = (branches - 1) * (present - 1.0)
    if freedom <= 0.0:
        return 1.0
    if criterion == HYPERGEOMETRIC:
        return exp(-hypergeometric_gain(V, K, n, N, NULL))
    if criterion == CHI2:
        return chi2_tail(chi2_gain(V, K, n, N), freedom)
    if criterion == ERROR:
        return error_tail(V, K, n, N)
    if criterion == ORTHOGONALITY:
        return orthogonality_tail(branches, K, n, N) if branches == V else orthogonality_tail(V, K, n, N)
    if criterion == GINI:
        spread = impurity(GINI, K, N)
        return chi2_tail((total - 1.0) * (present - 1.0) * impurity_gain(GINI, V, K, n, N) / spread, freedom)
    return chi2_tail(2.0 * total * 0.69314718055994530942 * impurity_gain(ENTROPY, V, K, n, N), freedom)
