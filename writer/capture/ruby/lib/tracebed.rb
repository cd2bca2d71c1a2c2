# frozen_string_literal: true

# Records where this program allocates, and what it calls, into a trace that 'tracebed report' reads.
#
#   Tracebed.start("run.tbed", allocations: :full) { work }
#
# A trace is a memory-mapped file: what was recorded survives a kill. Threads, fibers and forked
# children are recorded too. Ractors are not; where one is made, the recording of allocations ends.
#
# SPDX-License-Identifier: MIT
module Tracebed
  begin
    require "tracebed/#{RUBY_VERSION[/\A\d+\.\d+/]}/tracebed"
  rescue LoadError
    require "tracebed/tracebed"
  end

  # Ruby crashes in a new Ractor while allocations are watched, by us or by objspace: Tracebed stops watching then.
  module BeforeRactor
    def new(...)
      Tracebed.give_way
      super
    end
  end
  Ractor.singleton_class.prepend(BeforeRactor) if defined?(Ractor)

  class << self
    # Begins to record into the new file +path+; with a block until it ends, and its value is returned.
    #
    # allocations:: +:light+ where each object is allocated; +:full+ also its address, its slot's size, and when it is
    #               freed; +nil+ nothing
    # calls::       spans of all methods, Ruby's and C's
    # objects::     keeps what allocation_sourcefile and allocation_sourceline ask for, 64 to 128 bytes a living object
    # overwrite::   replaces the file, where that is a trace or empty
    # join::        appends to a trace, or begins it
    # ring_nbytes:: a flight recorder: keeps the newest events in that many bytes
    # max_nbytes::  that the trace may have; what comes then is dropped and counted
    # rotate_nbytes:: goes on in a new file when this one is as large; +path+ is the running one, "path.000001" and so on
    #                 are closed ones. Not with join and ring_nbytes
    # rotate_seconds:: the same when the file is as old
    # rotate_keep:: how many closed files are kept; +nil+ all
    # process_name:: what the process is called in the trace
    # exact::       +false+: locations from Ruby's public functions, as in Rubies whose insides are not known
    # check::       a file for counts of (location, line, path) as those functions tell them; for tests
    #
    # Raises Tracebed::Error where there can be no trace, or one is being recorded.
    def start(path, allocations: :light, calls: false, objects: false, overwrite: false, join: false,
              ring_nbytes: nil, max_nbytes: nil, rotate_nbytes: nil, rotate_seconds: nil, rotate_keep: nil, process_name: File.basename($PROGRAM_NAME), exact: true, check: nil)
      unless [:light, :full, nil].include?(allocations)
        raise ArgumentError, "allocations: #{allocations.inspect}, not :light, :full or nil"
      end
      open_trace(File.expand_path(path),
                 { allocations: allocations, calls: calls, objects: objects, overwrite: overwrite, join: join,
                   ring_nbytes: ring_nbytes, max_nbytes: max_nbytes, rotate_nbytes: rotate_nbytes,
                   rotate_seconds: rotate_seconds, rotate_keep: rotate_keep, process_name: process_name, exact: exact,
                   check: check })
      return nil unless block_given?

      begin
        yield
      ensure
        stop
      end
    end

    # Ends the recording and closes the trace; false if there was none. The program's end does the same.
    def stop
      close_trace
    end
  end
end
