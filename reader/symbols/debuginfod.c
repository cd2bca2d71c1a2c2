/*
 * Debug files from servers, by elfutils' client. Only where the user said so: see 'debuginfod' of the options.
 *
 * The client is loaded when it is needed, and done without where it is not installed. It fetches into its cache and
 * looks at no file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/symbols_internal.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

static void *find_function(const struct tbed_symbols *symbols, const char *name)
{
    return symbols->debuginfod_library != NULL ? dlsym(symbols->debuginfod_library, name) : NULL;
}

static bool have_client(struct tbed_symbols *symbols)
{
    void *(*begin)(void);
    if (symbols->debuginfod_client != NULL)
        return true;
    if (symbols->debuginfod_library == NULL)
        symbols->debuginfod_library = dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_LOCAL);
    void *function = find_function(symbols, "debuginfod_begin");
    memcpy(&begin, &function, sizeof begin);
    symbols->debuginfod_client = begin != NULL ? begin() : NULL;
    return symbols->debuginfod_client != NULL;
}

char *tbed_debuginfod_fetch(struct tbed_symbols *symbols, const struct module *module)
{
    int (*find)(void *client, const unsigned char *build_id, int nbytes, char **path);
    char *path = NULL;
    if (module->build_id_nbytes == 0 || !have_client(symbols))
        return NULL;
    void *function = find_function(symbols, "debuginfod_find_debuginfo");
    memcpy(&find, &function, sizeof find);
    int fd = find != NULL
                 ? find(symbols->debuginfod_client, module->build_id, (int)module->build_id_nbytes, &path)
                 : -1;
    if (fd < 0)
        return NULL;
    close(fd);
    return path;
}

void tbed_debuginfod_close(struct tbed_symbols *symbols)
{
    void (*end)(void *client);
    void *function = find_function(symbols, "debuginfod_end");
    memcpy(&end, &function, sizeof end);
    if (end != NULL && symbols->debuginfod_client != NULL)
        end(symbols->debuginfod_client);
    if (symbols->debuginfod_library != NULL)
        dlclose(symbols->debuginfod_library);
}
