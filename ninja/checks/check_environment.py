"""
Checks that programs and libraries which use a macro obey TRACEBED and RTL_LOGFILE, and that no others do.

A program that only reads, started while TRACEBED names the trace that it is about to read, used to replace that trace:
the constructor that obeys the environment was in the one library for writing and reading. So each program here is
started in a folder that holds a trace, with both variables set; the test looks at what is in the folder afterwards.
The libraries are used as they are installed, found by pkg-config, linked statically and as shared libraries.

    python3 ninja/checks/check_environment.py [TEST ...]

Check: environment
Needs: release
Slow: installs the libraries and links programs with them in many ways

SPDX-License-Identifier: MIT
"""

import hashlib
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from cases import ROOT, run_unittests

MAKE_TRACE = """
#include <tracebed/writer.h>
int main(void)
{
    tbed_start("run.tbed", NULL);
    TBED_INSTANT("recorded");
    tbed_stop();
    return 0;
}
"""
READ = """
#include <stdio.h>
#include <tracebed/reader.h>
int main(void)
{
    struct tbed_reader *reader;
    struct tbed_trace_info info;
    if (tbed_reader_open("run.tbed", NULL, &reader, NULL) != TBED_OK)
        return 1;
    tbed_reader_info(reader, &info);
    printf("%d blocks\\n", (int)info.event_block_count);
    tbed_reader_close(reader);
    return 0;
}
"""
# What is linked of symbols and of the exchange brings their libraries along, and what they need of the writer.
READ_ALL = """
#include <stdio.h>
#include <tracebed/analysis.h>
#include <tracebed/compare.h>
#include <tracebed/exchange.h>
#include <tracebed/reader.h>
#include <tracebed/symbols.h>
int main(void)
{
    struct tbed_reader *reader;
    struct tbed_statistics *statistics;
    if (tbed_reader_open("run.tbed", NULL, &reader, NULL) != TBED_OK ||
        tbed_statistics_make(reader, NULL, &statistics) != TBED_OK)
        return 1;
    printf("%s\\n", tbed_statistics_instant(statistics, 0)->name);
    struct tbed_symbols *symbols = tbed_symbols_open(NULL);
    if (symbols != NULL)
        tbed_symbols_close(symbols);
    int status = tbed_import("none.mm_profdata", "none.tbed", NULL, NULL, NULL) == TBED_ERR_OPEN ? 0 : 2;
    tbed_statistics_close(statistics);
    tbed_reader_close(reader);
    return status;
}
"""
# All headers, and calls of the writer, but no macro.
NO_MACRO = """
#include <tracebed/logfile.h>
#include <tracebed/reader.h>
#include <tracebed/writer.h>
int main(void)
{
    struct tbed_reader *reader;
    struct tbed_writer *writer;
    struct tbed_writer_options options = {.size = sizeof options, .overwrite = true};
    if (tbed_reader_open("run.tbed", NULL, &reader, NULL) != TBED_OK ||
        tbed_writer_open("other.tbed", &options, &writer, NULL) != TBED_OK)
        return 1;
    struct tbed_recorder *recorder = tbed_recorder_open(writer, NULL);
    tbed_span_begin(recorder, tbed_string_intern(writer, "span", 4));
    tbed_span_end(recorder);
    tbed_writer_close(writer);
    tbed_reader_close(reader);
    return tbed_version() != TBED_VERSION_NUMBER;
}
"""
MACROS = """
#include <tracebed/writer.h>
int main(void)
{
    TBED_SPAN("macro");
    return 0;
}
"""
DEFAULT_RECORDER = """
#include <tracebed/writer.h>
int main(void)
{
    struct tbed_writer *writer = tbed_default_writer();
    tbed_instant_record(tbed_default_recorder(), tbed_string_intern(writer, "macro", 5));
    return 0;
}
"""
LOGFILE_MACROS = """
#include <tracebed/logfile.h>
int main(void)
{
    TBED_LOGFILE_CONTEXT(log, "macro");
    TBED_LOGFILE_CONTEXT_TRACE(log, "text");
    return 0;
}
"""
# A library of the program's own, in which alone the macros are.
PLUGIN = """
#include <tracebed/writer.h>
void work(void);
void work(void) { TBED_INSTANT("macro"); }
"""
LINKS_PLUGIN = """
void work(void);
int main(void) { work(); return 0; }
"""
LOADS_PLUGIN = """
#include <dlfcn.h>
#include <stddef.h>
#include <tracebed/reader.h>
int main(int argc, char **argv)
{
    struct tbed_reader *reader;
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    void (*work)(void) = plugin != NULL ? (void (*)(void))dlsym(plugin, "work") : NULL;
    if (work == NULL)
        return 1;
    work();
    return tbed_reader_open("run.tbed", NULL, &reader, NULL) != TBED_OK;
}
"""
BOTH_STARTED = """
#include <dlfcn.h>
#include <tracebed/writer.h>
int main(int argc, char **argv)
{
    if (tbed_start("own.tbed", NULL) != TBED_OK)
        return 1;
    void *plugin = dlopen(argv[argc - 1], RTLD_NOW);
    if (plugin == NULL)
        return 2;
    ((void (*)(void))dlsym(plugin, "work"))();
    tbed_stop();
    return 0;
}
"""

WARNINGS = ["-std=gnu17", "-Wall", "-Wextra", "-Werror"]
RECORDED = {"macro"}


def run(command, folder, **variables):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("TRACEBED") and name != "RTL_LOGFILE"}
    result = subprocess.run([str(word) for word in command], cwd=folder, env={**environment, **variables},
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return result.returncode, result.stdout


class Environment(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.shelf = tempfile.TemporaryDirectory()
        cls.top = pathlib.Path(cls.shelf.name)
        cls.prefix = cls.top / "installed"
        status, output = run(["sh", "ninja/install.sh"], ROOT, prefix=str(cls.prefix), DESTDIR="")
        assert status == 0, output
        cls.flags = {how: cls.pkg_config(how) for how in ("tracebed", "tracebed-reader")}

    @classmethod
    def tearDownClass(cls):
        cls.shelf.cleanup()

    @classmethod
    def pkg_config(cls, *words):
        status, output = run(["pkg-config", "--cflags", "--libs", *words], ROOT,
                             PKG_CONFIG_PATH=str(cls.prefix / "lib/pkgconfig"))
        assert status == 0, output
        return output.split()

    def flags_of(self, library, linking):
        """Static: only ours, as programs that are shipped by themselves have it."""
        if linking == "shared":
            return [*self.flags[library], f"-Wl,-rpath,{self.prefix}/lib"]
        words = self.pkg_config("--static", library)
        return [f"-l:lib{library}.a" if word == f"-l{library}" else word for word in words]

    def build(self, name, source, linking, *libraries, more=()):
        (self.folder / f"{name}.c").write_text(source)
        flags = [flag for library in libraries for flag in self.flags_of(library, linking)]
        output = self.built / name
        self.succeed(["gcc", *WARNINGS, f"{name}.c", "-o", output, *more, *flags])
        (self.folder / f"{name}.c").unlink()
        return output

    def succeed(self, command, **variables):
        status, output = run(command, self.folder, **variables)
        self.assertEqual(status, 0, f"{' '.join(map(str, command))}:\n{output}")
        return output

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(dir=self.top)
        self.addCleanup(temporary.cleanup)
        self.built = pathlib.Path(temporary.name)
        self.folder = self.built / "folder"
        self.folder.mkdir()
        self.succeed([self.build("make_trace", MAKE_TRACE, "static", "tracebed")])

    def state(self):
        """Every file of the folder, and what is in it."""
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in self.folder.iterdir()}

    def leaves_all_alone(self, program, *arguments, new=()):
        for variables in ({"TRACEBED": "run.tbed"}, {"RTL_LOGFILE": "run"}, {"RTL_LOGFILE": "run.tbed.nopid"},
                          {"TRACEBED": "run.tbed", "RTL_LOGFILE": "run"}):
            before = self.state()
            self.succeed([program, *arguments], **variables)
            after = self.state()
            for name in new:
                after.pop(name, None)
                (self.folder / name).unlink()
            self.assertEqual(before, after, variables)

    def names(self, trace):
        """What the events of the trace are called."""
        output = self.succeed([self.prefix / "bin/tracebed", "dump", trace])
        return set(re.findall(r"\b(macro|recorded)\b", output))

    def records(self, program, variables, pattern, *arguments):
        for path in self.folder.iterdir():
            if path.name != "run.tbed":
                path.unlink()
        self.succeed([program, *arguments], **variables)
        made = [path.name for path in self.folder.iterdir() if re.fullmatch(pattern, path.name)]
        self.assertEqual(len(made), 1, f"{variables}: {self.state()}")
        self.assertEqual(self.names(made[0]), RECORDED)

    def test_a_program_that_only_reads(self):
        for linking in ("static", "shared"):
            for source in (READ, READ_ALL):
                self.leaves_all_alone(self.build("read", source, linking, "tracebed-reader"))

    def test_a_program_that_uses_no_macro(self):
        for linking in ("static", "shared"):
            program = self.build("calls", NO_MACRO, linking, "tracebed", "tracebed-reader")
            self.leaves_all_alone(program, new=["other.tbed"])

    def test_the_tool(self):
        tool = self.prefix / "bin/tracebed"
        for words in (["report"], ["dump"], ["verify"], ["info"]):
            self.leaves_all_alone(tool, *words, "run.tbed")

    def test_macros_obey(self):
        for linking in ("static", "shared"):
            for source in (MACROS, DEFAULT_RECORDER):
                program = self.build("macros", source, linking, "tracebed")
                self.records(program, {"TRACEBED": "run.tbed"}, "run.tbed")
                self.records(program, {"TRACEBED": "new.tbed", "RTL_LOGFILE": "run"}, "new.tbed")

    def test_macros_do_not_obey_rtl_logfile(self):
        for linking in ("static", "shared"):
            before = self.state()
            self.succeed([self.build("macros", MACROS, linking, "tracebed")], RTL_LOGFILE="run")
            self.assertEqual(before, self.state())

    def test_logfile_macros_obey_both(self):
        for linking in ("static", "shared"):
            program = self.build("logfile", LOGFILE_MACROS, linking, "tracebed")
            self.records(program, {"TRACEBED": "new.tbed", "RTL_LOGFILE": "run"}, "new.tbed")
            self.records(program, {"RTL_LOGFILE": "log"}, r"log_\d+\.tbed")

    def test_a_library_with_macros_records(self):
        for name in ("one", "two"):
            self.build(f"lib{name}.so", PLUGIN, "shared", "tracebed", more=["-shared", "-fPIC"])
        more = [f"-Wl,-rpath,{self.built}", self.built / "libone.so", "-Wl,--no-as-needed", self.built / "libtwo.so"]
        self.records(self.build("links", LINKS_PLUGIN, "shared", more=more), {"TRACEBED": "run.tbed"}, "run.tbed")
        loads = self.build("loads", LOADS_PLUGIN, "shared", "tracebed-reader", more=["-ldl"])
        self.records(loads, {"TRACEBED": "run.tbed"}, "run.tbed", self.built / "libone.so")

    def test_a_library_that_comes_late_leaves_the_running_trace_alone(self):
        plugin = self.build("libone.so", PLUGIN, "shared", "tracebed", more=["-shared", "-fPIC"])
        program = self.build("both", BOTH_STARTED, "shared", "tracebed", more=["-ldl"])
        before = self.state()
        self.assertEqual(self.succeed([program, plugin], TRACEBED="run.tbed"), "")
        after = self.state()
        self.assertEqual(self.names("own.tbed"), RECORDED)
        self.assertEqual({**before, "own.tbed": after["own.tbed"]}, after)


if __name__ == "__main__":
    run_unittests()
