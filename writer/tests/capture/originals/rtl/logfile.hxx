/*
 * An oracle: what OpenOffice's rtl/logfile.hxx writes, from a description of its behaviour and with nothing of ours. A program
 * that is compiled with this header writes its log to the file that RTL_ORACLE names. One thread per number, in order of first
 * use; time is always 0.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef ORACLE_RTL_LOGFILE_HXX
#define ORACLE_RTL_LOGFILE_HXX

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>

typedef unsigned char sal_Bool;
typedef char sal_Char;
typedef int sal_Int32;
typedef unsigned int sal_uInt32;
#define sal_True  ((sal_Bool)1)
#define sal_False ((sal_Bool)0)

namespace rtl
{
struct OString : std::string {
    OString(const char *text) : std::string(text) {}
    const char *getStr() const
    {
        return c_str();
    }
    static OString valueOf(sal_Int32 number)
    {
        char digits[16];
        sprintf(digits, "%d", number);
        return OString(digits);
    }
    OString operator+(const OString &other) const
    {
        return OString((static_cast<const std::string &>(*this) + other).c_str());
    }
};
} // namespace rtl

static inline FILE *oracle_file()
{
    static FILE *file = getenv("RTL_ORACLE") != NULL ? fopen(getenv("RTL_ORACLE"), "wb") : NULL;
    return file;
}

static inline unsigned oracle_thread()
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static unsigned count;
    static __thread unsigned own;
    pthread_mutex_lock(&lock);
    if (own == 0)
        own = ++count;
    pthread_mutex_unlock(&lock);
    return own;
}

/* One piece: 4096 bytes or more become 4095 and a zero. */
static inline void oracle_piece(const char *format, va_list values)
{
    char piece[4096];
    int nbytes = vsnprintf(piece, sizeof piece, format, values);
    if (nbytes >= 0 && oracle_file() != NULL) {
        fwrite(piece, 1, nbytes < 4096 ? nbytes : 4096, oracle_file());
        fflush(oracle_file());
    }
}

static inline void rtl_logfile_trace(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    oracle_piece(format, values);
    va_end(values);
}

static inline void rtl_logfile_longTrace(const char *format, ...)
{
    va_list values;
    rtl_logfile_trace("%06u %u ", 0u, oracle_thread());
    va_start(values, format);
    oracle_piece(format, values);
    va_end(values);
}

static inline sal_Bool rtl_logfile_hasLogFile()
{
    return oracle_file() != NULL;
}

namespace rtl
{
class Logfile
{
    std::string name_;

  public:
    explicit Logfile(const char *name) : name_(name)
    {
        rtl_logfile_longTrace("{ %s\n", name_.c_str());
    }
    Logfile(const char *project, const char *author, const char *name)
        : name_(std::string(project) + " (" + author + ") " + name)
    {
        rtl_logfile_longTrace("{ %s\n", name_.c_str());
    }
    ~Logfile()
    {
        rtl_logfile_longTrace("} %s\n", name_.c_str());
    }
    const sal_Char *getName()
    {
        return name_.c_str();
    }
};
} // namespace rtl

#define ORACLE_3(first, rest)                                                                                \
    do {                                                                                                     \
        first;                                                                                               \
        rest;                                                                                                \
        rtl_logfile_trace("\n");                                                                             \
    } while (0)

#define RTL_LOGFILE_HASLOGFILE()            rtl_logfile_hasLogFile()
#define RTL_LOGFILE_CONTEXT(instance, name) ::rtl::Logfile instance(name)
#define RTL_LOGFILE_CONTEXT_AUTHOR(instance, module, author, name)                                           \
    ::rtl::Logfile instance(module, author, name)
#define RTL_LOGFILE_CONTEXT_TRACE(instance, text)                                                            \
    rtl_logfile_longTrace("| %s : %s\n", instance.getName(), text)
#define RTL_LOGFILE_CONTEXT_TRACE1(instance, format, a)                                                      \
    ORACLE_3(rtl_logfile_longTrace("| %s : ", instance.getName()), rtl_logfile_trace(format, a))
#define RTL_LOGFILE_CONTEXT_TRACE2(instance, format, a, b)                                                   \
    ORACLE_3(rtl_logfile_longTrace("| %s : ", instance.getName()), rtl_logfile_trace(format, a, b))
#define RTL_LOGFILE_CONTEXT_TRACE3(instance, format, a, b, c)                                                \
    ORACLE_3(rtl_logfile_longTrace("| %s : ", instance.getName()), rtl_logfile_trace(format, a, b, c))
#define RTL_LOGFILE_TRACE(text)       rtl_logfile_longTrace("| : %s\n", text)
#define RTL_LOGFILE_TRACE1(format, a) ORACLE_3(rtl_logfile_longTrace("| : "), rtl_logfile_trace(format, a))
#define RTL_LOGFILE_TRACE2(format, a, b)                                                                     \
    ORACLE_3(rtl_logfile_longTrace("| : "), rtl_logfile_trace(format, a, b))
#define RTL_LOGFILE_TRACE3(format, a, b, c)                                                                  \
    ORACLE_3(rtl_logfile_longTrace("| : "), rtl_logfile_trace(format, a, b, c))
#define RTL_LOGFILE_TRACE_AUTHOR(module, author, text)                                                       \
    rtl_logfile_longTrace("| %s (%s) : %s\n", module, author, text)
#define RTL_LOGFILE_TRACE_AUTHOR1(module, author, format, a)                                                 \
    ORACLE_3(rtl_logfile_longTrace("| %s (%s) : ", module, author), rtl_logfile_trace(format, a))
#define RTL_LOGFILE_TRACE_AUTHOR2(module, author, format, a, b)                                              \
    ORACLE_3(rtl_logfile_longTrace("| %s (%s) : ", module, author), rtl_logfile_trace(format, a, b))
#define RTL_LOGFILE_TRACE_AUTHOR3(module, author, format, a, b, c)                                           \
    ORACLE_3(rtl_logfile_longTrace("| %s (%s) : ", module, author), rtl_logfile_trace(format, a, b, c))
#define RTL_LOGFILE_PRODUCT_TRACE(text)             RTL_LOGFILE_TRACE(text)
#define RTL_LOGFILE_PRODUCT_TRACE1(format, a)       RTL_LOGFILE_TRACE1(format, a)
#define RTL_LOGFILE_PRODUCT_CONTEXT(instance, name) RTL_LOGFILE_CONTEXT(instance, name)
#define RTL_LOGFILE_PRODUCT_CONTEXT_TRACE1(instance, format, a)                                              \
    RTL_LOGFILE_CONTEXT_TRACE1(instance, format, a)

#endif
