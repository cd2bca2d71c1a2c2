/*
 * What the files of the preloaded allocation recorder share. The files in this folder also serve the preloaded
 * recorder of functions (writer/capture/functions).
 *
 * The library sits between a program and its allocator: every call is passed on to the real function, and recorded. It
 * runs inside malloc(), in any thread, at any time between the loader's first call and the last destructor. So it
 * allocates with mmap() only, starts no thread, prints nothing, installs no handler except that of SIGBUS (and of SIGSEGV
 * where arguments are recorded), which the program does not see, and leaves errno as the real function set it.
 *
 * Not here: the trace itself (tracebed/writer.h), how the program is started (record_verb.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PRELOAD_H
#define TRACEBED_PRELOAD_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <tracebed/writer.h>

/* The environment: the absolute path of the trace; whether to print a line if it cannot be written. */
#define PRELOAD_ENV_FILE    "TRACEBED_PRELOAD_FILE"
#define PRELOAD_ENV_VERBOSE "TRACEBED_VERBOSE"
/* What to record: "light", "stacks=16", "fp", "mmap", separated by commas. */
#define PRELOAD_ENV_MODE "TRACEBED_PRELOAD_MODE"

struct preload_mode {
    bool is_light;         /* each allocation is an INSTANT of its caller; no frees */
    bool by_frame_pointer; /* stacks are found by frame pointers */
    bool has_mappings;     /* anonymous mmap() is recorded too */
    uint32_t frame_count;  /* frames of a stack; 0: only the caller */
};
#define PRELOAD_FRAMES_MAX 128u

/* Set before the first record. */
extern struct preload_mode preload_mode;

/* ---- preload_real.c: the functions that would have been called without us ---- */

struct preload_real {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void *(*reallocarray)(void *, size_t, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
};

/* Always callable: until the functions are found, these find them first. */
extern struct preload_real preload_real;

/* The function of this name that the module with 'pc' would have called; NULL: there is none. */
void *preload_real_find(const char *name, uintptr_t pc);

/*
 * The loader may allocate while it looks for the real functions. It gets pieces of this arena, which are never freed.
 */
#define PRELOAD_ARENA_NBYTES 16384u
extern uint8_t preload_arena[PRELOAD_ARENA_NBYTES];

static inline bool preload_arena_owns(const void *address)
{
    return (uintptr_t)address - (uintptr_t)preload_arena < PRELOAD_ARENA_NBYTES;
}

/* ---- preload_thread.c: the trace, and what each thread keeps of it ---- */

enum preload_guard {
    PRELOAD_FREE = 0,
    PRELOAD_RECORDING =
        1,               /* a call now comes from a signal handler: it is passed on, and counted as dropped */
    PRELOAD_APART = 2,   /* we are calling the system ourselves: allocations are passed on and not recorded */
    PRELOAD_STOPPED = 3, /* in a sandbox that allows nothing: events are counted as dropped, for good */
};

struct preload_range {
    uint64_t version;
    uintptr_t start, nbytes;
    uint32_t first_id;
};

struct preload_thread {
    struct tbed_recorder *recorder; /* NULL: take the slow path */
    int *errno_at;
    /* The module of the last caller, as of 'range_version'. */
    uint64_t range_version;
    uintptr_t range_start;
    uintptr_t range_nbytes;
    uint32_t range_first_id;
    struct preload_range range_before; /* the range before, for two modules that take turns */
    uint8_t guard;                     /* enum preload_guard */
    bool has_ended;      /* the last round of destructors is over: each record borrows a recorder */
    uintptr_t missed_pc; /* belongs to no module, as of 'missed_version' */
    uint64_t missed_version;
    /* The frame of operator new or delete, which is about to call malloc() or free(): its caller is recorded. */
    const uintptr_t *outer_frame;
    struct preload_stacks *stacks; /* preload_stack.c; NULL: none yet */
    uint32_t since_resident;       /* allocations since preload_resident_look() */
};
extern __thread struct preload_thread preload_thread __attribute__((tls_model("initial-exec")));

/* The trace; NULL if there is none. */
extern struct tbed_writer *preload_writer;

/* Opens the trace named in the environment, once. */
void preload_trace_open(void);

/* Slow halves of the two functions below. */
struct tbed_recorder *preload_recorder_get(struct preload_thread *thread);
void preload_recorder_give_back(struct preload_thread *thread);
void preload_count_nested(const struct preload_thread *thread);

static inline void preload_guard_set(struct preload_thread *thread, enum preload_guard guard)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&thread->guard, (uint8_t)guard, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/*
 * Around dlsym(), which begins by freeing the text of an earlier error. That free() must lead to no other lookup, of the
 * real allocator or for the trace: it would free the text again.
 */
static inline uint8_t preload_lookup_begin(struct preload_thread *thread)
{
    uint8_t guard = thread->guard;
    preload_guard_set(thread, PRELOAD_APART);
    free(malloc(1)); /* finds the real allocator; no builtins here, so it is not optimized away */
    return guard;
}

static inline void preload_lookup_end(struct preload_thread *thread, uint8_t guard)
{
    preload_guard_set(thread, guard);
}

/*
 * A thread records between these two. preload_enter() returns its recorder, or NULL if nothing is to be recorded; then
 * there is nothing to leave.
 */
static inline struct tbed_recorder *preload_enter(struct preload_thread *thread)
{
    if (TBED_UNLIKELY(__atomic_load_n(&thread->guard, __ATOMIC_RELAXED) != PRELOAD_FREE)) {
        preload_count_nested(thread);
        return NULL;
    }
    preload_guard_set(thread, PRELOAD_RECORDING);
    struct tbed_recorder *recorder = thread->recorder;
    return TBED_UNLIKELY(recorder == NULL) ? preload_recorder_get(thread) : recorder;
}

static inline void preload_leave(struct preload_thread *thread)
{
    if (TBED_UNLIKELY(thread->has_ended))
        preload_recorder_give_back(thread);
    preload_guard_set(thread, PRELOAD_FREE);
}

/* ---- preload_modules.c: which module a caller is in ---- */

#if defined(__aarch64__)
#define PRELOAD_PC_SHIFT 2u
#else
#define PRELOAD_PC_SHIFT 0u
#endif

extern uint64_t preload_modules_version; /* atomic; +1 with each change of what is loaded */

uint32_t preload_location_slow(struct preload_thread *thread, uintptr_t pc);

/* The location id of an address. */
static inline uint32_t preload_location_at(struct preload_thread *thread, uintptr_t pc)
{
    uintptr_t offset = pc - thread->range_start;
    uint64_t version = __atomic_load_n(&preload_modules_version, __ATOMIC_ACQUIRE);
    if (TBED_UNLIKELY(offset >= thread->range_nbytes || thread->range_version != version))
        return preload_location_slow(thread, pc);
    return thread->range_first_id + (uint32_t)(offset >> PRELOAD_PC_SHIFT);
}

/*
 * The location id of a caller, given its return address. One less lies inside the calling instruction, and so in its
 * line and function, even if the call was a function's last instruction.
 */
static inline uint32_t preload_location(struct preload_thread *thread, uintptr_t return_address)
{
    return preload_location_at(thread, return_address - 1);
}

/*
 * Called before and after dlclose() if its end cannot be seen otherwise. In between, each record checks what is
 * loaded.
 */
void preload_modules_unload_begin(void);
void preload_modules_unload_end(void);

/* Finds the module that contains 'pc' without registering it. False: no loaded module does. */
struct preload_module;
bool preload_module_find(uintptr_t pc, struct preload_module *module_ret);

/* True for a caller in the loader, which preload_location() must look at each time. */
bool preload_is_linker(uintptr_t pc);

/* ---- preload_signals.c: what the program does with SIGBUS and SIGSEGV ---- */

/* Before the trace is opened; may be called again. */
void preload_signals_begin(void);

/* ---- preload_reading.c: memory that may not be there ---- */

/* After preload_signals_begin(), while the program has one thread. */
void preload_reading_begin(void);
/* The program wants the action of SIGSEGV for itself. */
void preload_reading_stop(void);
bool preload_reading_is_on(void);
/*
 * Copies up to 'nbytes' bytes; of a text, not what follows its zero. Returns how many could be read. Only if reading is on
 * and the trace is guarded; uses no vector registers.
 */
size_t preload_reading_copy(void *to, uintptr_t from, size_t nbytes, bool is_text);

/* ---- preload_sandbox.c: programs that confine themselves ---- */

/* PR_SET_TSC in some thread: reading the clock raises a signal in the threads and processes that it starts; atomic. */
extern bool preload_clock_is_off;

/* ---- preload_stack.c: who called the caller ---- */

/*
 * The id of the stack that ends with the caller of the function with this frame; its location if there is no such id.
 */
uint32_t preload_stack(struct preload_thread *thread, const uintptr_t *frame);

/* The thread ends. */
void preload_stack_end(struct preload_thread *thread);

/* The id of an allocation's event. 'frame' is __builtin_frame_address(0) of the interposed function. */
static inline uint32_t preload_caller(struct preload_thread *thread, const uintptr_t *frame)
{
    return TBED_UNLIKELY(preload_mode.frame_count > 0) ? preload_stack(thread, frame)
                                                       : preload_location(thread, frame[1]);
}

/* ---- preload_resident.c: resident memory ---- */

/* An allocation of the first size or, of the smaller ones, each of the second number is a reason to look. */
#define PRELOAD_RESIDENT_NBYTES 65536u
#define PRELOAD_RESIDENT_COUNT  64u

/* Records how much is resident if 10 ms have passed since the last time. Between preload_enter() and preload_leave(). */
void preload_resident_look(struct preload_thread *thread, struct tbed_recorder *recorder);

static inline void preload_resident_count(struct preload_thread *thread, struct tbed_recorder *recorder,
                                          size_t nbytes)
{
    if (TBED_UNLIKELY(++thread->since_resident >= PRELOAD_RESIDENT_COUNT ||
                      nbytes >= PRELOAD_RESIDENT_NBYTES))
        preload_resident_look(thread, recorder);
}

/* ---- preload_interpose.c ---- */

void preload_record_alloc(enum tbed_alloc_function function, const void *address, size_t nbytes,
                          const uintptr_t *frame);
void preload_record_free(const void *address, const uintptr_t *frame);
/* The tick just before the real function is called; 0 if nothing is recorded. */
uint64_t preload_realloc_begin(void);
void preload_record_realloc(uintptr_t old, const void *address, size_t nbytes, uint64_t begin_tick,
                            const uintptr_t *frame);

/*
 * The frame whose caller is recorded: that of operator new if it called. A deeper one was left behind by an exception.
 */
static inline const uintptr_t *preload_outer_take(struct preload_thread *thread, const uintptr_t *frame)
{
    const uintptr_t *outer = thread->outer_frame;
    if (outer == NULL)
        return frame;
    thread->outer_frame = NULL;
    return outer > frame ? outer : frame;
}

/* ---- preload_elf.c: what a module says of itself ---- */

#define PRELOAD_BUILD_ID_NBYTES 64

struct preload_module {
    uintptr_t start; /* the executable segments, where they are mapped */
    uintptr_t nbytes;
    uint64_t base;           /* 'start' as the ELF file has it */
    const char *name;        /* owned by the loader, valid while the module is loaded */
    uint64_t name_hash;      /* hash of the name; distinguishes modules without a build-id */
    uintptr_t frames_header; /* .eh_frame_hdr; 0: none */
    uintptr_t frames_header_nbytes;
    uintptr_t image_start, image_nbytes; /* the segment that contains it */
    uint32_t first_id;                   /* atomic; PRELOAD_NOT_REGISTERED until the module first calls us */
    uint16_t build_id_nbytes;
    bool is_linker;
    uint8_t build_id[PRELOAD_BUILD_ID_NBYTES];
};
#define PRELOAD_NOT_REGISTERED UINT32_MAX

/* Checks what is loaded now; the guard is PRELOAD_APART. */
void preload_modules_refresh(void);
/* The same, and gives ids to all that is loaded, instead of waiting for its first call. */
void preload_modules_register(void);

struct dl_phdr_info;
/* False: it has no code. */
bool preload_module_read(const struct dl_phdr_info *info, struct preload_module *module_ret);

/* Whether it is the program itself, not a library. */
bool preload_is_program(const struct dl_phdr_info *info);

/* The absolute path of the module's file in a buffer that the next call overwrites; not for two threads at
 * once. */
const char *preload_module_path(const struct preload_module *module);
/* The same in a buffer of PATH_MAX bytes. */
void preload_module_path_find(const struct preload_module *module, char *path);

#endif
