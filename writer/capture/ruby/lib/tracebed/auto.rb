# frozen_string_literal: true

# Records the entire program, controlled by the environment: RUBYOPT=-rtracebed/auto TRACEBED_RUBY_FILE=run.tbed.
# 'tracebed record --ruby' sets these variables. Programs that it starts join the same trace.
#
#   TRACEBED_RUBY_FILE         the trace, appended to if it exists; if unset, nothing is recorded
#   TRACEBED_RUBY_ALLOCATIONS  light (default), full or none
#   TRACEBED_RUBY_STACKS       record the call stacks of allocations, of at most this many frames
#   TRACEBED_RUBY_CALLS        1: also records calls
#   TRACEBED_RUBY_FILTER       the patterns of calls, one per line, as Tracebed.start takes them; if unset, all calls
#   TRACEBED_RUBY_DEPTH        record at most this many calls inside one another
#   TRACEBED_RUBY_MINIMUM      leave out calls that take less than this many nanoseconds
#   TRACEBED_RUBY_NOTES        a file for what 'tracebed record' prints at the end
#   TRACEBED_RUBY_MAX          the maximum size of the trace in bytes
#   TRACEBED_RUBY_ROTATE       a series of files: bytes, nanoseconds, closed files to keep, as in "67108864,0,10"; if
#                              the trace is already in use, a program begins a series of its own next to it
#   TRACEBED_RUBY_CLOCK        the clock of a new trace: tsc or monotonic
#   TRACEBED_VERBOSE           prints a line about problems
#
# SPDX-License-Identifier: MIT
path = ENV["TRACEBED_RUBY_FILE"]
unless path.nil? || path.empty?
  begin
    require "tracebed"
    kind = ENV.fetch("TRACEBED_RUBY_ALLOCATIONS", "light")
    rotate = ENV["TRACEBED_RUBY_ROTATE"]
    if rotate
      nbytes, ns, keep = rotate.split(",").map(&:to_i)
      series = { rotate_nbytes: nbytes, rotate_seconds: ns / 1e9, rotate_keep: keep }
      path = [path, *1.upto(99).map { |i| "#{path}.#{Process.pid}#{"-#{i}" if i > 1}" }].find { |name| !File.exist?(name) }
    end
    Tracebed.start(path, join: rotate.nil?, **(series || {}), allocations: kind == "none" ? nil : kind.to_sym,
                   stacks: ENV["TRACEBED_RUBY_STACKS"]&.to_i, calls: ENV["TRACEBED_RUBY_CALLS"] == "1" && (ENV["TRACEBED_RUBY_FILTER"]&.split("\n") || true),
                   call_depth: ENV["TRACEBED_RUBY_DEPTH"]&.to_i, call_minimum: ENV["TRACEBED_RUBY_MINIMUM"]&.then { |ns| ns.to_i / 1e9 },
                   notes: ENV["TRACEBED_RUBY_NOTES"], max_nbytes: ENV["TRACEBED_RUBY_MAX"]&.to_i,
                   clock: ENV["TRACEBED_RUBY_CLOCK"]&.to_sym)
  rescue LoadError, StandardError => e
    warn "tracebed: #{e.message}; the program runs on unrecorded" if ENV.key?("TRACEBED_VERBOSE") || e.is_a?(ArgumentError)
  end
end
