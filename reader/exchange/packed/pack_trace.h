/*
 * Packed traces written, and plain ones made of them again. The layout is in spec/packed.md.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_PACK_TRACE_H
#define TRACEBED_PACK_TRACE_H

#include <tracebed/reader.h>

struct pack_report {
    uint64_t plain_nbytes, packed_nbytes;
    /* Of unpacking a damaged file: pages of damaged units, which became zeros, and what is wrong with the file itself. */
    uint64_t lost_page_count;
    enum tbed_status problem;
};

/*
 * Packs the trace 'from' into the empty file 'to'. Its bytes are taken as they are, also those of a damaged or torn trace.
 * The result does not depend on the number of threads; 0: one per processor. Memory: about 3 MiB for each.
 *
 * Errors: those of tbed_reader_open_fd(); ERR_PACKED: it is packed already; ERR_NO_LIBRARY, ERR_MEMORY, ERR_READ,
 *         ERR_WRITE, ERR_DISK_FULL.
 */
enum tbed_status tbed_trace_pack(int from, int to, unsigned thread_count, struct pack_report *report_ret,
                                 struct tbed_error *error_ret);

/*
 * Unpacks 'from' into the empty file 'to', with the holes of the trace that was packed. Of a damaged file, 'partly' unpacks
 * the rest.
 *
 * Errors: those of tbed_packed_file_open(); ERR_NOT_PACKED; ERR_PACKED_UNIT, ERR_PACKED_INDEX, unless
 *         'partly'; ERR_NO_LIBRARY, ERR_MEMORY, ERR_WRITE, ERR_DISK_FULL.
 */
enum tbed_status tbed_trace_unpack(int from, int to, unsigned thread_count, bool partly,
                                   struct pack_report *report_ret, struct tbed_error *error_ret);

#endif
