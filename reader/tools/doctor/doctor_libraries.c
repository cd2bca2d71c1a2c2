/*
 * tracebed doctor: libraries, languages and tools that single commands and options need.
 *
 * A library counts if this build knows it, which its headers decide, and if this machine has it at run time.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE 1
#include "reader/tools/doctor/doctor.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#if __has_include(<zstd.h>)
#define HAS_ZSTD true
#else
#define HAS_ZSTD false
#endif
#if __has_include(<sqlite3ext.h>)
#define HAS_SQLITE true
#else
#define HAS_SQLITE false
#endif
#if __has_include(<ncurses.h>)
#define HAS_NCURSES true
#else
#define HAS_NCURSES false
#endif
#if __has_include(<microhttpd.h>)
#define HAS_HTTP true
#else
#define HAS_HTTP false
#endif
#if __has_include(<cairo/cairo.h>) && __has_include(<fontconfig/fontconfig.h>)
#define HAS_CAIRO true
#else
#define HAS_CAIRO false
#endif
#if __has_include(<babeltrace2/babeltrace.h>)
#define HAS_CTF true
#else
#define HAS_CTF false
#endif

struct library {
    const char *subject, *file, *use;
    bool is_known; /* to this build */
    const char *package, *headers;
};

static const struct library libraries[] = {
    {"elfutils", "libdw.so.1", "functions, files and lines of native code", true, "libdw1", "libdw-dev"},
    {"zstd", "libzstd.so.1", "pack, unpack, packed traces, Parquet, .zst", HAS_ZSTD, "libzstd1",
     "libzstd-dev"},
    {"SQLite", "libsqlite3.so.0", "sql", HAS_SQLITE, "libsqlite3-0", "libsqlite3-dev"},
    {"ncurses", "libncursesw.so.6", "tui", HAS_NCURSES, "libncursesw6", "libncurses-dev"},
    {"HTTP", "libmicrohttpd.so.12", "view, in the browser", HAS_HTTP, "libmicrohttpd12", "libmicrohttpd-dev"},
    {"cairo", "libcairo.so.2", "view --png", HAS_CAIRO, "libcairo2 libfontconfig1",
     "libcairo2-dev libfontconfig-dev"},
    {"CTF", "libbabeltrace2.so.0", "traces of LTTng and other CTF", HAS_CTF, "libbabeltrace2-0",
     "libbabeltrace2-dev"},
    {"debuginfod", "libdebuginfod.so.1", "symbolize --debuginfod", true, "libdebuginfod1", ""},
};

static void look_at_library(struct doctor *doctor, const struct library *library)
{
    char remedy[160];
    if (!library->is_known) {
        snprintf(remedy, sizeof remedy, "apt install %s, and build tracebed again", library->headers);
        doctor_tell(doctor, library->subject, DOCTOR_MISSING, remedy, "tracebed was built without it: %s",
                    library->use);
        return;
    }
    /* Some keep memory that only they know, and which is lost if they are unloaded. */
    void *handle = dlopen(library->file, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    snprintf(remedy, sizeof remedy, "apt install %s", library->package);
    if (handle != NULL)
        doctor_tell(doctor, library->subject, DOCTOR_FINE, NULL, "%s: %s", library->file, library->use);
    else
        doctor_tell(doctor, library->subject, DOCTOR_MISSING, remedy, "%s is not installed: %s",
                    library->file, library->use);
    if (handle != NULL)
        dlclose(handle);
}

static void look_at_names(struct doctor *doctor)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (access("/usr/lib/debug", R_OK) == 0)
        doctor_tell(doctor, "debug files", DOCTOR_FINE, NULL, "/usr/lib/debug%s%s",
                    servers != NULL && servers[0] != '\0' ? ", and servers for symbolize --debuginfod: " : "",
                    servers != NULL ? servers : "");
    else
        doctor_tell(doctor, "debug files", DOCTOR_MISSING,
                    "apt install libc6-dbg, or symbolize --debuginfod with servers in DEBUGINFOD_URLS",
                    "there is no /usr/lib/debug: functions of system libraries have no lines");
}

static void look_at_calls(struct doctor *doctor)
{
    bool has_gcc = doctor_has_program("gcc") || doctor_has_program("cc");
    bool has_clang = doctor_has_program("clang");
    if (has_gcc || has_clang)
        doctor_tell(
            doctor, "compiler", DOCTOR_FINE, NULL,
            "%s%s%s: record --functions with -fpatchable-function-entry=5, -finstrument-functions, -pg%s",
            has_gcc ? "gcc" : "", has_gcc && has_clang ? ", " : "", has_clang ? "clang" : "",
            has_clang ? ", -fxray-instrument" : "");
    else
        doctor_tell(
            doctor, "compiler", DOCTOR_MISSING, "apt install gcc",
            "there is no gcc or clang in PATH, with which programs are compiled for record --functions");
}

static void look_at_languages(struct doctor *doctor)
{
    bool has_extension =
        doctor_has_beside("ruby/tracebed.rb") || doctor_has_beside("../lib/tracebed/ruby/tracebed.rb");
    bool has_module = doctor_has_beside("python/tracebed/__init__.py") ||
                      doctor_has_beside("../lib/tracebed/python/tracebed/__init__.py");
    if (!doctor_has_program("ruby"))
        doctor_tell(doctor, "Ruby", DOCTOR_MISSING, "apt install ruby",
                    "there is no ruby in PATH: record --ruby");
    else if (has_extension)
        doctor_tell(doctor, "Ruby", DOCTOR_FINE, NULL, "the extension is installed: record --ruby");
    else
        doctor_tell(doctor, "Ruby", DOCTOR_MISSING,
                    "apt install ruby-dev, and build tracebed again; or ruby-tracebed",
                    "the extension is not installed: record --ruby");
    doctor_tell(doctor, "Python", has_module ? DOCTOR_FINE : DOCTOR_MISSING,
                has_module ? NULL : "apt install python3-dev, and build tracebed again; or python3-tracebed",
                "the module tracebed is %sinstalled", has_module ? "" : "not ");
}

static void look_at_completion(struct doctor *doctor)
{
    bool has_it = doctor_has_beside("../share/bash-completion/completions/tracebed");
    doctor_tell(doctor, "completion", has_it ? DOCTOR_FINE : DOCTOR_MISSING,
                has_it ? NULL : "sudo ./run install", "completion for the shell is %sinstalled",
                has_it ? "" : "not ");
}

void doctor_look_at_libraries(struct doctor *doctor)
{
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
        look_at_library(doctor, &libraries[i]);
    look_at_names(doctor);
    look_at_calls(doctor);
    look_at_languages(doctor);
    look_at_completion(doctor);
}
