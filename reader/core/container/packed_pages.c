/*
 * The plain bytes of a packed file; see packed_pages.h.
 *
 * The state of a unit is one word: whether it is absent, being unpacked, there, there for good, or damaged, and how many
 * leases hold it. Whoever changes a word from or to BUSY has the lock; a unit that is there is held by compare-and-swap.
 * Units that nobody holds are given back as a clock's hand passes over them for the second time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/core/container/packed_pages.h"
#include "reader/core/system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

/* 0: absent. */
#define UNIT_THERE   0x80000000u
#define UNIT_BUSY    0x40000000u
#define UNIT_DAMAGED 0x20000000u
#define UNIT_STAYS   0x10000000u /* there, until the file is closed; nobody counts who holds it */
#define UNIT_USED    0x08000000u /* since the hand was here */
#define UNIT_HOLDERS 0x07FFFFFFu

#define AHEAD_MAX 16u /* units */

/* What a thread needs to unpack. */
struct kit {
    struct kit *next;
    struct tbed_unpacker *unpacker;
    uint8_t *buffer;
};

struct tbed_packed {
    struct tbed_packed_file file;
    uint8_t *plain;
    size_t plain_nbytes; /* to the end of the last page */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct kit *kits;    /* that no thread uses */
    size_t there_nbytes; /* of units that may be given back */
    size_t hand;
    size_t wanted;  /* the unit that was wanted last and was not there */
    bool goes_back; /* units are wanted from the last to the first, as statistics do */
};

static _Thread_local struct tbed_lease *innermost;

static uint32_t state_load(const struct tbed_packed_unit *unit)
{
    return __atomic_load_n(&unit->state, __ATOMIC_ACQUIRE);
}

static bool state_change(struct tbed_packed_unit *unit, uint32_t from, uint32_t to)
{
    return __atomic_compare_exchange_n(&unit->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

static size_t unit_nbytes(const struct tbed_packed *packed, const struct tbed_packed_unit *unit)
{
    return (size_t)unit->count * packed->file.header.page_nbytes;
}

/* ---- Kits: one is made at opening, so that unpacking needs no memory ---- */

static void free_kit(struct kit *kit)
{
    tbed_unpacker_free(kit->unpacker);
    free(kit->buffer);
    free(kit);
}

static enum tbed_status make_kit(const struct tbed_packed *packed, struct kit **kit_ret)
{
    struct kit *kit = calloc(1, sizeof *kit);
    if (kit == NULL)
        return TBED_ERR_MEMORY;
    enum tbed_status status = tbed_unpacker_new(&kit->unpacker);
    kit->buffer = status == TBED_OK ? malloc(tbed_packed_read_nbytes(&packed->file)) : NULL;
    if (status == TBED_OK && kit->buffer == NULL)
        status = TBED_ERR_MEMORY;
    if (status == TBED_OK)
        *kit_ret = kit;
    else
        free_kit(kit);
    return status;
}

/* The caller has the lock. */
static struct kit *take_kit(struct tbed_packed *packed)
{
    struct kit *kit = packed->kits;
    if (kit == NULL && make_kit(packed, &kit) == TBED_OK)
        return kit;
    while ((kit = packed->kits) == NULL)
        pthread_cond_wait(&packed->changed, &packed->lock);
    packed->kits = kit->next;
    return kit;
}

static void put_kit(struct tbed_packed *packed, struct kit *kit)
{
    kit->next = packed->kits;
    packed->kits = kit;
}

/* ---- Unpacking and giving back ---- */

static uint8_t *page_at(const struct tbed_packed *packed, const struct tbed_packed_unit *unit, uint32_t i)
{
    uint64_t page = packed->file.pages.items[unit->first_page + i];
    return packed->plain + page * packed->file.header.page_nbytes;
}

/* The pages are zeros afterwards. */
static void drop_pages(const struct tbed_packed *packed, const struct tbed_packed_unit *unit)
{
    size_t page_nbytes = packed->file.header.page_nbytes;
    for (uint32_t i = 0, run = 0; i < unit->count; i = run) {
        uint8_t *start = page_at(packed, unit, i);
        for (run = i + 1; run < unit->count && page_at(packed, unit, run) == start + (run - i) * page_nbytes;)
            run++;
        if (!tbed_memory_empty(start, (run - i) * page_nbytes)) /* the machine's pages are larger */
            memset(start, 0, (run - i) * page_nbytes);
    }
}

/* Past the end of the plain file there are zeros in its last page. */
static bool ends_in_zeros(const struct tbed_packed *packed, const struct tbed_packed_unit *unit)
{
    uint64_t end = packed->file.header.plain_nbytes;
    for (uint32_t i = 0; i < unit->count; i++) {
        uint64_t start = (uint64_t)(page_at(packed, unit, i) - packed->plain);
        if (end - start < packed->file.header.page_nbytes &&
            !tbed_bytes_are_zero(packed->plain + end, (size_t)(packed->plain_nbytes - end)))
            return false;
    }
    return true;
}

static bool unpack(const struct tbed_packed *packed, const struct tbed_packed_unit *unit,
                   const struct kit *kit)
{
    uint8_t *blocks[PACK_UNIT_BLOCKS_MAX];
    for (uint32_t i = 0; i < unit->count; i++)
        blocks[i] = page_at(packed, unit, i);
    struct pack_unit to = {
        .blocks = blocks, .count = unit->count, .block_nbytes = packed->file.header.page_nbytes};
    const uint8_t *bytes = tbed_packed_read(&packed->file, unit, kit->buffer);
    if (bytes != NULL && tbed_unit_unpack(kit->unpacker, bytes, unit->packed_nbytes, &to) == TBED_OK &&
        ends_in_zeros(packed, unit))
        return true;
    drop_pages(packed, unit);
    return false;
}

/* Gives units back until few enough are idle. The caller has the lock. */
static void give_back(struct tbed_packed *packed)
{
    size_t count = packed->file.units.count;
    for (size_t steps = 0; packed->there_nbytes > TBED_PACKED_IDLE_NBYTES && steps < 2 * count; steps++) {
        struct tbed_packed_unit *unit = &packed->file.units.items[packed->hand];
        packed->hand = (packed->hand + 1) % count;
        if (state_change(unit, UNIT_THERE | UNIT_USED, UNIT_THERE) ||
            !state_change(unit, UNIT_THERE, UNIT_BUSY))
            continue;
        drop_pages(packed, unit);
        packed->there_nbytes -= unit_nbytes(packed, unit);
        __atomic_store_n(&unit->state, 0, __ATOMIC_RELEASE);
    }
}

/* Unpacks a unit that is absent. The caller has the lock, which is released meanwhile. */
static void bring(struct tbed_packed *packed, struct tbed_packed_unit *unit)
{
    __atomic_store_n(&unit->state, UNIT_BUSY, __ATOMIC_RELEASE);
    give_back(packed);
    struct kit *kit = take_kit(packed);
    packed->there_nbytes += unit_nbytes(packed, unit);
    pthread_mutex_unlock(&packed->lock);
    bool is_good = unpack(packed, unit, kit);
    pthread_mutex_lock(&packed->lock);
    put_kit(packed, kit);
    if (is_good)
        __atomic_store_n(&unit->was_good, true, __ATOMIC_RELAXED);
    else
        packed->there_nbytes -= unit_nbytes(packed, unit);
    __atomic_store_n(&unit->state, is_good ? UNIT_THERE | UNIT_USED : UNIT_DAMAGED, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&packed->changed);
}

/* Which way the units are wanted: it was not there. The caller has the lock. */
static void note_wanted(struct tbed_packed *packed, size_t number)
{
    if (number != packed->wanted)
        packed->goes_back = number < packed->wanted;
    packed->wanted = number;
}

/*
 * Another thread unpacks the unit: meanwhile, unpacks the next one that is absent, which is likely to be wanted next. So
 * threads that take blocks in turn, which are in the same unit, do not wait for each other. False: there is none. The caller
 * has the lock.
 */
static bool bring_ahead(struct tbed_packed *packed, size_t number)
{
    struct tbed_packed_unit *items = packed->file.units.items;
    size_t left = packed->goes_back ? number : packed->file.units.count - 1 - number;
    for (size_t i = 1; i <= left && i <= AHEAD_MAX; i++) {
        struct tbed_packed_unit *next = packed->goes_back ? &items[number - i] : &items[number + i];
        if (state_load(next) == 0) {
            bring(packed, next);
            return true;
        }
    }
    return false;
}

/* Waits until the unit is there, or is known to be damaged; or does something else meanwhile. */
static void await(struct tbed_packed *packed, struct tbed_packed_unit *unit)
{
    pthread_mutex_lock(&packed->lock);
    uint32_t state = state_load(unit);
    size_t number = (size_t)(unit - packed->file.units.items);
    note_wanted(packed, number);
    if (state == 0)
        bring(packed, unit);
    else if (state == UNIT_BUSY && !bring_ahead(packed, number))
        pthread_cond_wait(&packed->changed, &packed->lock);
    pthread_mutex_unlock(&packed->lock);
}

/* ---- Leases ---- */

void tbed_lease_push(struct tbed_lease *lease)
{
    lease->outer = innermost;
    innermost = lease;
}

void tbed_lease_pop(struct tbed_lease *lease)
{
    innermost = lease->outer;
}

void tbed_lease_drop(struct tbed_lease *lease)
{
    struct tbed_packed_unit *units = lease->packed->file.units.items;
    for (size_t i = 0; i < lease->units.count; i++)
        __atomic_fetch_sub(&units[lease->units.items[i]].state, 1, __ATOMIC_RELEASE);
    tbed_vector_free(&lease->units.vector);
    lease->last = 0;
}

static struct tbed_lease *lease_of(const struct tbed_packed *packed)
{
    struct tbed_lease *lease = innermost;
    while (lease != NULL && lease->packed != packed)
        lease = lease->outer;
    return lease;
}

static bool has(const struct tbed_lease *lease, uint32_t number)
{
    for (size_t i = lease->units.count; i > 0; i--)
        if (lease->units.items[i - 1] == number)
            return true;
    return false;
}

/* Room for one more unit; NULL: there is no lease, or no memory, and the unit must stay. */
static uint32_t *room_in(struct tbed_lease *lease)
{
    return lease != NULL ? TBED_VECTOR_PUSH(&lease->units) : NULL;
}

/* Keeps the unit, if it is there, until the file is closed. */
static void make_stay(struct tbed_packed *packed, struct tbed_packed_unit *unit)
{
    for (uint32_t state = state_load(unit); (state & (UNIT_THERE | UNIT_STAYS)) == UNIT_THERE;
         state = state_load(unit)) {
        if (state_change(unit, state, state | UNIT_STAYS)) {
            pthread_mutex_lock(&packed->lock);
            packed->there_nbytes -= unit_nbytes(packed, unit);
            pthread_mutex_unlock(&packed->lock);
        }
    }
}

/* Holds the unit for the lease, or for good. False: it is not there. */
static bool hold(struct tbed_packed *packed, struct tbed_packed_unit *unit, struct tbed_lease *lease)
{
    uint32_t *room = room_in(lease);
    if (room == NULL) {
        make_stay(packed, unit);
        return (state_load(unit) & UNIT_STAYS) != 0;
    }
    *room = (uint32_t)(unit - packed->file.units.items);
    for (uint32_t state = state_load(unit); (state & UNIT_THERE) != 0; state = state_load(unit))
        if (state_change(unit, state, (state + 1) | UNIT_USED)) {
            lease->last = *room + 1;
            return true;
        }
    lease->units.count--;
    return false;
}

enum tbed_status tbed_packed_page_take(struct tbed_packed *packed, uint64_t page, bool stays)
{
    struct tbed_packed_unit *unit = tbed_packed_unit_of(&packed->file, page);
    if (unit == NULL)
        return TBED_OK;
    uint32_t number = (uint32_t)(unit - packed->file.units.items);
    struct tbed_lease *lease = stays ? NULL : lease_of(packed);
    if (lease != NULL && (lease->last == number + 1 || has(lease, number)))
        return TBED_OK;
    for (;;) {
        uint32_t state = state_load(unit);
        if ((state & UNIT_STAYS) != 0)
            return TBED_OK;
        if (state == UNIT_DAMAGED)
            return TBED_ERR_PACKED_UNIT;
        if (hold(packed, unit, lease))
            return TBED_OK;
        await(packed, unit);
    }
}

/* ---- Opening ---- */

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status, int system_errno)
{
    *error = (struct tbed_error){.status = status, .system_errno = system_errno, .offset = UINT64_MAX};
    return status;
}

static enum tbed_status reserve(struct tbed_packed *packed, struct tbed_error *error)
{
    uint64_t nbytes = packed->file.page_count * packed->file.header.page_nbytes;
    if (nbytes > SIZE_MAX / 2)
        return fail(error, TBED_ERR_MAP, EFBIG);
    void *plain = mmap(NULL, (size_t)nbytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (plain == MAP_FAILED)
        return fail(error, TBED_ERR_MAP, errno);
    packed->plain = plain;
    packed->plain_nbytes = (size_t)nbytes;
    return TBED_OK;
}

static enum tbed_status fill(struct tbed_packed *packed, int fd, const void *bytes, uint64_t nbytes,
                             struct tbed_error *error)
{
    int own = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (fd >= 0 && own < 0)
        return fail(error, TBED_ERR_OPEN, errno);
    packed->file.fd = own;
    enum tbed_status status = tbed_packed_file_open(&packed->file, own, bytes, nbytes, error);
    if (status != TBED_OK)
        return status;
    status = reserve(packed, error);
    if (status != TBED_OK)
        return status;
    status = make_kit(packed, &packed->kits);
    return status == TBED_OK ? TBED_OK : fail(error, status, status == TBED_ERR_MEMORY ? ENOMEM : 0);
}

enum tbed_status tbed_packed_open(int fd, const void *bytes, uint64_t nbytes, struct tbed_packed **packed_ret,
                                  struct tbed_error *error_ret)
{
    struct tbed_packed *packed = calloc(1, sizeof *packed);
    if (packed == NULL)
        return fail(error_ret, TBED_ERR_MEMORY, ENOMEM);
    packed->file.fd = -1;
    pthread_mutex_init(&packed->lock, NULL); /* on Linux, these cannot fail without attributes */
    pthread_cond_init(&packed->changed, NULL);
    enum tbed_status status = fill(packed, fd, bytes, nbytes, error_ret);
    if (status == TBED_OK)
        *packed_ret = packed;
    else
        tbed_packed_close(packed);
    return status;
}

void tbed_packed_close(struct tbed_packed *packed)
{
    if (packed == NULL)
        return;
    while (packed->kits != NULL) {
        struct kit *kit = packed->kits;
        packed->kits = kit->next;
        free_kit(kit);
    }
    if (packed->plain != NULL)
        munmap(packed->plain, packed->plain_nbytes);
    tbed_packed_file_close(&packed->file);
    if (packed->file.fd >= 0)
        close(packed->file.fd);
    pthread_cond_destroy(&packed->changed);
    pthread_mutex_destroy(&packed->lock);
    free(packed);
}

const struct tbed_packed_file *tbed_packed_file(const struct tbed_packed *packed)
{
    return &packed->file;
}

const uint8_t *tbed_packed_plain(const struct tbed_packed *packed)
{
    return packed->plain;
}
