/*
 * The functions that only some allocators have, by what each does: kind (name, function in the trace, parameters, arguments,
 * size). Included twice by preload_allocators.c, which defines the kinds: as functions and as a table. xallocx() is there.
 *
 * SPDX-License-Identifier: MIT
 */

/* jemalloc */
ALLOCATES(mallocx, MALLOC, (size_t nbytes, int flags), (nbytes, flags), nbytes)
REALLOCATES(rallocx, (void *old, size_t nbytes, int flags), (old, nbytes, flags), nbytes)
FREES(dallocx, (void *address, int flags), (address, flags))
FREES(sdallocx, (void *address, size_t nbytes, int flags), (address, nbytes, flags))

/* tcmalloc */
ALLOCATES(tc_malloc, MALLOC, (size_t nbytes), (nbytes), nbytes)
ALLOCATES(tc_malloc_skip_new_handler, MALLOC, (size_t nbytes), (nbytes), nbytes)
ALLOCATES(tc_calloc, CALLOC, (size_t count, size_t nbytes), (count, nbytes), product(count, nbytes))
REALLOCATES(tc_realloc, (void *old, size_t nbytes), (old, nbytes), nbytes)
ALLOCATES(tc_memalign, ALIGNED, (size_t alignment, size_t nbytes), (alignment, nbytes), nbytes)
STORES(tc_posix_memalign, (void **address_ret, size_t alignment, size_t nbytes),
       (address_ret, alignment, nbytes))
ALLOCATES(tc_valloc, ALIGNED, (size_t nbytes), (nbytes), nbytes)
ALLOCATES(tc_pvalloc, ALIGNED, (size_t nbytes), (nbytes), nbytes)
FREES(tc_free, (void *address), (address))
FREES(tc_cfree, (void *address), (address))
FREES(tc_free_sized, (void *address, size_t nbytes), (address, nbytes))
THROWS(tc_new, NEW, (size_t nbytes), (nbytes), nbytes)
ALLOCATES(tc_new_nothrow, NEW, (size_t nbytes, nothrow tag), (nbytes, tag), nbytes)
THROWS(tc_new_aligned, NEW, (size_t nbytes, size_t alignment), (nbytes, alignment), nbytes)
ALLOCATES(tc_new_aligned_nothrow, NEW, (size_t nbytes, size_t alignment, nothrow tag),
          (nbytes, alignment, tag), nbytes)
FREES(tc_delete, (void *address), (address))
FREES(tc_delete_sized, (void *address, size_t nbytes), (address, nbytes))
FREES(tc_delete_nothrow, (void *address, nothrow tag), (address, tag))
FREES(tc_delete_aligned, (void *address, size_t alignment), (address, alignment))
FREES(tc_delete_sized_aligned, (void *address, size_t nbytes, size_t alignment), (address, nbytes, alignment))
FREES(tc_delete_aligned_nothrow, (void *address, size_t alignment, nothrow tag), (address, alignment, tag))
THROWS(tc_newarray, NEW, (size_t nbytes), (nbytes), nbytes)
ALLOCATES(tc_newarray_nothrow, NEW, (size_t nbytes, nothrow tag), (nbytes, tag), nbytes)
THROWS(tc_newarray_aligned, NEW, (size_t nbytes, size_t alignment), (nbytes, alignment), nbytes)
ALLOCATES(tc_newarray_aligned_nothrow, NEW, (size_t nbytes, size_t alignment, nothrow tag),
          (nbytes, alignment, tag), nbytes)
FREES(tc_deletearray, (void *address), (address))
FREES(tc_deletearray_sized, (void *address, size_t nbytes), (address, nbytes))
FREES(tc_deletearray_nothrow, (void *address, nothrow tag), (address, tag))
FREES(tc_deletearray_aligned, (void *address, size_t alignment), (address, alignment))
FREES(tc_deletearray_sized_aligned, (void *address, size_t nbytes, size_t alignment),
      (address, nbytes, alignment))
FREES(tc_deletearray_aligned_nothrow, (void *address, size_t alignment, nothrow tag),
      (address, alignment, tag))

/* mimalloc */
ALLOCATES(mi_malloc, MALLOC, (size_t nbytes), (nbytes), nbytes)
ALLOCATES(mi_malloc_small, MALLOC, (size_t nbytes), (nbytes), nbytes)
ALLOCATES(mi_zalloc, MALLOC, (size_t nbytes), (nbytes), nbytes)
ALLOCATES(mi_zalloc_small, MALLOC, (size_t nbytes), (nbytes), nbytes)
ALLOCATES(mi_calloc, CALLOC, (size_t count, size_t nbytes), (count, nbytes), product(count, nbytes))
ALLOCATES(mi_mallocn, MALLOC, (size_t count, size_t nbytes), (count, nbytes), product(count, nbytes))
ALLOCATES(mi_malloc_aligned, ALIGNED, (size_t nbytes, size_t alignment), (nbytes, alignment), nbytes)
ALLOCATES(mi_malloc_aligned_at, ALIGNED, (size_t nbytes, size_t alignment, size_t offset),
          (nbytes, alignment, offset), nbytes)
ALLOCATES(mi_zalloc_aligned, ALIGNED, (size_t nbytes, size_t alignment), (nbytes, alignment), nbytes)
ALLOCATES(mi_zalloc_aligned_at, ALIGNED, (size_t nbytes, size_t alignment, size_t offset),
          (nbytes, alignment, offset), nbytes)
ALLOCATES(mi_calloc_aligned, ALIGNED, (size_t count, size_t nbytes, size_t alignment),
          (count, nbytes, alignment), product(count, nbytes))
ALLOCATES(mi_calloc_aligned_at, ALIGNED, (size_t count, size_t nbytes, size_t alignment, size_t offset),
          (count, nbytes, alignment, offset), product(count, nbytes))
REALLOCATES(mi_realloc, (void *old, size_t nbytes), (old, nbytes), nbytes)
REALLOCATES(mi_reallocf, (void *old, size_t nbytes), (old, nbytes), nbytes)
REALLOCATES(mi_rezalloc, (void *old, size_t nbytes), (old, nbytes), nbytes)
REALLOCATES(mi_reallocn, (void *old, size_t count, size_t nbytes), (old, count, nbytes),
            product(count, nbytes))
REALLOCATES(mi_recalloc, (void *old, size_t count, size_t nbytes), (old, count, nbytes),
            product(count, nbytes))
REALLOCATES(mi_reallocarray, (void *old, size_t count, size_t nbytes), (old, count, nbytes),
            product(count, nbytes))
REALLOCATES(mi_realloc_aligned, (void *old, size_t nbytes, size_t alignment), (old, nbytes, alignment),
            nbytes)
REALLOCATES(mi_realloc_aligned_at, (void *old, size_t nbytes, size_t alignment, size_t offset),
            (old, nbytes, alignment, offset), nbytes)
REALLOCATES(mi_rezalloc_aligned, (void *old, size_t nbytes, size_t alignment), (old, nbytes, alignment),
            nbytes)
REALLOCATES(mi_rezalloc_aligned_at, (void *old, size_t nbytes, size_t alignment, size_t offset),
            (old, nbytes, alignment, offset), nbytes)
REALLOCATES(mi_recalloc_aligned, (void *old, size_t count, size_t nbytes, size_t alignment),
            (old, count, nbytes, alignment), product(count, nbytes))
REALLOCATES(mi_recalloc_aligned_at, (void *old, size_t count, size_t nbytes, size_t alignment, size_t offset),
            (old, count, nbytes, alignment, offset), product(count, nbytes))
ALLOCATES(mi_strdup, MALLOC, (const char *text), (text), text_nbytes(address))
ALLOCATES(mi_strndup, MALLOC, (const char *text, size_t most), (text, most), text_nbytes(address))
REALLOCATES(mi_expand, (void *old, size_t nbytes), (old, nbytes), nbytes)
STORES(mi_posix_memalign, (void **address_ret, size_t alignment, size_t nbytes),
       (address_ret, alignment, nbytes))
ALLOCATES(mi_memalign, ALIGNED, (size_t alignment, size_t nbytes), (alignment, nbytes), nbytes)
ALLOCATES(mi_aligned_alloc, ALIGNED, (size_t alignment, size_t nbytes), (alignment, nbytes), nbytes)
ALLOCATES(mi_valloc, ALIGNED, (size_t nbytes), (nbytes), nbytes)
ALLOCATES(mi_pvalloc, ALIGNED, (size_t nbytes), (nbytes), nbytes)
FREES(mi_free, (void *address), (address))
FREES(mi_cfree, (void *address), (address))
FREES(mi_free_size, (void *address, size_t nbytes), (address, nbytes))
FREES(mi_free_aligned, (void *address, size_t alignment), (address, alignment))
FREES(mi_free_size_aligned, (void *address, size_t nbytes, size_t alignment), (address, nbytes, alignment))
THROWS(mi_new, NEW, (size_t nbytes), (nbytes), nbytes)
THROWS(mi_new_n, NEW, (size_t count, size_t nbytes), (count, nbytes), product(count, nbytes))
ALLOCATES(mi_new_nothrow, NEW, (size_t nbytes), (nbytes), nbytes)
THROWS(mi_new_aligned, NEW, (size_t nbytes, size_t alignment), (nbytes, alignment), nbytes)
ALLOCATES(mi_new_aligned_nothrow, NEW, (size_t nbytes, size_t alignment), (nbytes, alignment), nbytes)
REALLOCATES_OR_THROWS(mi_new_realloc, (void *old, size_t nbytes), (old, nbytes), nbytes)
REALLOCATES_OR_THROWS(mi_new_reallocn, (void *old, size_t count, size_t nbytes), (old, count, nbytes),
                      product(count, nbytes))

/* mimalloc, from a heap */
ALLOCATES(mi_heap_malloc, MALLOC, (heap_pointer heap, size_t nbytes), (heap, nbytes), nbytes)
ALLOCATES(mi_heap_malloc_small, MALLOC, (heap_pointer heap, size_t nbytes), (heap, nbytes), nbytes)
ALLOCATES(mi_heap_zalloc, MALLOC, (heap_pointer heap, size_t nbytes), (heap, nbytes), nbytes)
ALLOCATES(mi_heap_calloc, CALLOC, (heap_pointer heap, size_t count, size_t nbytes), (heap, count, nbytes),
          product(count, nbytes))
ALLOCATES(mi_heap_mallocn, MALLOC, (heap_pointer heap, size_t count, size_t nbytes), (heap, count, nbytes),
          product(count, nbytes))
ALLOCATES(mi_heap_malloc_aligned, ALIGNED, (heap_pointer heap, size_t nbytes, size_t alignment),
          (heap, nbytes, alignment), nbytes)
ALLOCATES(mi_heap_malloc_aligned_at, ALIGNED,
          (heap_pointer heap, size_t nbytes, size_t alignment, size_t offset),
          (heap, nbytes, alignment, offset), nbytes)
ALLOCATES(mi_heap_zalloc_aligned, ALIGNED, (heap_pointer heap, size_t nbytes, size_t alignment),
          (heap, nbytes, alignment), nbytes)
ALLOCATES(mi_heap_zalloc_aligned_at, ALIGNED,
          (heap_pointer heap, size_t nbytes, size_t alignment, size_t offset),
          (heap, nbytes, alignment, offset), nbytes)
ALLOCATES(mi_heap_calloc_aligned, ALIGNED, (heap_pointer heap, size_t count, size_t nbytes, size_t alignment),
          (heap, count, nbytes, alignment), product(count, nbytes))
ALLOCATES(mi_heap_calloc_aligned_at, ALIGNED,
          (heap_pointer heap, size_t count, size_t nbytes, size_t alignment, size_t offset),
          (heap, count, nbytes, alignment, offset), product(count, nbytes))
REALLOCATES(mi_heap_realloc, (heap_pointer heap, void *old, size_t nbytes), (heap, old, nbytes), nbytes)
REALLOCATES(mi_heap_reallocf, (heap_pointer heap, void *old, size_t nbytes), (heap, old, nbytes), nbytes)
REALLOCATES(mi_heap_rezalloc, (heap_pointer heap, void *old, size_t nbytes), (heap, old, nbytes), nbytes)
REALLOCATES(mi_heap_reallocn, (heap_pointer heap, void *old, size_t count, size_t nbytes),
            (heap, old, count, nbytes), product(count, nbytes))
REALLOCATES(mi_heap_recalloc, (heap_pointer heap, void *old, size_t count, size_t nbytes),
            (heap, old, count, nbytes), product(count, nbytes))
REALLOCATES(mi_heap_realloc_aligned, (heap_pointer heap, void *old, size_t nbytes, size_t alignment),
            (heap, old, nbytes, alignment), nbytes)
REALLOCATES(mi_heap_realloc_aligned_at,
            (heap_pointer heap, void *old, size_t nbytes, size_t alignment, size_t offset),
            (heap, old, nbytes, alignment, offset), nbytes)
REALLOCATES(mi_heap_rezalloc_aligned, (heap_pointer heap, void *old, size_t nbytes, size_t alignment),
            (heap, old, nbytes, alignment), nbytes)
REALLOCATES(mi_heap_rezalloc_aligned_at,
            (heap_pointer heap, void *old, size_t nbytes, size_t alignment, size_t offset),
            (heap, old, nbytes, alignment, offset), nbytes)
REALLOCATES(mi_heap_recalloc_aligned,
            (heap_pointer heap, void *old, size_t count, size_t nbytes, size_t alignment),
            (heap, old, count, nbytes, alignment), product(count, nbytes))
REALLOCATES(mi_heap_recalloc_aligned_at,
            (heap_pointer heap, void *old, size_t count, size_t nbytes, size_t alignment, size_t offset),
            (heap, old, count, nbytes, alignment, offset), product(count, nbytes))
ALLOCATES(mi_heap_strdup, MALLOC, (heap_pointer heap, const char *text), (heap, text), text_nbytes(address))
ALLOCATES(mi_heap_strndup, MALLOC, (heap_pointer heap, const char *text, size_t most), (heap, text, most),
          text_nbytes(address))
THROWS(mi_heap_alloc_new, NEW, (heap_pointer heap, size_t nbytes), (heap, nbytes), nbytes)
THROWS(mi_heap_alloc_new_n, NEW, (heap_pointer heap, size_t count, size_t nbytes), (heap, count, nbytes),
       product(count, nbytes))
