"""
The programs of bench/real_programs_bench.py: where their sources are, how they are compiled, what they are given to do, and
the functions that get a TBED_SPAN(), chosen by hand: from the outermost to some that are called millions of times.

SPDX-License-Identifier: MIT
"""

import os

# ---- sqlite3: a table of 150,000 rows in memory, then the same in a file ----

SQL = """
.bail on
pragma journal_mode = memory;
create table t(a integer primary key, b text, c real);
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
insert into t select i, 'row ' || (i * 7919 % 150000), i * 1.5 from n;
commit;
create index u on t(b);
select count(*), sum(c) from t where b like 'row 1%';
select substr(b, 1, 6) as d, count(*), avg(c) from t group by d order by 2 desc limit 3;
update t set c = c + 1 where a % 3 = 0;
update t set b = upper(b) where a % 5 = 0;
select count(*) from t x join t y on y.b = x.b where x.a % 4 = 0;
delete from t where a % 7 = 0;
"""


def sqlite_prepare(folder):
    with open(f"{folder}/work.sql", "w", encoding="ascii") as file:
        file.write(f"{SQL}.open work.db\ndrop table if exists t;\n{SQL}")


SQLITE = {
    "name": "sqlite3",
    "package": "sqlite3",
    "configure": "test -e sqlite3.c || (./configure && make sqlite3.c shell.c)",
    "sources": ["sqlite3.c", "shell.c"],
    "compiler": "gcc",
    "flags": ["-O2", "-DSQLITE_THREADSAFE=1", "-I."],
    "libraries": ["-lm", "-lpthread", "-ldl"],
    "prepare": sqlite_prepare,
    "arguments": [":memory:", ".read work.sql"],
    "spans": {
        "sqlite3.c": """
            sqlite3_open_v2 openDatabase sqlite3_close sqlite3_prepare_v2 sqlite3LockAndPrepare sqlite3Prepare
            sqlite3RunParser sqlite3_finalize sqlite3_step sqlite3Step sqlite3VdbeExec sqlite3VdbeHalt sqlite3VdbeReset
            sqlite3VdbeDelete sqlite3Select sqlite3Insert sqlite3Update sqlite3DeleteFrom sqlite3CreateIndex
            sqlite3WhereBegin sqlite3WhereEnd sqlite3CodeRowTrigger sqlite3GenerateConstraintChecks
            sqlite3VdbeSorterInit sqlite3VdbeSorterWrite sqlite3VdbeSorterRewind sqlite3VdbeSorterNext vdbeSorterSort
            sqlite3BtreeBeginTrans sqlite3BtreeCommitPhaseOne sqlite3BtreeCommitPhaseTwo sqlite3BtreeInsert
            sqlite3BtreeDelete sqlite3BtreeTableMoveto sqlite3BtreeIndexMoveto balance balance_nonroot balance_quick
            allocateBtreePage freePage2 sqlite3PagerGet sqlite3PagerWrite sqlite3PagerCommitPhaseOne pager_write_pagelist
            readDbPage pcache1Fetch pcache1Rekey unixRead unixWrite unixSync
        """,
    },
}

# ---- lz4: blocks of 1 KiB, small frames, and a little of the slower compressor ----

LZ4_WORK = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lz4.h"
#include "lz4frame.h"
#include "lz4hc.h"
enum { SIZE = 4 << 20, BLOCK = 1024, FRAME = 16384 };
static char text[SIZE], packed[SIZE], again[SIZE];
static unsigned long total, random_state = 1;
static unsigned random_next(unsigned limit)
{
    random_state = random_state * 6364136223846793005ul + 1442695040888963407ul;
    return (unsigned)(random_state >> 33) % limit;
}
static void text_make(void)
{
    char words[512][12];
    for (int i = 0; i < 512; i++) {
        int length = 2 + (int)random_next(9);
        for (int k = 0; k < length; k++) words[i][k] = (char)('a' + random_next(26));
        words[i][length] = 0;
    }
    for (size_t at = 0; at + 16 < SIZE;) at += (size_t)sprintf(text + at, "%s ", words[random_next(512) * random_next(512) / 512]);
}
static void check(int is_right) { if (!is_right) { fputs("a round trip failed\n", stderr); exit(1); } }
static void blocks(void)
{
    for (int at = 0; at < SIZE; at += BLOCK) {
        int n = LZ4_compress_default(text + at, packed, BLOCK, SIZE);
        check(n > 0 && LZ4_decompress_safe(packed, again, n, BLOCK) == BLOCK && memcmp(text + at, again, BLOCK) == 0);
        total += (unsigned)n;
    }
}
static void stream(void)
{
    LZ4_stream_t *out = LZ4_createStream();
    LZ4_streamDecode_t in;
    check(out != NULL);
    LZ4_setStreamDecode(&in, NULL, 0);
    for (int at = 0; at < SIZE; at += BLOCK) {
        int n = LZ4_compress_fast_continue(out, text + at, packed, BLOCK, SIZE, 1);
        check(n > 0 && LZ4_decompress_safe_continue(&in, packed, again + at, n, BLOCK) == BLOCK);
        total += (unsigned)n;
    }
    check(memcmp(text, again, SIZE) == 0);
    LZ4_freeStream(out);
}
static void frames(LZ4F_dctx *in, int level, int size)
{
    LZ4F_preferences_t wanted = LZ4F_INIT_PREFERENCES;
    wanted.compressionLevel = level;
    wanted.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    for (int at = 0; at < size; at += FRAME) {
        size_t n = LZ4F_compressFrame(packed, SIZE, text + at, FRAME, &wanted), given = n, made = FRAME;
        check(!LZ4F_isError(n) && LZ4F_decompress(in, again, &made, packed, &given, NULL) == 0 && made == FRAME);
        check(memcmp(text + at, again, FRAME) == 0);
        total += n;
    }
}
int main(void)
{
    LZ4F_dctx *in = NULL;
    text_make();
    check(!LZ4F_isError(LZ4F_createDecompressionContext(&in, LZ4F_VERSION)));
    for (int i = 0; i < 20; i++) {
        blocks();
        stream();
        frames(in, 0, SIZE);
    }
    frames(in, 6, SIZE);
    LZ4F_freeDecompressionContext(in);
    printf("%lu\n", total);
}
"""


def lz4_configure(folder):
    with open(f"{folder}/lib/work.c", "w", encoding="ascii") as file:
        file.write(LZ4_WORK)


LZ4 = {
    "name": "lz4",
    "package": "lz4",
    "write": lz4_configure,
    "sources": ["lib/lz4.c", "lib/lz4hc.c", "lib/lz4frame.c", "lib/xxhash.c", "lib/work.c"],
    "compiler": "gcc",
    "flags": ["-O2", "-Ilib", "-DXXH_NAMESPACE=LZ4_"],
    "libraries": [],
    "prepare": None,
    "arguments": [],
    "spans": {
        "lib/lz4.c": """
            LZ4_compress_default LZ4_compress_fast LZ4_compress_fast_extState LZ4_compress_fast_extState_fastReset
            LZ4_compress_generic LZ4_compress_generic_validated LZ4_createStream LZ4_initStream LZ4_freeStream
            LZ4_resetStream_fast LZ4_prepareTable LZ4_renormDictT LZ4_compress_fast_continue LZ4_saveDict
            LZ4_decompress_generic LZ4_decompress_safe LZ4_decompress_safe_withPrefix64k
            LZ4_decompress_safe_withSmallPrefix LZ4_decompress_safe_continue LZ4_decompress_safe_usingDict
            LZ4_setStreamDecode
        """,
        "lib/lz4hc.c": """
            LZ4_compress_HC_extStateHC_fastReset LZ4HC_compress_generic LZ4HC_compress_hashChain
            LZ4HC_InsertAndGetWiderMatch LZ4HC_encodeSequence LZ4_initStreamHC LZ4_resetStreamHC_fast
            LZ4_setCompressionLevel LZ4HC_init_internal
        """,
        "lib/lz4frame.c": """
            LZ4F_compressFrame LZ4F_compressFrame_usingCDict LZ4F_compressBegin_usingCDict LZ4F_compressUpdate
            LZ4F_compressUpdateImpl LZ4F_compressEnd LZ4F_flush LZ4F_makeBlock LZ4F_compressBlock LZ4F_compressBlockHC
            LZ4F_selectCompression LZ4F_initStream LZ4F_headerChecksum LZ4F_createDecompressionContext
            LZ4F_freeDecompressionContext LZ4F_decompress LZ4F_decodeHeader LZ4F_updateDict
            LZ4F_compressBound_internal
        """,
        "lib/xxhash.c": "XXH32_reset XXH32_update XXH32_digest XXH32",
    },
}

# ---- ninja, in C++: a dry run of 60,000 commands ----

NINJA_SOURCES = """
    build build_log clean clparser debug_flags depfile_parser deps_log disk_interface dyndep dyndep_parser edit_distance
    eval_env graph graphviz json lexer line_printer manifest_parser metrics missing_deps ninja parser state status
    string_piece_util subprocess-posix util version
"""


def ninja_prepare(folder):
    lines = ["flags = -O2 -Wall", "rule cc", "  command = cc $flags -MMD -MF $out.d -c $in -o $out"]
    lines += ["  description = CC $out", "rule ar", "  command = ar rcs $out $in", "  description = AR $out"]
    for library in range(1200):
        made = [f"obj/m{library}/f{number}.o" for number in range(50)]
        after = f" || lib{library - 1}.a" if library % 100 > 0 else ""
        for number, path in enumerate(made):
            lines += [f"build {path}: cc source.c | build.ninja{after}"]
            lines += [f"  flags = $flags -DMODULE={library} -DFILE={number}"]
        lines += [f"build lib{library}.a: ar {' '.join(made)}"]
    with open(f"{folder}/build.ninja", "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    with open(f"{folder}/source.c", "w", encoding="ascii"):
        pass


NINJA = {
    "name": "ninja",
    "package": "ninja-build",
    "sources": [f"src/{name}.cc" for name in NINJA_SOURCES.split()],
    "compiler": "g++",
    "flags": ["-O2", "-DNDEBUG", "-DUSE_PPOLL=1", "-fno-rtti", "-fno-exceptions", "-fvisibility=hidden"],
    "libraries": [],
    "prepare": ninja_prepare,
    "arguments": ["-n"],
    "spans": {
        "src/ninja.cc": "real_main NinjaMain::RebuildManifest NinjaMain::CollectTargetsFromArgs NinjaMain::RunBuild",
        "src/parser.cc": "Parser::Load",
        "src/manifest_parser.cc": "ManifestParser::Parse ManifestParser::ParseRule ManifestParser::ParseLet ManifestParser::ParseEdge",
        "src/lexer.cc": "Lexer::ReadToken Lexer::ReadIdent Lexer::ReadEvalString",
        "src/eval_env.cc": "BindingEnv::LookupVariable BindingEnv::AddBinding BindingEnv::LookupRule EvalString::Evaluate",
        "src/state.cc": "State::AddEdge State::GetNode State::LookupNode State::AddIn State::AddOut State::RootNodes",
        "src/util.cc": "CanonicalizePath ElideMiddle GetShellEscapedString",
        "src/disk_interface.cc": "RealDiskInterface::Stat RealDiskInterface::ReadFile",
        "src/graph.cc": """
            Node::Stat DependencyScan::RecomputeDirty DependencyScan::RecomputeNodeDirty
            DependencyScan::RecomputeOutputsDirty DependencyScan::RecomputeOutputDirty Edge::AllInputsReady
            EdgeEnv::LookupVariable EdgeEnv::MakePathList Edge::EvaluateCommand Edge::GetBinding Edge::GetBindingBool
            ImplicitDepLoader::LoadDeps
        """,
        "src/build.cc": """
            Plan::AddSubTarget Plan::FindWork Plan::ScheduleWork Plan::EdgeFinished Plan::NodeFinished
            Plan::EdgeMaybeReady Builder::Build Builder::StartEdge Builder::FinishCommand
        """,
        "src/status.cc": """
            StatusPrinter::BuildEdgeStarted StatusPrinter::BuildEdgeFinished StatusPrinter::FormatProgressStatus
            StatusPrinter::PrintStatus
        """,
        "src/line_printer.cc": "LinePrinter::Print",
    },
}

ALL = [SQLITE, LZ4, NINJA]


def names_of(program):
    return [name for names in program["spans"].values() for name in names.split()]


def folder_of(program, sources):
    """The unpacked source package."""
    found = [name for name in sorted(os.listdir(sources)) if name.startswith(program["name"] + "-")]
    found = [name for name in found if os.path.isdir(f"{sources}/{name}")]
    return os.path.join(sources, found[0]) if found else None
