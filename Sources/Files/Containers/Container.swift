import System

/// A container: the file type, independent of the codec of its sound. `ContainerFacts` are its properties, too.
@dynamicMemberLookup
package enum Container: String, CaseIterable, CustomStringConvertible, Sendable {
  case aiff, aifc, caf, wave, rf64, wave64, next
  case m4a, mp4, m4b, threeGP, threeGP2, adts, mp3, mp2, mp1, ac3, flac, ogg, amr
  /// Any other file type that libsndfile reads. The open file has its name.
  case other

  /// The containers that Cuejack reads and writes by name.
  package static let allCases: [Container] = [
    .aiff, .aifc, .caf, .wave, .rf64, .wave64, .next, .m4a, .mp4, .m4b, .threeGP, .threeGP2, .adts,
    .mp3, .mp2, .mp1, .ac3, .flac, .ogg, .amr,
  ]

  private static let table = Dictionary(
    uniqueKeysWithValues: (allCases + [.other]).map { ($0, $0.facts) })

  package subscript<Value>(dynamicMember fact: KeyPath<ContainerFacts, Value>) -> Value {
    Self.table[self]![keyPath: fact]
  }

  /// Name of the container.
  package var description: String { self.name }

  /// Extensions of the files that can be read, without the dot.
  package static let readExtensions = Set(
    allCases.flatMap(\.extensions) + LibavType.allCases.flatMap(\.extensions) + [
      "voc", "paf", "svx", "8svx", "nist", "sph", "sds", "avr", "xi", "ircam", "sf", "htk",
    ])

  /// Creates the container that matches a path's extension; nil if none does.
  package init?(forPath path: String) {
    let end = path.pathExtension.dropFirst().lowercased()
    let kind =
      Self.allCases.first { $0.extensions.first == end }
      ?? Self.allCases.first { $0.extensions.contains(end) }
    guard let kind else { return nil }
    self = kind
  }

  /// Creates a container from a Core Audio file type; nil if the type is not supported.
  package init?(typeID: UInt32) {
    guard let kind = Self.allCases.first(where: { $0.typeID == typeID }) else { return nil }
    self = kind
  }
}
