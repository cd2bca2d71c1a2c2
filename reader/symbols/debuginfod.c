/*
 * Fetches debug files from servers with elfutils' client, only if the user has enabled it: see 'debuginfod' in the
 * options.
 *
 * The client is loaded when needed, and is optional. It fetches files into its cache and does not parse them. If no
 * server can be reached, that is reported once and none is asked again, because a server that does not answer costs a
 * timeout for each module.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/symbols/symbols_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libdebuginfod.so.1"

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
        symbols->debuginfod_library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);
    void *function = find_function(symbols, "debuginfod_begin");
    memcpy(&begin, &function, sizeof begin);
    symbols->debuginfod_client = begin != NULL ? begin() : NULL;
    return symbols->debuginfod_client != NULL;
}

/* NULL, in place of a path. */
static char *tell_trouble(struct tbed_symbols *symbols, const char *who, const char *why)
{
    size_t nbytes = strlen(who) + strlen(why) + 3;
    char *trouble = tbed_symbols_keep(symbols, nbytes);
    if (trouble != NULL)
        snprintf(trouble, nbytes, "%s: %s", who, why);
    symbols->debuginfod_trouble = trouble != NULL ? trouble : "no memory left";
    return NULL;
}

/* A descriptor of the file, or an error number below 0. */
static int ask_servers(struct tbed_symbols *symbols, const struct module *module, char **path_ret)
{
    int (*find)(void *client, const unsigned char *build_id, int nbytes, char **path);
    void *function = find_function(symbols, "debuginfod_find_debuginfo");
    memcpy(&find, &function, sizeof find);
    if (find == NULL)
        return -ENOSYS;
    return find(symbols->debuginfod_client, module->build_id, (int)module->build_id_nbytes, path_ret);
}

char *tbed_debuginfod_fetch(struct tbed_symbols *symbols, const struct module *module)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    char *path = NULL;
    if (module->build_id_nbytes == 0 || symbols->debuginfod_trouble != NULL)
        return NULL;
    if (servers == NULL || servers[strspn(servers, " ")] == '\0')
        return tell_trouble(symbols, "DEBUGINFOD_URLS", "it names no server");
    if (!have_client(symbols))
        return tell_trouble(symbols, LIBRARY, "it is not installed, or cannot be used");
    int fd = ask_servers(symbols, module, &path);
    if (fd == -ENOENT) /* they do not have it */
        return NULL;
    if (fd < 0)
        return tell_trouble(symbols, servers, strerror(-fd));
    close(fd);
    return path;
}

const char *tbed_symbols_debuginfod_trouble(const struct tbed_symbols *symbols)
{
    return symbols->debuginfod_trouble;
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
