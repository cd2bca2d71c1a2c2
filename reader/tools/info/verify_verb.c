/*
 * tracebed verify: check for damage.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/shared/tool.h"

#include <tracebed/verify.h>

#include <string.h>

static const char help[] =
    "usage: tracebed verify [OPTION]... FILE...\n"
    "\n"
    "Check every checksum, event, string and reference of each FILE, and print a\n"
    "verdict: intact; not cleanly closed (the program was killed or is still running,\n"
    "which is not damage); or damaged, with the location of each damage. FILE may be\n"
    "'-' for standard input. Profiles and logs of other formats are checked as well.\n"
    "\n"
    "  -q, --quiet         print nothing; only set the exit status\n"
    "      --json          print one JSON object per file, each on one line\n"
    "  -j, --jobs=N        use N threads (default: one per processor)\n"
    "      --color=WHEN    use color: never, auto or always\n"
    "  -h, --help          print this help\n"
    "\n"
    "Examples:\n"
    "  tracebed verify run.tbed\n"
    "  tracebed verify -q *.tbed && echo all intact\n"
    "\n"
    "Exit status: 0 if no file is damaged; 1 if a file is damaged; 2 if the usage is\n"
    "wrong or a file cannot be read.\n";

enum { OPTION_JSON = 2000 };

enum verdict { INTACT, NOT_CLOSED, DAMAGED };

struct check {
    const char *path;
    unsigned jobs;                            /* 0: one per processor */
    struct tbed_reader *reader;               /* NULL: the header page is damaged, see 'error' */
    const struct tbed_import_report *foreign; /* NULL: a native trace */
    struct tbed_error error;
    enum verdict verdict;
    struct tbed_trace_info info;
    uint64_t event_count, string_count, damage_count;
    uint64_t unknown_count,
        backward_count; /* events of later versions and decreasing ticks, which are not damage */
};

/* ---- Checking ---- */

/* An invalid header page is a finding, not a failure to read the file. */
static bool is_damage(enum tbed_status status)
{
    switch (status) {
    case TBED_ERR_EMPTY:
    case TBED_ERR_HEADER_CUT:
    case TBED_ERR_HEADER_SIZE:
    case TBED_ERR_HEADER_CHECKSUM:
    case TBED_ERR_PAGE_SIZE:
    case TBED_ERR_ID_SPACE:
    case TBED_ERR_CLOCK:
    case TBED_ERR_FILE_ID:
    case TBED_ERR_HEADER_ZERO:
    case TBED_ERR_PROFILE_CUT:
        return true;
    default:
        return false;
    }
}

static void check_trace(struct check *check)
{
    const struct tbed_verify_options options = {.size = sizeof options, .thread_count = check->jobs};
    tool_progress_begin(check->reader, false);
    tbed_reader_verify_with(check->reader, &options);
    tool_progress_end();
    tbed_reader_info(check->reader, &check->info);
    check->event_count = check->info.event_count;
    check->unknown_count = check->info.unknown_event_count + check->info.application_event_count;
    check->backward_count = check->info.tick_decrease_count;
    for (uint32_t id = 0; tbed_string_next(check->reader, &id);)
        check->string_count++;
    check->foreign = tool_foreign_report(check->reader);
    if (check->foreign != NULL) /* the process has the name of the trace itself */
        check->string_count = check->foreign->string_count;
    check->damage_count = tool_damage_count(check->reader);
    check->verdict = check->damage_count > 0 ? DAMAGED : check->info.shut ? INTACT : NOT_CLOSED;
}

/* Damage 'index', including the one that prevented opening the file; damage in a foreign file comes first. */
static bool damage_at(const struct check *check, size_t index, struct tbed_damage *damage)
{
    const struct tbed_import_report *foreign = check->foreign;
    if (check->reader == NULL) {
        *damage = (struct tbed_damage){
            .status = check->error.status, .offset = check->error.offset, .detail = check->error.detail};
        return index == 0;
    }
    size_t foreign_count = 0;
    if (foreign != NULL)
        foreign_count = foreign->damage_count < TBED_IMPORT_DAMAGE_KEPT ? (size_t)foreign->damage_count
                                                                        : TBED_IMPORT_DAMAGE_KEPT;
    if (index >= foreign_count)
        return tbed_damage_get(check->reader, index - foreign_count, damage);
    const struct tbed_import_damage *found = &foreign->damages[index];
    *damage = (struct tbed_damage){
        .status = found->status, .offset = found->offset, .page = UINT64_MAX, .detail = found->detail};
    return true;
}

/* For a profile in three files, the prefix that names the damaged file. */
static const char *part_at(const struct check *check, size_t index)
{
    const struct tbed_import_report *foreign = check->foreign;
    bool is_foreign = foreign != NULL && index < foreign->damage_count && index < TBED_IMPORT_DAMAGE_KEPT;
    return is_foreign ? tool_profile_part(foreign, foreign->damages[index].file) : NULL;
}

/* ---- Text ---- */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

static void put_counted(const char *before, uint64_t count, const char *what)
{
    char figure[32];
    printf("%s%s %s%s", before, tool_format_count(figure, count), what, plural(count));
}

static void put_verdict(const struct check *check)
{
    static const char *const words[] = {"intact", "not cleanly closed, which is no damage", "damaged"};
    const char *colors[] = {tool_green(), tool_green(), tool_red()};
    const char *path = tool_path(check->path);
    tool_print_text(stdout, path, strlen(path), 0);
    printf(": %s%s%s", colors[check->verdict], words[check->verdict], tool_plain());
    if (check->verdict == DAMAGED)
        put_counted(" in ", check->damage_count, "place");
    if (check->reader != NULL) {
        fputs(check->verdict == DAMAGED ? "; can be read" : "", stdout);
        put_counted(": ", check->event_count, "event");
        put_counted(" in ", check->info.stream_count, "stream");
        put_counted(", ", check->string_count, "string");
    }
    putchar('\n');
}

static void put_damage(const struct check *check)
{
    struct tbed_damage damage;
    size_t index = 0;
    for (; damage_at(check, index, &damage) && !tool_output_failed(); index++) {
        const char *part = part_at(check, index);
        if (damage.offset != UINT64_MAX)
            printf("  offset 0x%llx (%llu), ", (unsigned long long)damage.offset,
                   (unsigned long long)damage.offset);
        else
            fputs("  ", stdout);
        if (damage.page != UINT64_MAX)
            printf("page %llu, cell %u: ", (unsigned long long)damage.page, damage.cell);
        else
            printf("the %s%sfile: ", part != NULL ? part : "", part != NULL ? " " : "");
        printf("%s: %s%s", tbed_status_name(damage.status), tbed_status_text(damage.status),
               tool_profile_stream(damage.status, damage.offset, damage.detail));
        tool_print_damaged_block(stdout, check->reader, &check->info, &damage);
        putchar('\n');
    }
    if (check->damage_count > index)
        put_counted("  and ", check->damage_count - index, "more place"), putchar('\n');
}

static void put_note(uint64_t count, const char *what, const char *explanation)
{
    if (count == 0)
        return;
    put_counted("  ", count, what);
    printf(" %s\n", explanation);
}

static void put_notes(const struct check *check)
{
    const struct tbed_trace_info *info = &check->info;
    if (!info->shut)
        put_note(info->unsealed_block_count, "unsealed block", "without a checksum, as a writer leaves them");
    put_note(info->interrupted_record_count, "interrupted record",
             "left by writers that were killed; not read");
    if (check->foreign != NULL) {
        put_note(check->foreign->inverted_count, "interval", "with the end before the begin");
        put_note(check->foreign->unpaired_count, "start or end", "without its counterpart; omitted");
    }
    if (check->reader != NULL)
        tool_print_losses(stdout, check->reader, "  lost before the trace was recovered: ");
    put_note(check->unknown_count, "event", "of kinds that this version does not know; skipped");
    put_note(check->backward_count, "event", "earlier than the one before it in the same stream");
    if (tool_drops_total(info->drops) > 0) {
        printf("  %s%sdropped%s while recording: ", tool_bold(), tool_red(), tool_plain());
        tool_print_drops(stdout, info->drops);
        putchar('\n');
    }
}

static void put_text(const struct check *check)
{
    put_verdict(check);
    if (check->verdict == DAMAGED)
        put_damage(check);
    put_notes(check);
}

/* ---- JSON ---- */

static void json_damage(struct tbed_json *out, const struct check *check)
{
    struct tbed_damage damage;
    tbed_json_array_open(out, "damage");
    for (size_t i = 0; check->verdict == DAMAGED && damage_at(check, i, &damage); i++) {
        tbed_json_object_open(out, NULL);
        tbed_json_string(out, "check", tbed_status_name(damage.status));
        tbed_json_string(out, "text", tbed_status_text(damage.status));
        if (part_at(check, i) != NULL)
            tbed_json_string(out, "part", part_at(check, i));
        if (damage.offset != UINT64_MAX)
            tbed_json_u64(out, "offset", damage.offset);
        if (damage.page != UINT64_MAX) {
            tbed_json_u64(out, "page", damage.page);
            tbed_json_u64(out, "cell", damage.cell);
        }
        tbed_json_u64(out, "detail", damage.detail);
        tool_json_damaged_block(out, check->reader, &check->info, &damage);
        tbed_json_object_close(out);
    }
    tbed_json_array_close(out);
}

static void put_json(const struct check *check)
{
    static const char *const words[] = {"intact", "not_cleanly_closed", "damaged"};
    const struct tbed_trace_info *info = &check->info;
    struct tbed_json out = {.out = stdout};
    tbed_json_object_open(&out, NULL);
    tbed_json_string(&out, "file", tool_path(check->path));
    tbed_json_string(&out, "verdict", words[check->verdict]);
    tbed_json_u64(&out, "events", check->event_count);
    tbed_json_u64(&out, "streams", info->stream_count);
    tbed_json_u64(&out, "strings", check->string_count);
    tbed_json_u64(&out, "unsealed_blocks", info->unsealed_block_count);
    tbed_json_u64(&out, "interrupted_records", info->interrupted_record_count);
    tbed_json_u64(&out, "unknown_events", check->unknown_count);
    tbed_json_u64(&out, "backward_events", check->backward_count);
    tool_json_drops(&out, "drops", info->drops);
    tbed_json_u64(&out, "damage_count", check->damage_count);
    if (check->reader != NULL)
        tool_json_losses(&out, check->reader);
    json_damage(&out, check);
    tbed_json_object_close(&out);
    tbed_json_line(&out);
}

/* ---- The verb ---- */

static void put_unreadable(const char *path, const struct tbed_error *error)
{
    struct tbed_json out = {.out = stdout};
    tbed_json_object_open(&out, NULL);
    tbed_json_string(&out, "file", tool_path(path));
    tbed_json_string(&out, "verdict", "unreadable");
    tbed_json_string(&out, "error", tbed_status_name(error->status));
    tbed_json_string(&out, "text", tbed_status_text(error->status));
    tbed_json_object_close(&out);
    tbed_json_line(&out);
}

struct options {
    bool quiet, json;
    unsigned jobs;
};

static int verify(const char *path, const struct options *options)
{
    struct check check = {.path = path,
                          .jobs = options->jobs,
                          .error = {.offset = UINT64_MAX},
                          .verdict = DAMAGED,
                          .damage_count = 1};
    check.reader = tool_open_quietly(path, &check.error);
    if (check.reader == NULL && !is_damage(check.error.status)) {
        if (options->json)
            put_unreadable(path, &check.error);
        fflush(stdout);
        tool_complain_open(path, &check.error);
        return TOOL_TROUBLE;
    }
    if (check.reader != NULL)
        check_trace(&check);
    if (options->json)
        put_json(&check);
    else if (!options->quiet)
        put_text(&check);
    tbed_reader_close(check.reader);
    return check.verdict == DAMAGED ? TOOL_FOUND : TOOL_FINE;
}

/* Returns NULL, or what is wrong with the option. */
static const char *take_option(struct options *options, int option)
{
    if (option == 'j')
        return tool_parse_jobs(optarg, &options->jobs);
    options->quiet |= option == 'q';
    options->json |= option == OPTION_JSON;
    return NULL;
}

static int run(int argc, char **argv)
{
    static const struct option longs[] = {{"quiet", no_argument, NULL, 'q'},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          {"jobs", required_argument, NULL, 'j'},
                                          TOOL_COMMON_OPTIONS,
                                          {0}};
    struct options options = {0};
    int option, exit, worst = TOOL_FINE;
    while ((option = tool_option_next(&tool_verb_verify, argc, argv, "qj:h", longs, &exit)) != -1) {
        const char *wrong = take_option(&options, option);
        if (wrong != NULL)
            return tool_usage(&tool_verb_verify, wrong);
    }
    if (exit >= 0)
        return exit;
    if (options.quiet && options.json)
        return tool_usage(&tool_verb_verify, "--quiet cannot be combined with --json");
    if (optind == argc)
        return tool_usage(&tool_verb_verify, "missing FILE operand");
    for (int i = optind; i < argc && !tool_output_failed(); i++) {
        exit = verify(argv[i], &options);
        worst = exit > worst ? exit : worst;
    }
    return tool_finish(worst);
}

const struct tool_verb tool_verb_verify = {"verify", "check for damage", help, run};
