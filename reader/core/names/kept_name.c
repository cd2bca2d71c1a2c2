/*
 * Texts of ids, kept; see kept_name.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "reader/core/names/kept_name.h"
#include "reader/core/file/reader_state.h"
#include "reader/core/names/name_cache.h"
#include "reader/core/strings/string_walk.h"

#include <stdlib.h>

static enum tbed_status name_make(const struct tbed_reader *reader, uint32_t id, tbed_text_maker maker,
                                  char *buffer, size_t buffer_nbytes, struct tbed_name *name_ret,
                                  bool *too_long_ret)
{
    size_t nbytes;
    bool is_settled;
    enum tbed_status status = maker(reader, id, buffer, buffer_nbytes, &nbytes, &is_settled);
    struct tbed_name_fact fact = {.kind = TBED_NAME_WHOLE,
                                  .id = id,
                                  .epoch = is_settled ? UINT64_MAX : reader->epoch,
                                  .status = status,
                                  .name = {buffer, nbytes, id}};
    *too_long_ret = nbytes >= buffer_nbytes;
    if (*too_long_ret || status == TBED_ERR_MEMORY)
        return status;
    return tbed_name_cache_keep(reader->names, &fact, name_ret);
}

static enum tbed_status long_name_make(const struct tbed_reader *reader, uint32_t id, tbed_text_maker maker,
                                       struct tbed_name *name_ret)
{
    bool is_too_long;
    char *buffer = malloc(TBED_NAME_NBYTES_MAX + 1);
    if (buffer == NULL)
        return TBED_ERR_MEMORY;
    enum tbed_status status =
        name_make(reader, id, maker, buffer, TBED_NAME_NBYTES_MAX + 1, name_ret, &is_too_long);
    free(buffer);
    return is_too_long ? TBED_ERR_CACHE_FULL : status;
}

static enum tbed_status find_or_make(const struct tbed_reader *reader, uint32_t id, tbed_text_maker maker,
                                     struct tbed_name *name_ret)
{
    char buffer[1024];
    bool is_too_long;
    enum tbed_status status = name_make(reader, id, maker, buffer, sizeof buffer, name_ret, &is_too_long);
    return is_too_long ? long_name_make(reader, id, maker, name_ret) : status;
}

enum tbed_status tbed_kept_name_pay(const struct tbed_reader *reader, uint32_t id, enum tbed_status status,
                                    struct tbed_name *name)
{
    struct tbed_text_credit credit = tbed_text_credit_open(reader->texts, id);
    if (name->nbytes <= TBED_TEXT_FREE || tbed_text_spend(&credit, name->nbytes))
        return status;
    const char *text = tbed_refusal_text(TBED_ERR_STRING_BYTES);
    *name = (struct tbed_name){text, strlen(text), TBED_ID_INVALID};
    return TBED_ERR_STRING_BYTES;
}

enum tbed_status tbed_kept_name(const struct tbed_reader *reader, uint32_t id, tbed_text_maker maker,
                                struct tbed_name *name_ret)
{
    enum tbed_status status =
        tbed_name_cache_find(reader->names, TBED_NAME_WHOLE, id, reader->epoch, name_ret);
    if (status == TBED_END)
        return find_or_make(reader, id, maker, name_ret);
    status = tbed_kept_name_pay(reader, id, status, name_ret);
    name_ret->id = id;
    return status;
}
