/*
 * Names of calls that tests replace with --wrap. With _FILE_OFFSET_BITS=64, a 32-bit program calls fstat64() where the
 * source has fstat(), so such a test wraps both names.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_WRITER_TEST_WRAPPED_H
#define TRACEBED_WRITER_TEST_WRAPPED_H

#include <stdint.h>

#if UINTPTR_MAX == UINT32_MAX && defined(_FILE_OFFSET_BITS) && _FILE_OFFSET_BITS == 64
#define __real_fallocate __real_fallocate64
#define __wrap_fallocate __wrap_fallocate64
#define __real_fcntl     __real_fcntl64
#define __wrap_fcntl     __wrap_fcntl64
#define __real_fstat     __real_fstat64
#define __wrap_fstat     __wrap_fstat64
#define __real_ftruncate __real_ftruncate64
#define __wrap_ftruncate __wrap_ftruncate64
#define __real_lstat     __real_lstat64
#define __wrap_lstat     __wrap_lstat64
#define __real_mmap      __real_mmap64
#define __wrap_mmap      __wrap_mmap64
#define __real_open      __real_open64
#define __wrap_open      __wrap_open64
#define __real_pread     __real_pread64
#define __wrap_pread     __wrap_pread64
#endif

#endif
