/*
 * Resolves strings: expands their components into text.
 *
 * A string is measured first, so that one of exponential size is refused at once; then, if there is something to
 * write, it is walked, and no more is written than fits. Plain texts, which most strings are, need neither.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/file/reader_state.h"
#include "reader/core/strings/string_walk.h"

/* ---- Output to a function ---- */

struct pour {
    tbed_string_function function;
    void *context;
};

static enum tbed_status give(const struct pour *pour, const char *text, size_t nbytes)
{
    return nbytes == 0 || pour->function(pour->context, text, nbytes) ? TBED_OK : TBED_END;
}

static enum tbed_status refuse(const struct pour *pour, enum tbed_status status)
{
    const char *text = tbed_refusal_text(status);
    return give(pour, text, strlen(text)) == TBED_OK ? status : TBED_END;
}

enum tbed_status tbed_measured_give(const struct tbed_measurer *measurer, uint32_t id,
                                    const struct tbed_string_budget *budget, tbed_string_function function,
                                    void *context)
{
    struct pour pour = {function, context};
    struct tbed_string_walk walk;
    struct tbed_string_node node;
    enum tbed_status status;
    tbed_string_walk_start(&walk, measurer->walk.reader, id, budget);
    while ((status = tbed_string_walk_next(&walk, &node)) == TBED_OK) {
        if (node.step == TBED_STRING_ENTER && node.depth > 0) {
            const struct tbed_measure *known = tbed_measurer_find(measurer, node.id);
            if (known != NULL && known->nbytes == 0)
                tbed_string_walk_skip(&walk);
        } else if (node.text != NULL && give(&pour, node.text, node.nbytes) != TBED_OK) {
            return TBED_END;
        }
    }
    return status == TBED_END ? TBED_OK : status;
}

/*
 * Passes on at least 'room' bytes of what was measured, if there are that many. It is paid for before the first, so that
 * no refused text is shown in part. If this budget is exceeded, the file has changed since.
 */
static enum tbed_status give_all(struct tbed_measurer *measurer, uint32_t id, uint64_t room,
                                 const struct pour *pour)
{
    uint64_t cost = measurer->nbytes < room ? measurer->nbytes : room;
    if (!tbed_text_spend(&measurer->credit, cost + measurer->component_count * TBED_TEXT_COMPONENT_COST))
        return TBED_ERR_STRING_BYTES;
    struct tbed_string_budget budget = {.depth = measurer->walk.depth_max,
                                        .component_count = measurer->component_count,
                                        .nbytes = measurer->nbytes};
    enum tbed_status status = tbed_measured_give(measurer, id, &budget, pour->function, pour->context);
    return status == TBED_OK || status == TBED_END ? status : TBED_ERR_CHANGED;
}

/* ---- Streaming ---- */

static bool plain_text_find(const struct tbed_reader *reader, uint32_t id,
                            const struct tbed_string_budget *budget, struct tbed_content_component *text_ret)
{
    struct tbed_meaning meaning;
    return id > TBED_ID_METADATA && tbed_meaning_find(reader, id, &meaning) == TBED_OK &&
           tbed_meaning_is_plain(&meaning, text_ret) && text_ret->nbytes <= budget->nbytes;
}

enum tbed_status tbed_string_stream(const struct tbed_reader *reader, uint32_t id,
                                    const struct tbed_string_budget *budget, tbed_string_function function,
                                    void *context)
{
    struct pour pour = {function, context};
    struct tbed_string_budget whole;
    struct tbed_measurer measurer;
    struct tbed_content_component text;
    uint64_t nbytes;
    if (!tbed_string_budget_make(budget, &whole))
        return TBED_ERR_ARGUMENT;
    if (plain_text_find(reader, id, &whole, &text))
        return give(&pour, (const char *)text.text, text.nbytes);
    tbed_measurer_start(&measurer, reader, &whole, false);
    measurer.credit = tbed_text_credit_open(reader->texts, id);
    enum tbed_status status = tbed_measurer_run(&measurer, id, &nbytes);
    if (status == TBED_OK)
        status = give_all(&measurer, id, UINT64_MAX, &pour);
    if (status == TBED_OK)
        status = measurer.status;
    else if (status != TBED_END && status != TBED_ERR_CHANGED)
        status = refuse(&pour, status);
    tbed_measurer_free(&measurer);
    return status;
}

/* ---- Into a buffer ---- */

struct buffer {
    char *bytes;
    size_t room, used;
};

static bool put(void *context, const char *text, size_t nbytes)
{
    struct buffer *buffer = context;
    size_t left = buffer->room - buffer->used;
    size_t fits = nbytes < left ? nbytes : left;
    memcpy(buffer->bytes + buffer->used, text, fits);
    buffer->used += fits;
    return buffer->used < buffer->room;
}

static void terminate(char *buffer, size_t buffer_nbytes, size_t nbytes)
{
    if (buffer_nbytes > 0)
        buffer[nbytes < buffer_nbytes ? nbytes : buffer_nbytes - 1] = '\0';
}

static size_t put_all(struct buffer *buffer, const char *text, size_t nbytes)
{
    if (buffer->room > 0)
        put(buffer, text, nbytes);
    return nbytes;
}

static enum tbed_status resolve_walk(struct tbed_measurer *measurer, uint32_t id, struct buffer *buffer,
                                     size_t *nbytes_ret)
{
    struct pour pour = {put, buffer};
    uint64_t nbytes = 0;
    enum tbed_status status = tbed_measurer_run(measurer, id, &nbytes);
    if (status == TBED_OK && buffer->room > 0)
        status = give_all(measurer, id, buffer->room, &pour);
    *nbytes_ret = (size_t)nbytes;
    if (status == TBED_OK || status == TBED_END)
        return measurer->status;
    const char *text = tbed_refusal_text(status);
    buffer->used = 0;
    *nbytes_ret = put_all(buffer, text, strlen(text));
    return status;
}

enum tbed_status tbed_resolve(const struct tbed_reader *reader, uint32_t id, char *bytes,
                              size_t buffer_nbytes, size_t *nbytes_ret, bool *settled_ret)
{
    struct buffer buffer = {bytes, buffer_nbytes, 0};
    struct tbed_measurer measurer; /* 16 KiB, of which little is used */
    struct tbed_string_budget whole;
    struct tbed_content_component text;
    enum tbed_status status = TBED_OK;
    size_t nbytes;
    bool is_settled = true;
    tbed_string_budget_make(NULL, &whole);
    struct tbed_text_credit credit = tbed_text_credit_open(reader->texts, id);
    if (plain_text_find(reader, id, &whole, &text) &&
        tbed_text_spend(&credit, text.nbytes < buffer_nbytes ? text.nbytes : buffer_nbytes)) {
        nbytes = put_all(&buffer, (const char *)text.text, text.nbytes);
    } else {
        tbed_measurer_start(&measurer, reader, &whole, false);
        measurer.credit = credit;
        status = resolve_walk(&measurer, id, &buffer, &nbytes);
        is_settled = status == TBED_OK && !measurer.walk.met_reserved;
        tbed_measurer_free(&measurer);
    }
    terminate(bytes, buffer_nbytes, nbytes);
    *nbytes_ret = nbytes;
    *settled_ret = is_settled;
    return status;
}

enum tbed_status tbed_string_resolve(const struct tbed_reader *reader, uint32_t id, char *buffer,
                                     size_t buffer_nbytes, size_t *nbytes_ret)
{
    size_t nbytes;
    bool is_settled;
    enum tbed_status status = tbed_resolve(reader, id, buffer, buffer_nbytes, &nbytes, &is_settled);
    if (nbytes_ret != NULL)
        *nbytes_ret = nbytes;
    return status;
}
