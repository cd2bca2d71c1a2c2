/*
 * The header page: made and checked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format/file/header.h"

#include "format/checksum.h"

void tbed_header_make(void *page, const struct tbed_header_fields *fields)
{
    struct tbed_disk_header *header = page;
    memcpy(header->magic, TBED_MAGIC, sizeof header->magic);
    header->version = tbed_le32_make(TBED_FORMAT_VERSION);
    header->page_nbytes = tbed_le32_make(fields->page_nbytes);
    header->file_id = tbed_le64_make(fields->file_id);
    header->max_reserved_id = tbed_le32_make(TBED_ID_MAX_RESERVED);
    header->metadata_id = tbed_le32_make(TBED_ID_METADATA);
    header->max_id = tbed_le32_make(TBED_ID_MAX);
    header->ring_page_count = tbed_le32_make(fields->ring_page_count);
    header->clock = tbed_le32_make((uint32_t)fields->clock);
    header->header_nbytes = tbed_le32_make(TBED_HEADER_FIXED_NBYTES);
    header->ticks_per_second = tbed_le64_make(fields->ticks_per_second);
    header->anchor_ticks = tbed_le64_make(fields->anchor_ticks);
    header->anchor_realtime_ns = tbed_le64_make((uint64_t)fields->anchor_realtime_ns);
    header->anchor_monotonic_ns = tbed_le64_make(fields->anchor_monotonic_ns);
    memcpy(header->clock_unit, fields->clock_unit, sizeof header->clock_unit);
    header->resolution_ns = tbed_le32_make(fields->resolution_ns);
    header->clock_reason = (uint8_t)fields->clock_reason;
    header->page_count = tbed_le64_make((uint64_t)fields->ring_page_count + 1);
    header->next_stream = tbed_le64_make(1);
    header->state = tbed_le32_make(TBED_STATE_OPEN);
    header->checksum = tbed_le64_make(tbed_header_checksum(page, TBED_HEADER_FIXED_NBYTES));
}

static enum tbed_status fail(struct tbed_error *error, enum tbed_status status, uint64_t offset,
                             uint64_t detail)
{
    *error = (struct tbed_error){.status = status, .offset = offset, .detail = detail};
    return status;
}

static bool clock_is_allowed(const struct tbed_disk_header *header)
{
    uint32_t clock = tbed_le32_load(header->clock);
    uint64_t rate = tbed_le64_load(header->ticks_per_second);
    uint32_t resolution_ns = tbed_le32_load(header->resolution_ns);
    bool has_unit = !tbed_bytes_are_zero(header->clock_unit, sizeof header->clock_unit);
    if (clock < TBED_CLOCK_X86_TSC || clock > TBED_CLOCK_USER)
        return false;
    for (size_t i = 0; i < sizeof header->clock_unit; i++) {
        uint8_t byte = header->clock_unit[i];
        bool is_past_end = i > 0 && header->clock_unit[i - 1] == 0;
        if (byte != 0 && (is_past_end || byte < 0x20 || byte > 0x7E))
            return false;
    }
    if (clock == TBED_CLOCK_USER)
        return rate == 0 && resolution_ns == 0;
    return rate >= 1000 && rate <= 1000000000000u && !has_unit && resolution_ns <= TBED_RESOLUTION_NS_MAX;
}

/* A machine's counter is never there because it could not be used, and other clocks have no reason. */
static bool reason_is_allowed(const struct tbed_disk_header *header)
{
    uint32_t clock = tbed_le32_load(header->clock), reason = header->clock_reason;
    if (reason >= TBED_CLOCK_NOT_OFFERED)
        return reason <= TBED_CLOCK_NOT_STEADY && clock == TBED_CLOCK_MONOTONIC;
    return reason == TBED_CLOCK_UNTOLD || clock != TBED_CLOCK_USER;
}

static enum tbed_status check_fields(const struct tbed_disk_header *header, struct tbed_error *error)
{
    uint32_t page_nbytes = tbed_le32_load(header->page_nbytes);
    if (page_nbytes < TBED_PAGE_NBYTES_MIN || page_nbytes > TBED_PAGE_NBYTES_MAX ||
        (page_nbytes & (page_nbytes - 1)) != 0)
        return fail(error, TBED_ERR_PAGE_SIZE, offsetof(struct tbed_disk_header, page_nbytes), page_nbytes);
    if (tbed_le32_load(header->max_reserved_id) != TBED_ID_MAX_RESERVED ||
        tbed_le32_load(header->metadata_id) != TBED_ID_METADATA ||
        tbed_le32_load(header->max_id) != TBED_ID_MAX)
        return fail(error, TBED_ERR_ID_SPACE, offsetof(struct tbed_disk_header, max_reserved_id),
                    tbed_le32_load(header->max_reserved_id));
    if (!clock_is_allowed(header) || !reason_is_allowed(header))
        return fail(error, TBED_ERR_CLOCK, offsetof(struct tbed_disk_header, clock),
                    tbed_le32_load(header->clock));
    if (tbed_le64_load(header->file_id) == 0)
        return fail(error, TBED_ERR_FILE_ID, offsetof(struct tbed_disk_header, file_id), 0);
    if (!tbed_bytes_are_zero(header->zero_117, sizeof header->zero_117))
        return fail(error, TBED_ERR_HEADER_ZERO, offsetof(struct tbed_disk_header, zero_117), 0);
    return TBED_OK;
}

static enum tbed_status check_sum(const struct tbed_disk_header *header, struct tbed_error *error)
{
    uint32_t nbytes = tbed_le32_load(header->header_nbytes);
    tbed_le64 stored;
    if (nbytes < TBED_HEADER_FIXED_NBYTES || nbytes > TBED_HEADER_FIXED_MAX ||
        nbytes % TBED_HEADER_FIXED_STEP != 0)
        return fail(error, TBED_ERR_HEADER_SIZE, offsetof(struct tbed_disk_header, header_nbytes), nbytes);
    memcpy(&stored, (const uint8_t *)header + nbytes - sizeof stored, sizeof stored);
    if (tbed_le64_load(stored) != tbed_header_checksum(header, nbytes))
        return fail(error, TBED_ERR_HEADER_CHECKSUM, nbytes - sizeof stored, tbed_le64_load(stored));
    return TBED_OK;
}

static struct tbed_header_fields fields_of(const struct tbed_disk_header *header)
{
    struct tbed_header_fields fields = {
        .fixed_nbytes = tbed_le32_load(header->header_nbytes),
        .page_nbytes = tbed_le32_load(header->page_nbytes),
        .file_id = tbed_le64_load(header->file_id),
        .ring_page_count = tbed_le32_load(header->ring_page_count),
        .clock = (enum tbed_clock)tbed_le32_load(header->clock),
        .ticks_per_second = tbed_le64_load(header->ticks_per_second),
        .anchor_ticks = tbed_le64_load(header->anchor_ticks),
        .anchor_realtime_ns = (int64_t)tbed_le64_load(header->anchor_realtime_ns),
        .anchor_monotonic_ns = tbed_le64_load(header->anchor_monotonic_ns),
        .resolution_ns = tbed_le32_load(header->resolution_ns),
        .clock_reason = (enum tbed_clock_reason)header->clock_reason,
    };
    memcpy(fields.clock_unit, header->clock_unit, sizeof header->clock_unit);
    return fields;
}

enum tbed_status tbed_header_fixed_check(const void *bytes, struct tbed_header_fields *fields_ret,
                                         struct tbed_error *error_ret)
{
    const struct tbed_disk_header *header = bytes;
    if (memcmp(bytes, TBED_MAGIC, sizeof header->magic) != 0)
        return fail(error_ret, TBED_ERR_NOT_A_TRACE, 0, 0);
    if (tbed_le32_load(header->version) != TBED_FORMAT_VERSION)
        return fail(error_ret, TBED_ERR_VERSION, offsetof(struct tbed_disk_header, version),
                    tbed_le32_load(header->version));
    if (tbed_le64_load(header->incompatible_flags) != 0)
        return fail(error_ret, TBED_ERR_FLAGS, offsetof(struct tbed_disk_header, incompatible_flags),
                    tbed_le64_load(header->incompatible_flags));
    enum tbed_status status = check_sum(header, error_ret);
    if (status == TBED_OK)
        status = check_fields(header, error_ret);
    if (status == TBED_OK)
        *fields_ret = fields_of(header);
    return status;
}

enum tbed_status tbed_header_check(const void *bytes, size_t nbytes, struct tbed_header_fields *fields_ret,
                                   struct tbed_error *error_ret)
{
    if (nbytes == 0)
        return fail(error_ret, TBED_ERR_EMPTY, 0, 0);
    if (nbytes >= 8 && memcmp(bytes, TBED_PACKED_MAGIC, 8) == 0)
        return fail(error_ret, TBED_ERR_PACKED, UINT64_MAX, 0);
    if (memcmp(bytes, TBED_MAGIC, nbytes < 8 ? nbytes : 8) != 0)
        return fail(error_ret, TBED_ERR_NOT_A_TRACE, 0, 0);
    if (nbytes < sizeof(struct tbed_disk_header))
        return fail(error_ret, TBED_ERR_HEADER_CUT, nbytes, nbytes);
    enum tbed_status status = tbed_header_fixed_check(bytes, fields_ret, error_ret);
    if (status == TBED_OK && nbytes < fields_ret->page_nbytes)
        return fail(error_ret, TBED_ERR_HEADER_CUT, nbytes, nbytes);
    return status;
}
