"""A growing array of bytes."""

from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

cdef struct Buffer:
    char* data
    size_t used
    size_t room


cdef inline char* buffer_take(Buffer* buffer, size_t bytes) noexcept nogil:
    """Room for `bytes` more bytes at the end; NULL when memory is out. Earlier pointers into the buffer become invalid."""
    cdef char* data
    cdef size_t room
    if buffer.used + bytes > buffer.room:
        room = 2 * buffer.room + bytes if buffer.room else bytes
        data = <char*>realloc(buffer.data, room)
        if data == NULL:
            return NULL
        buffer.data = data
        buffer.room = room
    buffer.used += bytes
    return buffer.data + buffer.used - bytes


cdef inline int buffer_reserve(Buffer* buffer, size_t bytes) noexcept nogil:
    """Room for so many bytes more without growing again; -1 when memory is out."""
    if buffer_take(buffer, bytes) == NULL:
        return -1
    buffer.used -= bytes
    return 0


cdef inline int buffer_add(Buffer* buffer, const void* source, size_t bytes) noexcept nogil:
    """Append a copy; -1 when memory is out."""
    cdef char* target
    if bytes == 0:
        return 0
    target = buffer_take(buffer, bytes)
    if target == NULL:
        return -1
    memcpy(target, source, bytes)
    return 0


cdef inline void buffer_free(Buffer* buffer) noexcept nogil:
    free(buffer.data)
    buffer.data = NULL
    buffer.used = 0
    buffer.room = 0


cdef inline void buffer_keep(Buffer* buffer, const char* wanted, size_t n, size_t bytes) noexcept nogil:
    """Close up those of n records of `bytes` bytes each that are wanted; an empty buffer stays empty."""
    cdef size_t i, j = 0
    if buffer.used == 0:
        return
    for i in range(n):
        if wanted[i]:
            if j != i:
                memcpy(buffer.data + j * bytes, buffer.data + i * bytes, bytes)
            j += 1
    buffer.used = j * bytes


cdef inline bytes buffer_cut(const Buffer* buffer, size_t start, size_t n, size_t size):
    """Records start .. start+n-1 of `size` bytes each; an empty buffer gives none."""
    return buffer.data[start * size:(start + n) * size] if buffer.used and n * size else b""
