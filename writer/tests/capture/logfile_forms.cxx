/*
 * Every form of the RTL_LOGFILE macros, in C++98, with lifetimes that do not nest. Compiled with our headers and with those of
 * an oracle (originals/rtl/logfile.hxx), whose bytes logfile_dialects_test.py compares with those of the exported trace.
 *
 * SPDX-License-Identifier: MIT
 */
#include <rtl/logfile.hxx>

#include <pthread.h>
#include <stdio.h>
#include <string>

namespace
{
RTL_LOGFILE_CONTEXT(aFileScope, "BigPtrArray performance measures");
}
RTL_LOGFILE_CONTEXT_AUTHOR(aGlobal, "sw", "od", "::global");

/* The code base's dialect. */
#if __cplusplus < 201103L
static void throws() throw(int)
#else
static void throws()
#endif
{
    RTL_LOGFILE_CONTEXT(aLog, "left by an exception");
    throw 1;
}

class Canvas
{
  public:
    void trace()
    {
        RTL_LOGFILE_CONTEXT_AUTHOR(aLog, "canvas", "thb", "::Canvas::trace");
        RTL_LOGFILE_CONTEXT_TRACE1(aLog, "0x%X", this);
        RTL_LOGFILE_TRACE1("0x%x", this);
    }
};

template <typename NUMBER> static void in_template(const char *pName)
{
    RTL_LOGFILE_CONTEXT(aLog, sizeof(NUMBER) == 1 ? "char" : "other");
    RTL_LOGFILE_CONTEXT(aRunTime, pName);
}

static void forms(int nNumber, const char *pText)
{
    RTL_LOGFILE_CONTEXT(aLog, "desktop (cd100003) ::forms");
    RTL_LOGFILE_CONTEXT_AUTHOR(aOther, "unotools", " ??? ", "::Other");
    RTL_LOGFILE_CONTEXT_TRACE(aLog, "{ calculation 100%");
    RTL_LOGFILE_CONTEXT_TRACE1(aLog, "value=%d", nNumber);
    RTL_LOGFILE_CONTEXT_TRACE2(aLog, "%s of %5.2f%%", pText, 0.5);
    RTL_LOGFILE_CONTEXT_TRACE3(aOther, "%u %c %s", 3u, 'c', std::string("temporary").c_str());
    RTL_LOGFILE_CONTEXT_TRACE(aLog, "} calculation 100%");
    RTL_LOGFILE_TRACE("PERFORMANCE - enter Main()");
    RTL_LOGFILE_TRACE(pText);
    RTL_LOGFILE_TRACE("");
    RTL_LOGFILE_TRACE1("%08X", 0xBEEFu);
    RTL_LOGFILE_TRACE2("%s:%d", pText, -1);
    RTL_LOGFILE_TRACE3("%ld %lu %s", -2L, 3UL, pText);
    RTL_LOGFILE_TRACE_AUTHOR("desktop", "cd100003", "::Desktop::Close : finished");
    RTL_LOGFILE_TRACE_AUTHOR1("dbaxml", "Ocke.Janssen@sun.com", "parsing \"%s\"", "content.xml");
    RTL_LOGFILE_TRACE_AUTHOR2("a", "b", "%d %d", 1, 2);
    RTL_LOGFILE_TRACE_AUTHOR3("a", "b", "%d %d %d", 1, 2, 3);
    RTL_LOGFILE_PRODUCT_TRACE("product");
    RTL_LOGFILE_PRODUCT_TRACE1("%s", pText);
    RTL_LOGFILE_PRODUCT_CONTEXT(
        aProduct, (::rtl::OString("made at run time ") + ::rtl::OString::valueOf(nNumber)).getStr());
    RTL_LOGFILE_PRODUCT_CONTEXT_TRACE1(aProduct, "%d", nNumber);
    if (nNumber < 0)
        RTL_LOGFILE_TRACE("not this");
    else
        RTL_LOGFILE_TRACE("but this");
    if (nNumber > 0)
        RTL_LOGFILE_CONTEXT(aAtOnce, "at once");
    RTL_LOGFILE_TRACE(aOther.getName());
    RTL_LOGFILE_TRACE(aProduct.getName());
}

static void functions()
{
    rtl_logfile_longTrace("{ %s\n", "by hand");
    rtl_logfile_longTrace("| %s : %d\n", "by hand", 7);
    rtl_logfile_longTrace("| : no name\n");
    rtl_logfile_longTrace("} %s\n", "by hand");
    rtl_logfile_longTrace("} %s\n", "never begun");
    rtl_logfile_trace("%06u %u | : %s\n", 0u, 1u, "with numbers of its own");
}

static void long_texts()
{
    std::string aLong(5000, 'x');
    RTL_LOGFILE_TRACE(aLong.c_str());
    RTL_LOGFILE_TRACE2("%s%d", aLong.c_str(), 1);
    RTL_LOGFILE_CONTEXT(aName, aLong.c_str());
    RTL_LOGFILE_CONTEXT_TRACE(aFileScope, aLong.c_str());
}

using ::rtl::Logfile;

static void *delete_it(void *pLog)
{
    delete static_cast<Logfile *>(pLog);
    RTL_LOGFILE_TRACE("in the thread");
    return NULL;
}

static void lifetimes()
{
    pthread_t aThread;
    ::rtl::Logfile *pA = new ::rtl::Logfile("A"), *pB = new ::rtl::Logfile("sw", "od", "B");
    static ::rtl::Logfile *pNever = new ::rtl::Logfile("never deleted");
    delete pA;
    RTL_LOGFILE_CONTEXT_TRACE((*pB), "still B");
    RTL_LOGFILE_CONTEXT_TRACE1((*pNever), "%d", 1);
    delete pB;
    ::rtl::Logfile *pOther = new ::rtl::Logfile("other thread ends me");
    pthread_create(&aThread, NULL, delete_it, pOther);
    pthread_join(aThread, NULL);
    static ::rtl::Logfile aStatic("static");
    RTL_LOGFILE_CONTEXT_TRACE(aStatic, "in static");
}

int main(int argc, char **)
{
    sal_Bool bOn = RTL_LOGFILE_HASLOGFILE();
    forms(42, "text");
    forms(43, "text");
    in_template<char>("one");
    in_template<int>("two");
    in_template<int>("two");
    try {
        throws();
    } catch (int) {
        RTL_LOGFILE_TRACE("caught");
    }
    Canvas aCanvas;
    aCanvas.trace();
    functions();
    lifetimes();
    if (argc > 1)
        long_texts();
    RTL_LOGFILE_CONTEXT_TRACE(aFileScope, "START");
    RTL_LOGFILE_CONTEXT_TRACE(aGlobal, "END");
    return bOn ? 0 : 1;
}
