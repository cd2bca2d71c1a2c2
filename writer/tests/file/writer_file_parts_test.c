/*
 * The file under a writer, one piece at a time: how it grows, and its descriptor, which the program may close at any
 * time and whose number it may use for another file.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/tests/sanitizer.h"
#include "writer/file/file.h"
#include "writer/file/usable.h"
#include "writer/tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* For checks in a child process, where most of this runs because it cannot be undone. */
#define NEED(holds)                                                                                          \
    do {                                                                                                     \
        if (!(holds))                                                                                        \
            return __LINE__ % 256;                                                                           \
    } while (0)

static void passes_in_a_child(int (*body)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(body());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0); /* 0, or the line that failed, modulo 256 */
}

static int new_file(const char *name, char path[256])
{
    snprintf(path, 256, "%s", test_path(name));
    unlink(path);
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static uint64_t size_of(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 ? (uint64_t)status.st_size : UINT64_MAX;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* ---- Growing ---- */

/* Simulates a file system or a kernel without fallocate(). */
static bool refuse_fallocate(uint32_t system_errno)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | system_errno),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/*
 * Grows files between all sizes around multiples of the page size; old bytes must be kept, and new ones must be zero.
 */
static int grow_by_steps(void)
{
    static const uint64_t sizes[] = {0, 1, 4095, 4096, 4097, 12288, 20000};
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    static uint8_t bytes[20001];
    char path[256];
    for (size_t from = 0; from < COUNT; from++)
        for (size_t to = 0; to < COUNT; to++) {
            int fd = new_file("grown", path);
            memset(bytes, 7, sizeof bytes);
            NEED(write(fd, bytes, sizes[from]) == (ssize_t)sizes[from]);
            if (to > from)
                NEED(tbed_file_extend(fd, sizes[from], sizes[to]) == 0);
            uint64_t size = sizes[to > from ? to : from];
            NEED(size_of(fd) == size);
            NEED(pread(fd, bytes, sizeof bytes, 0) == (ssize_t)size);
            for (size_t i = 0; i < size; i++)
                NEED(bytes[i] == (i < sizes[from] ? 7 : 0));
            close(fd);
        }
    return 0;
}

static int grow_with_fallocate(void)
{
    char path[256];
    struct stat status;
    int fd = new_file("allocated", path);
    NEED(tbed_file_extend(fd, 0, 1 << 20) == 0 && fstat(fd, &status) == 0);
    NEED(status.st_blocks * 512 >= 1 << 20); /* the disk space is allocated */
    NEED(tbed_file_extend(-1, 0, 4096) == EBADF);
    return grow_by_steps();
}

static int grow_without_fallocate(uint32_t system_errno)
{
    char path[256];
    int fd = new_file("written", path);
    NEED(refuse_fallocate(system_errno));
    NEED(tbed_file_extend(fd, 0, 8192) == 0 && size_of(fd) == 8192);
    NEED(tbed_file_extend(fd, 0, 4096) == 0 && size_of(fd) == 8192); /* it has grown already */
    int locked = fcntl(fd, F_GETLK, &(struct flock){.l_type = F_WRLCK, .l_len = 1});
    NEED(locked == 0);
    int read_only = open(path, O_RDONLY | O_CLOEXEC);
    NEED(tbed_file_extend(read_only, 8192, 12288) == EBADF && size_of(fd) == 8192);
    return grow_by_steps();
}

static int grow_on_a_system_that_cannot(void)
{
    return grow_without_fallocate(EOPNOTSUPP);
}

static int grow_on_an_old_kernel(void)
{
    return grow_without_fallocate(ENOSYS);
}

static int grow_on_a_full_disk(void)
{
    char path[256];
    int fd = new_file("full", path);
    NEED(refuse_fallocate(ENOSPC));
    NEED(tbed_file_extend(fd, 0, 4096) == ENOSPC && size_of(fd) == 0);
    return 0;
}

/* A timer may signal faster than the file system can allocate. The lock of the file's size is held meanwhile. */
static int grow_where_every_call_is_interrupted(void)
{
    char path[256];
    int fd = new_file("interrupted", path);
    NEED(refuse_fallocate(EINTR));
    NEED(tbed_file_extend(fd, 0, 4096) == EINTR && size_of(fd) == 0);
    return 0;
}

/* The lock must be released, so that the next process does not wait. */
static int two_grow_one_after_the_other(void)
{
    char path[256];
    int status, fd = new_file("two", path);
    NEED(refuse_fallocate(EOPNOTSUPP));
    NEED(tbed_file_extend(fd, 0, 4096) == 0);
    pid_t child = fork();
    if (child == 0) {
        struct flock range = {.l_type = F_WRLCK, .l_len = 1};
        _exit(fcntl(fd, F_SETLK, &range) != 0);
    }
    NEED(waitpid(child, &status, 0) == child && status == 0);
    return 0;
}

static int grow_up_to_the_limit(void)
{
    char path[256];
    int fd = new_file("limited", path);
    signal(SIGXFSZ, SIG_DFL); /* the default action kills the process */
    NEED(setrlimit(RLIMIT_FSIZE, &(struct rlimit){8192, 8192}) == 0);
    NEED(tbed_file_extend(fd, 0, 8192) == 0 && size_of(fd) == 8192);
    NEED(tbed_file_extend(fd, 8192, 8193) == EFBIG && size_of(fd) == 8192);
    return 0;
}

/* If there is no room for a step, there may be room for a page: events are dropped only when the last page is full. */
static int record_up_to_the_limit(void)
{
    const uint64_t limit = (5 << 20) + 3 * 65536 + 100;
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true, .page_nbytes = 65536};
    struct tbed_writer *writer = NULL;
    struct stat status;
    const char *path = test_path("recorded");
    NEED(setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit}) == 0);
    NEED(tbed_writer_open(path, &options, &writer, NULL) == TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, "main");
    for (uint32_t i = 0; i < 2 * limit / 8 && tbed_writer_drop_count(writer, TBED_DROP_SIZE_LIMIT) == 0; i++)
        tbed_instant_record(recorder, i);
    NEED(tbed_writer_drop_count(writer, TBED_DROP_SIZE_LIMIT) == 1);
    NEED(stat(path, &status) == 0 && (uint64_t)status.st_size == limit / 65536 * 65536);
    tbed_writer_close(writer);
    NEED(stat(path, &status) == 0 && (uint64_t)status.st_size == limit / 65536 * 65536);
    return 0;
}

static void a_file_grows_with_what_the_system_has(void **state)
{
    (void)state;
    passes_in_a_child(grow_with_fallocate);
    passes_in_a_child(grow_where_every_call_is_interrupted);
    passes_in_a_child(grow_on_a_system_that_cannot);
    passes_in_a_child(grow_on_an_old_kernel);
    passes_in_a_child(grow_on_a_full_disk);
    passes_in_a_child(two_grow_one_after_the_other);
    passes_in_a_child(grow_up_to_the_limit);
    passes_in_a_child(record_up_to_the_limit);
}

/* ---- The descriptor ---- */

static struct tbed_live live;

static struct tbed_file file_of(const char *name)
{
    struct tbed_file file = {.live = &live, .page_shift = 12};
    struct tbed_error error = {.status = TBED_OK};
    file.fd = tbed_descriptor_raise(new_file(name, file.path));
    assert_true(file.fd >= 48 && fcntl(file.fd, F_GETFD) == FD_CLOEXEC);
    assert_int_equal(ftruncate(file.fd, 8192), 0);
    assert_int_equal(tbed_descriptor_remember(&file, &error), TBED_OK);
    assert_true(tbed_descriptor_is_ours(&file));
    return file;
}

static void a_number_is_raised_and_the_old_one_closed(void **state)
{
    char path[256];
    (void)state;
    int low = new_file("raised", path), high = tbed_descriptor_raise(low);
    assert_true(low < 48 && high >= 48 && high < 64);
    assert_false(is_open(low));
    int copy = tbed_descriptor_copy(high);
    assert_true(copy >= 48 && copy != high && is_open(high));
    assert_int_equal(fcntl(copy, F_GETFD), FD_CLOEXEC);
    close(copy);
    close(high);
    assert_int_equal(tbed_descriptor_raise(-1), -1);
    assert_int_equal(tbed_descriptor_copy(-1), -1);
}

static int raise_where_numbers_end_early(void)
{
    char path[256];
    int fd = new_file("few", path);
    struct tbed_file file = {.live = &live, .fd = fd, .page_shift = 12};
    NEED(tbed_descriptor_remember(&file, NULL) == TBED_OK);
    NEED(setrlimit(RLIMIT_NOFILE, &(struct rlimit){40, 40}) == 0);
    NEED(tbed_descriptor_raise(fd) == fd && is_open(fd));
    int copy = tbed_descriptor_copy(fd);
    NEED(copy >= 0 && copy < 40 && copy != fd);
    NEED(tbed_descriptor_borrow(&file) == fd); /* no other descriptor is available */
    tbed_descriptor_return(&file, fd);
    NEED(is_open(fd));
    close(fd);
    NEED(tbed_descriptor_borrow(&file) == -1);
    return 0;
}

static void with_few_descriptors_any_number_will_do(void **state)
{
    (void)state;
    passes_in_a_child(raise_where_numbers_end_early);
}

static void a_borrowed_descriptor_is_given_back(void **state)
{
    (void)state;
    struct tbed_file file = file_of("borrowed");
    int fd = tbed_descriptor_borrow(&file);
    assert_true(fd >= 500 && fd != file.fd && size_of(fd) == 8192);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    tbed_descriptor_return(&file, fd);
    assert_false(is_open(fd));
    assert_true(is_open(file.fd));
    fd = tbed_descriptor_borrow(&file);
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(other, fd), fd); /* the program closed it and opened a file of its own */
    tbed_descriptor_return(&file, fd);
    assert_true(is_open(fd));
    assert_int_equal(dup2(other, file.fd), file.fd);
    assert_false(tbed_descriptor_is_ours(&file));
    assert_int_equal(tbed_descriptor_borrow(&file), -1);
    tbed_descriptor_return(&file, -1);
    close(fd);
    close(other);
    close(file.fd);
}

static void a_file_is_known_by_its_id(void **state)
{
    (void)state;
    struct tbed_file file = file_of("known");
    tbed_le64 id = tbed_le64_make(0x1234);
    assert_int_equal(pwrite(file.fd, &id, sizeof id, offsetof(struct tbed_disk_header, file_id)), sizeof id);
    assert_true(tbed_descriptor_has(file.fd, 0x1234));
    assert_false(tbed_descriptor_has(file.fd, 0x1235));
    assert_false(tbed_descriptor_has(-1, 0x1234));
    int null = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_false(tbed_descriptor_has(null, 0)); /* it would read as zeros */
    close(null);
    assert_int_equal(ftruncate(file.fd, 10), 0);
    assert_false(tbed_descriptor_has(file.fd, 0x1234));
    close(file.fd);
}

static void a_new_file_replaces_and_follows_nothing(void **state)
{
    char path[256], link[256];
    struct stat status;
    (void)state;
    snprintf(path, sizeof path, "%s", test_path("created"));
    snprintf(link, sizeof link, "%s", test_path("link"));
    unlink(path);
    unlink(link);
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(tbed_file_create(link), -1);
    int fd = tbed_file_create(path);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(tbed_file_create(path), -1);
    assert_int_equal(size_of(fd), 1);
    close(fd);
}

/* The first page alone, because many processes need no more. */
static void a_file_grows_in_steps_after_its_first_page(void **state)
{
    (void)state;
    struct tbed_writer_options options = {.page_nbytes = 4096, .no_helper = true};
    struct tbed_writer *writer = test_writer_open(test_path("steps.tbed"), &options);
    struct tbed_file *file = tbed_file_of(writer);
    enum tbed_drop_cause cause;
    uint64_t before = file->growth.backed_pages;
    file->growth.step_nbytes = 0;
    assert_true(tbed_file_back(file, before, &cause));
    assert_int_equal(file->growth.backed_pages, before + 1);
    assert_true(tbed_file_back(file, before + 1, &cause));
    assert_true(file->growth.backed_pages > before + 2);
    tbed_writer_free(writer);
}

static void a_sandbox_has_the_bytes_that_it_was_promised(void **state)
{
    (void)state;
    struct tbed_writer_options options = {.page_nbytes = 4096, .no_helper = true};
    for (uint64_t nbytes = 1; nbytes < 200 * 4096; nbytes = 3 * nbytes + 4096) {
        struct tbed_writer *writer = test_writer_open(test_path("sandbox.tbed"), &options);
        uint64_t ready = tbed_sandbox_enter(writer, nbytes);
        tbed_sandbox_leave();
        assert_in_range(ready, nbytes, 16 << 20);
        tbed_writer_free(writer);
    }
}

static void a_ring_of_too_many_pages_is_refused(void **state)
{
    (void)state;
    struct tbed_writer_options options = {.size = sizeof options,
                                          .page_nbytes = 4096,
                                          .ring_nbytes = UINT32_MAX / 2 * UINT64_C(4096),
                                          .max_file_nbytes = UINT64_C(1) << 46};
    struct tbed_writer *writer;
    assert_int_equal(tbed_writer_open(test_path("ring.tbed"), &options, &writer, NULL), TBED_ERR_ARGUMENT);
}

/* Returns whether the file has a shared lock, which makes an exclusive one fail. */
static bool is_locked(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool failed = flock(fd, LOCK_EX | LOCK_NB) != 0;
    close(fd);
    return failed;
}

static void a_closed_descriptor_is_opened_again(void **state)
{
    (void)state;
    struct tbed_file file = file_of("again");
    int old = file.fd;
    assert_true(tbed_descriptor_reopen(&file)); /* a new open file description, with a lock of its own */
    assert_true(tbed_descriptor_is_ours(&file) && file.fd >= 48 && is_locked(file.path));
    assert_false(file.fd != old && is_open(old));
    assert_int_equal(file.growth.backed_pages, 2);
    close(file.fd);
    assert_true(tbed_descriptor_reopen(&file)); /* by its path */
    assert_true(tbed_descriptor_is_ours(&file) && is_locked(file.path));
    assert_int_equal(write(file.fd, "x", 1), 1);
    unlink(file.path);
    assert_true(tbed_descriptor_reopen(&file)); /* by its descriptor */
    assert_true(tbed_descriptor_is_ours(&file));
    int held = dup(file.fd); /* keeps the inode from being reused, as the map does */
    close(file.fd);
    assert_false(tbed_descriptor_reopen(&file));
    close(open(file.path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)); /* the path now names another file */
    assert_false(tbed_descriptor_reopen(&file));
    assert_int_equal(file.fd, -1);
    close(held);
}

static int reopen_as_number_zero(void)
{
    struct tbed_file file = file_of("zero");
    close(0);
    NEED(tbed_descriptor_reopen(&file));
    NEED(!is_open(0)); /* the number that the system gave was raised, and nothing else was opened */
    return 0;
}

static int close_as_number_zero(void)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true};
    struct tbed_disk_header header;
    struct tbed_writer *writer = NULL;
    const char *path = test_path("zero.tbed");
    for (int i = 0; i < 500; i++)
        close(i);
    NEED(setrlimit(RLIMIT_NOFILE, &(struct rlimit){1, 1}) == 0);
    NEED(tbed_writer_open(path, &options, &writer, NULL) == TBED_OK);
    NEED(tbed_file_of(writer)->fd == 0);
    tbed_writer_close(writer);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    NEED(fd == 0 && pread(fd, &header, sizeof header, 0) == sizeof header);
    NEED(tbed_le32_load(header.state) == TBED_STATE_SHUT);
    return 0;
}

/* A program that has closed its standard input gets 0 from open(). */
static void zero_is_a_descriptor_like_others(void **state)
{
    (void)state;
    passes_in_a_child(reopen_as_number_zero);
    passes_in_a_child(close_as_number_zero);
}

/* 50 ms, in which a loop without pauses would use up its attempts. */
static void *unlock_after_a_while(void *fd)
{
    usleep(50000);
    flock(*(const int *)fd, LOCK_UN);
    return NULL;
}

static void a_lock_that_another_holds_for_a_moment_is_waited_for(void **state)
{
    (void)state;
    struct tbed_file file = file_of("held");
    int holder = open(file.path, O_RDONLY | O_CLOEXEC);
    pthread_t thread;
    assert_int_equal(flock(holder, LOCK_EX), 0);
    assert_int_equal(pthread_create(&thread, NULL, unlock_after_a_while, &holder), 0);
    assert_int_equal(tbed_descriptor_share(file.fd), 0);
    assert_true(is_locked(file.path));
    pthread_join(thread, NULL);
    close(holder);
    close(file.fd);
}

static void a_duplicate_is_of_our_file(void **state)
{
    (void)state;
    struct tbed_file file = file_of("duplicate");
    int fd = tbed_descriptor_duplicate(&file);
    assert_true(fd >= 48 && fd != file.fd && size_of(fd) == 8192);
    close(fd);
    close(file.fd);
    fd = tbed_descriptor_duplicate(&file); /* by its path */
    assert_true(fd >= 0 && size_of(fd) == 8192);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
    assert_true(tbed_lock_take(&live.rotate_lock)); /* a rotation is under way */
    errno = 0;
    assert_int_equal(tbed_descriptor_duplicate(&file), -1);
    assert_int_equal(errno, EBUSY);
    tbed_lock_give(&live.rotate_lock);
    unlink(file.path);
    assert_int_equal(tbed_descriptor_duplicate(&file), -1);
}

static void a_process_lives_as_long_as_its_open_file(void **state)
{
    (void)state;
    struct tbed_file file = file_of("processes"), other = file;
    file.process.stream = 5;
    other.fd = open(file.path, O_RDWR | O_CLOEXEC);
    assert_false(tbed_process_lives(&other, 5));
    tbed_process_announce(&file);
    struct flock range = {.l_type = F_WRLCK, .l_start = ((off_t)1 << 62) + 5, .l_len = 1};
    assert_int_equal(fcntl(other.fd, F_OFD_GETLK, &range), 0);
    assert_int_equal(range.l_type, F_WRLCK); /* the byte that the specification names */
    assert_true(tbed_process_lives(&other, 5));
    assert_false(tbed_process_lives(&other, 4));
    assert_false(tbed_process_lives(&other, 6));
    close(file.fd);
    assert_false(tbed_process_lives(&other, 5));
    int fd = other.fd;
    close(fd);
    assert_true(tbed_process_lives(&other, 5)); /* unknown counts as alive */
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_int_equal(dup2(null, fd), fd); /* the number belongs to another file now */
    assert_true(tbed_process_lives(&other, 5));
    close(null);
    close(fd);
}

/* ---- Shutting and switching ---- */

/* Shuts a file of two pages whose header says that 'claimed' are claimed, through 'fd' (-1: the file's own). */
static bool is_shut(uint64_t claimed, int fd, uint64_t *nbytes_ret)
{
    struct tbed_file file = file_of("shut");
    struct tbed_disk_header *header = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
    assert_true(header != MAP_FAILED);
    header->file_id = tbed_le64_make(0x1234);
    header->page_count = tbed_le64_make(claimed);
    header->state = tbed_le32_make(TBED_STATE_OPEN);
    bool result = tbed_file_shut((uint8_t *)header, 8192, 4096, fd >= 0 ? fd : file.fd);
    assert_true(result || errno == EIO);
    assert_int_equal(tbed_le32_load(header->state), result ? TBED_STATE_SHUT : TBED_STATE_OPEN);
    munmap(header, 8192);
    *nbytes_ret = size_of(file.fd);
    close(file.fd);
    return result;
}

static void a_file_is_shut_only_if_it_has_all_its_pages(void **state)
{
    (void)state;
    uint64_t nbytes;
    assert_true(is_shut(2, -1, &nbytes));
    assert_int_equal(nbytes, 8192);
    assert_true(is_shut(1, -1, &nbytes)); /* the unclaimed page is cut off */
    assert_int_equal(nbytes, 4096);
    assert_false(is_shut(3, -1, &nbytes)); /* a claimed page is missing */
    assert_int_equal(nbytes, 8192);
    struct tbed_file other = file_of("other");
    assert_false(is_shut(1, other.fd, &nbytes));
    assert_int_equal(nbytes, 8192);
    assert_int_equal(size_of(other.fd), 8192);
    close(other.fd);
}

/* Leaves this process so many MiB of addresses. */
static bool addresses_limit(unsigned left)
{
    unsigned long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (statm == NULL || fscanf(statm, "%lu", &pages) != 1)
        return false;
    fclose(statm);
    rlim_t most = (rlim_t)pages * 4096 + ((rlim_t)left << 20);
    return setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) == 0;
}

static void passes_in_little_space(int (*run)(void))
{
#if TEST_IS_SANITIZED
    skip(); /* the sanitizer needs the address space */
#endif
    passes_in_a_child(run);
}

/* A map of 32 MiB would do for the moment, but not for what is recorded. */
static int map_where_memory_is_short(void)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true};
    struct tbed_writer *writer = NULL;
    struct tbed_error error;
    NEED(addresses_limit(48));
    NEED(tbed_writer_open(test_path("short"), &options, &writer, &error) == TBED_ERR_MAP);
    NEED(writer == NULL && error.system_errno == ENOMEM);
    return 0;
}

static void a_small_map_will_not_do(void **state)
{
    (void)state;
    passes_in_little_space(map_where_memory_is_short);
}

/* A program that maps three quarters of what it may map can do so while it is traced. */
static int map_beside_a_trace(void)
{
    struct tbed_writer_options options = {.size = sizeof options, .no_helper = true};
    struct tbed_writer *writer = NULL;
    NEED(addresses_limit(2048));
    NEED(tbed_writer_open(test_path("beside"), &options, &writer, NULL) == TBED_OK);
    NEED(mmap(NULL, (size_t)1536 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
    tbed_writer_close(writer);
    return 0;
}

static void a_trace_takes_little_of_a_limited_address_space(void **state)
{
    (void)state;
    passes_in_little_space(map_beside_a_trace);
}

/* Files of 1 GiB are asked for, and the map has 64 MiB: the next file comes in time for what 64 MiB cannot hold. */
static int rotate_where_memory_is_short(void)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .no_helper = true, .rotate_nbytes = 1 << 30, .rotate_keep = 1};
    struct tbed_writer *writer = NULL;
    NEED(addresses_limit(256));
    NEED(tbed_writer_open(test_path("short-series"), &options, &writer, NULL) == TBED_OK);
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    for (unsigned i = 0; i < (72 << 20) / 8; i++)
        tbed_instant_record(recorder, 1);
    NEED(tbed_writer_drop_count(writer, TBED_DROP_SIZE_LIMIT) == 0);
    tbed_writer_close(writer);
    return 0;
}

static void a_series_goes_on_in_a_limited_address_space(void **state)
{
    (void)state;
    passes_in_little_space(rotate_where_memory_is_short);
}

/* The map may be smaller than the limit of the file, but not than a ring. */
static int map_rings_where_memory_is_short(void)
{
    struct tbed_writer_options options = {
        .size = sizeof options, .no_helper = true, .page_nbytes = 1 << 20, .ring_nbytes = 104 << 20};
    struct tbed_writer *writer = NULL;
    struct tbed_error error;
    NEED(addresses_limit(100));
    NEED(tbed_writer_open(test_path("ring"), &options, &writer, &error) == TBED_ERR_MAP);
    NEED(writer == NULL && error.system_errno == ENOMEM && access(test_path("ring"), F_OK) != 0);
    options.ring_nbytes = 32 << 20;
    NEED(tbed_writer_open(test_path("ring"), &options, &writer, &error) == TBED_OK);
    tbed_writer_close(writer);
    return 0;
}

static void a_ring_is_mapped_completely(void **state)
{
    (void)state;
    passes_in_little_space(map_rings_where_memory_is_short);
}

static void a_file_that_cannot_be_mapped_changes_nothing(void **state)
{
    (void)state;
    struct tbed_file file = file_of("switched");
    int old = file.fd, read_only = open(file.path, O_RDONLY | O_CLOEXEC);
    ino_t inode = file.inode;
    file.map_nbytes = 8192;
    file.map = mmap(NULL, file.map_nbytes, PROT_READ | PROT_WRITE, MAP_SHARED, old, 0);
    assert_true(file.map != MAP_FAILED);
    file.map[5000] = 7;
    assert_false(tbed_file_switch(&file, read_only, 1));
    assert_false(tbed_file_switch(&file, -1, 1));
    assert_int_equal(file.fd, old);
    assert_int_equal(file.inode, inode);
    assert_int_equal(file.map[5000], 7);
    munmap(file.map, file.map_nbytes);
    close(read_only);
    close(old);
}

/* ---- Closing ---- */

/* A close waits for those who are in the map. Nobody can enter one that is closed, nor even try: it cannot be written. */
static int a_drop_after_the_close(void)
{
    struct tbed_live *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(shared != MAP_FAILED);
    struct tbed_file file = {.live = shared, .is_closed = true};
    shared->pid = (uint32_t)getpid();
    shared->alive = 1;
    NEED(mprotect(shared, sizeof *shared, PROT_READ) == 0);
    tbed_drop(&file, TBED_DROP_CLOSED, 3);
    NEED(file.drops.after_close == 3);
    return 0;
}

static void drops_after_the_close_are_not_waited_for(void **state)
{
    (void)state;
    passes_in_a_child(a_drop_after_the_close);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_grows_with_what_the_system_has),
        cmocka_unit_test(a_number_is_raised_and_the_old_one_closed),
        cmocka_unit_test(with_few_descriptors_any_number_will_do),
        cmocka_unit_test(a_borrowed_descriptor_is_given_back),
        cmocka_unit_test(a_file_is_known_by_its_id),
        cmocka_unit_test(a_new_file_replaces_and_follows_nothing),
        cmocka_unit_test(a_file_grows_in_steps_after_its_first_page),
        cmocka_unit_test(a_sandbox_has_the_bytes_that_it_was_promised),
        cmocka_unit_test(a_ring_of_too_many_pages_is_refused),
        cmocka_unit_test(a_closed_descriptor_is_opened_again),
        cmocka_unit_test(zero_is_a_descriptor_like_others),
        cmocka_unit_test(a_lock_that_another_holds_for_a_moment_is_waited_for),
        cmocka_unit_test(a_duplicate_is_of_our_file),
        cmocka_unit_test(a_process_lives_as_long_as_its_open_file),
        cmocka_unit_test(a_file_is_shut_only_if_it_has_all_its_pages),
        cmocka_unit_test(a_small_map_will_not_do),
        cmocka_unit_test(a_trace_takes_little_of_a_limited_address_space),
        cmocka_unit_test(a_series_goes_on_in_a_limited_address_space),
        cmocka_unit_test(a_ring_is_mapped_completely),
        cmocka_unit_test(a_file_that_cannot_be_mapped_changes_nothing),
        cmocka_unit_test(drops_after_the_close_are_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
