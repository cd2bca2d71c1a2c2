# frozen_string_literal: true

# 'gem build tracebed.gemspec' in this folder; in a checkout, the writing library is first put beside the extension as
# two files, for which python3 is needed. Then 'gem install tracebed-*.gem'.
#
# SPDX-License-Identifier: MIT
here = File.expand_path(__dir__)
ninja = File.expand_path("../../../ninja", here)
if File.exist?("#{ninja}/amalgamate.py")
  system("python3", "ninja/amalgamate.py", "#{here}/ext/tracebed", chdir: File.dirname(File.realpath(ninja)),
                                                                     out: File::NULL, exception: true)
end

Gem::Specification.new do |spec|
  spec.name = "tracebed"
  spec.version = File.read("#{here}/ext/tracebed/tracebed.h", encoding: "utf-8")[/TBED_VERSION_STRING "(.*)"/, 1]
  spec.summary = "Records allocations and calls of Ruby programs into memory-mapped traces"
  spec.authors = ["The tracebed authors"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.0"
  spec.files = Dir["lib/**/*.rb", "ext/tracebed/*.{c,h,rb}"]
  spec.extensions = ["ext/tracebed/extconf.rb"]
end
