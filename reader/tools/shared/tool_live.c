/*
 * Detects whether a trace is being written.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/tools/shared/tool.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/*
 * Writers hold a shared flock. Trying to take the lock could disturb a writer that is closing the file, so the kernel's
 * list of locks is read instead. It may be incomplete in containers and on some file systems.
 */
bool tool_is_written(const char *path)
{
    struct stat status;
    FILE *locks = stat(path, &status) == 0 ? fopen("/proc/locks", "re") : NULL;
    if (locks == NULL)
        return false;
    char line[256], kind[16];
    unsigned device_major, device_minor;
    uint64_t inode;
    bool found = false;
    while (!found && fgets(line, sizeof line, locks) != NULL)
        found = sscanf(line, "%*s %15s %*s %*s %*s %x:%x:%" SCNu64, kind, &device_major, &device_minor,
                       &inode) == 4 &&
                strcmp(kind, "FLOCK") == 0 && inode == status.st_ino &&
                device_major == major(status.st_dev) && device_minor == minor(status.st_dev);
    fclose(locks);
    return found;
}
