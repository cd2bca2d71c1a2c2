/*
 * sal/types.h for programs that have OpenOffice's by way of rtl/logfile.hxx: its integers, characters and truth values, and
 * SAL_CALL. A program that needs more has its own.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef _SAL_TYPES_H_
#define _SAL_TYPES_H_

#if defined __cplusplus && __cplusplus < 201103L
#pragma GCC system_header /* for long long */
#endif

#include <stddef.h>
#include <stdint.h>

typedef unsigned char sal_Bool;
#define sal_False ((sal_Bool)0)
#define sal_True  ((sal_Bool)1)

typedef signed char sal_Int8;
typedef unsigned char sal_uInt8;
typedef int16_t sal_Int16;
typedef uint16_t sal_uInt16;
typedef int32_t sal_Int32;
typedef uint32_t sal_uInt32;
typedef int64_t sal_Int64;
typedef uint64_t sal_uInt64;

typedef char sal_Char;
typedef signed char sal_sChar;
typedef unsigned char sal_uChar;
typedef uint16_t sal_Unicode;
typedef size_t sal_Size;
typedef ptrdiff_t sal_sSize;
typedef void *sal_Handle;

#define SAL_CALL

#endif
