/*
 * The file under a writer: made or joined, grown ahead of use, left, shut.
 *
 * Not here: what goes into its pages (page.c).
 * Source: spec/format.md, sections 3, 4.1 and 11.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/checksum.h"
#include "writer/file/private.h"

#define DESCRIPTOR_FLOOR     500 /* out of the way of programs that count on small numbers */
#define PROCESS_BYTES_OFFSET ((off_t)1 << 62)
#define MAP_NBYTES_MIN       ((uint64_t)64 << 20)

struct tbed_disk_header *tbed_shared(const struct tbed_writer *writer)
{
    return (struct tbed_disk_header *)writer->map;
}

/* A signal handler without SA_RESTART must not cost us the lock. */
static int lock_file(int fd, int operation)
{
    int result;
    do {
        result = flock(fd, operation);
    } while (result != 0 && errno == EINTR);
    return result;
}

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status, int system_errno)
{
    *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = UINT64_MAX};
    return status;
}

/* Every use of the descriptor asks first whether it is still our file: a daemon may have closed them all. */
bool tbed_file_descriptor_is_ours(const struct tbed_writer *writer)
{
    struct stat status;
    return fstat(writer->fd, &status) == 0 && status.st_dev == writer->device &&
           status.st_ino == writer->inode;
}

int tbed_file_duplicate(struct tbed_writer *writer)
{
    errno = EBUSY;
    if (!tbed_lock_take(
            &writer->live->rotate_lock)) /* or the descriptor might become another file's meanwhile */
        return -1;
    int fd = tbed_file_descriptor_is_ours(writer) ? fcntl(writer->fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR)
                                                  : open(writer->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    tbed_lock_give(&writer->live->rotate_lock);
    return fd;
}

static int descriptor_raise(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

/* Out of core dumps. And page by page, without what lies around them: a small process touches few. */
static void advise_few(void *map, uint64_t nbytes)
{
    madvise(map, nbytes, MADV_DONTDUMP);
    madvise(map, nbytes, MADV_RANDOM);
}

/*
 * In folios as large as the file allows: the kernel then zeroes and enters up to 2 MiB at once, which halves what a
 * page costs whoever faults it in. It never reaches past the file's end.
 */
static void advise_many(const struct tbed_writer *writer)
{
    madvise(writer->map, writer->map_nbytes, MADV_NORMAL);
    madvise(writer->map, writer->map_nbytes, MADV_HUGEPAGE);
}

/*
 * The lock belongs to the open file that the map was made from, and lasts as long as the map, whoever closes
 * our descriptor. So a forked child makes its map anew, from an open file of its own.
 */
bool tbed_file_remap(struct tbed_writer *writer)
{
    int protection = PROT_READ | PROT_WRITE, flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED;
    if (mmap(writer->map, writer->map_nbytes, protection, flags, writer->fd, 0) == MAP_FAILED)
        return false;
    advise_few(writer->map, writer->map_nbytes);
    return true;
}

bool tbed_file_reopen(struct tbed_writer *writer)
{
    char by_descriptor[32];
    snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", writer->fd);
    int old_fd = tbed_file_descriptor_is_ours(writer) ? writer->fd : -1;
    int fd = old_fd >= 0 ? open(by_descriptor, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        fd = open(writer->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    writer->fd = descriptor_raise(fd);
    if (!tbed_file_descriptor_is_ours(writer)) {
        close(writer->fd);
        writer->fd = -1;
        return false;
    }
    if (old_fd >= 0)
        close(old_fd);
    lock_file(writer->fd, LOCK_SH);
    struct stat status;
    fstat(writer->fd, &status);
    writer->backed_pages = (uint64_t)status.st_size >> writer->page_shift;
    return true;
}

void tbed_file_attach(struct tbed_writer *writer)
{
    struct tbed_disk_header *shared = tbed_shared(writer);
    /* First the state: a checksum of an open file means nothing, whatever happens to us before the end. */
    __atomic_store_n((uint32_t *)(void *)&shared->state, TBED_STATE_OPEN, __ATOMIC_RELEASE);
    tbed_word_store(&shared->closing_checksum, 0);
    tbed_shared_add(&shared->writer_count, 1);
}

/* ---- Flight recorders: which processes live ---- */

/*
 * A lock on a byte far beyond the file's end, as old as the open file that the map was made from: it outlives our
 * descriptor, and no killed process leaves it behind.
 */
static struct flock process_byte(uint32_t process)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = PROCESS_BYTES_OFFSET + process, .l_len = 1};
}

void tbed_file_announce(struct tbed_writer *writer)
{
    struct flock range = process_byte(writer->process_stream);
    while (fcntl(writer->fd, F_OFD_SETLK, &range) != 0 && errno == EINTR)
        continue;
}

/* If in doubt it does: its pages are then kept for it. */
bool tbed_file_process_lives(const struct tbed_writer *writer, uint32_t process)
{
    struct flock range = process_byte(process);
    return !tbed_file_descriptor_is_ours(writer) || fcntl(writer->fd, F_OFD_GETLK, &range) != 0 ||
           range.l_type != F_UNLCK;
}

/* ---- Growing ---- */

/* File systems without fallocate: zeros are written past the end, which belongs to nobody yet. */
static int extend_by_writing(int fd, uint64_t end)
{
    static const uint8_t zeros[4096];
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
    while (fcntl(fd, F_SETLKW, &range) != 0)
        if (errno != EINTR)
            return errno;
    struct stat status;
    int result = fstat(fd, &status) != 0 ? errno : 0;
    uint64_t at = (uint64_t)status.st_size;
    while (result == 0 && at < end) {
        size_t nbytes = end - at < sizeof zeros ? (size_t)(end - at) : sizeof zeros;
        ssize_t written = pwrite(fd, zeros, nbytes, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            result = written < 0 ? errno : ENOSPC;
        else
            at += (uint64_t)written;
    }
    range.l_type = F_UNLCK;
    fcntl(fd, F_SETLK, &range);
    return result;
}

/* Growing past RLIMIT_FSIZE would raise SIGXFSZ. */
static bool is_past_resource_limit(uint64_t end)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur;
}

int tbed_file_extend(int fd, uint64_t start, uint64_t end)
{
    if (is_past_resource_limit(end))
        return EFBIG;
    int result;
    do {
        result = fallocate(fd, 0, (off_t)start, (off_t)(end - start)) == 0 ? 0 : errno;
    } while (result == EINTR);
    return result == EOPNOTSUPP || result == ENOSYS ? extend_by_writing(fd, end) : result;
}

static enum tbed_drop_cause cause_of(int system_errno)
{
    switch (system_errno) {
    case ENOSPC:
    case EDQUOT:
        return TBED_DROP_DISK_FULL;
    case EFBIG:
        return TBED_DROP_SIZE_LIMIT;
    default:
        return TBED_DROP_IO_ERROR;
    }
}

/*
 * Grows by a step that keeps in proportion with the file; when that is too much, by a single page. So it does the
 * first time: most processes that join a trace need one page.
 */
static int grow_locked(struct tbed_writer *writer, uint64_t page)
{
    uint64_t start = writer->backed_pages << writer->page_shift;
    uint64_t needed = (page + 1) << writer->page_shift;
    uint64_t end = needed + writer->grow_nbytes;
    if (end > writer->map_nbytes)
        end = writer->map_nbytes;
    if (!tbed_file_descriptor_is_ours(writer) && !tbed_file_reopen(writer))
        return EIO;
    int result = tbed_file_extend(writer->fd, start, end);
    if (result != 0 && end != needed)
        result = tbed_file_extend(writer->fd, start, end = needed);
    if (result != 0)
        return result;
    __atomic_store_n(&writer->backed_pages, end >> writer->page_shift, __ATOMIC_RELEASE);
    if (writer->grow_nbytes == 0) {
        writer->grow_nbytes = TBED_GROW_NBYTES_MIN;
        return 0;
    }
    advise_many(writer);
    if (end > needed && writer->grow_nbytes < TBED_GROW_NBYTES_MAX && end / 4 > writer->grow_nbytes)
        writer->grow_nbytes *= 2;
    return 0;
}

bool tbed_file_back(struct tbed_writer *writer, uint64_t page, enum tbed_drop_cause *cause_ret)
{
    /* First: another process with a higher limit may have made the file longer than our map. */
    if (page >= UINT32_MAX || (page + 1) << writer->page_shift > writer->map_nbytes) {
        *cause_ret = TBED_DROP_SIZE_LIMIT;
        return false;
    }
    if (page < __atomic_load_n(&writer->backed_pages, __ATOMIC_ACQUIRE))
        return true;
    if (!tbed_lock_take(&writer->live->grow_lock)) {
        *cause_ret = TBED_DROP_INTERRUPTED;
        return false;
    }
    int kept_errno = errno, cancel_state = tbed_cancel_disable();
    int result = page < writer->backed_pages ? 0 : grow_locked(writer, page);
    tbed_cancel_restore(cancel_state);
    errno = kept_errno;
    tbed_lock_give(&writer->live->grow_lock);
    *cause_ret = cause_of(result);
    return result == 0;
}

/* ---- Opening ---- */

static uint32_t log2_of(uint32_t power_of_two)
{
    return (uint32_t)__builtin_ctz(power_of_two);
}

/* Address space for all that the file may become; less where the process is limited. */
static enum tbed_status map_file(struct tbed_writer *writer, uint64_t max_nbytes, struct tbed_error *error)
{
    uint64_t nbytes = max_nbytes & ~(uint64_t)(writer->page_nbytes - 1);
    for (;;) {
        void *map = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, writer->fd, 0);
        if (map != MAP_FAILED) {
            writer->map = map;
            writer->map_nbytes = nbytes;
            advise_few(map, nbytes);
            return TBED_OK;
        }
        /* valgrind says EINVAL for what is too much */
        if ((errno != ENOMEM && errno != EINVAL) || nbytes / 2 < MAP_NBYTES_MIN)
            return fail(error, TBED_ERR_MAP, errno);
        nbytes = nbytes / 2 & ~(uint64_t)(writer->page_nbytes - 1);
    }
}

uint64_t tbed_file_id_make(void)
{
    uint64_t id = 0;
    if (getrandom(&id, sizeof id, GRND_NONBLOCK) != (ssize_t)sizeof id || id == 0)
        id = (tbed_monotonic_ns() * 0x9E3779B97F4A7C15u ^ (uint64_t)getpid() << 32) | 1;
    return id;
}

static void header_fill(struct tbed_writer *writer, const struct tbed_writer_options *options)
{
    writer->fields.file_id = tbed_file_id_make();
    if (writer->fields.clock == TBED_CLOCK_USER && options->user_clock_unit != NULL)
        snprintf(writer->fields.clock_unit, sizeof writer->fields.clock_unit, "%s", options->user_clock_unit);
    tbed_clock_rate(writer);
    tbed_header_make(writer->map, &writer->fields);
    tbed_shared(writer)->next_reserved_id = tbed_le64_make(options->first_reserved_id);
}

static enum tbed_status create_file(struct tbed_writer *writer, const struct tbed_writer_options *options,
                                    struct tbed_error *error)
{
    uint32_t page_nbytes = options->page_nbytes != 0 ? options->page_nbytes : TBED_PAGE_NBYTES_DEFAULT;
    writer->page_nbytes = writer->fields.page_nbytes = page_nbytes;
    writer->page_shift = log2_of(page_nbytes);
    uint64_t max_nbytes =
        options->max_file_nbytes != 0 ? options->max_file_nbytes : TBED_DEFAULT_MAX_FILE_NBYTES;
    uint64_t ring_page_count = (options->ring_nbytes + page_nbytes - 1) / page_nbytes;
    if (options->ring_nbytes > UINT64_MAX / 2 || ring_page_count >= UINT32_MAX / 2)
        return fail(error, TBED_ERR_ARGUMENT, 0);
    writer->fields.ring_page_count = (uint32_t)ring_page_count;
    uint64_t least_nbytes = (ring_page_count + 1) * page_nbytes;
    if (max_nbytes < least_nbytes)
        return fail(error, TBED_ERR_ARGUMENT, 0);
    uint64_t first_nbytes = least_nbytes + page_nbytes; /* cells: all that a small process needs */
    if (max_nbytes < first_nbytes)
        first_nbytes = least_nbytes;
    int result = tbed_file_extend(writer->fd, 0, first_nbytes);
    if (result != 0)
        result = tbed_file_extend(writer->fd, 0, first_nbytes = least_nbytes);
    if (result != 0)
        return fail(error, result == ENOSPC || result == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_WRITE,
                    result);
    enum tbed_status status = map_file(writer, max_nbytes, error);
    if (status != TBED_OK)
        return status;
    writer->backed_pages = first_nbytes >> writer->page_shift;
    header_fill(writer, options);
    return TBED_OK;
}

static enum tbed_status join_file(struct tbed_writer *writer, const struct tbed_writer_options *options,
                                  struct tbed_error *error)
{
    union {
        struct tbed_disk_header header;
        uint8_t bytes[TBED_PAGE_NBYTES_MIN];
    } first;
    ssize_t nbytes = pread(writer->fd, &first, sizeof first, 0);
    if (nbytes < 0)
        return fail(error, TBED_ERR_READ, errno);
    struct stat status;
    fstat(writer->fd, &status);
    /* The check looks at 520 bytes and compares the page size with the size that it is told. */
    size_t told = nbytes < (ssize_t)sizeof first ? (size_t)nbytes : (size_t)status.st_size;
    enum tbed_status result = tbed_header_check(&first, told, &writer->fields, error);
    if (result != TBED_OK)
        return result;
    if (tbed_le64_load(first.header.compatible_flags) != 0) {
        fail(error, TBED_ERR_FLAGS, 0);
        error->offset = offsetof(struct tbed_disk_header, compatible_flags);
        return TBED_ERR_FLAGS;
    }
    if (tbed_le64_load(first.header.page_count) <= writer->fields.ring_page_count) {
        fail(error, TBED_ERR_PAGE_COUNT, 0);
        error->offset = offsetof(struct tbed_disk_header, page_count);
        return TBED_ERR_PAGE_COUNT;
    }
    writer->page_nbytes = writer->fields.page_nbytes;
    writer->page_shift = log2_of(writer->page_nbytes);
    if (!options->annotate && !tbed_clock_agrees(writer))
        return fail(error, TBED_ERR_CLOCK_DIFFERS, 0);
    if (options->annotate) /* its blocks begin where the trace does */
        writer->given_tick = writer->fields.anchor_ticks;
    uint64_t max_nbytes =
        options->max_file_nbytes != 0 ? options->max_file_nbytes : TBED_DEFAULT_MAX_FILE_NBYTES;
    if (max_nbytes < (uint64_t)status.st_size)
        max_nbytes = (uint64_t)status.st_size;
    writer->backed_pages = (uint64_t)status.st_size >> writer->page_shift;
    return map_file(writer, max_nbytes, error);
}

static enum tbed_status open_errno(struct tbed_error *error)
{
    return fail(error, errno == ENOSPC || errno == EDQUOT ? TBED_ERR_DISK_FULL : TBED_ERR_OPEN, errno);
}

/* The one who creates holds the file exclusively until its header is whole; who joins waits for that. */
static enum tbed_status open_new(struct tbed_writer *writer, const char *path, struct tbed_error *error)
{
    writer->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (writer->fd < 0)
        return errno == EEXIST ? fail(error, TBED_ERR_EXISTS, 0) : open_errno(error);
    lock_file(writer->fd, LOCK_EX);
    return TBED_OK;
}

static enum tbed_status open_existing(struct tbed_writer *writer, const char *path, struct tbed_error *error)
{
    struct stat status;
    writer->fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (writer->fd < 0)
        return open_errno(error);
    for (int tries = 0;; tries++) {
        lock_file(writer->fd, LOCK_SH);
        if (fstat(writer->fd, &status) != 0)
            return fail(error, TBED_ERR_OPEN, errno);
        if (!S_ISREG(status.st_mode))
            return fail(error, TBED_ERR_NOT_REGULAR, 0);
        if (status.st_size != 0 || tries == 1000)
            return TBED_OK;
        lock_file(writer->fd, LOCK_UN); /* its creator has not come to the lock yet */
        usleep(1000);
    }
}

static enum tbed_status refuse_what_is_no_file(const char *path, struct tbed_error *error)
{
    struct stat status;
    if (lstat(path, &status) != 0)
        return TBED_OK;
    if (S_ISDIR(status.st_mode))
        return fail(error, TBED_ERR_IS_DIRECTORY, 0);
    return S_ISREG(status.st_mode) ? TBED_OK : fail(error, TBED_ERR_NOT_REGULAR, 0);
}

static enum tbed_status remember_inode(struct tbed_writer *writer, struct tbed_error *error)
{
    struct stat status;
    if (fstat(writer->fd, &status) != 0)
        return fail(error, TBED_ERR_OPEN, errno);
    writer->device = status.st_dev;
    writer->inode = status.st_ino;
    return TBED_OK;
}

bool tbed_path_can_grow(const struct tbed_writer *writer)
{
    return writer->path[0] != 0 && strlen(writer->path) + TBED_NAME_GROWTH_NBYTES < sizeof writer->path;
}

static void remember_path(struct tbed_writer *writer, const char *path)
{
    size_t nbytes = strlen(path);
    size_t prefix = 0;
    if (path[0] != '/') {
        if (getcwd(writer->path, sizeof writer->path) == NULL)
            return; /* then it cannot be opened again by name; that is needed rarely */
        prefix = strlen(writer->path);
        writer->path[prefix++] = '/';
    }
    if (nbytes >= sizeof writer->path - prefix)
        writer->path[0] = 0;
    else
        memcpy(writer->path + prefix, path, nbytes + 1);
}

enum tbed_status tbed_file_open(struct tbed_writer *writer, const char *path,
                                const struct tbed_writer_options *options, struct tbed_error *error)
{
    writer->fd = -1;
    enum tbed_status status = refuse_what_is_no_file(path, error);
    if (status != TBED_OK)
        return status;
    if (options->overwrite && !options->join && unlink(path) != 0 && errno != ENOENT)
        return open_errno(error);
    status = open_new(writer, path, error);
    bool is_new = status == TBED_OK;
    if (status == TBED_ERR_EXISTS && options->join)
        status = open_existing(writer, path, error);
    if (status == TBED_OK) {
        writer->fd = descriptor_raise(writer->fd);
        remember_path(writer, path);
        status = remember_inode(writer, error);
    }
    if (status == TBED_OK && writer->rotation.is_wanted && !tbed_path_can_grow(writer))
        status = fail(error, TBED_ERR_ARGUMENT, 0);
    if (status == TBED_OK)
        status = is_new ? create_file(writer, options, error) : join_file(writer, options, error);
    if (status != TBED_OK) {
        if (is_new)
            unlink(path);
        if (writer->fd >= 0)
            close(writer->fd);
        return status;
    }
    tbed_file_attach(writer);
    if (is_new)
        lock_file(writer->fd, LOCK_SH);
    return TBED_OK;
}

static enum tbed_status take_empty(struct tbed_writer *writer, struct tbed_error *error)
{
    struct stat status;
    if (fstat(writer->fd, &status) != 0)
        return fail(error, TBED_ERR_OPEN, errno);
    if (S_ISDIR(status.st_mode))
        return fail(error, TBED_ERR_IS_DIRECTORY, 0);
    if (!S_ISREG(status.st_mode))
        return fail(error, TBED_ERR_NOT_REGULAR, 0);
    if (lock_file(writer->fd, LOCK_EX | LOCK_NB) != 0)
        return fail(error, TBED_ERR_BUSY, errno);
    if (status.st_size != 0)
        return fail(error, TBED_ERR_EXISTS, 0);
    return remember_inode(writer, error);
}

/* The copy of the descriptor is of the same open file, and so is its lock. */
enum tbed_status tbed_file_open_fd(struct tbed_writer *writer, int fd,
                                   const struct tbed_writer_options *options, struct tbed_error *error)
{
    writer->fd = fcntl(fd, F_DUPFD_CLOEXEC, DESCRIPTOR_FLOOR);
    if (writer->fd < 0)
        writer->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (writer->fd < 0)
        return open_errno(error);
    enum tbed_status status = take_empty(writer, error);
    if (status == TBED_OK) {
        status = create_file(writer, options, error);
        if (status != TBED_OK && ftruncate(writer->fd, 0) != 0)
            error->system_errno = errno;
    }
    if (status != TBED_OK) {
        if (status != TBED_ERR_BUSY)
            lock_file(writer->fd, LOCK_UN);
        close(writer->fd);
        return status;
    }
    tbed_file_attach(writer);
    lock_file(writer->fd, LOCK_SH);
    return TBED_OK;
}

/* ---- Files one after the other ---- */

int tbed_file_create(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    fd = descriptor_raise(fd);
    lock_file(fd, LOCK_SH);
    return fd;
}

int tbed_file_create_unnamed(const char *path)
{
    char folder[sizeof((struct tbed_writer *)NULL)->path];
    size_t nbytes = (size_t)(strrchr(path, '/') - path) + 1; /* it is absolute */
    memcpy(folder, path, nbytes);
    folder[nbytes] = 0;
    int fd = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    fd = descriptor_raise(fd);
    lock_file(fd, LOCK_SH);
    return fd;
}

bool tbed_file_name(int fd, const char *path)
{
    char by_descriptor[32];
    snprintf(by_descriptor, sizeof by_descriptor, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, by_descriptor, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

bool tbed_file_switch(struct tbed_writer *writer, int fd, uint64_t backed_pages)
{
    struct stat status;
    int old_fd = writer->fd;
    if (fstat(fd, &status) != 0)
        return false;
    writer->fd = fd;
    if (!tbed_file_remap(writer)) {
        writer->fd = old_fd;
        return false;
    }
    writer->device = status.st_dev;
    writer->inode = status.st_ino;
    writer->grow_nbytes = TBED_GROW_NBYTES_MIN;
    __atomic_store_n(&writer->backed_pages, backed_pages, __ATOMIC_RELEASE);
    tbed_file_attach(writer);
    return true;
}

/* ---- Leaving ---- */

bool tbed_file_shut(uint8_t *map, uint32_t page_nbytes, int fd)
{
    struct tbed_disk_header *shared = (struct tbed_disk_header *)map;
    uint64_t nbytes = tbed_shared_load(&shared->page_count) * page_nbytes;
    struct stat status;
    if (fstat(fd, &status) != 0 || ((uint64_t)status.st_size != nbytes && ftruncate(fd, (off_t)nbytes) != 0))
        return false;
    tbed_word_store(&shared->writer_count, 0);
    /* The state comes last: whoever is killed on the way leaves an open file, not one with a wrong checksum. */
    struct tbed_disk_header final = *shared;
    final.state = tbed_le32_make(TBED_STATE_SHUT);
    tbed_word_store(&shared->closing_checksum, tbed_closing_checksum_apart(&final, map, page_nbytes));
    __atomic_store_n((uint32_t *)(void *)&shared->state, TBED_STATE_SHUT, __ATOMIC_RELEASE);
    return true;
}

/*
 * Everybody who leaves tries, whoever was counted out last: two that leave at once may find each other's lock. A
 * failed try gives up one's own lock, so the last try succeeds. The header page is mapped anew: the old map is
 * gone, and with it the lock that the map was holding.
 */
static void shut_if_alone(int fd, uint32_t page_nbytes)
{
    if (lock_file(fd, LOCK_EX | LOCK_NB) != 0)
        return;
    void *header = mmap(NULL, page_nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (header == MAP_FAILED)
        return;
    if (tbed_shared_load(&((struct tbed_disk_header *)header)->writer_count) == 0)
        tbed_file_shut(header, page_nbytes, fd);
    munmap(header, page_nbytes);
}

void tbed_file_leave(int fd, uint32_t page_nbytes)
{
    shut_if_alone(fd, page_nbytes);
    lock_file(fd, LOCK_UN); /* a forked child may have the descriptor, too */
    close(fd);
}

/* A recorder that could not be stopped may still store into the map, so the map stays, and we as a writer
 * with it. */
void tbed_file_detach(struct tbed_writer *writer)
{
    bool has_file = tbed_file_descriptor_is_ours(writer) || tbed_file_reopen(writer);
    if (!writer->has_lost_recorder) {
        tbed_shared_add(&tbed_shared(writer)->writer_count, (uint64_t)-1);
        munmap(writer->map, writer->map_nbytes);
        if (has_file)
            shut_if_alone(writer->fd, writer->page_nbytes);
    }
    if (has_file) {
        if (!writer->has_lost_recorder)
            lock_file(writer->fd, LOCK_UN);
        close(writer->fd);
    }
    writer->fd = -1;
}
