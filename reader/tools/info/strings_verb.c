/*
 * tracebed strings: print the string table and the bindings.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/info/strings_table.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: tracebed strings [OPTION]... FILE\n"
    "\n"
    "Print the string table of a trace: the id and text of each entry, one per line.\n"
    "FILE may be '-' for standard input.\n"
    "\n"
    "      --raw           print the components as stored: \"text\", and <id> for a\n"
    "                      reference to another string\n"
    "      --bindings      print which string each reserved id is bound to, instead\n"
    "      --tree=ID       print the parts of one string, its length, and what refers\n"
    "                      to it; ID is a number or 'metadata'\n"
    "      --unresolved    print only what has no text: damaged entries, bindings to\n"
    "                      them, and ids that events use but nothing defines (reads\n"
    "                      all events)\n"
    "  -s, --sort=KEY[,...]\n"
    "                      print a table, sorted by these columns: bytes and counts\n"
    "                      fall, ids and text rise, or as '+' (rise) or '-' (fall)\n"
    "                      before KEY says\n"
    "      --columns=KEY[,...]\n"
    "                      print a table of these columns: string (the id), bytes,\n"
    "                      text; with --bindings bind, count, string, text\n"
    "      --no-symbols    do not look up symbols for --name and the like\n"
    "      --csv           print comma-separated values\n"
    "      --json          print one JSON object per line\n"
    "  -j, --jobs=N        use N threads for --name and the like (default: one per\n"
    "                      processor)\n"
    "      --color=WHEN    use color: never, auto or always\n"
    "  -h, --help          print this help\n"
    "\n" TOOL_FILTER_HELP "\n"
    "With these, only strings are printed that the events of that part use, and the\n"
    "strings to which they refer.\n"
    "\n"
    "Examples:\n"
    "  tracebed strings run.tbed | grep alloc\n"
    "  tracebed strings --unresolved run.tbed\n"
    "  tracebed strings --tree=536870920 run.tbed\n"
    "\n"
    "Exit status: 0 on success; 1 if the file is damaged (everything intact is\n"
    "printed); 2 if the usage is wrong or the file cannot be read.\n";

enum { OPTION_RAW = 2000, OPTION_BINDINGS, OPTION_UNRESOLVED, OPTION_TREE };
#define ID_COLUMNS 10

struct listing {
    struct query query;
    struct query_trace trace;
    struct tbed_json json;
    uint32_t tree_id;
    struct used_ids used;       /* by the events that the filter takes, if there is one */
    struct strings_shown shown; /* these and what they refer to */
};

static bool is_shown(const struct listing *listing, uint32_t id)
{
    return strings_shown_has(&listing->shown, id, 1);
}

/* ---- Entries ---- */

static bool print_piece(void *context, const char *text, size_t nbytes)
{
    (void)context;
    tool_print_text(stdout, text, nbytes, 0);
    return true;
}

static void put_entry_text(struct listing *listing, uint32_t id)
{
    printf("%*u  ", ID_COLUMNS, id);
    enum tbed_status status = tbed_string_stream(listing->trace.reader, id, NULL, print_piece, NULL);
    if (status != TBED_OK)
        printf("  (%s)", tbed_status_text(status));
    putchar('\n');
}

static void put_entry(struct listing *listing, uint32_t id)
{
    struct tbed_json *json = &listing->json;
    if (!listing->query.json) {
        put_entry_text(listing, id);
        return;
    }
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "string", id);
    tool_json_name(json, "text", listing->trace.reader, id);
    tbed_json_object_close(json);
    tbed_json_line(json);
}

static void put_component_text(const struct tbed_string_component *component)
{
    if (component->is_reference) {
        printf(" <%u>", component->id);
        return;
    }
    putchar(' ');
    tool_print_quoted(stdout, component->text, component->nbytes);
}

static void put_component_json(struct tbed_json *json, const struct tbed_string_component *component)
{
    if (!component->is_reference) {
        tbed_json_text(json, NULL, component->text, component->nbytes);
        return;
    }
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "id", component->id);
    tbed_json_object_close(json);
}

static enum tbed_status put_components(struct listing *listing, uint32_t id)
{
    struct tbed_string_component component;
    enum tbed_status status;
    uint32_t at = 0;
    while ((status = tbed_string_component_next(listing->trace.reader, id, &at, &component)) == TBED_OK) {
        if (listing->query.json)
            put_component_json(&listing->json, &component);
        else
            put_component_text(&component);
    }
    return status;
}

static void put_raw_text(struct listing *listing, uint32_t id)
{
    printf("%*u ", ID_COLUMNS, id);
    enum tbed_status status = put_components(listing, id);
    if (status != TBED_END)
        printf("  (%s)", tbed_status_text(status));
    putchar('\n');
}

static void put_raw(struct listing *listing, uint32_t id)
{
    struct tbed_json *json = &listing->json;
    if (!listing->query.json) {
        put_raw_text(listing, id);
        return;
    }
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "string", id);
    tbed_json_array_open(json, "components");
    enum tbed_status status = put_components(listing, id);
    tbed_json_array_close(json);
    if (status != TBED_END)
        tbed_json_string(json, "error", tbed_status_name(status));
    tbed_json_object_close(json);
    tbed_json_line(json);
}

static void list_entries(struct listing *listing, void (*put)(struct listing *, uint32_t))
{
    for (uint32_t id = 0; tbed_string_next(listing->trace.reader, &id) && !tool_output_failed();)
        if (is_shown(listing, id))
            put(listing, id);
}

static void list_whole(struct listing *listing)
{
    list_entries(listing, put_entry);
}

static void list_raw(struct listing *listing)
{
    list_entries(listing, put_raw);
}

/* ---- Bindings ---- */

static void put_binding_text(struct listing *listing, const struct tbed_binding_info *binding)
{
    char range[32];
    if (binding->first_id == TBED_ID_METADATA)
        snprintf(range, sizeof range, "metadata");
    else if (binding->id_count == 1)
        snprintf(range, sizeof range, "%u", binding->first_id);
    else /* the last one, inclusive, as people read ranges */
        snprintf(range, sizeof range, "%u-%llu", binding->first_id,
                 (unsigned long long)binding->first_id + binding->id_count - 1);
    printf("%21s  %*u  ", range, ID_COLUMNS, binding->string_id);
    enum tbed_status status = tool_print_name(stdout, listing->trace.reader, binding->string_id, 0);
    if (status != TBED_OK)
        printf("  (%s)", tbed_status_text(status));
    putchar('\n');
}

static void put_binding_json(struct tbed_json *json, const struct tbed_binding_info *binding)
{
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "bind", binding->first_id);
    tbed_json_u64(json, "count", binding->id_count);
    tbed_json_u64(json, "string", binding->string_id);
    tbed_json_object_close(json);
    tbed_json_line(json);
}

static void put_binding(struct listing *listing, const struct tbed_binding_info *binding)
{
    if (listing->query.json)
        put_binding_json(&listing->json, binding);
    else
        put_binding_text(listing, binding);
}

static void list_bindings(struct listing *listing)
{
    struct tbed_binding_info binding;
    for (size_t i = 0; tbed_binding_get(listing->trace.reader, i, &binding) && !tool_output_failed(); i++)
        if (strings_binding_is_shown(&listing->shown, &binding))
            put_binding(listing, &binding);
}

/* ---- Unresolved ids ---- */

static void put_unresolved(struct listing *listing, const char *what, uint32_t id, uint64_t uses)
{
    struct tbed_json *json = &listing->json;
    struct tbed_name name;
    enum tbed_status status = tbed_name_get(listing->trace.reader, id, &name);
    if (status == TBED_ERR_CACHE_FULL)
        status = tbed_string_resolve(listing->trace.reader, id, NULL, 0, NULL);
    char figure[32];
    if (status == TBED_OK)
        return;
    if (!listing->query.json) {
        printf("%*u  %s", ID_COLUMNS, id, what);
        if (uses > 0)
            printf(" %s time%s", tool_format_count(figure, uses), uses == 1 ? "" : "s");
        printf(": %s (%s)\n", tbed_status_text(status), tbed_status_name(status));
        return;
    }
    tbed_json_object_open(json, NULL);
    tbed_json_u64(json, "id", id);
    tbed_json_string(json, "where", what);
    if (uses > 0)
        tbed_json_u64(json, "uses", uses);
    tbed_json_string(json, "error", tbed_status_name(status));
    tbed_json_object_close(json);
    tbed_json_line(json);
}

static int compare_used(const void *left, const void *right)
{
    const struct used_id *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static void list_used(struct listing *listing)
{
    struct used_ids *used = &listing->used;
    if (!listing->shown.is_part)
        strings_used_count(listing->trace.reader, NULL, used);
    size_t slot_count = tbed_hashmap_capacity(&used->ids.map); /* sorting destroys the map */
    if (slot_count > 0)
        qsort(used->ids.slots, slot_count, sizeof *used->ids.slots, compare_used);
    for (size_t i = 0; i < slot_count; i++)
        if (used->ids.slots[i].key != 0)
            put_unresolved(listing, "named by events", (uint32_t)used->ids.slots[i].key,
                           used->ids.slots[i].count);
}

static void list_unresolved(struct listing *listing)
{
    struct tbed_binding_info binding;
    for (uint32_t id = 0; tbed_string_next(listing->trace.reader, &id);)
        if (is_shown(listing, id))
            put_unresolved(listing, "entry", id, 0);
    for (size_t i = 0; tbed_binding_get(listing->trace.reader, i, &binding); i++)
        if (strings_binding_is_shown(&listing->shown, &binding))
            put_unresolved(listing, "bound to", binding.string_id, 0);
    list_used(listing);
}

static void list_tree(struct listing *listing)
{
    strings_tree_put(listing->trace.reader, listing->tree_id, listing->query.json ? &listing->json : NULL);
}

/* ---- The verb ---- */

static bool parse_id(const char *text, uint32_t *id_ret)
{
    uint64_t value = TBED_ID_METADATA;
    if (strcmp(text, "metadata") != 0 && !tool_parse_u64(text, TBED_ID_MAX, &value))
        return false;
    *id_ret = (uint32_t)value;
    return true;
}

static void put_filter(struct listing *listing)
{
    struct tbed_json *json = &listing->json;
    if (!listing->query.json || !listing->shown.is_part)
        return;
    tbed_json_object_open(json, NULL);
    tool_filter_json(json, &listing->query.filter, &listing->trace.window);
    tbed_json_object_close(json);
    tbed_json_line(json);
}

static bool is_table(const struct listing *listing)
{
    const struct query *query = &listing->query;
    return query->csv || query->columns_text != NULL || query->sort_text != NULL;
}

/* Returns -1, or the exit status after a complaint. Only the filter uses symbols. */
static int open_trace(struct listing *listing, const char *path)
{
    bool has_filter = tool_filter_is_given(&listing->query.filter);
    listing->query.no_symbols |= !has_filter;
    int exit = query_open(&listing->trace, path, &listing->query);
    if (exit < 0 && has_filter) {
        strings_used_count(listing->trace.reader, listing->trace.filter, &listing->used);
        listing->shown = strings_used_follow(listing->trace.reader, &listing->used);
    }
    tool_places_close(&listing->trace.places);
    return exit;
}

static int show(struct listing *listing, void (*list)(struct listing *))
{
    listing->json.out = stdout;
    put_filter(listing);
    if (is_table(listing))
        strings_table_print(&listing->query, &listing->trace, &listing->shown, list == list_bindings);
    else
        list(listing);
    if (listing->query.json)
        tool_json_end_lines(listing->trace.reader);
    return tool_finish(query_end(&listing->trace, TBED_OK));
}

/* Returns NULL, or what is wrong with the option. '*list_ret' is NULL until one of several lists is asked for. */
static const char *take_option(struct listing *what, int option, void (**list_ret)(struct listing *))
{
    static void (*const lists[])(struct listing *) = {list_raw, list_bindings, list_unresolved, list_tree};
    if (*list_ret != NULL)
        return "--raw, --bindings, --tree and --unresolved cannot be combined";
    *list_ret = lists[option - OPTION_RAW];
    return option != OPTION_TREE || parse_id(optarg, &what->tree_id)
               ? NULL
               : "--tree: invalid id; expected a number up to 1073741823 or 'metadata'";
}

/* Returns NULL, or what is wrong. */
static const char *check(struct listing *what, void (*list)(struct listing *))
{
    bool is_binding = list == list_bindings;
    if (list == list_tree && tool_filter_is_given(&what->query.filter))
        return "--tree cannot be combined with options for a part of the trace";
    if (is_table(what) && list != NULL && !is_binding)
        return "--csv, --columns and --sort cannot be combined with --raw, --tree and --unresolved";
    if (is_table(what) && what->query.json)
        return "--columns and --sort apply to text and --csv";
    return query_take_keys(&what->query, is_binding ? &strings_bindings : &strings_entries, 1);
}

/* Returns -1 to continue, with 'optind' at the file, or the exit status. */
static int take_options(struct listing *what, void (**list_ret)(struct listing *), int argc, char **argv)
{
    static const struct option longs[] = {{"raw", no_argument, NULL, OPTION_RAW},
                                          {"bindings", no_argument, NULL, OPTION_BINDINGS},
                                          {"unresolved", no_argument, NULL, OPTION_UNRESOLVED},
                                          {"tree", required_argument, NULL, OPTION_TREE},
                                          QUERY_OPTIONS,
                                          QUERY_TABLE_OPTIONS,
                                          {0}};
    int option, exit;
    while ((option = query_option_next(&what->query, argc, argv, QUERY_SHORTS QUERY_TABLE_SHORTS, longs,
                                       &exit)) != -1) {
        const char *wrong = take_option(what, option, list_ret);
        if (wrong != NULL)
            return tool_usage(&tool_verb_strings, wrong);
    }
    if (exit >= 0)
        return exit;
    const char *wrong = check(what, *list_ret);
    return wrong != NULL ? tool_usage(&tool_verb_strings, wrong)
                         : query_take_operands(&what->query, argc, argv, NULL);
}

static int run(int argc, char **argv)
{
    struct listing listing = {.query = {.verb = &tool_verb_strings}};
    void (*list)(struct listing *) = NULL;
    int exit = take_options(&listing, &list, argc, argv);
    if (exit < 0)
        exit = open_trace(&listing, argv[optind]);
    if (exit < 0)
        exit = show(&listing, list != NULL ? list : list_whole);
    used_ids_free(&listing.used);
    free(listing.shown.ids);
    query_trace_close(&listing.trace);
    query_close(&listing.query);
    return exit;
}

const struct tool_verb tool_verb_strings = {"strings", "print the string table", help, run};
