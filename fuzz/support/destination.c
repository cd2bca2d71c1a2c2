/*
 * Destinations for calls that create a file; see destination.h.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "fuzz/support/destination.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/support/fuzz.h"
#include "fuzz/support/scratch.h"

#define OTHER_GROUP 1
#define OLD         "what was there before"

static int current = -1; /* the working directory to return to after DESTINATION_RELATIVE */
static char path[4096];

static const char *folder(void)
{
    static char text[128];
    if (text[0] == '\0') {
        snprintf(text, sizeof text, "%s/destination", scratch_folder());
        REQUIRE(mkdir(text, 0700) == 0);
    }
    return text;
}

static const char *inside(const char *name)
{
    static char text[600];
    snprintf(text, sizeof text, "%s/%s", folder(), name);
    return text;
}

const char *destination_path(void)
{
    return inside("x");
}

/* Removes everything, including what an earlier call left behind. */
static void clear(void)
{
    DIR *entries = opendir(folder());
    REQUIRE(entries != NULL && chmod(folder(), 0700) == 0);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        if (entry->d_name[0] != '.')
            REQUIRE(remove(inside(entry->d_name)) == 0);
    closedir(entries);
}

const char *destination_make(enum destination destination)
{
    clear();
    snprintf(path, sizeof path, "%s", destination_path());
    switch (destination) {
    case DESTINATION_FILE:
        scratch_put(path, OLD, strlen(OLD));
        break;
    case DESTINATION_FOLDER:
        REQUIRE(mkdir(path, 0700) == 0);
        break;
    case DESTINATION_LINK:
        scratch_put(inside("other"), OLD, strlen(OLD));
        REQUIRE(symlink("other", path) == 0);
        break;
    case DESTINATION_FIFO:
        REQUIRE(mkfifo(path, 0600) == 0);
        break;
    case DESTINATION_LONG:
        memset(path + strlen(path), 'x', sizeof path - 1 - strlen(path));
        break;
    case DESTINATION_NOWHERE:
        snprintf(path, sizeof path, "%s", inside("nowhere/x"));
        break;
    case DESTINATION_RELATIVE:
        current = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
        REQUIRE(current >= 0 && chdir(folder()) == 0);
        return "x";
    case DESTINATION_GROUP:
        REQUIRE(chown(folder(), (uid_t)-1, OTHER_GROUP) == 0 || geteuid() != 0);
        REQUIRE(chmod(folder(), 02700) == 0);
        break;
    default:
        break;
    }
    return path;
}

enum tbed_status destination_status(enum destination destination, bool overwrite)
{
    switch (destination) {
    case DESTINATION_FILE:
        return overwrite ? TBED_OK : TBED_ERR_EXISTS;
    case DESTINATION_FOLDER:
        return TBED_ERR_IS_DIRECTORY;
    case DESTINATION_LINK:
    case DESTINATION_FIFO:
        return overwrite ? TBED_ERR_NOT_REGULAR : TBED_ERR_EXISTS;
    case DESTINATION_LONG:
    case DESTINATION_NOWHERE:
        return TBED_ERR_OPEN;
    default:
        return TBED_OK;
    }
}

static size_t count_entries(void)
{
    size_t count = 0;
    DIR *entries = opendir(folder());
    REQUIRE(entries != NULL);
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(entries);
    return count;
}

static void expect_old(const char *name)
{
    char text[sizeof OLD] = "";
    FILE *in = fopen(inside(name), "r");
    REQUIRE(in != NULL && fread(text, 1, sizeof text, in) == strlen(OLD) && strcmp(text, OLD) == 0);
    fclose(in);
}

static bool is_unchanged(enum destination destination)
{
    struct stat status;
    bool exists = lstat(destination_path(), &status) == 0;
    if (destination == DESTINATION_FILE)
        expect_old("x");
    if (destination == DESTINATION_LINK)
        expect_old("other");
    return destination == DESTINATION_FILE     ? exists && S_ISREG(status.st_mode)
           : destination == DESTINATION_FOLDER ? exists && S_ISDIR(status.st_mode)
           : destination == DESTINATION_LINK   ? exists && S_ISLNK(status.st_mode)
           : destination == DESTINATION_FIFO   ? exists && S_ISFIFO(status.st_mode)
                                               : !exists;
}

bool destination_check(enum destination destination, enum tbed_status result, unsigned mode)
{
    struct stat status;
    bool was_there = destination >= DESTINATION_FILE && destination <= DESTINATION_FIFO;
    if (current >= 0) {
        REQUIRE(fchdir(current) == 0 && close(current) == 0);
        current = -1;
    }
    size_t expected = was_there || result == TBED_OK;
    REQUIRE(count_entries() == expected + (destination == DESTINATION_LINK));
    if (result != TBED_OK) {
        REQUIRE(is_unchanged(destination));
        return false;
    }
    REQUIRE(destination_status(destination, true) == TBED_OK);
    REQUIRE(lstat(destination_path(), &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1);
    REQUIRE((status.st_mode & 07777 & ~(0600u | mode)) == 0 && (status.st_mode & 0600) == 0600);
    return true;
}
