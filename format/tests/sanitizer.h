/*
 * Which sanitizers a test is compiled with: they are slower, and keep memory.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_TESTS_SANITIZER_H
#define TRACEBED_TESTS_SANITIZER_H

#ifndef __has_feature
#define __has_feature(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define TEST_HAS_ASAN 1
#else
#define TEST_HAS_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define TEST_HAS_TSAN 1
#else
#define TEST_HAS_TSAN 0
#endif

#define TEST_IS_SANITIZED (TEST_HAS_ASAN || TEST_HAS_TSAN)

#endif
