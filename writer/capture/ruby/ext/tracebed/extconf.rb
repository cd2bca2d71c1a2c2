# Generates the Makefile. The writing library is compiled in from tracebed.c and tracebed.h, which './run amalgamate'
# makes and a packaged gem has next to this file; without them, an installed libtracebed is linked.
#
# SPDX-License-Identifier: MIT
require "mkmf"

if File.exist?(File.join(__dir__, "tracebed.c"))
  $defs << "-DTRACEBED_AMALGAMATED"
else
  dir_config("tracebed")
  unless have_header("tracebed/writer.h") && have_library("tracebed", "tbed_recorder_open")
    abort "neither tracebed.c beside extconf.rb nor an installed libtracebed"
  end
end
have_library("dl", "dlsym")
$CFLAGS << " -std=gnu17 -fvisibility=hidden"
create_makefile("tracebed/tracebed")
