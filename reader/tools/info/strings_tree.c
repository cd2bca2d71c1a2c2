/*
 * Prints an id as a tree: its parts, their lengths, and what refers to it.
 *
 * An id is expanded only once, so the tree is never larger than the table.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/info/strings_ids.h"

#include <string.h>

#define REFERRERS_SHOWN_MAX 10
#define PART_COMPONENTS_MAX 1024

static const char *const meanings[] = {"string", "bound", "location"};

/* ---- Nodes ---- */

/* The size of the text; false if it is unknown. Parts get a small budget, or a large tree would take quadratic time. */
static bool length_get(const struct tbed_reader *reader, const struct tbed_string_node *node,
                       uint64_t *nbytes_ret, enum tbed_status *status_ret)
{
    struct tbed_string_budget budget = {.size = sizeof budget,
                                        .component_count = node->depth == 0 ? 0 : PART_COMPONENTS_MAX};
    *status_ret = tbed_string_length(reader, node->id, &budget, nbytes_ret);
    if (*status_ret == TBED_ERR_STRING_COMPONENTS && node->depth > 0)
        *status_ret = TBED_OK;
    else if (*status_ret == TBED_OK)
        return true;
    return *nbytes_ret != UINT64_MAX && *status_ret != TBED_ERR_STRING_CYCLE &&
           *status_ret != TBED_ERR_STRING_DEPTH;
}

static void put_length(const struct tbed_reader *reader, const struct tbed_string_node *node)
{
    uint64_t nbytes;
    char figure[32];
    enum tbed_status status;
    if (length_get(reader, node, &nbytes, &status))
        printf(", %s byte%s", tool_format_count(figure, nbytes), nbytes == 1 ? "" : "s");
    if (status != TBED_OK)
        printf(" (%s)", tbed_status_text(status));
}

static void put_node_text(const struct tbed_reader *reader, const struct tbed_string_node *node,
                          bool repeated)
{
    printf("%*s", (int)node->depth * 2, "");
    if (node->step == TBED_STRING_TEXT) {
        tool_print_quoted(stdout, node->text, node->nbytes);
        putchar('\n');
        return;
    }
    printf("%s%u%s  ", tool_bold(), node->id, tool_plain());
    if (node->step == TBED_STRING_TROUBLE) {
        printf("%s (%s)\n", tbed_status_text(node->status), tbed_status_name(node->status));
        return;
    }
    fputs(meanings[node->meaning], stdout);
    put_length(reader, node);
    fputs(repeated ? ", as above\n" : "\n", stdout);
}

static void put_node_json(const struct tbed_reader *reader, struct tbed_json *json,
                          const struct tbed_string_node *node, bool repeated)
{
    uint64_t nbytes;
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "depth", node->depth);
    if (node->step == TBED_STRING_TEXT) {
        tbed_json_text(json, "text", node->text, node->nbytes);
    } else if (node->step == TBED_STRING_TROUBLE) {
        tbed_json_u64(json, "id", node->id);
        tbed_json_string(json, "error", tbed_status_name(node->status));
    } else {
        enum tbed_status status;
        tbed_json_u64(json, "id", node->id);
        tbed_json_string(json, "meaning", meanings[node->meaning]);
        if (length_get(reader, node, &nbytes, &status))
            tbed_json_u64(json, "bytes", nbytes);
        if (status != TBED_OK)
            tbed_json_string(json, "error", tbed_status_name(status));
        if (repeated)
            tbed_json_bool(json, "repeated", true);
    }
    tbed_json_object_close(json);
    tbed_json_line(json);
}

static void put_nodes(struct tbed_reader *reader, uint32_t id, struct tbed_json *json)
{
    struct tbed_string_walk *walk;
    struct tbed_string_node node;
    struct used_ids seen = {0};
    struct tbed_string_budget budget = {
        .size = sizeof budget, .component_count = UINT64_MAX, .nbytes = UINT64_MAX};
    if (tbed_string_walk_open(reader, id, &budget, &walk) != TBED_OK)
        return;
    while (tbed_string_walk_next(walk, &node) == TBED_OK && !tool_output_failed()) {
        if (node.step == TBED_STRING_LEAVE)
            continue;
        bool repeated = node.step == TBED_STRING_ENTER && used_ids_add(&seen, node.id) > 1;
        if (repeated)
            tbed_string_walk_skip(walk);
        if (json != NULL)
            put_node_json(reader, json, &node, repeated);
        else
            put_node_text(reader, &node, repeated);
    }
    tbed_string_walk_close(walk);
    used_ids_free(&seen);
}

/* ---- References ---- */

struct referrers {
    uint32_t entries[REFERRERS_SHOWN_MAX];
    uint64_t entry_count;
    uint64_t binding_count, bound_count; /* ids that are bound to it, with the number of bindings */
};

static bool entry_refers(const struct tbed_reader *reader, uint32_t entry, uint32_t id)
{
    struct tbed_string_component component;
    uint32_t at = 0;
    while (tbed_string_component_next(reader, entry, &at, &component) == TBED_OK)
        if (component.is_reference && component.id == id)
            return true;
    return false;
}

static void find_referrers(const struct tbed_reader *reader, uint32_t id, struct referrers *referrers)
{
    struct tbed_binding_info binding;
    for (uint32_t entry = 0; tbed_string_next(reader, &entry);)
        if (entry_refers(reader, entry, id)) {
            if (referrers->entry_count < REFERRERS_SHOWN_MAX)
                referrers->entries[referrers->entry_count] = entry;
            referrers->entry_count++;
        }
    for (size_t i = 0; tbed_binding_get(reader, i, &binding); i++)
        if (binding.string_id == id) {
            referrers->binding_count++;
            referrers->bound_count += binding.id_count;
        }
}

static size_t shown_count(const struct referrers *referrers)
{
    return referrers->entry_count < REFERRERS_SHOWN_MAX ? (size_t)referrers->entry_count
                                                        : REFERRERS_SHOWN_MAX;
}

static void put_referrers_text(struct tbed_reader *reader, const struct referrers *referrers)
{
    char entries[32], bindings[32], ids[32];
    printf("\nreferred to by %s string%s and %s binding%s of %s id%s\n",
           tool_format_count(entries, referrers->entry_count), referrers->entry_count == 1 ? "" : "s",
           tool_format_count(bindings, referrers->binding_count), referrers->binding_count == 1 ? "" : "s",
           tool_format_count(ids, referrers->bound_count), referrers->bound_count == 1 ? "" : "s");
    for (size_t i = 0; i < shown_count(referrers); i++) {
        printf("%10u  ", referrers->entries[i]);
        tool_print_name(stdout, reader, referrers->entries[i], 100);
        putchar('\n');
    }
    if (referrers->entry_count > REFERRERS_SHOWN_MAX)
        printf("%10s  %s more\n", "",
               tool_format_count(entries, referrers->entry_count - REFERRERS_SHOWN_MAX));
}

static void put_referrers_json(struct tbed_json *json, const struct referrers *referrers)
{
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "referring_strings", referrers->entry_count);
    tbed_json_array_open(json, "first");
    for (size_t i = 0; i < shown_count(referrers); i++)
        tbed_json_u64(json, NULL, referrers->entries[i]);
    tbed_json_array_close(json);
    tbed_json_u64(json, "bindings", referrers->binding_count);
    tbed_json_u64(json, "bound_ids", referrers->bound_count);
    tbed_json_object_close(json);
    tbed_json_line(json);
}

void strings_tree_put(struct tbed_reader *reader, uint32_t id, struct tbed_json *json)
{
    struct referrers referrers = {.entry_count = 0};
    put_nodes(reader, id, json);
    find_referrers(reader, id, &referrers);
    if (json != NULL)
        put_referrers_json(json, &referrers);
    else
        put_referrers_text(reader, &referrers);
}
