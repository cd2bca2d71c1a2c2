/*
 * Finds the file that a command starts, and checks that the recorder can be loaded into it. The loader would
 * silently continue without the recorder and leave the user with an empty trace, so it is better to say so first.
 *
 * In case of doubt the check passes: the kernel has the last word. Nothing is allocated and no lock is taken, because
 * the preloaded libraries call this in children of vfork() and in signal handlers.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "writer/capture/launch/launch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPT_DEPTH_MAX 5 /* the kernel's */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE /* nothing can be recorded here */
#endif

#ifdef __GLIBC__
#define OUR_LIBRARY_IS_MUSL false
#else
#define OUR_LIBRARY_IS_MUSL true
#endif

/* ---- Searching PATH as execvp() does ---- */

static enum launch_verdict look_at(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return errno == EACCES ? LAUNCH_NOT_ALLOWED : LAUNCH_MISSING;
    return S_ISREG(status.st_mode) && access(path, X_OK) == 0 ? LAUNCH_FINE : LAUNCH_NOT_ALLOWED;
}

static enum launch_verdict search(const char *name, char path[PATH_MAX])
{
    const char *folders = getenv("PATH");
    enum launch_verdict worst = LAUNCH_MISSING;
    if (folders == NULL)
        folders = "/bin:/usr/bin";
    for (;;) {
        const char *end = strchrnul(folders, ':');
        int nbytes = (int)(end - folders);
        int needed = snprintf(path, PATH_MAX, "%.*s%s%s", nbytes, folders, nbytes > 0 ? "/" : "", name);
        enum launch_verdict verdict = needed < PATH_MAX ? look_at(path) : LAUNCH_MISSING;
        if (verdict == LAUNCH_FINE)
            return verdict;
        if (verdict == LAUNCH_NOT_ALLOWED)
            worst = verdict;
        if (*end == '\0')
            break;
        folders = end + 1;
    }
    snprintf(path, PATH_MAX, "%s", name);
    return worst;
}

static enum launch_verdict find(const char *name, bool searches, char path[PATH_MAX])
{
    bool fits = snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
    if (!fits || name[0] == '\0')
        return LAUNCH_MISSING;
    return searches && strchr(name, '/') == NULL ? search(name, path) : look_at(path);
}

/* ---- The file's contents ---- */

static bool read_at(int fd, void *to, size_t nbytes, uint64_t offset)
{
    return pread(fd, to, nbytes, (off_t)offset) == (ssize_t)nbytes;
}

/* A process has one C library, which its loader belongs to, and the recorder needs the one that it was built for. */
static enum launch_verdict check_loader(int fd, const ElfW(Phdr) * segment)
{
    char path[256] = "";
    size_t nbytes = segment->p_filesz < sizeof path ? segment->p_filesz : sizeof path - 1;
    if (!read_at(fd, path, nbytes, segment->p_offset))
        return LAUNCH_FINE;
    bool is_musl = strstr(path, "/ld-musl-") != NULL;
    return is_musl == OUR_LIBRARY_IS_MUSL ? LAUNCH_FINE : LAUNCH_OTHER_LIBRARY;
}

static enum launch_verdict check_elf(int fd)
{
    ElfW(Ehdr) header;
    ElfW(Phdr) segment;
    if (!read_at(fd, &header, sizeof header, 0) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_machine != OUR_MACHINE)
        return LAUNCH_OTHER_MACHINE;
    for (size_t i = 0; i < header.e_phnum; i++) {
        if (!read_at(fd, &segment, sizeof segment, header.e_phoff + i * header.e_phentsize))
            return LAUNCH_FINE;
        if (segment.p_type == PT_INTERP)
            return check_loader(fd, &segment);
    }
    return LAUNCH_STATIC;
}

/* The interpreter named by a "#! name argument" line. */
static bool script_interpreter(char *line, char path[PATH_MAX])
{
    char *at = line + 2 + strspn(line + 2, " \t");
    at[strcspn(at, " \t\n")] = '\0';
    return at[0] != '\0' && snprintf(path, PATH_MAX, "%s", at) < PATH_MAX;
}

/* Follows one step; sets '*again_ret' if 'path' was replaced by the interpreter. */
static enum launch_verdict check_file(char path[PATH_MAX], bool *again_ret, bool *mentions_ruby_ret)
{
    char start[256];
    *again_ret = false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) /* executable but not readable */
        return LAUNCH_FINE;
    enum launch_verdict verdict = LAUNCH_FINE;
    ssize_t nbytes = pread(fd, start, sizeof start - 1, 0);
    start[nbytes > 0 ? nbytes : 0] = '\0';
    if (nbytes >= SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0)
        verdict = check_elf(fd);
    else if (strncmp(start, "#!", 2) == 0) {
        start[strcspn(start, "\n")] = '\0';
        *mentions_ruby_ret |= strstr(start, "ruby") != NULL; /* perhaps behind /usr/bin/env */
        *again_ret = script_interpreter(start, path);
    }
    close(fd);
    return verdict;
}

/* The kernel grants nothing after PR_SET_NO_NEW_PRIVS, nor on a file system mounted with nosuid. */
static bool may_gain(const char *path)
{
    struct statvfs system;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 &&
           (statvfs(path, &system) != 0 || (system.f_flag & ST_NOSUID) == 0);
}

static bool has_rights(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return false;
    return ((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
           ((status.st_mode & S_ISGID) && status.st_gid != getegid()) ||
           (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

enum launch_verdict launch_program_check(const char *name, bool searches, struct launch_program *program_ret)
{
    bool again = true;
    enum launch_verdict verdict = find(name, searches, program_ret->path);
    program_ret->is_script = program_ret->is_ruby_script = false;
    program_ret->is_privileged = false;
    for (int depth = 0; again && verdict == LAUNCH_FINE && depth <= SCRIPT_DEPTH_MAX; depth++) {
        program_ret->is_script = depth > 0;
        program_ret->is_privileged = has_rights(program_ret->path) && may_gain(program_ret->path);
        verdict = check_file(program_ret->path, &again, &program_ret->is_ruby_script);
        if (again)
            verdict = look_at(program_ret->path);
    }
    return verdict;
}
