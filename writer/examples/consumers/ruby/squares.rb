# A program in Ruby that records where it allocates.
#
# SPDX-License-Identifier: MIT

require "tracebed"

Tracebed.start(ARGV[0], allocations: :full) do
  [2, 3].each { |number| "square #{number * number}" }
end
