/* rtl/logfile.hxx for programs written for OpenOffice's; see <tracebed/rtl_logfile.h>. SPDX-License-Identifier: MIT */
#include <tracebed/rtl_logfile.h>
