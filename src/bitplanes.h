/* Columns of bits: counting them against class planes, and keeping the rows of a child.

   A column holds one bit per row of a node, 64 rows per word, the last word padded with zeros.
   planes_count        for each column c: |c|, |c & p_1|, ..., |c & p_P|
   planes_child        the columns of a child: the bits under a mask, closed up (parallel extract), dead columns left out
   planes_rest         the columns of the other child, whose counts are then known before they are touched
   planes_close        the bits of one column under a mask
   planes_gini         the best column by Gini, counts and scores in one pass
   planes_table        the best column of two classes by entropy or hypergeometric
   planes_small        the best column by Gini for at most 64 rows under a mask; planes_small_table: by entropy or
                       hypergeometric, many classes; planes_small_count: their counts
   planes_codes        byte codes of whole numbers
   planes_from_codes   the column "code <= cut" or "code == cut" of byte codes

   Each has a portable body; on x86 the same body is compiled again for BMI2 and POPCNT and chosen at run time. */
#ifndef VCDIM_BITPLANES_H
#define VCDIM_BITPLANES_H
#include <string.h>
#include "lanes.h"

/* |c|, and |c & p|, over W words: two sums, so that additions do not wait for each other. */
LANES_INLINE uint32_t planes_total(const uint64_t *c, ptrdiff_t W) {
    uint32_t even = 0, odd = 0;
    ptrdiff_t w = 0;
    for (; w + 2 <= W; w += 2) even += (uint32_t) lanes_popcount64(c[w]), odd += (uint32_t) lanes_popcount64(c[w + 1]);
    if (w < W) even += (uint32_t) lanes_popcount64(c[w]);
    return even + odd;
}

LANES_INLINE uint32_t planes_both(const uint64_t *c, const uint64_t *p, ptrdiff_t W) {
    uint32_t even = 0, odd = 0;
    ptrdiff_t w = 0;
    for (; w + 4 <= W; w += 4) {
        even += (uint32_t) lanes_popcount64(c[w] & p[w]) + (uint32_t) lanes_popcount64(c[w + 1] & p[w + 1]);
        odd += (uint32_t) lanes_popcount64(c[w + 2] & p[w + 2]) + (uint32_t) lanes_popcount64(c[w + 3] & p[w + 3]);
    }
    for (; w < W; w++) even += (uint32_t) lanes_popcount64(c[w] & p[w]);
    return even + odd;
}

LANES_INLINE void planes_count_body(const uint64_t *columns, ptrdiff_t A, ptrdiff_t W, const uint64_t *planes,
                                    ptrdiff_t P, uint32_t *out) {
    for (ptrdiff_t i = 0; i < A; i++, columns += W, out += P + 1) {
        if (W == 1) {
            uint64_t c = columns[0];
            out[0] = (uint32_t) lanes_popcount64(c);
            for (ptrdiff_t k = 0; k < P; k++) out[k + 1] = (uint32_t) lanes_popcount64(c & planes[k]);
            continue;
        }
        out[0] = planes_total(columns, W);
        for (ptrdiff_t k = 0; k < P; k++) out[k + 1] = planes_both(columns, planes + k * W, W);
    }
}

/* Parallel extract without the instruction: six steps that each move bits by a power of two (Hacker's Delight, 7-4);
   steps[6] depends on the mask alone and serves every column. */
static inline void planes_steps(uint64_t mask, uint64_t *steps) {
    uint64_t gaps = ~mask << 1;
    for (int i = 0; i < 6; i++) {
        uint64_t p = gaps;
        for (int j = 1; j < 64; j <<= 1) p ^= p << j;
        uint64_t move = p & mask;
        mask = (mask ^ move) | (move >> (1 << i));
        steps[i] = move;
        gaps &= ~p;
    }
}

static inline uint64_t planes_extract_plain(uint64_t x, uint64_t mask, const uint64_t *steps) {
    x &= mask;
    for (int i = 0; i < 6; i++) {
        uint64_t t = x & steps[i];
        x = (x ^ t) | (t >> (1 << i));
    }
    return x;
}

/* One candidate test in 64 bits: feature | low << 32 | high << 48.  low is the largest code on its left, high the smallest
   on its right; low == high says that the column is "code == low" instead of "code <= low". */
typedef uint64_t PlanesCut;

static inline PlanesCut planes_cut(uint32_t feature, uint32_t low, uint32_t high) {
    return feature | (uint64_t) low << 32 | (uint64_t) high << 48;
}
static inline uint32_t planes_cut_feature(PlanesCut cut) { return (uint32_t) cut; }
static inline uint32_t planes_cut_low(PlanesCut cut) { return (uint32_t) (cut >> 32) & 0xffff; }
static inline uint32_t planes_cut_high(PlanesCut cut) { return (uint32_t) (cut >> 48); }

/* Which columns live on while they are visited in order. */
typedef struct {
    uint64_t key;         /* of the column before: feature | bits << 32 */
    PlanesCut cut;        /* its cut, the gap widened over columns that are the same set */
    ptrdiff_t kept;       /* 1 if it lives on */
    ptrdiff_t alive;      /* columns kept so far */
} PlanesFilter;

static inline PlanesFilter planes_filter(void) {
    PlanesFilter f = {~(uint64_t) 0, 0, 0, 0};
    return f;
}

/* Takes the next column, of `count` bits among n rows, into the list or not.  Columns of one feature are nested, so one
   with as many bits as the one before is the same set: only the gap above that one gets wider.
   Without branches, which nobody could predict: the last place is written again, or the next one, which may stay free. */
LANES_INLINE void planes_admit(PlanesFilter *f, PlanesCut cut, uint32_t count, ptrdiff_t n, ptrdiff_t least,
                               PlanesCut *cuts, uint32_t *counts) {
    const uint64_t high = (uint64_t) 0xffff << 48, key = (uint32_t) cut | (uint64_t) count << 32;
    ptrdiff_t same = (key == f->key) & (((cut >> 48 ^ cut >> 32) & 0xffff) != 0);
    ptrdiff_t fits = (size_t) ((ptrdiff_t) count - least) <= (size_t) (n - 2 * least);
    PlanesCut wider = (f->cut & ~high) | (cut & high);
    ptrdiff_t place = f->alive - (same & f->kept);
    f->key = key;
    f->cut = same ? wider : cut;
    cuts[place] = f->cut;
    counts[place] = count;
    f->alive += fits & ~same;
    f->kept = same ? f->kept : fits;
}

/* The bits of four columns under a mask, closed up into columns of `width` words.  fills[w] bits of the
   output word are taken before word w; the last word of the mask is not 0, so that no store goes beyond the column. */
#define PLANES_CLOSE_FOUR(EXTRACT)                                                                                  \
    uint64_t held0 = 0, held1 = 0, held2 = 0, held3 = 0;                                                            \
    uint64_t *to = out;                                                                                             \
    for (ptrdiff_t w = 0; w < last; w++) {                                                                          \
        int fill = fills[w], over = fill + fills[last + w] >= 64;                                                   \
        uint64_t bits0 = EXTRACT(c0[w]), bits1 = EXTRACT(c1[w]), bits2 = EXTRACT(c2[w]), bits3 = EXTRACT(c3[w]);    \
        to[0] = held0 |= bits0 << fill;                                                                             \
        to[width] = held1 |= bits1 << fill;                                                                         \
        to[2 * width] = held2 |= bits2 << fill;                                                                     \
        to[3 * width] = held3 |= bits3 << fill;                                                                     \
        held0 = over ? bits0 >> 1 >> (63 - fill) : held0;                                                           \
        held1 = over ? bits1 >> 1 >> (63 - fill) : held1;                                                           \
        held2 = over ? bits2 >> 1 >> (63 - fill) : held2;                                                           \
        held3 = over ? bits3 >> 1 >> (63 - fill) : held3;                                                           \
        to += over;                                                                                                 \
    }                                                                                                               \
    if (to < out + width) to[0] = held0, to[width] = held1, to[2 * width] = held2, to[3 * width] = held3;

/* The same for one column. */
#define PLANES_CLOSE_ONE(EXTRACT)                                                                                   \
    uint64_t held = 0;                                                                                              \
    uint64_t *to = out;                                                                                             \
    for (ptrdiff_t w = 0; w < last; w++) {                                                                          \
        int fill = fills[w], over = fill + fills[last + w] >= 64;                                                   \
        uint64_t bits = EXTRACT(columns[w]);                                                                        \
        to[0] = held |= bits << fill;                                                                               \
        held = over ? bits >> 1 >> (63 - fill) : held;                                                              \
        to += over;                                                                                                 \
    }                                                                                                               \
    if (to < out + width) to[0] = held;

/* Where the words of a mask go in the child: fills and sizes of its words, W each, into fills; returns how many words
   there are up to the last that is not 0. */
LANES_INLINE ptrdiff_t planes_places(const uint64_t *mask, ptrdiff_t W, uint8_t *fills) {
    ptrdiff_t last = W;
    int fill = 0;
    while (last && !mask[last - 1]) last--;
    for (ptrdiff_t w = 0; w < last; w++) {
        int size = lanes_popcount64(mask[w]);
        fills[w] = (uint8_t) fill;
        fills[last + w] = (uint8_t) size;
        fill = (fill + size) & 63;
    }
    return last;
}

/* The columns of a child of n rows: the bits under the mask, closed up, those that live on; returns how many.
   out has room for A columns of `width` words; `every` takes the bits of each of the A columns in the child; fills is
   scratch of 2 W entries.  Assumes n >= 2 least. */
#define PLANES_CHILD(EXTRACT, CLOSE_FOUR, CLOSE_ONE)                                                                \
    PlanesFilter filter = planes_filter();                                                                          \
    ptrdiff_t i = 0;                                                                                                \
    if (W == 1) {                                                                                                   \
        const ptrdiff_t w = 0;                                                                                      \
        for (; i < A; i++) {                                                                                        \
            uint64_t bits = EXTRACT(columns[i]);                                                                    \
            out[filter.alive] = bits;                                                                               \
            every[i] = (uint32_t) lanes_popcount64(bits);                                                           \
            planes_admit(&filter, cuts[i], every[i], n, least, out_cuts, out_counts);                               \
        }                                                                                                           \
        return filter.alive;                                                                                        \
    }                                                                                                               \
    const ptrdiff_t last = planes_places(mask, W, fills);                                                           \
    for (; i + 4 <= A; i += 4) {                                                                                    \
        uint64_t *made = out + filter.alive * width;                                                                \
        CLOSE_FOUR(columns + i * W, columns + (i + 1) * W, columns + (i + 2) * W, columns + (i + 3) * W, mask, last, \
                   fills, made, width, steps);                                                                      \
        for (ptrdiff_t j = 0; j < 4; j++) {                                                                         \
            uint64_t *to = out + filter.alive * width;                                                              \
            if (to != made + j * width)                                                                             \
                for (ptrdiff_t w = 0; w < width; w++) to[w] = made[j * width + w];                                  \
            every[i + j] = width == 1 ? (uint32_t) lanes_popcount64(to[0]) : planes_total(to, width);               \
            planes_admit(&filter, cuts[i + j], every[i + j], n, least, out_cuts, out_counts);                       \
        }                                                                                                           \
    }                                                                                                               \
    for (; i < A; i++) {                                                                                            \
        uint64_t *to = out + filter.alive * width;                                                                  \
        CLOSE_ONE(columns + i * W, mask, last, fills, to, width, steps);                                            \
        every[i] = planes_total(to, width);                                                                         \
        planes_admit(&filter, cuts[i], every[i], n, least, out_cuts, out_counts);                                   \
    }                                                                                                               \
    return filter.alive;

/* The columns of the other child, of n rows: what `every` has not counted of the parent's `counts` is there, so that only
   columns that live on are touched.  `list` is scratch for A + 1 numbers of columns. */
#define PLANES_REST(EXTRACT, CLOSE_FOUR, CLOSE_ONE)                                                                 \
    PlanesFilter filter = planes_filter();                                                                          \
    ptrdiff_t i = 0, j = 0;                                                                                         \
    for (; i < A; i++) {                                                                                            \
        /* A column that repeats the one before keeps the place of that one. */                                     \
        list[filter.alive] = (uint32_t) i;                                                                          \
        planes_admit(&filter, cuts[i], counts[i] - every[i], n, least, out_cuts, out_counts);                       \
    }                                                                                                               \
    if (W == 1) {                                                                                                   \
        const ptrdiff_t w = 0;                                                                                      \
        for (; j < filter.alive; j++) out[j] = EXTRACT(columns[list[j]]);                                           \
        return filter.alive;                                                                                        \
    }                                                                                                               \
    const ptrdiff_t last = planes_places(mask, W, fills);                                                           \
    for (; j + 4 <= filter.alive; j += 4)                                                                           \
        CLOSE_FOUR(columns + list[j] * W, columns + list[j + 1] * W, columns + list[j + 2] * W,                     \
                   columns + list[j + 3] * W, mask, last, fills, out + j * width, width, steps);                    \
    for (; j < filter.alive; j++)                                                                                   \
        CLOSE_ONE(columns + list[j] * W, mask, last, fills, out + j * width, width, steps);                         \
    return filter.alive;

#define PLANES_PLAIN(x) planes_extract_plain(x, mask[w], steps + 6 * w)
static void planes_close_four_plain(const uint64_t *c0, const uint64_t *c1, const uint64_t *c2, const uint64_t *c3,
                                    const uint64_t *mask, ptrdiff_t last, const uint8_t *fills, uint64_t *out,
                                    ptrdiff_t width, const uint64_t *steps) {
    PLANES_CLOSE_FOUR(PLANES_PLAIN)
}

static void planes_close_one_plain(const uint64_t *columns, const uint64_t *mask, ptrdiff_t last, const uint8_t *fills,
                                   uint64_t *out, ptrdiff_t width, const uint64_t *steps) {
    PLANES_CLOSE_ONE(PLANES_PLAIN)
}

/* What both ways to make a child take. */
typedef struct {
    const uint64_t *columns;    /* of the parent: A x W */
    const PlanesCut *cuts;
    const uint32_t *counts;
    ptrdiff_t A, W;
    const uint64_t *mask;       /* rows of the child */
    ptrdiff_t n, least;
    uint64_t *out;              /* of the child */
    ptrdiff_t width;
    PlanesCut *out_cuts;
    uint32_t *out_counts;
} PlanesChild;

#define PLANES_OPEN                                                                                                 \
    const uint64_t *columns = c->columns, *mask = c->mask;                                                          \
    const PlanesCut *cuts = c->cuts;                                                                                \
    const ptrdiff_t A = c->A, W = c->W, n = c->n, least = c->least, width = c->width;                               \
    uint64_t *out = c->out;                                                                                         \
    PlanesCut *out_cuts = c->out_cuts;                                                                              \
    uint32_t *out_counts = c->out_counts;

static ptrdiff_t planes_child_plain(const PlanesChild *c, uint32_t *every, uint8_t *fills, uint64_t *steps) {
    PLANES_OPEN
    for (ptrdiff_t w = 0; w < W; w++) planes_steps(mask[w], steps + 6 * w);
    PLANES_CHILD(PLANES_PLAIN, planes_close_four_plain, planes_close_one_plain)
}

static ptrdiff_t planes_rest_plain(const PlanesChild *c, const uint32_t *every, uint32_t *list, uint8_t *fills,
                                   uint64_t *steps) {
    PLANES_OPEN
    const uint32_t *counts = c->counts;
    for (ptrdiff_t w = 0; w < W; w++) planes_steps(mask[w], steps + 6 * w);
    PLANES_REST(PLANES_PLAIN, planes_close_four_plain, planes_close_one_plain)
}

/* The best Gini split of two classes: cross^2 / (nl nr) with cross = l1 n - nl N1.  Starts from *score, returns the
   first column that reaches the largest score beyond it, -1 without one; stops at a perfect split. */
LANES_INLINE ptrdiff_t planes_gini2_body(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                         const uint64_t *plane, double N1, double n, double *score) {
    double limit = *score * (1.0 - 1e-15), N0 = n - N1, perfect = N0 * N1 * (N0 * N1);
    ptrdiff_t best = -1;
    for (ptrdiff_t i = 0; i < A; i++, columns += W) {
        uint32_t both = planes_both(columns, plane, W);
        double nl = counts[i], cross = both * n - nl * N1, square = cross * cross, sizes = nl * (n - nl);
        if (square > limit * sizes) {
            double here = square / sizes;
            if (here > *score) {
                *score = here;
                limit = here * (1.0 - 1e-15);
                best = i;
                if (square == perfect) return best;
            }
        }
    }
    return best;
}

/* Entropy and hypergeometric of two classes by the table T: the sum of T over the four cells less that over both sides,
   added up as criteria.pxd does.  The mask serves columns of one word. */
LANES_INLINE ptrdiff_t planes_table_body(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                         uint64_t mask, const uint64_t *plane, const double *T, ptrdiff_t N1, ptrdiff_t n,
                                         ptrdiff_t least, double *score) {
    ptrdiff_t best = -1;
    const double *right = T + n, *right0 = T + n - N1, *right1 = T + N1;
    for (ptrdiff_t i = 0; i < A; i++, columns += W) {
        ptrdiff_t nl = W == 1 ? lanes_popcount64(columns[0] & mask) : (ptrdiff_t) counts[i];
        ptrdiff_t l1 = W == 1 ? lanes_popcount64(columns[0] & plane[0]) : (ptrdiff_t) planes_both(columns, plane, W);
        ptrdiff_t l0 = nl - l1;
        double here = (T[l0] + T[l1] - T[nl]) + (right0[-l0] + right1[-l1] - right[-nl]);
        if (here > *score && nl >= least && n - nl >= least) {
            *score = here;
            best = i;
            if ((l0 == 0 && l1 == N1) || (l1 == 0 && nl == n - N1)) return best;
        }
    }
    return best;
}

static ptrdiff_t planes_table_plain(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                    uint64_t mask, const uint64_t *plane, const double *T, ptrdiff_t N1, ptrdiff_t n,
                                    ptrdiff_t least, double *score) {
    return planes_table_body(columns, counts, A, W, mask, plane, T, N1, n, least, score);
}

/* The same for more classes: sum l_k^2 / nl + sum r_k^2 / nr; the first class has no plane. */
LANES_INLINE ptrdiff_t planes_gini_body(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                        const uint64_t *planes, ptrdiff_t P, const double *N, double n, double *score) {
    double limit = *score, squares = 0.0;
    ptrdiff_t best = -1;
    for (ptrdiff_t k = 0; k <= P; k++) squares += N[k] * N[k];
    for (ptrdiff_t i = 0; i < A; i++, columns += W) {
        int64_t rest = counts[i], left = 0;
        double dot = 0.0;
        for (ptrdiff_t k = 0; k < P; k++) {
            int64_t both = planes_both(columns, planes + k * W, W);
            rest -= both;
            left += both * both;
            dot += (double) both * N[k + 1];
        }
        left += rest * rest;
        dot += (double) rest * N[0];
        double nl = counts[i], nr = n - nl, l = (double) left, r = squares - 2.0 * dot + l;
        if (l * nr + r * nl > limit * (nl * nr)) {
            double here = l / nl + r / nr;
            if (here > *score) {
                *score = here;
                limit = here * (1.0 - 1e-15);
                best = i;
            }
        }
    }
    return best;
}

/* ---- nodes of at most 64 rows: a mask over the one-word columns of an ancestor ----

   Counting under the mask costs no more than counting, so nothing is moved.  A column that does not divide the rows has
   0 on both sides of the comparison and never wins. */

/* planes_gini2_body under a mask, for the columns [i, A); n1 rows of class 1 lie in plane. */
LANES_INLINE ptrdiff_t planes_small2_body(const uint64_t *columns, ptrdiff_t i, ptrdiff_t A, uint64_t mask, uint64_t plane,
                                          double N1, double n, double least, double *score, ptrdiff_t best) {
    double limit = *score * (1.0 - 1e-15), perfect = (n - N1) * N1 * ((n - N1) * N1);
    for (; i < A; i++) {
        uint64_t c = columns[i] & mask;
        double nl = lanes_popcount64(c), cross = lanes_popcount64(c & plane) * n - nl * N1;
        double square = cross * cross, sizes = nl * (n - nl);
        if (square > limit * sizes && nl >= least && n - nl >= least) {
            double here = square / sizes;
            if (here > *score) {
                *score = here;
                limit = here * (1.0 - 1e-15);
                best = i;
                if (square == perfect) return best;
            }
        }
    }
    return best;
}

/* planes_gini_body under a mask; the planes hold rows under the mask only. */
LANES_INLINE ptrdiff_t planes_small_body(const uint64_t *columns, ptrdiff_t A, uint64_t mask, const uint64_t *planes,
                                         ptrdiff_t P, const double *N, double n, double least, double *score) {
    double limit = *score, squares = 0.0;
    ptrdiff_t best = -1;
    int32_t whole[64];
    for (ptrdiff_t k = 0; k <= P; k++) squares += N[k] * N[k], whole[k] = (int32_t) N[k];
    for (ptrdiff_t i = 0; i < A; i++) {
        uint64_t c = columns[i] & mask;
        int32_t count = lanes_popcount64(c), rest = count, left = 0, dot = 0;
        for (ptrdiff_t k = 0; k < P; k++) {
            int32_t both = lanes_popcount64(c & planes[k]);
            rest -= both;
            left += both * both;
            dot += both * whole[k + 1];
        }
        left += rest * rest;
        dot += rest * whole[0];
        double nl = count, nr = n - nl, l = left, r = squares - 2.0 * dot + l;
        if (l * nr + r * nl > limit * (nl * nr) && nl >= least && nr >= least) {
            double here = l / nl + r / nr;
            if (here > *score) {
                *score = here;
                limit = here * (1.0 - 1e-15);
                best = i;
            }
        }
    }
    return best;
}

/* Entropy and hypergeometric of many classes by the table T, added up class by class as criteria.pxd does. */
LANES_INLINE ptrdiff_t planes_small_table_body(const uint64_t *columns, ptrdiff_t A, uint64_t mask, const uint64_t *planes,
                                               ptrdiff_t P, const double *N, const double *T, int32_t n, int32_t least,
                                               double *score) {
    const double *right_of[64];
    ptrdiff_t best = -1;
    for (ptrdiff_t k = 0; k <= P; k++) right_of[k] = T + (ptrdiff_t) N[k];
    for (ptrdiff_t i = 0; i < A; i++) {
        uint64_t c = columns[i] & mask;
        int32_t nl = lanes_popcount64(c), rest = nl, both[64];
        if (nl < least || n - nl < least) continue;
        for (ptrdiff_t k = 0; k < P; k++) {
            both[k] = lanes_popcount64(c & planes[k]);
            rest -= both[k];
        }
        double left = T[rest], right = right_of[0][-rest];
        for (ptrdiff_t k = 0; k < P; k++) {
            left += T[both[k]];
            right += right_of[k + 1][-both[k]];
        }
        /* Two classes of many are scored with a third that is absent. */
        if (P == 1) left += T[0], right += T[0];
        double here = (left - T[nl]) + (right - T[n - nl]);
        if (here > *score) {
            *score = here;
            best = i;
        }
    }
    return best;
}

static ptrdiff_t planes_small_table_plain(const uint64_t *columns, ptrdiff_t A, uint64_t mask, const uint64_t *planes,
                                          ptrdiff_t P, const double *N, const double *T, int32_t n, int32_t least,
                                          double *score) {
    return planes_small_table_body(columns, A, mask, planes, P, N, T, n, least, score);
}

/* For each column c under the mask: |c|, |c & p_1|, ..., |c & p_P|. */
LANES_INLINE void planes_small_count_body(const uint64_t *columns, ptrdiff_t A, uint64_t mask, const uint64_t *planes,
                                          ptrdiff_t P, uint32_t *out) {
    for (ptrdiff_t i = 0; i < A; i++, out += P + 1) {
        uint64_t c = columns[i] & mask;
        out[0] = (uint32_t) lanes_popcount64(c);
        for (ptrdiff_t k = 0; k < P; k++) out[k + 1] = (uint32_t) lanes_popcount64(c & planes[k]);
    }
}

static ptrdiff_t planes_small_plain(const uint64_t *columns, ptrdiff_t A, uint64_t mask, const uint64_t *planes,
                                    ptrdiff_t P, const double *N, double n, double least, int two, double *score) {
    if (two) return planes_small2_body(columns, 0, A, mask, planes[0], N[1], n, least, score, -1);
    return planes_small_body(columns, A, mask, planes, P, N, n, least, score);
}

static void planes_small_count_plain(const uint64_t *columns, ptrdiff_t A, uint64_t mask, const uint64_t *planes,
                                     ptrdiff_t P, uint32_t *out) {
    planes_small_count_body(columns, A, mask, planes, P, out);
}

static ptrdiff_t planes_gini_plain(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                   const uint64_t *planes, ptrdiff_t P, const double *N, double n, int two,
                                   double *score) {
    if (two) return planes_gini2_body(columns, counts, A, W, planes, N[1], n, score);
    return planes_gini_body(columns, counts, A, W, planes, P, N, n, score);
}

static void planes_count_plain(const uint64_t *columns, ptrdiff_t A, ptrdiff_t W, const uint64_t *planes, ptrdiff_t P,
                               uint32_t *out) {
    planes_count_body(columns, A, W, planes, P, out);
}

/* Writes x - low as bytes, for n contiguous values less than 256 above low; 1 where one is no whole number above it. */
#define PLANES_CODES(REAL, NAME, SUFFIX, TARGET)                                                                    \
    TARGET static int planes_codes_##NAME##SUFFIX(const REAL *x, ptrdiff_t n, REAL low, uint8_t *codes) {           \
        int bad = 0;                                                                                                \
        for (ptrdiff_t i = 0; i < n; i++) {                                                                         \
            REAL value = x[i] - low;                                                                                \
            int32_t code = (int32_t) value;                                                                         \
            bad |= (REAL) code != value;                                                                            \
            codes[i] = (uint8_t) code;                                                                              \
        }                                                                                                           \
        return bad;                                                                                                 \
    }
#define PLANES_NOTHING
PLANES_CODES(float, single, _plain, PLANES_NOTHING)
PLANES_CODES(double, wide, _plain, PLANES_NOTHING)

#if LANES_X86
PLANES_CODES(float, single, _avx2, LANES_TARGET)
PLANES_CODES(double, wide, _avx2, LANES_TARGET)

LANES_TARGET static void planes_count_wide(const uint64_t *columns, ptrdiff_t A, ptrdiff_t W, const uint64_t *planes,
                                           ptrdiff_t P, uint32_t *out) {
    planes_count_body(columns, A, W, planes, P, out);
}

#define PLANES_WIDE(x) _pext_u64(x, mask[w])
LANES_TARGET static void planes_close_four_wide(const uint64_t *c0, const uint64_t *c1, const uint64_t *c2,
                                                const uint64_t *c3, const uint64_t *mask, ptrdiff_t last,
                                                const uint8_t *fills, uint64_t *out, ptrdiff_t width,
                                                const uint64_t *steps) {
    (void) steps;
    PLANES_CLOSE_FOUR(PLANES_WIDE)
}

LANES_TARGET static void planes_close_one_wide(const uint64_t *columns, const uint64_t *mask, ptrdiff_t last,
                                               const uint8_t *fills, uint64_t *out, ptrdiff_t width,
                                               const uint64_t *steps) {
    (void) steps;
    PLANES_CLOSE_ONE(PLANES_WIDE)
}

LANES_TARGET static ptrdiff_t planes_child_wide(const PlanesChild *c, uint32_t *every, uint8_t *fills, uint64_t *steps) {
    PLANES_OPEN
    PLANES_CHILD(PLANES_WIDE, planes_close_four_wide, planes_close_one_wide)
}

LANES_TARGET static ptrdiff_t planes_rest_wide(const PlanesChild *c, const uint32_t *every, uint32_t *list,
                                               uint8_t *fills, uint64_t *steps) {
    PLANES_OPEN
    const uint32_t *counts = c->counts;
    PLANES_REST(PLANES_WIDE, planes_close_four_wide, planes_close_one_wide)
}

LANES_TARGET static ptrdiff_t planes_gini_wide(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                               const uint64_t *planes, ptrdiff_t P, const double *N, double n, int two,
                                               double *score) {
    if (W == 1) {
        if (two) return planes_gini2_body(columns, counts, A, 1, planes, N[1], n, score);
        return planes_gini_body(columns, counts, A, 1, planes, P, N, n, score);
    }
    if (two) return planes_gini2_body(columns, counts, A, W, planes, N[1], n, score);
    return planes_gini_body(columns, counts, A, W, planes, P, N, n, score);
}

/* Population counts of four words as doubles: by nibbles, and through the bits of 2^52 + count. */
LANES_TARGET static inline __m256d planes_four_counts(__m256i x) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
                                           0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(15);
    const __m256d magic = _mm256_set1_pd(4503599627370496.0);
    __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x, nibble));
    __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), nibble));
    __m256i count = _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
    return _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(count, _mm256_castpd_si256(magic))), magic);
}

/* planes_small2_body, four columns at a time; where one of them may win, those four one by one. */
LANES_TARGET static ptrdiff_t planes_small2_wide(const uint64_t *columns, ptrdiff_t A, uint64_t mask, uint64_t plane,
                                                 double N1, double n, double least, double *score) {
    const __m256i masks = _mm256_set1_epi64x((long long) mask), class1 = _mm256_set1_epi64x((long long) (mask & plane));
    const __m256d rows = _mm256_set1_pd(n), ones = _mm256_set1_pd(N1);
    const double perfect = (n - N1) * N1 * ((n - N1) * N1), most = perfect / ((n - N1) * N1);
    __m256d limit = _mm256_set1_pd(*score * (1.0 - 1e-15));
    ptrdiff_t best = -1, i = 0;
    for (; i + 4 <= A; i += 4) {
        __m256i c = _mm256_loadu_si256((const __m256i *) (columns + i));
        __m256d nl = planes_four_counts(_mm256_and_si256(c, masks));
        __m256d both = planes_four_counts(_mm256_and_si256(c, class1));
        __m256d cross = _mm256_sub_pd(_mm256_mul_pd(both, rows), _mm256_mul_pd(nl, ones));
        __m256d sizes = _mm256_mul_pd(nl, _mm256_sub_pd(rows, nl));
        __m256d over = _mm256_cmp_pd(_mm256_mul_pd(cross, cross), _mm256_mul_pd(limit, sizes), _CMP_GT_OQ);
        if (_mm256_movemask_pd(over)) {
            best = planes_small2_body(columns, i, i + 4, mask, plane, N1, n, least, score, best);
            if (*score == most) return best;
            limit = _mm256_set1_pd(*score * (1.0 - 1e-15));
        }
    }
    return planes_small2_body(columns, i, A, mask, plane, N1, n, least, score, best);
}

LANES_TARGET static ptrdiff_t planes_small_wide(const uint64_t *columns, ptrdiff_t A, uint64_t mask,
                                                const uint64_t *planes, ptrdiff_t P, const double *N, double n,
                                                double least, int two, double *score) {
    if (two) return planes_small2_wide(columns, A, mask, planes[0], N[1], n, least, score);
    return planes_small_body(columns, A, mask, planes, P, N, n, least, score);
}

LANES_TARGET static ptrdiff_t planes_table_wide(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                                uint64_t mask, const uint64_t *plane, const double *T, ptrdiff_t N1,
                                                ptrdiff_t n, ptrdiff_t least, double *score) {
    if (W == 1) return planes_table_body(columns, counts, A, 1, mask, plane, T, N1, n, least, score);
    return planes_table_body(columns, counts, A, W, mask, plane, T, N1, n, least, score);
}

LANES_TARGET static ptrdiff_t planes_small_table_wide(const uint64_t *columns, ptrdiff_t A, uint64_t mask,
                                                      const uint64_t *planes, ptrdiff_t P, const double *N,
                                                      const double *T, int32_t n, int32_t least, double *score) {
    return planes_small_table_body(columns, A, mask, planes, P, N, T, n, least, score);
}

LANES_TARGET static void planes_small_count_wide(const uint64_t *columns, ptrdiff_t A, uint64_t mask,
                                                 const uint64_t *planes, ptrdiff_t P, uint32_t *out) {
    planes_small_count_body(columns, A, mask, planes, P, out);
}

LANES_TARGET static void planes_from_codes_wide(const uint8_t *codes, ptrdiff_t m, int cut, int equal, uint64_t *out) {
    const __m256i limit = _mm256_set1_epi8((char) cut);
    for (ptrdiff_t i = 0; i + 64 <= m; i += 64) {
        __m256i a = _mm256_loadu_si256((const __m256i *) (codes + i));
        __m256i b = _mm256_loadu_si256((const __m256i *) (codes + i + 32));
        if (!equal) {
            a = _mm256_min_epu8(a, limit);
            b = _mm256_min_epu8(b, limit);
            a = _mm256_cmpeq_epi8(a, _mm256_loadu_si256((const __m256i *) (codes + i)));
            b = _mm256_cmpeq_epi8(b, _mm256_loadu_si256((const __m256i *) (codes + i + 32)));
        } else {
            a = _mm256_cmpeq_epi8(a, limit);
            b = _mm256_cmpeq_epi8(b, limit);
        }
        out[i / 64] = (uint64_t) (uint32_t) _mm256_movemask_epi8(a)
                    | (uint64_t) (uint32_t) _mm256_movemask_epi8(b) << 32;
    }
}
#endif

#if LANES_X86
#define PLANES_CHOOSE(NAME, ARGUMENTS) return lanes ? NAME##_avx2 ARGUMENTS : NAME##_plain ARGUMENTS
#else
#define PLANES_CHOOSE(NAME, ARGUMENTS) return (void) lanes, NAME##_plain ARGUMENTS
#endif

static inline int planes_codes_single(const float *x, ptrdiff_t n, float low, uint8_t *codes, int lanes) {
    PLANES_CHOOSE(planes_codes_single, (x, n, low, codes));
}

static inline int planes_codes_wide(const double *x, ptrdiff_t n, double low, uint8_t *codes, int lanes) {
    PLANES_CHOOSE(planes_codes_wide, (x, n, low, codes));
}

static inline void planes_count(const uint64_t *columns, ptrdiff_t A, ptrdiff_t W, const uint64_t *planes, ptrdiff_t P,
                                uint32_t *out, int wide) {
#if LANES_X86
    if (wide) {
        planes_count_wide(columns, A, W, planes, P, out);
        return;
    }
#endif
    (void) wide;
    planes_count_plain(columns, A, W, planes, P, out);
}

static inline ptrdiff_t planes_child(const PlanesChild *c, uint32_t *every, uint8_t *fills, uint64_t *steps, int wide) {
#if LANES_X86
    if (wide) return planes_child_wide(c, every, fills, steps);
#endif
    (void) wide;
    return planes_child_plain(c, every, fills, steps);
}

static inline ptrdiff_t planes_rest(const PlanesChild *c, const uint32_t *every, uint32_t *list, uint8_t *fills,
                                    uint64_t *steps, int wide) {
#if LANES_X86
    if (wide) return planes_rest_wide(c, every, list, fills, steps);
#endif
    (void) wide;
    return planes_rest_plain(c, every, list, fills, steps);
}

static inline void planes_close(const uint64_t *column, ptrdiff_t W, const uint64_t *mask, uint64_t *out,
                                ptrdiff_t width, uint8_t *fills, uint64_t *steps, int wide) {
    ptrdiff_t last = planes_places(mask, W, fills);
#if LANES_X86
    if (wide) {
        planes_close_one_wide(column, mask, last, fills, out, width, steps);
        return;
    }
#endif
    (void) wide;
    for (ptrdiff_t w = 0; w < last; w++) planes_steps(mask[w], steps + 6 * w);
    planes_close_one_plain(column, mask, last, fills, out, width, steps);
}

static inline ptrdiff_t planes_gini(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                    const uint64_t *planes, ptrdiff_t P, const double *N, double n, int two,
                                    double *score, int wide) {
#if LANES_X86
    if (wide) return planes_gini_wide(columns, counts, A, W, planes, P, N, n, two, score);
#endif
    (void) wide;
    return planes_gini_plain(columns, counts, A, W, planes, P, N, n, two, score);
}

static inline ptrdiff_t planes_small(const uint64_t *columns, ptrdiff_t A, uint64_t mask, const uint64_t *planes,
                                     ptrdiff_t P, const double *N, double n, double least, int two, double *score,
                                     int wide) {
#if LANES_X86
    if (wide) return planes_small_wide(columns, A, mask, planes, P, N, n, least, two, score);
#endif
    (void) wide;
    return planes_small_plain(columns, A, mask, planes, P, N, n, least, two, score);
}

static inline ptrdiff_t planes_table(const uint64_t *columns, const uint32_t *counts, ptrdiff_t A, ptrdiff_t W,
                                     uint64_t mask, const uint64_t *plane, const double *T, ptrdiff_t N1, ptrdiff_t n,
                                     ptrdiff_t least, double *score, int wide) {
#if LANES_X86
    if (wide) return planes_table_wide(columns, counts, A, W, mask, plane, T, N1, n, least, score);
#endif
    (void) wide;
    return planes_table_plain(columns, counts, A, W, mask, plane, T, N1, n, least, score);
}

static inline ptrdiff_t planes_small_table(const uint64_t *columns, ptrdiff_t A, uint64_t mask, const uint64_t *planes,
                                           ptrdiff_t P, const double *N, const double *T, int32_t n, int32_t least,
                                           double *score, int wide) {
#if LANES_X86
    if (wide) return planes_small_table_wide(columns, A, mask, planes, P, N, T, n, least, score);
#endif
    (void) wide;
    return planes_small_table_plain(columns, A, mask, planes, P, N, T, n, least, score);
}

static inline void planes_small_count(const uint64_t *columns, ptrdiff_t A, uint64_t mask, const uint64_t *planes,
                                      ptrdiff_t P, uint32_t *out, int wide) {
#if LANES_X86
    if (wide) {
        planes_small_count_wide(columns, A, mask, planes, P, out);
        return;
    }
#endif
    (void) wide;
    planes_small_count_plain(columns, A, mask, planes, P, out);
}

static inline void planes_from_codes(const uint8_t *codes, ptrdiff_t m, int cut, int equal, uint64_t *out, int wide) {
    ptrdiff_t done = 0;
#if LANES_X86
    if (wide) {
        planes_from_codes_wide(codes, m, cut, equal, out);
        done = m / 64 * 64;
    }
#endif
    (void) wide;
    for (ptrdiff_t i = done; i < m; i++) {
        if (i % 64 == 0) out[i / 64] = 0;
        out[i / 64] |= (uint64_t) (equal ? codes[i] == cut : codes[i] <= cut) << (i % 64);
    }
}
#endif
