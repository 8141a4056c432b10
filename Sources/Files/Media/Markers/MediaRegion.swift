/// A region of the sound of a file, delimited by its own markers.
package struct MediaRegion: Hashable, Sendable {
  package struct Flags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    package static let loops = Flags(rawValue: 1)
    package static let playsForward = Flags(rawValue: 2)
    package static let playsBackward = Flags(rawValue: 4)
  }
  package var id: UInt32
  package var name: String?
  package var flags: Flags
  package var markers: [MediaMarker]

  package init(id: UInt32, name: String? = nil, flags: Flags, markers: [MediaMarker]) {
    self.id = id
    self.name = name
    self.flags = flags
    self.markers = markers
  }
}
