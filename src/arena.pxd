"""Memory that is taken piece by piece and given back all at once; pieces never move."""

from libc.stdlib cimport free, malloc

cdef enum:
    BLOCK_BYTES = 1 << 15
    ALIGNMENT = 32

cdef struct Block:
    Block* next
    size_t size          # bytes of payload; it starts at the first multiple of ALIGNMENT behind this header

cdef struct Arena:
    Block* first
    Block* block         # the block being filled; all before it are full
    size_t used          # bytes taken from it
    size_t bytes         # held from the system


cdef inline Block* arena_next_block(Arena* arena, size_t bytes) noexcept nogil:
    """Make a block with room for `bytes` the one being filled; NULL when memory is out."""
    cdef Block* block = arena.block
    cdef Block* fresh
    cdef size_t room
    while block != NULL and block.next != NULL:
        block = block.next
        arena.block = block
        arena.used = 0
        if bytes <= block.size:
            return block
    room = bytes if bytes > BLOCK_BYTES else <size_t>BLOCK_BYTES
    fresh = <Block*>malloc(room + sizeof(Block) + ALIGNMENT)
    if fresh == NULL:
        return NULL
    fresh.next = NULL
    fresh.size = room
    if block == NULL:
        arena.first = fresh
    else:
        block.next = fresh
    arena.block = fresh
    arena.used = 0
    arena.bytes += room + sizeof(Block) + ALIGNMENT
    return fresh


cdef inline void* arena_take(Arena* arena, size_t bytes) noexcept nogil:
    """`bytes` bytes, aligned; NULL when memory is out."""
    cdef Block* block = arena.block
    bytes = (bytes + ALIGNMENT - 1) & ~<size_t>(ALIGNMENT - 1)
    if block == NULL or arena.used + bytes > block.size:
        block = arena_next_block(arena, bytes)
        if block == NULL:
            return NULL
    arena.used += bytes
    return <void*>(((<size_t>block + sizeof(Block) + ALIGNMENT - 1) & ~<size_t>(ALIGNMENT - 1)) + arena.used - bytes)


cdef inline void arena_clear(Arena* arena) noexcept nogil:
    """Take everything back, keeping the blocks. O(1)."""
    arena.block = arena.first
    arena.used = 0


cdef inline void arena_free(Arena* arena) noexcept nogil:
    cdef Block* block = arena.first
    cdef Block* following
    while block != NULL:
        following = block.next
        free(block)
        block = following
    arena.first = NULL
    arena.block = NULL
