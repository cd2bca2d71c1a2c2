/*
 * The output of the original RTL_LOGFILE macros: the tests check the way from calls to these bytes (logfile_test.c)
 * and from these bytes to fields (rtl_log_test.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef TRACEBED_RTL_VECTORS_H
#define TRACEBED_RTL_VECTORS_H

#define RTL_HEADER                                                                                           \
    "opening log file 997000000.123456 seconds past January 1st 1970\n"                                      \
    "corresponding to 0 ms after timer start\n"                                                              \
    "Process id is 4711\n"

#define RTL_FIRST_LINE "000000 1 | : PERFORMANCE - enter Main()\n"

#define RTL_LINES                                                                                            \
    "000002 1 { ::SplashScreen::setValue (lo119109)\n"                                                       \
    "000002 1 | ::SplashScreen::setValue (lo119109) : value=20\n"                                            \
    "000002 1 } ::SplashScreen::setValue (lo119109)\n"                                                       \
    "000006 1 | dbaxml (oj) : ReadThroughComponent : parsing \"content.xml\"\n"                              \
    "000007 1 | package (mg115289) : { ZipPackage::initialize\n"                                             \
    "000012 1 { a : b\n"                                                                                     \
    "000012 1 | a : b : c : d\n"                                                                             \
    "000013 1 | a : b : \n"                                                                                  \
    "000013 1 | a : b : 100%\n"                                                                              \
    "000014 1 } a : b\n"                                                                                     \
    "001234 11 { desktop (cd100003) ::D::f\n"                                                                \
    "002345 11 | desktop (cd100003) ::D::f : { calc\n"                                                       \
    "099999 11 | desktop (cd100003) : ::D::g : done\n"                                                       \
    "1000000 11 } desktop (cd100003) ::D::f\n"

#endif
