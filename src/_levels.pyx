"""All shattered samples, size by size, one per orbit: the exhaustive part of the search.

Level k holds one representative of every orbit of *live* samples of k points. To find a shattered sample of `target` points, call
a shattered sample R of k points live if enough points can be added to it one by one:

    X(R) = {y : R + y is live}                    has at least target - k members.

Every subset of a shattered sample of `target` points is live, so

    generate    R + y is a candidate for level k+1 only if every one of its subsets of k points is live; it is
                generated from the one of them that canonical augmentation picks (canon.pxd), and tested once;
    link        for each new W = R + y and each p in W find the orbit of W - p in level k, and a map g of the cube that takes
                W - p to its representative; W marks g(p) in X of that orbit;
    prune       the candidates of W are the z with g(z) in X(W - p) for every p, which says that all subsets of W + z are live
                as far as is known; drop W if they are too few, and repeat with the fewer marks until nothing is dropped.

So a sample is tested only if all its subsets have passed (Apriori's condition, sharpened from shattered to live), and
each orbit is tested once. X of an orbit with automorphisms is closed under them.

Coordinates. A representative is kept as its parent plus one point, so that neighbours in a level share all but a few points and the
memo of dichotomy sets (dichotomy.pxd) is reused from one to the next; its canonical form serves to find it. Candidates are
in the representative's own coordinates, X in canonical ones.

Cost per orbit of k points: one test, k canonical forms and look-ups, O(k |candidates|) maps of points.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from clock cimport monotonic_seconds
from bitset cimport bitset_add, bitset_count, bitset_has
from buffer cimport (Buffer, buffer_add, buffer_cut, buffer_free, buffer_keep, buffer_reserve, buffer_take)
from canon cimport (MAX_GENERATORS, Canon, CubeMap, canon_augments, canon_canonical, canon_generators, canon_init, canon_pair,
                    canon_sums, map_point, mix)
from control cimport STOP as STOP_LIMIT, TESTS_LEFT, Watch, take_test, watch_init, watch_step
from dichotomy cimport (Memo, memo_bytes, memo_count, memo_free, memo_init, memo_set_point, memo_shatters)
from bitlane cimport bits_low64
from scalars cimport MAX_FEATURES, MAX_POINTS

cdef enum:
    DONE = 0
    STOPPED = 1
    NO_MEMORY = 2

STOP = STOP_LIMIT            # place in `limits`: set it nonzero to make every worker stop

cdef enum:
    STEPS_PER_FORM = 8       # a canonical form takes about as long as this many dichotomy sets

# W - p in level k, for one W and one of its points.
cdef struct Link:
    uint32_t orbit
    CubeMap map              # own coordinates of W to canonical coordinates of the orbit


cdef class Level:
    """The orbits of one size: parallel arrays, an index by canonical form, and what is known of their extensions."""
    cdef readonly int n_points                # k
    cdef readonly int n_features
    cdef int W                                # words of a set of points of the cube
    cdef readonly int64_t n_orbits
    cdef Buffer points                        # k numbers each, own coordinates
    cdef Buffer forms                         # k numbers each
    cdef Buffer maps                          # own to canonical coordinates
    cdef Buffer automorphisms
    cdef Buffer parents                       # number of the parent in the level below
    cdef Buffer candidates                    # W words each, own coordinates
    cdef Buffer marks                         # X: W words each, canonical coordinates
    cdef Buffer links                         # k each
    cdef Buffer alive                         # a byte each
    cdef uint32_t* index                      # open addressing on forms: orbit + 1, or 0
    cdef size_t index_size

    def __cinit__(self, int n_points, int n_features):
        self.n_points = n_points
        self.n_features = n_features
        self.W = 1 if n_features <= 6 else 1 << (n_features - 6)

    def __dealloc__(self):
        buffer_free(&self.points)
        buffer_free(&self.forms)
        buffer_free(&self.maps)
        buffer_free(&self.automorphisms)
        buffer_free(&self.parents)
        buffer_free(&self.candidates)
        buffer_free(&self.marks)
        buffer_free(&self.links)
        buffer_free(&self.alive)
        free(self.index)

    @property
    def n_bytes(self):
        """Memory held."""
        return (self.points.room + self.forms.room + self.maps.room + self.automorphisms.room + self.parents.room
                + self.candidates.room + self.marks.room + self.links.room + self.alive.room
                + self.index_size * sizeof(uint32_t))

    def sample(self, int64_t i):
        """Representative number i as a list of points (bit f = feature f)."""
        if not 0 <= i < self.n_orbits:
            raise IndexError(i)
        return [(<uint16_t*>self.points.data)[i * self.n_points + j] for j in range(self.n_points)]

    def stabilisers(self):
        """The number of automorphisms of each orbit's samples."""
        return [(<uint64_t*>self.automorphisms.data)[i] for i in range(self.n_orbits)]

    def n_candidates(self):
        """The number of points that may still be added, orbit by orbit."""
        return [bitset_count((<uint64_t*>self.candidates.data) + i * self.W, self.W) for i in range(self.n_orbits)]

    def form_bytes(self):
        """The canonical forms, one after the other."""
        return self.forms.data[:self.forms.used] if self.forms.used else b""

    def pack(self, int64_t start, int64_t stop, int64_t first_parent=0):
        """Orbits start .. stop-1 as bytes, one string per array (what `generate` and `join_levels` need); see `unpack`.

        The parents' numbers become smaller by `first_parent`.
        """
        cdef int64_t n = stop - start, i
        cdef size_t points = self.n_points * sizeof(uint16_t)
        assert 0 <= start <= stop <= self.n_orbits
        for i in range(start, stop):
            (<uint32_t*>self.parents.data)[i] -= <uint32_t>first_parent
        arrays = (
            buffer_cut(&self.points, start, n, points),
            buffer_cut(&self.forms, start, n, points),
            buffer_cut(&self.maps, start, n, sizeof(CubeMap)),
            buffer_cut(&self.automorphisms, start, n, sizeof(uint64_t)),
            buffer_cut(&self.parents, start, n, sizeof(uint32_t)),
            buffer_cut(&self.candidates, start, n, self.W * sizeof(uint64_t)),
        )
        for i in range(start, stop):
            (<uint32_t*>self.parents.data)[i] += <uint32_t>first_parent
        return arrays


def unpack(int n_points, int n_features, int64_t n_orbits, tuple arrays, int64_t first_parent=0):
    """A level, without index, from what `pack` returned; ValueError if it does not fit. Parents' numbers grow by `first_parent`."""
    cdef Level level = Level(n_points, n_features)
    cdef size_t sizes[6]
    cdef Buffer* buffers[6]
    cdef const uint8_t[::1] data
    cdef int i, f
    cdef int64_t j
    sizes[:] = [n_points * sizeof(uint16_t), n_points * sizeof(uint16_t), sizeof(CubeMap), sizeof(uint64_t), sizeof(uint32_t),
                level.W * sizeof(uint64_t)]
    buffers[:] = [&level.points, &level.forms, &level.maps, &level.automorphisms, &level.parents, &level.candidates]
    level.n_orbits = n_orbits
    for i in range(6):
        data = arrays[i]
        if <size_t>data.shape[0] != n_orbits * sizes[i] and not (i == 5 and data.shape[0] == 0):
            raise ValueError(f"expected {n_orbits * sizes[i]} bytes for {n_orbits} orbits, got {data.shape[0]}")
        if data.shape[0] and buffer_add(buffers[i], &data[0], data.shape[0]) < 0:
            raise MemoryError
    for j in range(n_orbits * n_points):
        if (<uint16_t*>level.points.data)[j] >> n_features:
            raise ValueError(f"expected points of {n_features} features, got {(<uint16_t*>level.points.data)[j]}")
    for j in range(n_orbits):
        (<uint32_t*>level.parents.data)[j] += <uint32_t>first_parent
        for f in range(n_features):
            if (<CubeMap*>level.maps.data)[j].place[f] >= n_features:
                raise ValueError("expected maps of the cube, got a feature that is not there")
    return level


cdef inline uint64_t form_hash(const uint16_t* form, int k) noexcept nogil:
    cdef uint64_t h = 0
    cdef int i
    for i in range(k):
        h = (h ^ form[i]) * <uint64_t>0x9E3779B97F4A7C15
        h ^= h >> 29
    return mix(h)


cdef int64_t level_find(Level level, const uint16_t* form) noexcept nogil:
    """The orbit with this canonical form, or -1."""
    cdef int k = level.n_points
    cdef size_t j = form_hash(form, k) & (level.index_size - 1)
    cdef uint32_t i
    while True:
        i = level.index[j]
        if i == 0:
            return -1
        if memcmp(<uint16_t*>level.forms.data + <size_t>(i - 1) * k, form, k * sizeof(uint16_t)) == 0:
            return i - 1
        j = (j + 1) & (level.index_size - 1)


cdef int level_build_index(Level level) noexcept nogil:
    """Make the index; -1 when memory is out."""
    cdef size_t size = 16, j
    cdef int64_t i
    while size < 2 * <size_t>level.n_orbits:
        size *= 2
    free(level.index)
    level.index_size = 0
    level.index = <uint32_t*>calloc(size, sizeof(uint32_t))
    if level.index == NULL:
        return -1
    level.index_size = size
    for i in range(level.n_orbits):
        j = form_hash(<uint16_t*>level.forms.data + i * level.n_points, level.n_points) & (size - 1)
        while level.index[j]:
            j = (j + 1) & (size - 1)
        level.index[j] = <uint32_t>(i + 1)
    return 0


def clock():
    """Seconds on the clock of the deadline in `limits`; Python's own clocks may be others on some systems."""
    return monotonic_seconds()


def first_level(int n_features, bint fixed):
    """Level 0: the empty sample, to which any point may be added."""
    cdef Level level = Level(0, n_features)
    cdef uint64_t order = 1
    cdef uint32_t parent = 0
    cdef CubeMap map
    cdef uint64_t* words
    cdef int i
    memset(&map, 0, sizeof(map))
    for i in range(n_features):
        map.place[i] = <unsigned char>i
        order *= i + 1
    if not fixed:
        order <<= n_features
    words = <uint64_t*>buffer_take(&level.candidates, level.W * sizeof(uint64_t))
    if (words == NULL or buffer_add(&level.maps, &map, sizeof(map)) < 0
            or buffer_add(&level.automorphisms, &order, sizeof(order)) < 0
            or buffer_add(&level.parents, &parent, sizeof(parent)) < 0):
        raise MemoryError
    memset(words, 0, level.W * sizeof(uint64_t))
    for i in range(1 << n_features):
        bitset_add(words, i)
    level.n_orbits = 1
    if level_build_index(level) < 0:
        raise MemoryError
    return level


def open_candidates(Level level):
    """Let every point that is not in the sample be a candidate, for a search over all samples."""
    cdef int k = level.n_points, W = level.W, j, p
    cdef int64_t i
    cdef uint64_t* words
    if level.n_orbits and buffer_take(&level.candidates, level.n_orbits * W * sizeof(uint64_t)) == NULL:
        raise MemoryError
    for i in range(level.n_orbits):
        words = <uint64_t*>level.candidates.data + i * W
        if level.n_features >= 6:
            memset(words, 255, W * sizeof(uint64_t))
        else:
            words[0] = (<uint64_t>1 << (1 << level.n_features)) - 1
        for j in range(k):
            p = (<uint16_t*>level.points.data)[i * k + j]
            words[p >> 6] &= ~(<uint64_t>1 << (p & 63))


def join_levels(list parts):
    """The slices of one level, put together in order; they are emptied on the way."""
    cdef Level whole = Level(parts[0].n_points, parts[0].n_features)
    cdef Level part
    cdef int failed = 0
    cdef size_t n = 0
    for part in parts:
        n += part.n_orbits
    if n and (buffer_reserve(&whole.points, n * part.n_points * sizeof(uint16_t) + 1) < 0
            or buffer_reserve(&whole.forms, n * part.n_points * sizeof(uint16_t) + 1) < 0
            or buffer_reserve(&whole.maps, n * sizeof(CubeMap)) < 0
            or buffer_reserve(&whole.automorphisms, n * sizeof(uint64_t)) < 0
            or buffer_reserve(&whole.parents, n * sizeof(uint32_t)) < 0):
        raise MemoryError
    for part in parts:
        failed |= buffer_add(&whole.points, part.points.data, part.points.used)
        failed |= buffer_add(&whole.forms, part.forms.data, part.forms.used)
        failed |= buffer_add(&whole.maps, part.maps.data, part.maps.used)
        failed |= buffer_add(&whole.automorphisms, part.automorphisms.data, part.automorphisms.used)
        failed |= buffer_add(&whole.parents, part.parents.data, part.parents.used)
        whole.n_orbits += part.n_orbits
        buffer_free(&part.points)
        buffer_free(&part.forms)
        buffer_free(&part.maps)
        buffer_free(&part.automorphisms)
        buffer_free(&part.parents)
        part.n_orbits = 0
    if failed or level_build_index(whole) < 0:
        raise MemoryError
    return whole


cdef class Worker:
    """One thread's memo, canonical forms and counters."""
    cdef Memo memo
    cdef Canon canon
    cdef Watch watch
    cdef double[::1] limits
    cdef int n_set                            # points of the memo that are set ...
    cdef uint16_t current[MAX_POINTS]         # ... to these
    cdef Buffer siblings                      # forms of the children of one orbit
    cdef readonly int64_t n_tested            # samples tested
    cdef readonly int64_t n_generated         # samples looked at

    def __cinit__(self, const int[:, ::1] table, int n_features, bint fixed, double[::1] limits):
        self.limits = limits
        watch_init(&self.watch, &limits[0])
        canon_init(&self.canon, n_features, fixed)
        if memo_init(&self.memo, table, n_features, fixed, MAX_POINTS) < 0:
            raise MemoryError

    def __dealloc__(self):
        memo_free(&self.memo)
        buffer_free(&self.siblings)

    @property
    def n_sets(self):
        """Dichotomy sets (lanes of 256 labellings) computed."""
        return self.memo.n_sets

    @property
    def n_bytes(self):
        """Memory held."""
        return memo_bytes(&self.memo) + self.siblings.room

    def generate(self, Level level, int64_t start, int64_t stop, bint test=True):
        """The shattered (or, without test, all) children of orbits start .. stop-1, as a level without index; None when told to stop."""
        answer = self.generate_some(level, start, stop, INFINITY, test)
        return None if answer is None else answer[0]

    def generate_some(self, Level level, int64_t start, int64_t stop, double seconds, bint test=True):
        """As `generate`, but stops after about so many seconds; returns the children and the first orbit not done as well."""
        cdef Level children = Level(level.n_points + 1, level.n_features)
        cdef int outcome = DONE
        cdef int64_t i = start
        cdef double deadline = monotonic_seconds() + seconds
        with nogil:
            while i < stop:
                outcome = generate_children(self, level, i, children, test)
                if outcome != DONE:
                    break
                i += 1
                if monotonic_seconds() >= deadline:
                    break
        if outcome == NO_MEMORY or self.memo.failed:
            raise MemoryError
        return None if outcome == STOPPED else (children, i)

    def most_dichotomies(self, Level level, int64_t start, int64_t stop):
        """The largest number of labellings realised on any of the orbits start .. stop-1; -1 when told to stop."""
        cdef int64_t i, n, most = 0
        with nogil:
            for i in range(start, stop):
                set_sample(self, <uint16_t*>level.points.data + i * level.n_points, level.n_points)
                n = memo_count(&self.memo, level.n_points, &self.watch)
                if n < 0:
                    most = -1
                    break
                if n > most:
                    most = n
        if self.memo.failed:
            raise MemoryError
        return most

    def link(self, Level parents, Level level, int64_t start, int64_t stop):
        """Find the subsets of orbits start .. stop-1 among their parents; False when told to stop. Call allocate_links first."""
        cdef int outcome = DONE
        cdef int64_t i
        with nogil:
            for i in range(start, stop):
                outcome = link_orbit(self, parents, level, i)
                if outcome != DONE:
                    break
        return outcome == DONE

    def close(self, Level parents, int64_t start, int64_t stop):
        """Close X of orbits start .. stop-1 under their automorphisms; False when told to stop. Call `mark` first."""
        cdef int outcome = DONE
        cdef int64_t i
        with nogil:
            for i in range(start, stop):
                if (<uint64_t*>parents.automorphisms.data)[i] > 1:
                    close_marks(self, parents, i)
                    if watch_step(&self.watch, STEPS_PER_FORM):
                        outcome = STOPPED
                        break
        return outcome == DONE


cdef void set_sample(Worker worker, const uint16_t* points, int n) noexcept nogil:
    """Make the memo's first n points these, keeping the common beginning."""
    cdef int i = 0
    while i < n and i < worker.n_set and worker.current[i] == points[i]:
        i += 1
    worker.n_set = i
    while i < n:
        memo_set_point(&worker.memo, i, points[i])
        worker.current[i] = points[i]
        i += 1
        worker.n_set = i


cdef bint is_new_sibling(Worker worker, int n) noexcept nogil:
    """Whether canon.best is not among the siblings' forms of n points; if so, note it."""
    cdef size_t bytes = n * sizeof(uint16_t), i
    for i in range(worker.siblings.used // bytes):
        if memcmp(worker.siblings.data + i * bytes, worker.canon.best, bytes) == 0:
            return False
    if buffer_add(&worker.siblings, worker.canon.best, bytes) < 0:
        worker.memo.failed = True
    return True


cdef int add_child(Worker worker, Level children, const uint16_t* points, int64_t parent) noexcept nogil:
    cdef uint32_t number = <uint32_t>parent
    cdef size_t bytes = children.n_points * sizeof(uint16_t)
    children.n_orbits += 1
    if (buffer_add(&children.points, points, bytes) < 0 or buffer_add(&children.forms, worker.canon.best, bytes) < 0
            or buffer_add(&children.maps, &worker.canon.map, sizeof(CubeMap)) < 0
            or buffer_add(&children.automorphisms, &worker.canon.n_automorphisms, sizeof(uint64_t)) < 0
            or buffer_add(&children.parents, &number, sizeof(uint32_t)) < 0):
        return NO_MEMORY
    return DONE


cdef int test_sample(Worker worker, const uint16_t* points, int n) except -1 nogil:
    """1 if the sample is shattered, 0 if not, 2 when told to stop."""
    if not take_test(&worker.watch.limits[TESTS_LEFT]):
        return 2
    set_sample(worker, points, n)
    worker.n_tested += 1
    return memo_shatters(&worker.memo, n, &worker.watch)


cdef int generate_children(Worker worker, Level level, int64_t i, Level children, bint test) except -1 nogil:
    """Append the children of orbit i that canonical augmentation keeps, and that are shattered if that is tested."""
    cdef int k = level.n_points, W = level.W, w, answer
    cdef uint16_t points[MAX_POINTS]
    cdef uint64_t old[MAX_POINTS]
    cdef uint64_t sums[MAX_POINTS]
    cdef bint symmetric = (<uint64_t*>level.automorphisms.data)[i] > 1
    cdef uint64_t word
    assert 0 <= i < level.n_orbits and k < MAX_POINTS
    assert level.candidates.used == level.n_orbits * W * sizeof(uint64_t), "a level without candidates"
    if k:
        memcpy(points, <uint16_t*>level.points.data + i * k, k * sizeof(uint16_t))
    canon_sums(&worker.canon, points, k, old)
    worker.siblings.used = 0
    for w in range(W):
        word = (<uint64_t*>level.candidates.data)[i * W + w]
        while word:
            points[k] = <uint16_t>(64 * w + bits_low64(word))
            word &= word - 1
            worker.n_generated += 1
            if watch_step(&worker.watch, 1):
                return STOPPED
            if not canon_augments(&worker.canon, points, old, sums, k + 1):
                continue
            if symmetric and not is_new_sibling(worker, k + 1):
                continue
            answer = test_sample(worker, points, k + 1) if test else 1
            if answer == 2 or watch_step(&worker.watch, STEPS_PER_FORM):
                return STOPPED
            if answer and add_child(worker, children, points, i) != DONE:
                return NO_MEMORY
    return NO_MEMORY if worker.memo.failed else DONE


def allocate_links(Level level, Level parents):
    """Room for what `link`, `mark` and `prune` find out about `level` and about X of its parents."""
    cdef size_t n = level.n_orbits
    if n == 0:
        raise ValueError("expected a level that is not empty")
    if (buffer_take(&level.links, n * level.n_points * sizeof(Link)) == NULL
            or buffer_take(&level.candidates, n * level.W * sizeof(uint64_t)) == NULL
            or buffer_take(&level.alive, n) == NULL
            or buffer_take(&parents.marks, parents.n_orbits * parents.W * sizeof(uint64_t)) == NULL):
        raise MemoryError
    memset(level.alive.data, 1, n)


def room_to_prune(Level parents, Level level):
    """The bytes that `allocate_links` will take."""
    return (level.n_orbits * (level.n_points * sizeof(Link) + level.W * sizeof(uint64_t) + 1)
            + parents.n_orbits * parents.W * sizeof(uint64_t))


cdef int link_orbit(Worker worker, Level parents, Level level, int64_t i) except -1 nogil:
    """Find W - p for every p of orbit i; an orbit with a subset that is not live is dead."""
    cdef int n = level.n_points, k = n - 1, j, q
    cdef const uint16_t* points = <uint16_t*>level.points.data + i * n
    cdef Link* links = <Link*>level.links.data + i * n
    cdef uint64_t sums[MAX_POINTS]
    cdef uint64_t rest_sums[MAX_POINTS]
    cdef uint16_t rest[MAX_POINTS]
    cdef int64_t orbit
    assert 0 <= i < level.n_orbits and level.links.used == level.n_orbits * n * sizeof(Link)
    assert (<uint32_t*>level.parents.data)[i] < parents.n_orbits and parents.n_points == k
    links[k].orbit = (<uint32_t*>level.parents.data)[i]
    links[k].map = (<CubeMap*>parents.maps.data)[links[k].orbit]
    canon_sums(&worker.canon, points, n, sums)
    memcpy(rest, points + 1, k * sizeof(uint16_t))
    for j in range(k):                                  # rest = points without points[j]
        for q in range(n):
            if q != j:
                rest_sums[q - (q > j)] = sums[q] - canon_pair(&worker.canon, points[q], points[j])
        canon_canonical(&worker.canon, rest, rest_sums, k)
        orbit = level_find(parents, worker.canon.best)
        if orbit < 0:
            level.alive.data[i] = 0
            return DONE
        links[j].orbit = <uint32_t>orbit
        links[j].map = worker.canon.map
        rest[j] = points[j]
        if watch_step(&worker.watch, STEPS_PER_FORM):
            return STOPPED
    return DONE


def mark(Level parents, Level level):
    """Mark in X of the parents what the live orbits of `level` show to be live."""
    cdef int n = level.n_points, W = level.W, j
    cdef uint64_t* marks = <uint64_t*>parents.marks.data
    cdef const uint16_t* points
    cdef Link* link
    cdef int64_t i
    with nogil:
        memset(marks, 0, parents.n_orbits * W * sizeof(uint64_t))
        for i in range(level.n_orbits):
            if level.alive.data[i]:
                points = <uint16_t*>level.points.data + i * n
                link = <Link*>level.links.data + i * n
                for j in range(n):
                    bitset_add(marks + link[j].orbit * <size_t>W, map_point(&link[j].map, points[j], level.n_features))


cdef void close_marks(Worker worker, Level parents, int64_t i) noexcept nogil:
    """X of orbit i, closed under the orbit's automorphisms; everything, if these need too many generators."""
    cdef int k = parents.n_points, W = parents.W, w, g, before, n
    cdef uint64_t* marks = <uint64_t*>parents.marks.data + i * W
    cdef uint64_t word
    n = canon_generators(&worker.canon, <uint16_t*>parents.forms.data + i * k, k) if k else MAX_GENERATORS + 1
    if n > MAX_GENERATORS:
        memset(marks, 255, W * sizeof(uint64_t))
        return
    while True:
        before = bitset_count(marks, W)
        for g in range(n):
            for w in range(W):
                word = marks[w]
                while word:
                    bitset_add(marks, map_point(&worker.canon.generators[g], 64 * w + bits_low64(word),
                                               parents.n_features))
                    word &= word - 1
        if bitset_count(marks, W) == before:
            return


cdef inline void fill_tables(const CubeMap* map, int d, uint16_t* tables) noexcept nogil:
    """Images of every value of each group of four features: map_point by d/4 look-ups."""
    cdef int j, i, group
    for j in range(0, d, 4):
        group = 4 * j                                   # sixteen entries a group of four features
        tables[group] = 0
        for i in range(1, 16):
            tables[group + i] = 0
        for i in range(4):
            if j + i < d:
                spread(tables + group, 1 << i, <uint16_t>(1 << map.place[j + i]))


cdef inline void spread(uint16_t* table, int n, uint16_t bit) noexcept nogil:
    """table[n:2n] = table[:n] with `bit` set."""
    cdef int i
    for i in range(n):
        table[n + i] = table[i] | bit


cdef inline int filter_points(uint16_t* points, int n, const CubeMap* map, int d, const uint64_t* marks) noexcept nogil:
    """Keep the points whose image is marked; returns how many."""
    cdef uint16_t tables[4 * MAX_FEATURES]
    cdef uint32_t z, image
    cdef int i, j, m = 0
    fill_tables(map, d, tables)
    for i in range(n):
        z = points[i] ^ map.base
        image = tables[z & 15]
        for j in range(1, (d + 3) >> 2):
            image |= tables[16 * j + ((z >> (4 * j)) & 15)]
        points[m] = points[i]
        m += bitset_has(marks, image)
    return m


cdef int find_candidates(Level parents, Level level, int64_t i, uint16_t* points) noexcept nogil:
    """The candidates of orbit i into level.candidates; returns how many. `points` has room for 2^d numbers."""
    cdef int n = level.n_points, W = level.W, w, j, size = 0
    cdef uint16_t last = (<uint16_t*>level.points.data)[i * n + n - 1]
    cdef const Link* links = <Link*>level.links.data + i * n
    cdef const uint64_t* marks = <uint64_t*>parents.marks.data
    cdef const uint64_t* inherited = <uint64_t*>parents.candidates.data + links[n - 1].orbit * <size_t>W
    cdef uint64_t* out = <uint64_t*>level.candidates.data + i * W
    cdef uint64_t word
    for w in range(W):
        word = inherited[w]
        out[w] = 0
        while word:
            points[size] = <uint16_t>(64 * w + bits_low64(word))
            size += points[size] != last
            word &= word - 1
    for j in range(n - 1, -1, -1):
        size = filter_points(points, size, &links[j].map, level.n_features, marks + links[j].orbit * <size_t>W)
    for j in range(size):
        bitset_add(out, points[j])
    return size


def prune(Level parents, Level level, int need, int64_t start, int64_t stop):
    """Find the candidates of live orbits start .. stop-1; those with fewer than `need` die. Returns how many died."""
    cdef int64_t i, died = 0
    cdef uint16_t* points = <uint16_t*>malloc(sizeof(uint16_t) << level.n_features)
    if points == NULL:
        raise MemoryError
    with nogil:
        for i in range(start, stop):
            if level.alive.data[i] and find_candidates(parents, level, i, points) < need:
                level.alive.data[i] = 0
                died += 1
    free(points)
    return died


def compact(Level level):
    """Drop the dead orbits and the links."""
    cdef int k = level.n_points
    cdef int64_t i, n = 0
    with nogil:
        buffer_keep(&level.points, level.alive.data, level.n_orbits, k * sizeof(uint16_t))
        buffer_keep(&level.forms, level.alive.data, level.n_orbits, k * sizeof(uint16_t))
        buffer_keep(&level.maps, level.alive.data, level.n_orbits, sizeof(CubeMap))
        buffer_keep(&level.automorphisms, level.alive.data, level.n_orbits, sizeof(uint64_t))
        buffer_keep(&level.parents, level.alive.data, level.n_orbits, sizeof(uint32_t))
        buffer_keep(&level.candidates, level.alive.data, level.n_orbits, level.W * sizeof(uint64_t))
        for i in range(level.n_orbits):
            n += level.alive.data[i]
        buffer_free(&level.links)
        buffer_free(&level.alive)
        level.n_orbits = n
    if level_build_index(level) < 0:
        raise MemoryError
