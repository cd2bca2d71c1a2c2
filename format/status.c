/*
 * What the library says of itself: statuses and causes in words, and its version.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <tracebed/format.h>

const char *tbed_status_text(enum tbed_status status)
{
    switch (status) {
#define X(name, value, text)                                                                                 \
    case TBED_##name:                                                                                        \
        return text;
        TBED_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

const char *tbed_status_name(enum tbed_status status)
{
    const char *name = "UNKNOWN";
    switch (status) {
#define X(name_, value, text)                                                                                \
    case TBED_##name_:                                                                                       \
        name = #name_;                                                                                       \
        break;
        TBED_STATUS_LIST(X)
#undef X
    }
    return strncmp(name, "ERR_", 4) == 0 ? name + 4 : name;
}

const char *tbed_drop_cause_text(unsigned cause)
{
    switch (cause) {
#define X(name, value, text)                                                                                 \
    case value:                                                                                              \
        return text;
        TBED_DROP_LIST(X)
#undef X
    }
    return "unknown cause";
}

/* For programs that were compiled with the headers of another version. */
uint32_t tbed_version(void)
{
    return TBED_VERSION_NUMBER;
}
