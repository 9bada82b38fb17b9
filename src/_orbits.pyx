"""All shattered samples on features of any kind, size by size, one per orbit.

The search of _levels.pyx with the samples of kinds.pxd and the forms of forms.pxd. Level k holds one representative of every orbit
of *live* samples of k points: shattered, and with positions at which another point may still be added.

    generate    extend each representative R by each of its candidate positions; keep R + x if x is at the end of its form's numbering
                (canonical augmentation: one parent per orbit) and no sibling has this form; test it once;
    mark        for each new W and each p in W find W - p among the parents by its form; the position of p, in the coordinates of
                that form, is marked: X(W - p) is the set of positions whose sample is live;
    close       make X invariant under the automorphisms of its orbit;
    prune       the candidates of W are the positions x that, seen from W - p, are in X(W - p) for every p: all subsets of W + x are
                live as far as is known. Drop W if they are fewer than `need`.

Without real features the points still to come have different positions, so `need` is their number; a gap of a real
order can take several, so there only an orbit without any candidate dies.

Cost per orbit of k points: one test; k forms and look-ups, twice; a few operations for each position and point.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

from bitlane cimport bits_low64
from bitset cimport bitset_add, bitset_count, bitset_has
from buffer cimport (Buffer, buffer_add, buffer_cut, buffer_free, buffer_keep, buffer_reserve, buffer_take)
from canon cimport mix
from clock cimport monotonic_seconds
from control cimport TESTS_LEFT, Watch, set_bits, take_test, watch_init, watch_step
from dichotomy cimport (Memo, level_clear, memo_bytes, memo_count, memo_free, memo_shatters, memo_unrealised)
from forms cimport (MAX_SYMMETRIES, Forms, Map, Shares, find_form, find_form_from_invariants, find_shares, find_symmetries,
                    forms_init, image, may_be_end)
from kinds cimport (MAX_CATEGORIES, MAX_COLUMNS, MAX_POSITIONS, REAL, Frame, Kinds, Sample, insert, is_taken, kinds_init,
                    radix, remove, split_position)
from scalars cimport MAX_POINTS
from splits cimport MAX_SUBSET_CATEGORIES, Splits, splits_free, splits_init, splits_set

LIMITS = {"features": MAX_COLUMNS, "categories": MAX_CATEGORIES, "positions": MAX_POSITIONS,
          "subset categories": MAX_SUBSET_CATEGORIES}

cdef enum:
    DONE = 0
    STOPPED = 1
    NO_MEMORY = 2

cdef enum:
    STEPS_PER_FORM = 8       # a form takes about as long as this many dichotomy sets


cdef class Problem:
    """The features, as the kernels take them."""
    cdef Kinds kinds

    def __cinit__(self, const int[:, ::1] columns, bint fixed):
        cdef int f
        assert 0 < columns.shape[0] <= MAX_COLUMNS
        for f in range(columns.shape[0]):
            assert 0 <= columns[f, 1] <= MAX_CATEGORIES
        kinds_init(&self.kinds, columns, fixed)

    def n_positions(self, int m):
        """The number of positions of a new point beside m others; 0 if there are too many."""
        return self.kinds.frames[m].count

    def values(self, positions):
        """The points of a sample given by positions: a list of values per feature for each."""
        cdef Sample sample
        cdef uint8_t places[MAX_COLUMNS]
        cdef int f, i
        sample.m = 0
        for position in positions:
            split_position(&self.kinds, sample.m, position, places)
            insert(&self.kinds, &sample, places)
        return [[sample.value[f][i] for f in range(self.kinds.n)] for i in range(sample.m)]

    def positions(self, rows):
        """The inverse of `values`: ranks for real features, categories for the others."""
        cdef int i, j, f, m = len(rows)
        cdef list out = []
        for i in range(m):
            position = 0
            for f in range(self.kinds.n):
                place = rows[i][f]
                if self.kinds.kind[f] == REAL:
                    place = sum(rows[j][f] < rows[i][f] for j in range(i))
                position += place * self.kinds.frames[i].stride[f]
            out.append(position)
        return out


cdef class Level:
    """The orbits of one size: parallel arrays, an index by form, and what is known of their extensions."""
    cdef readonly int n_points                # k
    cdef Problem problem
    cdef int n_features
    cdef int W                                # words of a set of positions
    cdef readonly int64_t n_orbits
    cdef Buffer points                        # k positions each, own coordinates
    cdef Buffer forms                         # k * n_features bytes each
    cdef Buffer stabiliser_sizes
    cdef Buffer candidates                    # W words each, own coordinates
    cdef Buffer marks                         # X: W words each, coordinates of the form
    cdef Buffer alive                         # a byte each
    cdef uint32_t* index                      # open addressing on forms: orbit + 1, or 0
    cdef size_t index_size

    def __cinit__(self, Problem problem, int n_points):
        self.problem = problem
        self.n_points = n_points
        self.n_features = problem.kinds.n
        self.W = <int>((problem.kinds.frames[n_points].count + 63) // 64)

    def __dealloc__(self):
        buffer_free(&self.points)
        buffer_free(&self.forms)
        buffer_free(&self.stabiliser_sizes)
        buffer_free(&self.candidates)
        buffer_free(&self.marks)
        buffer_free(&self.alive)
        free(self.index)

    @property
    def n_bytes(self):
        """Memory held."""
        return (self.points.room + self.forms.room + self.stabiliser_sizes.room + self.candidates.room + self.marks.room
                + self.alive.room + self.index_size * sizeof(uint32_t))

    def sample(self, int64_t i):
        """Representative number i as a list of positions."""
        if not 0 <= i < self.n_orbits:
            raise IndexError(i)
        return [(<uint32_t*>self.points.data)[i * self.n_points + j] for j in range(self.n_points)]

    def stabilisers(self):
        """The number of automorphisms of each orbit's samples."""
        return [(<uint64_t*>self.stabiliser_sizes.data)[i] for i in range(self.n_orbits)]

    def n_candidates(self):
        """The number of positions that may still be taken, orbit by orbit."""
        return [bitset_count((<uint64_t*>self.candidates.data) + i * self.W, self.W) for i in range(self.n_orbits)]

    def form_bytes(self):
        """The forms, one after the other."""
        return self.forms.data[:self.forms.used] if self.forms.used else b""

    def pack(self, int64_t start, int64_t stop):
        """Orbits start .. stop-1 as bytes, one string per array (what `generate` and `join_levels` need); see `unpack`."""
        cdef int64_t n = stop - start
        assert 0 <= start <= stop <= self.n_orbits
        return (
            buffer_cut(&self.points, start, n, self.n_points * sizeof(uint32_t)),
            buffer_cut(&self.forms, start, n, self.n_points * self.n_features),
            buffer_cut(&self.stabiliser_sizes, start, n, sizeof(uint64_t)),
            buffer_cut(&self.candidates, start, n, self.W * sizeof(uint64_t)),
        )


def unpack(Problem problem, int n_points, int64_t n_orbits, tuple arrays):
    """A level, without index, from what `pack` returned; ValueError if it does not fit."""
    cdef Level level = Level(problem, n_points)
    cdef size_t sizes[4]
    cdef Buffer* buffers[4]
    cdef const uint8_t[::1] data
    cdef int i
    sizes[:] = [n_points * sizeof(uint32_t), n_points * problem.kinds.n, sizeof(uint64_t), level.W * sizeof(uint64_t)]
    buffers[:] = [&level.points, &level.forms, &level.stabiliser_sizes, &level.candidates]
    level.n_orbits = n_orbits
    for i in range(4):
        data = arrays[i]
        if <size_t>data.shape[0] != n_orbits * sizes[i] and not (i == 3 and data.shape[0] == 0):
            raise ValueError(f"expected {n_orbits * sizes[i]} bytes for {n_orbits} orbits, got {data.shape[0]}")
        if data.shape[0] and buffer_add(buffers[i], &data[0], data.shape[0]) < 0:
            raise MemoryError
    check_points(level)
    return level


cdef int check_points(Level level) except -1:
    """ValueError if a position is out of range."""
    cdef int64_t i
    cdef int j, k = level.n_points
    if level.points.used != level.n_orbits * k * sizeof(uint32_t):
        raise ValueError(f"expected {k} positions for each of {level.n_orbits} orbits")
    for i in range(level.n_orbits):
        for j in range(k):
            if (<uint32_t*>level.points.data)[i * k + j] >= level.problem.kinds.frames[j].count:
                raise ValueError(f"expected positions below {level.problem.kinds.frames[j].count}, got a larger one")
    return 0


cdef inline uint64_t form_hash(const uint8_t* form, int n) noexcept nogil:
    cdef uint64_t h = 0, word
    cdef int i = 0
    while i + 8 <= n:
        memcpy(&word, form + i, 8)
        h = (h ^ word) * <uint64_t>0x9E3779B97F4A7C15
        h ^= h >> 29
        i += 8
    if i < n:
        word = 0
        memcpy(&word, form + i, n - i)
        h = (h ^ word) * <uint64_t>0x9E3779B97F4A7C15
    return mix(h)


cdef int64_t level_find(Level level, const uint8_t* form) noexcept nogil:
    """The orbit with this form, or -1."""
    cdef int n = level.n_points * level.n_features
    cdef size_t j = form_hash(form, n) & (level.index_size - 1)
    cdef uint32_t i
    while True:
        i = level.index[j]
        if i == 0:
            return -1
        if n == 0 or memcmp(level.forms.data + <size_t>(i - 1) * n, form, n) == 0:
            return i - 1
        j = (j + 1) & (level.index_size - 1)


cdef int level_build_index(Level level) noexcept nogil:
    """Make the index; -1 when memory is out."""
    cdef size_t size = 16, j
    cdef int64_t i
    cdef int n = level.n_points * level.n_features
    while size < 2 * <size_t>level.n_orbits:
        size *= 2
    free(level.index)
    level.index_size = 0
    level.index = <uint32_t*>calloc(size, sizeof(uint32_t))
    if level.index == NULL:
        return -1
    level.index_size = size
    for i in range(level.n_orbits):
        j = form_hash(<uint8_t*>level.forms.data + i * n, n) & (size - 1)
        while level.index[j]:
            j = (j + 1) & (size - 1)
        level.index[j] = <uint32_t>(i + 1)
    return 0


def first_level(Problem problem):
    """Level 0: the empty sample, to which any point may be added."""
    cdef Level level = Level(problem, 0)
    cdef uint64_t order = 2                   # symmetric
    if buffer_add(&level.stabiliser_sizes, &order, sizeof(order)) < 0:
        raise MemoryError
    level.n_orbits = 1
    if level_build_index(level) < 0:
        raise MemoryError
    open_candidates(level)
    return level


def open_candidates(Level level):
    """Let every free position be a candidate, for a search over all samples."""
    cdef Kinds* kinds = &level.problem.kinds
    cdef int k = level.n_points, W = level.W
    cdef uint32_t position
    cdef uint8_t places[MAX_COLUMNS]
    cdef Sample sample
    cdef int64_t i
    buffer_free(&level.candidates)
    if level.n_orbits and buffer_take(&level.candidates, level.n_orbits * W * sizeof(uint64_t)) == NULL:
        raise MemoryError
    with nogil:
        if level.n_orbits:
            memset(level.candidates.data, 0, level.n_orbits * W * sizeof(uint64_t))
        for i in range(level.n_orbits):
            read_sample(kinds, <uint32_t*>level.points.data + i * k, k, &sample)
            for position in range(kinds.frames[k].count):
                split_position(kinds, k, position, places)
                if not is_taken(kinds, &sample, places):
                    bitset_add(<uint64_t*>level.candidates.data + i * W, position)


cdef inline void read_sample(const Kinds* kinds, const uint32_t* positions, int k, Sample* sample) noexcept nogil:
    cdef uint8_t places[MAX_COLUMNS]
    cdef int j
    sample.m = 0
    for j in range(k):
        split_position(kinds, j, positions[j], places)
        insert(kinds, sample, places)


def join_levels(list parts):
    """The slices of one level, put together in order; they are emptied on the way."""
    cdef Level part = parts[0]
    cdef Level whole = Level(part.problem, part.n_points)
    cdef int failed = 0
    cdef size_t n = 0
    for part in parts:
        n += part.n_orbits
    if n and (buffer_reserve(&whole.points, n * part.n_points * sizeof(uint32_t) + 1) < 0
            or buffer_reserve(&whole.forms, n * part.n_points * part.n_features + 1) < 0
            or buffer_reserve(&whole.stabiliser_sizes, n * sizeof(uint64_t)) < 0):
        raise MemoryError
    for part in parts:
        failed |= buffer_add(&whole.points, part.points.data, part.points.used)
        failed |= buffer_add(&whole.forms, part.forms.data, part.forms.used)
        failed |= buffer_add(&whole.stabiliser_sizes, part.stabiliser_sizes.data, part.stabiliser_sizes.used)
        whole.n_orbits += part.n_orbits
        buffer_free(&part.points)
        buffer_free(&part.forms)
        buffer_free(&part.stabiliser_sizes)
        part.n_orbits = 0
    if failed or level_build_index(whole) < 0:
        raise MemoryError
    return whole


cdef class Worker:
    """One thread's memo, forms and counters."""
    cdef Problem problem
    cdef Memo memo
    cdef Splits splits
    cdef Forms forms
    cdef Watch watch
    cdef double[::1] limits
    cdef int n_set                            # points of the memo that are set ...
    cdef uint32_t current[MAX_POINTS]         # ... to these positions
    cdef Sample samples[MAX_POINTS + 1]       # the samples of the first 0, 1, .. of them
    cdef Buffer siblings                      # forms of the children of one orbit
    cdef readonly int64_t n_tested            # samples tested
    cdef readonly int64_t n_generated         # samples looked at

    def __cinit__(self, Problem problem, const int[:, ::1] table, double[::1] limits):
        self.problem = problem
        self.limits = limits
        watch_init(&self.watch, &limits[0])
        forms_init(&self.forms, &problem.kinds)
        if splits_init(&self.splits, &self.memo, &problem.kinds, table, MAX_POINTS) < 0:
            raise MemoryError

    def __dealloc__(self):
        memo_free(&self.memo)
        splits_free(&self.splits)
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
        cdef Level children = Level(self.problem, level.n_points + 1)
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

    def sprout(self, Level level, int64_t start, int64_t stop, int most, uint64_t seed):
        """Up to `most` shattered samples with one point more for each of orbits start .. stop-1, positions tried in random order.

        For the search for witnesses: any position is tried, and like samples may come more than once. None when told to stop.
        """
        cdef Level children = Level(self.problem, level.n_points + 1)
        cdef int outcome = DONE
        cdef int64_t i
        with nogil:
            for i in range(start, stop):
                outcome = sprout_children(self, level, i, children, most, mix(seed + i))
                if outcome != DONE:
                    break
        if outcome == NO_MEMORY or self.memo.failed:
            raise MemoryError
        return None if outcome == STOPPED else children

    def most_dichotomies(self, Level level, int64_t start, int64_t stop):
        """The largest number of labellings realised on any of the orbits start .. stop-1; -1 when told to stop."""
        cdef int64_t i, n, most = 0
        with nogil:
            for i in range(start, stop):
                set_sample(self, <uint32_t*>level.points.data + i * level.n_points, level.n_points)
                n = memo_count(&self.memo, level.n_points, &self.watch)
                if n < 0:
                    most = -1
                    break
                if n > most:
                    most = n
        if self.memo.failed:
            raise MemoryError
        return most

    def dichotomies(self, const uint8_t[:, ::1] values):
        """The number of labellings realised on one sample of distinct points; -1 when told to stop."""
        cdef int64_t n
        load_sample(self, values)
        with nogil:
            n = memo_count(&self.memo, <int>values.shape[0], &self.watch)
        if self.memo.failed:
            raise MemoryError
        return n

    def unrealised(self, const uint8_t[:, ::1] values):
        """A labelling (bit i = label of point i) of one sample that is not realised; -1 if all are, -2 when told to stop."""
        cdef int64_t labels
        load_sample(self, values)
        with nogil:
            labels = memo_unrealised(&self.memo, <int>values.shape[0], &self.watch)
        if self.memo.failed:
            raise MemoryError
        return labels

    def mark(self, Level parents, Level level, int64_t start, int64_t stop):
        """Mark in X of the parents what live orbits start .. stop-1 show to be live; False when told to stop."""
        cdef int outcome = DONE
        cdef int64_t i
        with nogil:
            for i in range(start, stop):
                if level.alive.data[i]:
                    outcome = mark_orbit(self, parents, level, i)
                    if outcome != DONE:
                        break
        return outcome == DONE

    def close(self, Level parents, int64_t start, int64_t stop):
        """Close X of orbits start .. stop-1 under their automorphisms; False when told to stop."""
        cdef int outcome = DONE
        cdef int64_t i
        with nogil:
            for i in range(start, stop):
                if (<uint64_t*>parents.stabiliser_sizes.data)[i] > 1:
                    close_marks(self, parents, i)
                    if watch_step(&self.watch, STEPS_PER_FORM):
                        outcome = STOPPED
                        break
        return outcome == DONE

    def prune(self, Level parents, Level level, int need, int64_t start, int64_t stop):
        """Find the candidates of live orbits start .. stop-1; those with fewer than `need` die. How many died; None when told to stop."""
        cdef int64_t i, died = 0
        cdef int n
        with nogil:
            for i in range(start, stop):
                if not level.alive.data[i]:
                    continue
                n = find_candidates(self, parents, level, i)
                if n < 0:
                    break
                if n < need:
                    level.alive.data[i] = 0
                    died += 1
            else:
                n = 0
        return None if n < 0 else died


cdef void load_sample(Worker worker, const uint8_t[:, ::1] values) noexcept nogil:
    """Make the memo's points these rows of values."""
    cdef int i, f
    worker.n_set = 0
    worker.samples[0].m = <int>values.shape[0]
    for i in range(values.shape[0]):
        level_clear(&worker.memo.levels[i])
        for f in range(values.shape[1]):
            worker.samples[0].value[f][i] = values[i, f]
    splits_set(&worker.splits, &worker.samples[0])
    worker.samples[0].m = 0


cdef void set_sample(Worker worker, const uint32_t* positions, int n) noexcept nogil:
    """Make the memo's first n points these, keeping the common beginning."""
    cdef const Kinds* kinds = &worker.problem.kinds
    cdef uint8_t places[MAX_COLUMNS]
    cdef int i = 0
    while i < n and i < worker.n_set and worker.current[i] == positions[i]:
        i += 1
    while i < n:
        level_clear(&worker.memo.levels[i])
        split_position(kinds, i, positions[i], places)
        worker.samples[i + 1] = worker.samples[i]
        insert(kinds, &worker.samples[i + 1], places)
        worker.current[i] = positions[i]
        i += 1
    worker.n_set = n
    splits_set(&worker.splits, &worker.samples[n])


cdef bint is_new_sibling(Worker worker, int n) noexcept nogil:
    """Whether the form at hand is not among the siblings' forms of n points; if so, note it."""
    cdef size_t bytes = n * worker.problem.kinds.n, i
    for i in range(worker.siblings.used // bytes):
        if memcmp(worker.siblings.data + i * bytes, worker.forms.best, bytes) == 0:
            return False
    if buffer_add(&worker.siblings, worker.forms.best, bytes) < 0:
        worker.memo.failed = True
    return True


cdef int add_child(Worker worker, Level children, const uint32_t* points) noexcept nogil:
    cdef int n = children.n_points
    children.n_orbits += 1
    if (buffer_add(&children.points, points, n * sizeof(uint32_t)) < 0
            or buffer_add(&children.forms, worker.forms.best, n * children.n_features) < 0
            or buffer_add(&children.stabiliser_sizes, &worker.forms.stabiliser, sizeof(uint64_t)) < 0):
        return NO_MEMORY
    return DONE


cdef int test_sample(Worker worker, const uint32_t* points, int n) except -1 nogil:
    """1 if the sample is shattered, 0 if not, 2 when told to stop."""
    if not take_test(&worker.watch.limits[TESTS_LEFT]):
        return 2
    set_sample(worker, points, n)
    worker.n_tested += 1
    return memo_shatters(&worker.memo, n, &worker.watch)


cdef int generate_children(Worker worker, Level level, int64_t i, Level children, bint test) except -1 nogil:
    """Append the children of orbit i that canonical augmentation keeps, and that are shattered if that is tested."""
    cdef const Kinds* kinds = &worker.problem.kinds
    cdef int k = level.n_points, W = level.W, w, answer
    cdef uint32_t points[MAX_POINTS]
    cdef uint8_t places[MAX_COLUMNS]
    cdef Sample parent, child
    cdef bint symmetric = (<uint64_t*>level.stabiliser_sizes.data)[i] > 1
    cdef uint64_t word
    assert 0 <= i < level.n_orbits and k < MAX_POINTS
    assert level.candidates.used == level.n_orbits * W * sizeof(uint64_t), "a level without candidates"
    if k:
        memcpy(points, <uint32_t*>level.points.data + i * k, k * sizeof(uint32_t))
    read_sample(kinds, points, k, &parent)
    worker.siblings.used = 0
    for w in range(W):
        word = (<uint64_t*>level.candidates.data)[i * W + w]
        while word:
            points[k] = <uint32_t>(64 * w + bits_low64(word))
            word &= word - 1
            worker.n_generated += 1
            if watch_step(&worker.watch, 1):
                return STOPPED
            child = parent
            split_position(kinds, k, points[k], places)
            insert(kinds, &child, places)
            if not may_be_end(&worker.forms, &child, k):
                continue
            worker.forms.target = k
            find_form_from_invariants(&worker.forms, &child)
            if not worker.forms.is_end or (symmetric and not is_new_sibling(worker, k + 1)):
                continue
            answer = test_sample(worker, points, k + 1) if test else 1
            if answer == 2 or watch_step(&worker.watch, STEPS_PER_FORM):
                return STOPPED
            if answer and add_child(worker, children, points) != DONE:
                return NO_MEMORY
    return NO_MEMORY if worker.memo.failed else DONE


cdef int sprout_children(Worker worker, Level level, int64_t i, Level children, int most, uint64_t seed) except -1 nogil:
    """Append up to `most` shattered children of orbit i. Positions run through all residues by a step prime to their number."""
    cdef const Kinds* kinds = &worker.problem.kinds
    cdef int k = level.n_points, found = 0, answer
    cdef uint32_t count = kinds.frames[k].count, step = <uint32_t>(seed >> 32) % count | 1, n
    cdef uint32_t points[MAX_POINTS]
    cdef uint8_t places[MAX_COLUMNS]
    cdef Sample parent, child
    if k:
        memcpy(points, <uint32_t*>level.points.data + i * k, k * sizeof(uint32_t))
    read_sample(kinds, points, k, &parent)
    while greatest_divisor(step, count) != 1:
        step += 1
    points[k] = <uint32_t>(seed % count)
    for n in range(count):
        points[k] = <uint32_t>((<uint64_t>points[k] + step) % count)
        split_position(kinds, k, points[k], places)
        if is_taken(kinds, &parent, places):
            continue
        answer = test_sample(worker, points, k + 1)
        if answer == 2 or watch_step(&worker.watch, STEPS_PER_FORM):
            return STOPPED
        if answer:
            child = parent
            insert(kinds, &child, places)
            find_form(&worker.forms, &child)
            if add_child(worker, children, points) != DONE:
                return NO_MEMORY
            found += 1
            if found == most:
                break
    return NO_MEMORY if worker.memo.failed else DONE


cdef inline uint32_t greatest_divisor(uint32_t a, uint32_t b) noexcept nogil:
    """The greatest common divisor."""
    while b:
        a, b = b, a % b
    return a


def select(Level level, orbits):
    """These orbits of a level, as a level without candidates; like forms come once."""
    cdef Level chosen = Level(level.problem, level.n_points)
    cdef int n = level.n_points, size = n * level.n_features
    cdef int64_t i
    cdef set seen = set()
    for i in orbits:
        if not 0 <= i < level.n_orbits:
            raise IndexError(i)
        form = level.forms.data[i * size:(i + 1) * size]
        if form in seen:
            continue
        seen.add(form)
        if (buffer_add(&chosen.points, <uint32_t*>level.points.data + i * n, n * sizeof(uint32_t)) < 0
                or buffer_add(&chosen.forms, level.forms.data + i * size, size) < 0
                or buffer_add(&chosen.stabiliser_sizes, <uint64_t*>level.stabiliser_sizes.data + i, sizeof(uint64_t)) < 0):
            raise MemoryError
        chosen.n_orbits += 1
    return chosen


def allocate_marks(Level level, Level parents):
    """Room for what `mark` and `prune` find out about `level` and about X of its parents."""
    cdef size_t n = level.n_orbits
    if n == 0:
        raise ValueError("expected a level that is not empty")
    if (buffer_take(&level.candidates, n * level.W * sizeof(uint64_t)) == NULL or buffer_take(&level.alive, n) == NULL
            or buffer_take(&parents.marks, parents.n_orbits * parents.W * sizeof(uint64_t)) == NULL):
        raise MemoryError
    memset(level.alive.data, 1, n)


def room_to_prune(Level parents, Level level):
    """The bytes that `allocate_marks` will take."""
    return level.n_orbits * (level.W * sizeof(uint64_t) + 1) + parents.n_orbits * parents.W * sizeof(uint64_t)


def clear_marks(Level parents):
    """Empty X of all orbits."""
    memset(parents.marks.data, 0, parents.marks.used)


cdef int mark_orbit(Worker worker, Level parents, Level level, int64_t i) except -1 nogil:
    """Mark the position of each point of orbit i in X of the sample without it; if that is not live, the orbit is dead."""
    cdef const Kinds* kinds = &worker.problem.kinds
    cdef int n = level.n_points, W = parents.W, j, f
    cdef uint8_t places[MAX_COLUMNS]
    cdef Sample sample, rest
    cdef Shares shares
    cdef uint32_t position
    cdef int64_t orbit
    read_sample(kinds, <uint32_t*>level.points.data + i * n, n, &sample)
    for j in range(n):
        remove(kinds, &sample, j, &rest)
        find_form(&worker.forms, &rest)
        orbit = level_find(parents, worker.forms.best)
        if orbit < 0:
            level.alive.data[i] = 0
            return DONE
        for f in range(kinds.n):
            places[f] = sample.value[f][j]
        find_shares(kinds, &worker.forms.map, n - 1, &shares)
        position = image(kinds, &shares, places)
        set_bits(<uint64_t*>parents.marks.data + orbit * W + (position >> 6), <uint64_t>1 << (position & 63))
        if watch_step(&worker.watch, STEPS_PER_FORM):
            return STOPPED
    return DONE


cdef void close_marks(Worker worker, Level parents, int64_t i) noexcept nogil:
    """X of orbit i, closed under its automorphisms; everything, if these are too many or there are fewer than two points."""
    cdef const Kinds* kinds = &worker.problem.kinds
    cdef int k = parents.n_points, W = parents.W, w, g, before, n
    cdef uint64_t* marks = <uint64_t*>parents.marks.data + i * W
    cdef uint8_t places[MAX_COLUMNS]
    cdef Shares shares
    cdef uint64_t word
    n = MAX_SYMMETRIES + 1
    if k > 1:
        find_symmetries(&worker.forms, <uint8_t*>parents.forms.data + i * k * kinds.n, k)
        n = worker.forms.n_symmetries
    if n > MAX_SYMMETRIES:
        memset(marks, 255, W * sizeof(uint64_t))
        return
    while True:
        before = bitset_count(marks, W)
        for g in range(n):
            find_shares(kinds, &worker.forms.symmetries[g], k, &shares)
            for w in range(W):
                word = marks[w]
                while word:
                    split_position(kinds, k, 64 * w + bits_low64(word), places)
                    bitset_add(marks, image(kinds, &shares, places))
                    word &= word - 1
        if bitset_count(marks, W) == before:
            return


cdef int find_candidates(Worker worker, Level parents, Level level, int64_t i) except -2 nogil:
    """The candidates of orbit i into level.candidates; returns how many, or -1 when told to stop."""
    cdef const Kinds* kinds = &worker.problem.kinds
    cdef int n = level.n_points, W = level.W, j
    cdef uint64_t* out = <uint64_t*>level.candidates.data + i * W
    cdef Sample sample, rest
    cdef int64_t orbit
    read_sample(kinds, <uint32_t*>level.points.data + i * n, n, &sample)
    memset(out, 255, W * sizeof(uint64_t))
    if kinds.frames[n].count & 63:
        out[W - 1] = (<uint64_t>1 << (kinds.frames[n].count & 63)) - 1
    for j in range(n - 1, -1, -1):
        remove(kinds, &sample, j, &rest)
        find_form(&worker.forms, &rest)
        orbit = level_find(parents, worker.forms.best)
        if orbit < 0:
            return 0
        filter_positions(kinds, &worker.forms.map, &sample, j, <uint64_t*>parents.marks.data + orbit * parents.W, out, W)
        if watch_step(&worker.watch, STEPS_PER_FORM):
            return -1
    return bitset_count(out, W)


cdef inline void filter_positions(const Kinds* kinds, const Map* map, const Sample* sample, int j, const uint64_t* marks,
                                  uint64_t* out, int W) noexcept nogil:
    """Keep the positions that, seen without point j and through `map`, are marked."""
    cdef Shares small, shares
    cdef uint8_t places[MAX_COLUMNS]
    cdef int f, g, w, n = sample.m
    cdef uint64_t word
    cdef uint32_t position
    find_shares(kinds, map, n - 1, &small)
    for f in range(kinds.n):
        for g in range(radix(kinds, f, n)):
            shares.share[f][g] = small.share[f][g - (kinds.kind[f] == REAL and g > sample.value[f][j])]
    for w in range(W):
        word = out[w]
        while word:
            position = 64 * w + bits_low64(word)
            split_position(kinds, n, position, places)
            if not bitset_has(marks, image(kinds, &shares, places)):
                out[w] &= ~(word & -word)
            word &= word - 1


def compact(Level level):
    """Drop the dead orbits."""
    cdef int k = level.n_points
    cdef int64_t i, n = 0
    with nogil:
        buffer_keep(&level.points, level.alive.data, level.n_orbits, k * sizeof(uint32_t))
        buffer_keep(&level.forms, level.alive.data, level.n_orbits, k * level.n_features)
        buffer_keep(&level.stabiliser_sizes, level.alive.data, level.n_orbits, sizeof(uint64_t))
        buffer_keep(&level.candidates, level.alive.data, level.n_orbits, level.W * sizeof(uint64_t))
        for i in range(level.n_orbits):
            n += level.alive.data[i]
        buffer_free(&level.alive)
        level.n_orbits = n
    if level_build_index(level) < 0:
        raise MemoryError
