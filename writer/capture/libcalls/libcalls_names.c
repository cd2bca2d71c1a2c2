/*
 * Functions that are never called through a stub.
 *
 * The return address of a call through a stub is replaced while the function runs. That does no harm to a function that
 * returns once to its caller, or never. Left alone are those that return twice; those that use their return address, or
 * where their caller's frame is; and those with a calling convention of their own.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "writer/capture/libcalls/libcalls.h"

/* '*' at the end: any rest. */
static const char *const left_alone[] = {
    "setjmp", /* return twice, or elsewhere */
    "_setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "savectx",
    "vfork",
    "__vfork",
    "clone",
    "clone3",
    "__clone",
    "getcontext",
    "setcontext",
    "swapcontext",
    "makecontext",
    "longjmp*",
    "_longjmp",
    "siglongjmp",
    "__longjmp_chk",
    "__libc_start_main*",
    "dl*", /* take the caller's module from the return address */
    "__dl*",
    "_dl_*",
    "__tls_get_addr", /* keep registers that others may change */
    "__tls_descriptor",
    "___tls_get_addr",
    "_ZGV*",     /* arguments in wide vector registers */
    "_Unwind_*", /* start from their caller's frame */
    "__cxa_throw*",
    "__cxa_rethrow*",
    "__cxa_finalize",
    "_ITM_*",
    "__gmon_start__",
    "mcount",
    "_mcount",
    "__fentry__",
    "__cyg_profile_func_*",
    "__xray_*",
    "__asan_*",
    "__lsan_*",
    "__msan_*",
    "__tsan_*",
    "__ubsan_*",
    "__hwasan_*",
    "__sanitizer_*",
    "tbed_*",
};

static bool fits(const char *pattern, const char *name)
{
    size_t nbytes = strlen(pattern);
    return pattern[nbytes - 1] == '*' ? strncmp(pattern, name, nbytes - 1) == 0 : strcmp(pattern, name) == 0;
}

bool functions_may_wrap(const char *name)
{
    for (size_t i = 0; i < sizeof left_alone / sizeof left_alone[0]; i++)
        if (fits(left_alone[i], name))
            return false;
    return name[0] != '\0';
}
