"""The upper confidence limit of a binomial proportion, as pessimistic pruning wants it.

E errors were seen among N rows. The limit U is the error rate at which E errors or fewer have probability cf:

    P[Binomial(N, U) <= E] = I_{1-U}(N - E, E + 1) = cf     (Clopper and Pearson 1934)

I is the regularised incomplete beta function, here by its continued fraction (modified Lentz), which makes sense for
weights that are not whole numbers as well. The root is found by Newton's method inside a bracket. E = 0 has the closed
form 1 - cf^(1/N), and E = N has U = 1. Without rows nothing is known: 1.
"""

from libc.math cimport exp, fabs, log, log1p, pow, sqrt

from criteria cimport log_factorial


cdef inline double beta_fraction(double a, double b, double x) noexcept nogil:
    """The continued fraction of I_x(a, b) for x < (a + 1) / (a + b + 2); about sqrt(max(a, b)) steps."""
    cdef double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0), value, step
    cdef int i
    d = 1.0 / (d if fabs(d) > 1e-300 else 1e-300)
    value = d
    for i in range(1, 100000):
        step = i * (b - i) * x / ((a + 2.0 * i - 1.0) * (a + 2.0 * i))
        d = 1.0 + step * d
        c = 1.0 + step / c
        d = 1.0 / (d if fabs(d) > 1e-300 else 1e-300)
        c = c if fabs(c) > 1e-300 else 1e-300
        value *= d * c
        step = -(a + i) * (a + b + i) * x / ((a + 2.0 * i) * (a + 2.0 * i + 1.0))
        d = 1.0 + step * d
        c = 1.0 + step / c
        d = 1.0 / (d if fabs(d) > 1e-300 else 1e-300)
        c = c if fabs(c) > 1e-300 else 1e-300
        value *= d * c
        if fabs(d * c - 1.0) < 1e-15:
            break
    return value


cdef inline double beta_tail(double a, double b, double x, double log_beta) noexcept nogil:
    """I_x(a, b); log_beta is ln B(a, b)."""
    cdef double front
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = exp(a * log(x) + b * log1p(-x) - log_beta)
    if x < (a + 1.0) / (a + b + 2.0):
        return front * beta_fraction(a, b, x) / a
    return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b


cdef inline double binomial_upper(double errors, double rows, double cf) noexcept nogil:
    """U with P[Binomial(rows, U) <= errors] = cf, 0 < cf <= 1."""
    cdef double a, b, low, high, p, value, slope, log_beta, step
    cdef int i
    if rows <= 0.0 or errors >= rows:
        return 1.0
    if errors <= 0.0:
        return 1.0 - pow(cf, 1.0 / rows)
    if cf >= 1.0:
        return 0.0
    a, b = errors + 1.0, rows - errors  # P[X <= E] = 1 - I_p(a, b)
    log_beta = log_factorial(a - 1.0) + log_factorial(b) - log(b) - log_factorial(a + b - 1.0)
    low, high = 0.0, 1.0
    p = a / (a + b) + 0.7 * sqrt(a * b / (a + b)) / (a + b)
    p = p if p < 1.0 else 0.5 * (1.0 + a / (a + b))
    for i in range(200):
        value = 1.0 - beta_tail(a, b, p, log_beta) - cf
        if value > 0.0:
            low = p
        else:
            high = p
        slope = exp((a - 1.0) * log(p) + (b - 1.0) * log1p(-p) - log_beta)
        step = value / slope if slope > 0.0 else 2.0
        if p + step <= low or p + step >= high:
            step = 0.5 * (low + high) - p
        p += step
        if fabs(step) < 1e-15 * p or high - low < 1e-16:
            break
    return p
