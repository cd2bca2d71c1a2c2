# frozen_string_literal: true

# Records the whole program, as the environment says: RUBYOPT=-rtracebed/auto TRACEBED_RUBY_FILE=run.tbed. This is what
# 'tracebed record --ruby' sets. Programs that it starts join the same trace.
#
#   TRACEBED_RUBY_FILE         the trace, appended to where it exists; without it nothing is recorded
#   TRACEBED_RUBY_ALLOCATIONS  light (default), full or none
#   TRACEBED_RUBY_CALLS        1: calls too
#   TRACEBED_RUBY_MAX          bytes that the trace may have
#   TRACEBED_RUBY_ROTATE       a series of files: bytes, nanoseconds, closed files to keep, "67108864,0,10"; a program
#                              that finds the trace taken begins a series of its own beside it
#   TRACEBED_VERBOSE           trouble is worth a line
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
                   calls: ENV["TRACEBED_RUBY_CALLS"] == "1", max_nbytes: ENV["TRACEBED_RUBY_MAX"]&.to_i)
  rescue LoadError, StandardError => e
    warn "tracebed: #{e.message}; the program runs on unrecorded" if ENV.key?("TRACEBED_VERBOSE")
  end
end
