/* rtl/logfile.hxx for programs written for OpenOffice's; see <tracebed/rtl_logfile.h>. SPDX-License-Identifier: MIT */
#include <rtl/string.hxx>
#include <sal/types.h>
#include <tracebed/rtl_logfile.h>
