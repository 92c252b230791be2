# This code may look unusually verbose for Ruby (and it is), but
# it performs some subtle and complex validation of JSON data.
#
# To parse this JSON, add 'dry-struct' and 'dry-types' gems, then do:
#
#   kingfisher = Kingfisher.from_json! "{…}"
#   puts kingfisher.station
#
# If from_json! succeeds, the value returned matches the schema.

require 'json'
require 'dry-types'
require 'dry-struct'

module Types
  include Dry.Types(default: :nominal)

  Hash   = Strict::Hash
  String = Strict::String
  Double = Strict::Float | Strict::Integer
end

class Kingfisher < Dry::Struct
  attribute :station, Types::String
  attribute :level,   Types::Double

  def self.from_dynamic!(d)
    d = Types::Hash[d]
    new(
      station: d.fetch("station"),
      level:   d.fetch("level"),
    )
  end

  def self.from_json!(json)
    from_dynamic!(JSON.parse(json))
  end

  def to_dynamic
    {
      "station" => station,
      "level"   => level,
    }
  end

  def to_json(options = nil)
    JSON.generate(to_dynamic, options)
  end
end
