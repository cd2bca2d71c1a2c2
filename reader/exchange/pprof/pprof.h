/*
 * Shared by the files of pprof profiles: the fields of profile.proto.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_EXCHANGE_PPROF_H
#define TRACEBED_EXCHANGE_PPROF_H

#include "reader/exchange/shared/exchange_format.h"

enum pprof_profile {
    PPROF_SAMPLE_TYPE = 1,
    PPROF_SAMPLE = 2,
    PPROF_MAPPING = 3,
    PPROF_LOCATION = 4,
    PPROF_FUNCTION = 5,
    PPROF_STRING_TABLE = 6,
    PPROF_TIME_NANOS = 9,
    PPROF_DURATION_NANOS = 10,
    PPROF_DEFAULT_SAMPLE_TYPE = 14,
};

enum pprof_value_type { PPROF_VALUE_TYPE = 1, PPROF_VALUE_UNIT = 2 };

enum pprof_sample { PPROF_SAMPLE_LOCATION = 1, PPROF_SAMPLE_VALUE = 2 };

enum pprof_mapping {
    PPROF_MAPPING_ID = 1,
    PPROF_MAPPING_START = 2,
    PPROF_MAPPING_LIMIT = 3,
    PPROF_MAPPING_FILE = 5,
    PPROF_MAPPING_BUILD_ID = 6,
    PPROF_MAPPING_HAS_FUNCTIONS = 7,
    PPROF_MAPPING_HAS_FILES = 8,
    PPROF_MAPPING_HAS_LINES = 9,
    PPROF_MAPPING_HAS_INLINES = 10,
};

enum pprof_location {
    PPROF_LOCATION_ID = 1,
    PPROF_LOCATION_MAPPING = 2,
    PPROF_LOCATION_ADDRESS = 3,
    PPROF_LOCATION_LINE = 4,
};

enum pprof_line { PPROF_LINE_FUNCTION = 1, PPROF_LINE_LINE = 2 };

enum pprof_function {
    PPROF_FUNCTION_ID = 1,
    PPROF_FUNCTION_NAME = 2,
    PPROF_FUNCTION_SYSTEM_NAME = 3,
    PPROF_FUNCTION_FILE = 4,
};

enum tbed_status tbed_export_pprof(const struct export_job *job, struct export_out *out);

#endif
