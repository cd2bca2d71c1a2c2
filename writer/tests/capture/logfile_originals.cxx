/*
 * A program as OpenOffice has them: several threads, the original macros and nothing of ours, with strings that are
 * found in its sources, the odd ones included. Every scope is closed. The lines of each thread: logfile_test.py.
 *
 * SPDX-License-Identifier: MIT
 */
#include <rtl/logfile.hxx>

#include <string>
#include <thread>
#include <vector>

namespace
{

class Desktop
{
  public:
    void Init(int nRound)
    {
        RTL_LOGFILE_CONTEXT_AUTHOR(aLog, "desktop", "cd100003", "::Desktop::Init");
        RTL_LOGFILE_CONTEXT_TRACE(aLog, "{ create service manager");
        RTL_LOGFILE_CONTEXT_TRACE1(aLog, "round %d", nRound);
        RTL_LOGFILE_CONTEXT_TRACE(aLog, "} create service manager");
        if (nRound > 0)
            return; /* leaves every scope */
        RTL_LOGFILE_CONTEXT_TRACE2(aLog, "%s of %d", std::string("first").c_str(), nRound);
    }
};

struct SvtUndoOptions_Impl {
    SvtUndoOptions_Impl()
    {
        RTL_LOGFILE_CONTEXT(aLog, "unotools ( ??? ) ::SvtUndoOptions_Impl::ctor()");
    }
};

void setValue(int nValue)
{
    RTL_LOGFILE_CONTEXT(aLog, "::SplashScreen::setValue (lo119109)");
    RTL_LOGFILE_CONTEXT_TRACE1(aLog, "value=%d", nValue);
}

void trace_from(::rtl::Logfile &rLog, const char *pUrl)
{
    RTL_LOGFILE_PRODUCT_CONTEXT_TRACE1(rLog, "<- store config items %s", pUrl);
}

void load(const std::string &rUrl, bool bCopy)
{
    RTL_LOGFILE_CONTEXT(aLog, bCopy ? "sfx2 (mv76033) SfxMedium::Transfer_Impl, copying to target"
                                    : "sfx2 (mv76033) SfxMedium::Transfer_Impl, nothing to target");
    RTL_LOGFILE_CONTEXT_TRACE3(aLog, "%s %u %s", rUrl.c_str(), 3u, "times");
    RTL_LOGFILE_PRODUCT_CONTEXT(aInner, ("linguistic: LngSvcMgr::" + rUrl).c_str());
    trace_from(aInner, rUrl.c_str());
}

void work(int nThread)
{
    ::rtl::Logfile aMember("vcl", "ss112471", "::SVMain");
    for (int nRound = 0; nRound < 200; nRound++) {
        Desktop().Init(nRound % 2);
        SvtUndoOptions_Impl aOptions;
        setValue(nThread);
        load(nRound % 2 ? "odd" : "even", nRound % 2 != 0);
        RTL_LOGFILE_TRACE("PERFORMANCE - enter Main()");
        RTL_LOGFILE_TRACE1("{ creation ConfigItem [file=%s, version=6, mode=3]", "standard");
        RTL_LOGFILE_TRACE_AUTHOR("package", "mg115289", "{ ZipPackage::initialize");
        RTL_LOGFILE_TRACE_AUTHOR1("dbaxml", "Ocke.Janssen@sun.com", "ReadThroughComponent : parsing \"%s\"",
                                  "content.xml");
        RTL_LOGFILE_TRACE_AUTHOR2("destop", "lo119109", "desktop (lo119109) %s::%s", "Acceptor", "initialize()");
        if (nRound < 0)
            RTL_LOGFILE_TRACE_AUTHOR3("never", "seen", "%d %d %d", 1, 2, 3);
        else
            RTL_LOGFILE_TRACE2("100%% of %d in %s", nRound, std::to_string(nThread).c_str());
    }
    RTL_LOGFILE_PRODUCT_TRACE("} creation ConfigItem");
    RTL_LOGFILE_PRODUCT_TRACE1("thread %d", nThread);
}

} // namespace

int main()
{
    std::vector<std::thread> aThreads;
    for (int nThread = 0; nThread < 4; nThread++)
        aThreads.emplace_back(work, nThread);
    for (std::thread &rThread : aThreads)
        rThread.join();
    return RTL_LOGFILE_HASLOGFILE() ? 0 : 1;
}
