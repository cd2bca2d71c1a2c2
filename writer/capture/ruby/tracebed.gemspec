# frozen_string_literal: true

# Before 'gem build': python3 ninja/amalgamate.py writer/capture/ruby/ext/tracebed, at the root of the tree.
#
# SPDX-License-Identifier: MIT
Gem::Specification.new do |spec|
  spec.name = "tracebed"
  spec.version = "0.1.0"
  spec.summary = "Records allocations and calls of Ruby programs into memory-mapped traces"
  spec.authors = ["The tracebed authors"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.0"
  spec.files = Dir["lib/**/*.rb", "ext/tracebed/*.{c,h,rb}"]
  spec.extensions = ["ext/tracebed/extconf.rb"]
end
