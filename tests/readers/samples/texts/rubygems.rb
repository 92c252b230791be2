# -*- encoding: utf-8 -*-
# stub: kingfisher 1.42 ruby lib

Gem::Specification.new do |s|
  s.name = "kingfisher".freeze
  s.version = "1.42"

  s.required_rubygems_version = Gem::Requirement.new(">= 0".freeze) if s.respond_to? :required_rubygems_version=
  s.require_paths = ["lib".freeze]
  s.authors = ["Ida Wren".freeze]
  s.date = "2025-03-04"
  s.rubygems_version = "3.3.15".freeze
  s.summary = "Levels of the gauge, \u00FCber Nacht".freeze
end
