/*
 * The ids of the scopes and messages of logfile.h, which are put together from their parts: once per trace if the parts
 * are always the same, otherwise each time.
 *
 * A scope's id is its name; a message's is "scope U+001E format" (spec/format.md, section 6.2).
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <stdlib.h>

#include "tracebed/logfile.h"
#include "writer/base/memory.h"
#include "writer/file/usable.h"
#include "writer/session/session.h"

#define UNIT         '\x1e'
#define NBYTES_USUAL 1024

/* A text that is being put together. What does not fit is counted, but not stored. */
struct draft {
    char *text;
    size_t room, nbytes;
};

static void put(struct draft *draft, const char *text, size_t nbytes)
{
    if (nbytes <= draft->room && draft->nbytes <= draft->room - nbytes)
        memcpy(draft->text + draft->nbytes, text, nbytes);
    draft->nbytes += nbytes;
}

static void put_text(struct draft *draft, const char *text)
{
    put(draft, text, strlen(text));
}

static void put_name(struct draft *draft, const char *module, const char *author, const char *name)
{
    if (module != NULL) {
        put_text(draft, module);
        put_text(draft, " (");
        put_text(draft, author != NULL ? author : "(null)");
        put_text(draft, name != NULL ? ") " : ")");
    }
    if (name != NULL)
        put_text(draft, name);
}

/* Escapes percent signs, so that none is taken for a directive. */
static void put_verbatim(struct draft *draft, const char *text)
{
    for (const char *sign; (sign = strchr(text, '%')) != NULL; text = sign + 1) {
        put(draft, text, (size_t)(sign + 1 - text));
        put(draft, "%", 1);
    }
    put_text(draft, text);
}

static const char *text_of(const struct tbed_logfile_site *site)
{
    return site->site.text != NULL ? site->site.text : "(null)";
}

static void put_context(struct draft *draft, const struct tbed_logfile_site *site,
                        const struct tbed_logfile_scope *scope)
{
    if (scope == NULL)
        put_name(draft, site->module, site->author, NULL);
    else if (scope->name != NULL)
        put_text(draft, scope->name);
    else if (scope->site != NULL)
        put_name(draft, scope->site->module, scope->site->author, text_of(scope->site));
}

static void put_site(struct draft *draft, const struct tbed_logfile_site *site,
                     const struct tbed_logfile_scope *scope)
{
    const char *text = text_of(site);
    if (site->kind == TBED_LOGFILE_SCOPE) {
        put_name(draft, site->module, site->author, text);
        return;
    }
    put_context(draft, site, scope);
    if (draft->nbytes > 0 || strchr(text, UNIT) != NULL)
        put(draft, &(char){UNIT}, 1);
    if (site->kind == TBED_LOGFILE_TEXT)
        put_verbatim(draft, text);
    else
        put_text(draft, text);
}

/* Without malloc: a signal handler may be the first to use a macro. */
static uint32_t intern_long(const struct tbed_logfile_site *site, const struct tbed_logfile_scope *scope,
                            size_t nbytes)
{
    struct tbed_writer *writer = tbed_thread_self.writer;
    struct draft draft = {.text = tbed_pages_alloc(nbytes), .room = nbytes};
    if (draft.text == NULL) {
        tbed_drop(tbed_file_of(writer), TBED_DROP_NO_MEMORY, 1);
        return TBED_ID_INVALID;
    }
    put_site(&draft, site, scope);
    uint32_t id = tbed_string_intern(writer, draft.text, nbytes);
    tbed_pages_free(draft.text, nbytes);
    return id;
}

static uint32_t intern(const struct tbed_logfile_site *site, const struct tbed_logfile_scope *scope)
{
    char room[NBYTES_USUAL];
    struct draft draft = {.text = room, .room = sizeof room};
    put_site(&draft, site, scope);
    return draft.nbytes <= sizeof room ? tbed_string_intern(tbed_thread_self.writer, room, draft.nbytes)
                                       : intern_long(site, scope, draft.nbytes);
}

/* The id for the first scope of a message is kept; for other scopes it is put together each time. */
static bool is_kept(struct tbed_logfile_site *site, const struct tbed_logfile_scope *scope)
{
    const struct tbed_logfile_site *first = NULL;
    if (site->file == NULL || (scope != NULL && scope->site == NULL))
        return false;
    return scope == NULL ||
           __atomic_compare_exchange_n(&site->scope, &first, scope->site, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED) ||
           first == scope->site;
}

uint32_t tbed_logfile_resolve(struct tbed_logfile_site *site, const struct tbed_logfile_scope *scope)
{
    int kept_errno = errno;
    uint32_t id = intern(site, scope);
    if (id != TBED_ID_INVALID && is_kept(site, scope)) {
        tbed_place_describe(id, site->function, site->file, site->line);
        __atomic_store_n(&site->site.state, (uint64_t)tbed_thread_self.generation << 32 | id,
                         __ATOMIC_RELAXED);
    }
    errno = kept_errno;
    return id;
}

/* ---- Names of scopes made at run time ---- */

char *tbed_logfile_name_make(const char *module, const char *author, const char *name)
{
    int kept_errno = errno;
    struct draft draft = {.room = 0};
    name = name != NULL ? name : "(null)";
    put_name(&draft, module, author, name);
    size_t room = draft.nbytes + 1;
    draft = (struct draft){.text = malloc(room), .room = room};
    if (draft.text == NULL) {
        if (tbed_thread_enter())
            tbed_drop(tbed_file_of(tbed_thread_self.writer), TBED_DROP_NO_MEMORY, 1);
    } else {
        put_name(&draft, module, author, name);
        put(&draft, "", 1);
    }
    errno = kept_errno;
    return draft.text;
}

void tbed_logfile_name_free(char *name)
{
    int kept_errno = errno;
    free(name);
    errno = kept_errno;
}

/* ---- Scopes in C++ ---- */

static bool is_same(const char *one, const char *other)
{
    return one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
}

/*
 * The first thread to come fills in the descriptor, and stores its text last. False for another that comes meanwhile, and for one
 * with another text (of another instance of a template): it puts the text together by itself.
 */
bool tbed_logfile_fill(struct tbed_logfile_site *site, enum tbed_logfile_kind kind, const char *module,
                       const char *author, const char *text, const char *function, const char *file,
                       uint32_t line)
{
    const char *nobody = NULL;
    if (__atomic_compare_exchange_n(&site->site.file, &nobody, file, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        site->kind = kind;
        site->module = module;
        site->author = author;
        site->function = function;
        site->file = file;
        site->line = line;
        __atomic_store_n(&site->site.text, text, __ATOMIC_RELEASE);
    }
    const char *stored = __atomic_load_n(&site->site.text, __ATOMIC_ACQUIRE);
    return stored != NULL && is_same(stored, text) && is_same(site->module, module) &&
           is_same(site->author, author);
}

const char *tbed_logfile_scope_name(struct tbed_logfile_scope *scope)
{
    if (scope->name == NULL && scope->site != NULL)
        scope->name = tbed_logfile_name_make(scope->site->module, scope->site->author, text_of(scope->site));
    return scope->name != NULL ? scope->name : "";
}
