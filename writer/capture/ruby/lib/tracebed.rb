# frozen_string_literal: true

# Records where this program allocates and what it calls, in a trace for 'tracebed report'.
#
#   Tracebed.start("run.tbed", allocations: :full) { work }
#
# A trace is a memory-mapped file, so recorded events survive a kill. Threads, fibers and forked children are recorded
# too. Ractors are not; creating one ends the recording of allocations.
#
# SPDX-License-Identifier: MIT
module Tracebed
  begin
    require "tracebed/#{RUBY_VERSION[/\A\d+\.\d+/]}/tracebed"
  rescue LoadError
    require "tracebed/tracebed"
  end

  # Ruby crashes in a new Ractor while Tracebed or objspace hooks allocations, so Tracebed first removes its hooks.
  module BeforeRactor
    def new(...)
      Tracebed.give_way
      super
    end
  end
  Ractor.singleton_class.prepend(BeforeRactor) if defined?(Ractor)

  # A process has the title in the trace that the program gives it, and so do children that it forks later.
  module AfterTitle
    def setproctitle(title)
      super.tap { Tracebed.send(:name_process, title) }
    end
  end
  Process.singleton_class.prepend(AfterTitle)
  trace_var(:$0) { |title| Tracebed.send(:name_process, title) }

  class << self
    # Starts recording to the new file +path+. With a block, records until the block ends and returns its value.
    #
    # allocations:: +:light+ records where each object is allocated; +:full+ also its address, its slot's size, and when
    #               it is freed; +nil+ records no allocations
    # stacks::      records the call stack of each allocation, of at most this many frames of Ruby code, or 32 if +true+
    # calls::       records spans of all methods, in Ruby and in C; or only of those that match one of these patterns:
    #               "Foo#*" for names of methods, or with a slash or "file:" in front, "*/lib/foo/*" and "file:foo.rb",
    #               for paths of files. A pattern with "!" in front leaves out what matches; the last matching pattern
    #               decides, and what matches none is recorded if the first pattern leaves out
    # call_depth::  records at most this many calls inside one another
    # call_minimum:: leaves out calls that take less than this many seconds; what they call takes less as well. Needs
    #               allocations: nil
    # objects::     keeps the data for allocation_sourcefile and allocation_sourceline, 64 to 128 bytes per live object
    # overwrite::   replaces the file if it is a trace or empty
    # join::        appends to a trace, or creates it
    # ring_nbytes:: makes the trace a flight recorder that keeps the newest events in this many bytes
    # max_nbytes::  limits the trace's size; further events are dropped and counted
    # rotate_nbytes:: continues in a new file when this one reaches this size; +path+ is the current file, "path.000001"
    #                 and so on are the closed ones. Cannot be combined with join or ring_nbytes
    # rotate_seconds:: does the same when the file reaches this age
    # rotate_keep:: the number of closed files to keep; +nil+ keeps all
    # clock::       where the times of a new trace come from: +:tsc+, the processor's time stamp counter, or +:monotonic+;
    #               +nil+ takes the processor's counter if it is steady and the kernel offers it
    # process_name:: the name of the process in the trace, until the program changes its title ($0 = "worker 1",
    #               Process.setproctitle). By default that of the script; without one (ruby -e) the kernel's, "ruby"
    # exact::       +false+ takes locations from Ruby's public functions, as in Ruby versions with unknown internals
    # check::       a file for counts of (location, line, path) as reported by those functions; for tests
    #
    # Raises Tracebed::Error if the trace cannot be created, or if a recording is already under way.
    def start(path, allocations: :light, stacks: nil, calls: false, call_depth: nil, call_minimum: nil, objects: false, overwrite: false, join: false,
              ring_nbytes: nil, max_nbytes: nil, rotate_nbytes: nil, rotate_seconds: nil, rotate_keep: nil, clock: nil, process_name: usual_process_name, exact: true, check: nil, notes: nil)
      unless [:light, :full, nil].include?(allocations)
        raise ArgumentError, "allocations: #{allocations.inspect}, not :light, :full or nil"
      end
      raise ArgumentError, "clock: #{clock.inspect}, not :tsc, :monotonic or nil" unless [:tsc, :monotonic, nil].include?(clock)

      stacks = check_stacks(stacks, allocations, objects || check)
      open_trace(File.expand_path(path),
                 { allocations: allocations, stacks: stacks, calls: calls, call_patterns: check_calls(calls, call_depth, exact), call_depth: call_depth, call_minimum: check_minimum(call_minimum, calls, allocations), objects: objects, overwrite: overwrite, join: join,
                   ring_nbytes: ring_nbytes, max_nbytes: max_nbytes, rotate_nbytes: rotate_nbytes,
                   rotate_seconds: rotate_seconds, rotate_keep: rotate_keep, clock: clock,
                   exact: exact, check: check, notes: notes })
      name_process(process_name)
      return nil unless block_given?

      begin
        yield
      ensure
        stop
      end
    end

    # That of the script. nil: there is none, and the writer takes the kernel's name.
    def usual_process_name
      File.basename($PROGRAM_NAME) unless ["-e", "-"].include?($PROGRAM_NAME)
    end
    private :usual_process_name

    # Returns the patterns, or nil if all calls are wanted.
    def check_calls(calls, depth, exact)
      raise ArgumentError, "call_depth: #{depth.inspect}, not a number from 1 up" unless depth.nil? || (depth.is_a?(Integer) && depth.positive?)
      raise ArgumentError, "call_depth: no calls are recorded" if depth && !calls
      return nil if [true, false, nil].include?(calls)

      patterns = Array(calls).map { |pattern| String(pattern).dup.freeze }
      raise ArgumentError, "calls: no pattern" if patterns.empty?
      raise ArgumentError, "calls: empty pattern" if patterns.any? { |pattern| pattern.match?(/\A!?(file:)?\z/) }
      raise ArgumentError, "calls: a pattern has a zero byte" if patterns.any? { |pattern| pattern.include?("\0") }
      raise ArgumentError, "calls: patterns need a Ruby whose frames are known" unless exact && exact?

      patterns
    end
    private :check_calls

    # Begins of calls wait until their calls are long enough, so nothing else may be recorded in between.
    def check_minimum(seconds, calls, allocations)
      return nil if seconds.nil?
      raise ArgumentError, "call_minimum: #{seconds.inspect}, not a number of seconds" unless seconds.is_a?(Numeric) && seconds.positive? && seconds < 1e6
      raise ArgumentError, "call_minimum: no calls are recorded" unless calls
      raise ArgumentError, "call_minimum cannot be combined with allocations" if allocations

      seconds
    end
    private :check_minimum

    # Returns the number of frames, or nil.
    def check_stacks(stacks, allocations, needs_locations)
      return nil unless stacks
      raise ArgumentError, "stacks: there are no allocations to record" if allocations.nil?
      raise ArgumentError, "stacks cannot be combined with objects and check" if needs_locations

      count = stacks == true ? 32 : stacks
      return count if count.is_a?(Integer) && count.between?(1, 1024)

      raise ArgumentError, "stacks: #{stacks.inspect}, not true or a number from 1 to 1024"
    end
    private :check_stacks

    # Ends the recording and closes the trace; returns false if there was none. Also happens when the program exits.
    def stop
      close_trace
    end
  end
end
