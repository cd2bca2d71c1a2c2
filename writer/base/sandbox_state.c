/*
 * The flag of a process in a sandbox.
 *
 * SPDX-License-Identifier: MIT
 */
#include <pthread.h>

#include "writer/base/sandbox_state.h"

bool tbed_sandbox_flag;

void tbed_sandbox_flag_set(bool is_sandboxed)
{
    __atomic_store_n(&tbed_sandbox_flag, is_sandboxed, __ATOMIC_SEQ_CST);
}

/* glibc knows the number, and notes it in every mutex that the thread takes. */
uint32_t tbed_thread_id_known(void)
{
    uint32_t id = 0;
#if defined(__GLIBC__)
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    id = (uint32_t)mutex.__data.__owner;
    pthread_mutex_unlock(&mutex);
#endif
    return id;
}
