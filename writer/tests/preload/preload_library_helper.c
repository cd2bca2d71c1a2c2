/*
 * A library that the dlopen tests load and unload, built twice under two names: same code, same size, so that
 * the kernel puts one where the other was.
 *
 * SPDX-License-Identifier: MIT
 */
#include "writer/tests/preload/preload_wrappers.h"

void library_work(struct log_file *file, size_t nbytes);

void library_work(struct log_file *file, size_t nbytes)
{
    wrappers_register(file);
    void *address = do_malloc(nbytes);
    address = do_realloc(address, 2 * nbytes);
    do_free(address);
}
