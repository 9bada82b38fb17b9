"""Canonical forms of samples on features of every kind.

Two samples are the same for every structure if one becomes the other by renumbering points, exchanging like features, and the
symmetries of each feature (kinds.pxd). Given a numbering of the points, each feature is a string of m values; made as small as the
feature's symmetries allow, and the strings of like features sorted, they make a table. The *form* of a sample is the smallest table
over a set of numberings that depends on nothing but the sample:

    with real features      the order along one of them, or the reverse: 2 l numberings (l with orientation fixed);
    without                 the order of an invariant of the points, how they lie among the others; points that share it by a search
                            tree: always add one whose values, seen from those before it, have the smallest hash; every tie is
                            followed, but of twins, points that a renaming of categories exchanges, only the first.

The numberings that give the form are the automorphisms of the sample, up to those that move no point: exchanges of equal
strings, and permutations of categories that do not occur. So the size of the stabiliser comes with the form, and the sum of
|G| / |stabiliser| over the orbits of m points is the number of samples, (m!)^(l-1) (C1 C2 ..)^m with real features and
the binomial (C1 C2 .. over m) without: the test of this file.

Cost: O(l^2 m) with real features; without, O(n m^2) for each numbering of the search tree.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from bitlane cimport bits_count
from canon cimport mix
from kinds cimport (MAX_CATEGORIES, MAX_COLUMNS, ORDERED, REAL, Frame, Kinds, Sample, is_permutable, is_reversible, radix)
from scalars cimport MAX_POINTS

cdef enum:
    MAX_SYMMETRIES = 64       # generators of an automorphism group that are kept
    NOWHERE = 255

# A symmetry, as it acts on positions: feature f goes to `place`, its values through `value` or, real, reversed or not.
cdef struct Map:
    uint8_t place[MAX_COLUMNS]
    uint8_t reverse[MAX_COLUMNS]
    uint8_t value[MAX_COLUMNS][MAX_CATEGORIES]

# A partial numbering: what each feature's string is so far.
cdef struct Prefix:
    uint64_t hash[MAX_COLUMNS]
    uint8_t label[MAX_COLUMNS][MAX_CATEGORIES]
    uint8_t n_labels[MAX_COLUMNS]              # reversible: 0 not decided, 1 as it is, 2 reversed

cdef struct Forms:
    const Kinds* kinds
    uint8_t best[MAX_COLUMNS * MAX_POINTS]     # the form: strings of m values, feature by feature
    Map map                                    # that gives it
    uint64_t stabiliser                        # its size; 2^64 - 1 stands for anything larger
    int target                                 # is this point ...
    bint is_end                                # ... the end of a numbering that gives the form? (`end_of`)
    uint64_t pairs[MAX_COLUMNS][MAX_CATEGORIES][MAX_CATEGORIES]     # how two values of a feature lie to each other, hashed
    uint64_t invariants[MAX_POINTS]            # of the points of the sample at hand, without real features
    bint collect                               # keep the symmetries of the sample, which is its own form
    int n_symmetries                           # more than MAX_SYMMETRIES are only counted
    Map symmetries[MAX_SYMMETRIES]
    uint64_t n_ties                            # numberings that give the form, one for each way to number twins
    uint32_t twins[MAX_POINTS]                 # points that may be exchanged with point i, itself included
    uint64_t n_twin_orders                     # ways to number twins
    uint8_t order[MAX_POINTS]                  # the numbering at work: order[i] is point number i


cdef inline uint64_t times(uint64_t a, uint64_t b) noexcept nogil:
    """The product, or 2^64 - 1 if it is larger."""
    return ~<uint64_t>0 if b != 0 and a > ~<uint64_t>0 // b else a * b


cdef inline uint64_t factorial(int n) noexcept nogil:
    cdef uint64_t product = 1
    cdef int i
    for i in range(2, n + 1):
        product = times(product, i)
    return product


# --- the table of one numbering -----------------------------------------------------------------------------------------

cdef inline bint reads_backwards(const uint8_t* string, int m, int top) noexcept nogil:
    """Whether top minus the string is smaller than the string."""
    cdef int i
    for i in range(m):
        if 2 * string[i] != top:
            return 2 * string[i] > top
    return False


cdef inline void write_string(const Kinds* kinds, const Sample* sample, int f, const uint8_t* order, uint8_t* string,
                              Map* map) noexcept nogil:
    """The smallest string of feature f in this numbering, and the map of its values."""
    cdef int m = sample.m, i, n_labels = 0, C = kinds.size[f], top = m - 1 if kinds.kind[f] == REAL else C - 1
    cdef bint reverse = False
    for i in range(m):
        string[i] = sample.value[f][order[i]]
    if is_permutable(kinds, f):
        for i in range(C):
            map.value[f][i] = NOWHERE
        for i in range(m):
            if map.value[f][string[i]] == NOWHERE:
                map.value[f][string[i]] = <uint8_t>n_labels
                n_labels += 1
            string[i] = map.value[f][string[i]]
        for i in range(C):                       # categories that do not occur
            if map.value[f][i] == NOWHERE:
                map.value[f][i] = <uint8_t>n_labels
                n_labels += 1
        return
    if is_reversible(kinds, f):
        reverse = reads_backwards(string, m, top)
        if reverse:
            for i in range(m):
                string[i] = <uint8_t>(top - string[i])
    map.reverse[f] = reverse
    if kinds.kind[f] != REAL:
        for i in range(C):
            map.value[f][i] = <uint8_t>(C - 1 - i if reverse else i)


cdef inline void sort_strings(const Kinds* kinds, uint8_t (*strings)[MAX_POINTS], int m, uint8_t* ranked) noexcept nogil:
    """ranked[p] = the feature whose string comes at place p: sorted within each group."""
    cdef int f, p
    for f in range(kinds.n):
        p = f
        while p > kinds.group[f] and memcmp(strings[f], strings[ranked[p - 1]], m) < 0:
            ranked[p] = ranked[p - 1]
            p -= 1
        ranked[p] = <uint8_t>f


cdef inline bint are_twins(const Forms* forms, int p) noexcept nogil:
    """Whether point p is the target, or may be exchanged with it."""
    return (forms.twins[forms.target] >> p) & 1


cdef inline int end_of(const Forms* forms, int m) noexcept nogil:
    """The end of a numbering at which a new point must stand: the last with real features, the first without."""
    return m - 1 if forms.kinds.n_real else 0


cdef inline void consider(Forms* forms, const Sample* sample) noexcept nogil:
    """Compare the table of the numbering at work with the best one."""
    cdef const Kinds* kinds = forms.kinds
    cdef uint8_t strings[MAX_COLUMNS][MAX_POINTS]
    cdef uint8_t ranked[MAX_COLUMNS]
    cdef Map map
    cdef int m = sample.m, p, compared = -1 if forms.n_ties == 0 else 0
    for p in range(kinds.n):
        write_string(kinds, sample, p, forms.order, strings[p], &map)
    sort_strings(kinds, strings, m, ranked)
    for p in range(kinds.n):
        if compared == 0:
            compared = memcmp(strings[ranked[p]], forms.best + p * m, m)
            if compared > 0:
                return
        if compared < 0:
            memcpy(forms.best + p * m, strings[ranked[p]], m)
    for p in range(kinds.n):
        map.place[ranked[p]] = <uint8_t>p
    if compared < 0:
        forms.n_ties = 1
        forms.is_end = m > 0 and are_twins(forms, forms.order[end_of(forms, m)])
        forms.map = map
        forms.n_symmetries = 0
    else:
        forms.n_ties += 1
        if m > 0 and are_twins(forms, forms.order[end_of(forms, m)]):
            forms.is_end = True
    if forms.collect:
        note_symmetry(forms, &map)


cdef inline void note_symmetry(Forms* forms, const Map* map) noexcept nogil:
    if forms.n_symmetries < MAX_SYMMETRIES:
        forms.symmetries[forms.n_symmetries] = map[0]
    forms.n_symmetries += 1


# --- numberings without real features -----------------------------------------------------------------------------------

cdef inline uint8_t see(const Kinds* kinds, const Prefix* prefix, int f, uint8_t value) noexcept nogil:
    """How a value of feature f reads as the next of its string."""
    cdef uint8_t mirrored
    if is_permutable(kinds, f):
        return prefix.label[f][value] if prefix.label[f][value] != NOWHERE else prefix.n_labels[f]
    if is_reversible(kinds, f):
        mirrored = <uint8_t>(kinds.size[f] - 1 - value)
        if prefix.n_labels[f] == 2 or (prefix.n_labels[f] == 0 and mirrored < value):
            return mirrored
    return value


cdef inline uint64_t row_hash(const Kinds* kinds, const Prefix* prefix, const Sample* sample, int p) noexcept nogil:
    cdef uint64_t total = 0
    cdef int f
    for f in range(kinds.n):
        total += mix(prefix.hash[f] + 1 + see(kinds, prefix, f, sample.value[f][p]))
    return total


cdef inline void extend_prefix(const Kinds* kinds, Prefix* prefix, const Sample* sample, int p) noexcept nogil:
    cdef int f
    cdef uint8_t value, seen
    for f in range(kinds.n):
        value = sample.value[f][p]
        seen = see(kinds, prefix, f, value)
        if is_permutable(kinds, f):
            if prefix.label[f][value] == NOWHERE:
                prefix.label[f][value] = seen
                prefix.n_labels[f] += 1
        elif is_reversible(kinds, f) and prefix.n_labels[f] == 0 and 2 * value != kinds.size[f] - 1:
            prefix.n_labels[f] = 1 if seen == value else 2
        prefix.hash[f] = mix(prefix.hash[f] * 31 + seen + 1)


cdef inline bint is_twin(const Kinds* kinds, const Sample* sample, int p, int q) noexcept nogil:
    """Whether renaming categories exchanges points p and q and keeps all others."""
    cdef int f, i
    cdef uint8_t u, v
    for f in range(kinds.n):
        u = sample.value[f][p]
        v = sample.value[f][q]
        if u == v:
            continue
        if not is_permutable(kinds, f):
            return False
        for i in range(sample.m):
            if i != p and i != q and (sample.value[f][i] == u or sample.value[f][i] == v):
                return False
    return True


cdef inline void find_twins(Forms* forms, const Sample* sample) noexcept nogil:
    """Sets of points any two of which may be exchanged: their numberings give like tables, so only one is looked at."""
    cdef int p, q
    forms.n_twin_orders = 1
    for p in range(sample.m):
        forms.twins[p] = <uint32_t>1 << p
        for q in range(p):
            if is_twin(forms.kinds, sample, p, q):
                forms.twins[p] |= <uint32_t>1 << q
                forms.twins[q] |= <uint32_t>1 << p
        forms.n_twin_orders = times(forms.n_twin_orders, bits_count(forms.twins[p]))


cdef inline bint is_first_twin(const Forms* forms, int p, uint32_t rest) noexcept nogil:
    """Whether no twin of p with a smaller number is in `rest`."""
    return forms.twins[p] & rest & ((<uint32_t>1 << p) - 1) == 0


cdef inline uint32_t least_points(const Forms* forms, int m, uint32_t rest) noexcept nogil:
    """The points of `rest` with the least invariant."""
    cdef uint64_t least = ~<uint64_t>0
    cdef uint32_t points = 0
    cdef int p
    for p in range(m):
        if (rest >> p) & 1:
            if forms.invariants[p] < least:
                least = forms.invariants[p]
                points = 0
            if forms.invariants[p] == least:
                points |= <uint32_t>1 << p
    return points


cdef inline bint number_by_invariants(Forms* forms, const Sample* sample) noexcept nogil:
    """Consider the order of the invariants if they are all different; False if not."""
    cdef int p, i
    for p in range(sample.m):
        i = p
        while i > 0 and forms.invariants[forms.order[i - 1]] > forms.invariants[p]:
            forms.order[i] = forms.order[i - 1]
            i -= 1
        forms.order[i] = <uint8_t>p
    for i in range(1, sample.m):
        if forms.invariants[forms.order[i]] == forms.invariants[forms.order[i - 1]]:
            return False
    for p in range(sample.m):
        forms.twins[p] = <uint32_t>1 << p
    forms.n_twin_orders = 1
    consider(forms, sample)
    return True


cdef inline void number_points(Forms* forms, const Sample* sample, const Prefix* prefix, int depth, uint32_t rest) noexcept nogil:
    """Consider the numberings that go on from `prefix` with the points of `rest`."""
    cdef uint64_t hashes[MAX_POINTS]
    cdef uint64_t least = ~<uint64_t>0
    cdef uint32_t next
    cdef Prefix longer
    cdef int p
    if depth == sample.m:
        consider(forms, sample)
        return
    next = least_points(forms, sample.m, rest)
    for p in range(sample.m):
        if (next >> p) & 1:
            hashes[p] = row_hash(forms.kinds, prefix, sample, p) if next & (next - 1) else 0
            if hashes[p] < least:
                least = hashes[p]
    for p in range(sample.m):
        if (next >> p) & 1 and hashes[p] == least and is_first_twin(forms, p, rest):
            longer = prefix[0]
            extend_prefix(forms.kinds, &longer, sample, p)
            forms.order[depth] = <uint8_t>p
            number_points(forms, sample, &longer, depth + 1, rest & ~(<uint32_t>1 << p))


cdef inline uint64_t value_pair(const Kinds* kinds, int f, int v, int w) noexcept nogil:
    """How value v of feature f lies to value w, up to the feature's symmetries, hashed."""
    cdef int apart = v - w, edge = v
    if is_permutable(kinds, f):
        apart = apart != 0
        edge = 0
    elif is_reversible(kinds, f) and 2 * edge > kinds.size[f] - 1:
        apart = -apart
        edge = kinds.size[f] - 1 - edge
    if is_reversible(kinds, f) and 2 * edge == kinds.size[f] - 1 and apart < 0:
        apart = -apart
    return mix(<uint64_t>(1 + kinds.group[f] + 64 * edge + 4096 * (apart + 64)))


cdef inline void forms_init(Forms* forms, const Kinds* kinds) noexcept nogil:
    cdef int f, v, w
    memset(forms, 0, sizeof(Forms))
    forms.kinds = kinds
    for f in range(kinds.n):
        for v in range(kinds.size[f]):
            for w in range(kinds.size[f]):
                forms.pairs[f][v][w] = value_pair(kinds, f, v, w)


cdef inline void find_invariants(Forms* forms, const Sample* sample) noexcept nogil:
    """How each point lies among the others, into forms.invariants."""
    cdef uint64_t pair
    cdef int f, p, q
    for p in range(sample.m):
        forms.invariants[p] = 0
        for q in range(sample.m):
            pair = 0
            for f in range(forms.kinds.n):
                pair += forms.pairs[f][sample.value[f][p]][sample.value[f][q]]
            forms.invariants[p] += (pair ^ (pair >> 32)) * <uint64_t>0xD6E8FEB86659FD93


cdef inline void number_all(Forms* forms, const Sample* sample) noexcept nogil:
    """Consider the numberings of a sample without real features, whose invariants are known."""
    cdef Prefix start
    cdef int p
    if number_by_invariants(forms, sample):
        return
    memset(&start, 0, sizeof(start))
    memset(start.label, NOWHERE, sizeof(start.label))
    for p in range(forms.kinds.n):
        start.hash[p] = mix(1 + forms.kinds.group[p])
    find_twins(forms, sample)
    number_points(forms, sample, &start, 0, (<uint32_t>1 << sample.m) - 1)


# --- the form ------------------------------------------------------------------------------------------------------------

cdef inline void number_by_real(Forms* forms, const Sample* sample) noexcept nogil:
    """Consider the orders along each real feature."""
    cdef int f, i, m = sample.m
    for i in range(m):
        forms.twins[i] = <uint32_t>1 << i
    forms.n_twin_orders = 1
    for f in range(forms.kinds.n_real):
        for i in range(m):
            forms.order[sample.value[f][i]] = <uint8_t>i
        consider(forms, sample)
        if not forms.kinds.fixed:
            for i in range(m):
                forms.order[m - 1 - sample.value[f][i]] = <uint8_t>i
            consider(forms, sample)


cdef inline uint64_t still_symmetries(const Forms* forms, int m) noexcept nogil:
    """The number of symmetries that keep the form and, with real features, the anchor, and move no point."""
    cdef const Kinds* kinds = forms.kinds
    cdef uint64_t product = 1
    cdef int p, i, run = 0, used
    cdef const uint8_t* string
    for p in range(kinds.n):
        string = forms.best + p * m
        if p and kinds.group[p] == kinds.group[p - 1] and memcmp(string, string - m, m) == 0:
            run += 1
            # like strings are exchanged; the first real one is the anchor and stays
            product = times(product, run if kinds.kind[p] == REAL and string_is_first(forms, p, m) else run + 1)
        else:
            run = 0
        if is_permutable(kinds, p):
            used = 0
            for i in range(m):
                if string[i] >= used:
                    used = string[i] + 1
            product = times(product, factorial(kinds.size[p] - used))
        elif is_reversible(kinds, p):
            used = 0
            for i in range(m):
                used += 2 * string[i] != (m - 1 if kinds.kind[p] == REAL else kinds.size[p] - 1)
            if used == 0 and not (p == 0 and kinds.kind[p] == REAL):
                product = times(product, 2)
    return product


cdef inline bint string_is_first(const Forms* forms, int p, int m) noexcept nogil:
    """Whether the string at place p equals the one at place 0."""
    return memcmp(forms.best, forms.best + p * m, m) == 0


cdef inline void find_form(Forms* forms, const Sample* sample) noexcept nogil:
    """The form of a sample, a map that gives it, its stabiliser, and whether `target` is at the end."""
    if forms.kinds.n_real == 0:
        find_invariants(forms, sample)
    find_form_from_invariants(forms, sample)


cdef inline void find_form_from_invariants(Forms* forms, const Sample* sample) noexcept nogil:
    """As find_form, after find_invariants or may_be_end."""
    forms.n_ties = 0
    forms.is_end = False
    forms.n_symmetries = 0
    if forms.kinds.n_real:
        number_by_real(forms, sample)
    else:
        number_all(forms, sample)
    forms.stabiliser = times(times(forms.n_ties, forms.n_twin_orders), still_symmetries(forms, sample.m))


cdef inline bint may_be_end(Forms* forms, const Sample* sample, int p) noexcept nogil:
    """Whether point p can be at the end of a numbering: last on a real feature, or else of the least invariant."""
    cdef int f
    if forms.kinds.n_real == 0:
        find_invariants(forms, sample)
        for f in range(sample.m):
            if forms.invariants[f] < forms.invariants[p]:
                return False
        return True
    for f in range(forms.kinds.n_real):
        if sample.value[f][p] == sample.m - 1 or (sample.value[f][p] == 0 and not forms.kinds.fixed):
            return True
    return False


cdef inline void read_form(const Kinds* kinds, const uint8_t* form, int m, Sample* sample) noexcept nogil:
    """The sample whose table this is."""
    cdef int f
    for f in range(kinds.n):
        memcpy(sample.value[f], form + f * m, m)
    sample.m = m


cdef inline void find_symmetries(Forms* forms, const uint8_t* form, int m) noexcept nogil:
    """Generators of the stabiliser of a form of at least two points into forms.symmetries."""
    cdef const Kinds* kinds = forms.kinds
    cdef Sample sample
    cdef Map map
    cdef int p, i, used
    read_form(kinds, form, m, &sample)
    forms.collect = True
    find_form(forms, &sample)
    exchange_twins(forms, &sample)
    forms.collect = False
    identity_map(kinds, &map)
    for p in range(kinds.n):
        if p and kinds.group[p] == kinds.group[p - 1] and memcmp(form + p * m, form + (p - 1) * m, m) == 0:
            map.place[p] = <uint8_t>(p - 1)
            map.place[p - 1] = <uint8_t>p
            note_symmetry(forms, &map)
            identity_map(kinds, &map)
        if is_permutable(kinds, p):
            used = 0
            for i in range(m):
                if form[p * m + i] >= used:
                    used = form[p * m + i] + 1
            for i in range(used + 1, kinds.size[p]):
                map.value[p][i] = <uint8_t>(i - 1)
                map.value[p][i - 1] = <uint8_t>i
                note_symmetry(forms, &map)
                identity_map(kinds, &map)
        elif is_reversible(kinds, p) and kinds.kind[p] == ORDERED:
            used = 0
            for i in range(m):
                used += 2 * form[p * m + i] != kinds.size[p] - 1
            if used == 0:
                for i in range(kinds.size[p]):
                    map.value[p][i] = <uint8_t>(kinds.size[p] - 1 - i)
                note_symmetry(forms, &map)
                identity_map(kinds, &map)


cdef inline void exchange_twins(Forms* forms, const Sample* sample) noexcept nogil:
    """Note the symmetries that exchange twins, for a sample that is its own form."""
    cdef int i, p, q
    for p in range(sample.m):
        for q in range(p + 1, sample.m):
            if (forms.twins[p] >> q) & 1:
                for i in range(sample.m):
                    forms.order[i] = <uint8_t>i
                forms.order[p] = <uint8_t>q
                forms.order[q] = <uint8_t>p
                consider(forms, sample)
                break


cdef inline void identity_map(const Kinds* kinds, Map* map) noexcept nogil:
    cdef int f, i
    for f in range(kinds.n):
        map.place[f] = <uint8_t>f
        map.reverse[f] = 0
        for i in range(kinds.size[f]):
            map.value[f][i] = <uint8_t>i


# --- positions under maps -------------------------------------------------------------------------------------------------

# Shares of each place on each feature in the number of a position's image.
cdef struct Shares:
    uint32_t share[MAX_COLUMNS][MAX_POINTS + 2]


cdef inline void find_shares(const Kinds* kinds, const Map* map, int m, Shares* shares) noexcept nogil:
    """Of positions in a sample of m points that `map` takes elsewhere."""
    cdef const Frame* frame = &kinds.frames[m]
    cdef int f, g
    cdef uint32_t stride
    for f in range(kinds.n):
        stride = frame.stride[map.place[f]]
        for g in range(radix(kinds, f, m)):
            if kinds.kind[f] == REAL:
                shares.share[f][g] = stride * <uint32_t>(m - g if map.reverse[f] else g)
            else:
                shares.share[f][g] = stride * map.value[f][g]


cdef inline uint32_t image(const Kinds* kinds, const Shares* shares, const uint8_t* places) noexcept nogil:
    cdef uint32_t total = 0
    cdef int f
    for f in range(kinds.n):
        total += shares.share[f][places[f]]
    return total
