/*
 * Functions of glibc that Debian's libraries call and musl lacks: those that _FORTIFY_SOURCE puts in the place of others,
 * here without their checks, fcntl64() and error(). With them, programs that are built for musl can use these libraries in tests; see
 * ninja/musl/musl.py.
 *
 * SPDX-License-Identifier: MIT
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMATTED(name, parameters, call)                                                                    \
    int name parameters;                                                                                     \
    int name parameters                                                                                      \
    {                                                                                                        \
        va_list values;                                                                                      \
        va_start(values, format);                                                                            \
        int result = call;                                                                                   \
        va_end(values);                                                                                      \
        (void)flag;                                                                                          \
        return result;                                                                                       \
    }

FORMATTED(__printf_chk, (int flag, const char *format, ...), vprintf(format, values))
FORMATTED(__fprintf_chk, (FILE * file, int flag, const char *format, ...), vfprintf(file, format, values))
FORMATTED(__sprintf_chk, (char *to, int flag, size_t room, const char *format, ...),
          vsnprintf(to, room, format, values))
FORMATTED(__snprintf_chk,
          (char *to, size_t nbytes, int flag, size_t room __attribute__((unused)), const char *format, ...),
          vsnprintf(to, nbytes, format, values))

int __vsnprintf_chk(char *to, size_t nbytes, int flag, size_t room, const char *format, va_list values);
int __vsnprintf_chk(char *to, size_t nbytes, int flag, size_t room, const char *format, va_list values)
{
    (void)flag, (void)room;
    return vsnprintf(to, nbytes, format, values);
}

#define COPY(name, call)                                                                                     \
    char *name(char *to, const char *from, size_t room);                                                     \
    char *name(char *to, const char *from, size_t room)                                                      \
    {                                                                                                        \
        (void)room;                                                                                          \
        return call(to, from);                                                                               \
    }

COPY(__stpcpy_chk, stpcpy)
COPY(__strcat_chk, strcat)
COPY(__strcpy_chk, strcpy)

#define FILL(name, call, type)                                                                               \
    void *name(void *to, type from, size_t nbytes, size_t room);                                             \
    void *name(void *to, type from, size_t nbytes, size_t room)                                              \
    {                                                                                                        \
        (void)room;                                                                                          \
        return call(to, from, nbytes);                                                                       \
    }

FILL(__memcpy_chk, memcpy, const void *)
FILL(__memset_chk, memset, int)

int fcntl64(int fd, int command, ...);
int fcntl64(int fd, int command, ...)
{
    va_list values;
    va_start(values, command);
    void *value = va_arg(values, void *); /* a number is passed in the same way */
    va_end(values);
    return fcntl(fd, command, value);
}

_Noreturn void __longjmp_chk(jmp_buf state, int value);
_Noreturn void __longjmp_chk(jmp_buf state, int value)
{
    siglongjmp(state, value);
}

_Noreturn void error(int status, int number, const char *format, ...);
_Noreturn void error(int status, int number, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vfprintf(stderr, format, values);
    fprintf(stderr, number != 0 ? ": %s\n" : "\n", strerror(number));
    exit(status != 0 ? status : 1);
}
