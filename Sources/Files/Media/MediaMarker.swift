/// A marker in the sound of a file.
package struct MediaMarker: Hashable, Sendable {
  /// Frames from the start of the sound.
  package var position: Double
  package var name: String?
  package var id: Int32
  /// A CAF marker type's four-character code; 0 for a generic marker.
  package var type: UInt32
  /// Channel number, starting at 1; 0 for all channels.
  package var channel: UInt16
  /// SMPTE time: hours, minutes, seconds and frames, plus an offset in audio frames. Nil if there
  /// is none.
  package var smpte: SMPTE?

  package struct SMPTE: Hashable, Sendable {
    package var hours: Int8, minutes: UInt8, seconds: UInt8, frames: UInt8
    package var offset: UInt32
    package init(hours: Int8, minutes: UInt8, seconds: UInt8, frames: UInt8, offset: UInt32) {
      self.hours = hours
      self.minutes = minutes
      self.seconds = seconds
      self.frames = frames
      self.offset = offset
    }
  }

  package init(
    position: Double, name: String? = nil, id: Int32, type: UInt32 = 0, channel: UInt16 = 0,
    smpte: SMPTE? = nil
  ) {
    self.position = position
    self.name = name
    self.id = id
    self.type = type
    self.channel = channel
    self.smpte = smpte
  }
}

/// The markers of a file.
package struct MediaMarkers: Hashable, Sendable {
  /// SMPTE time type of the markers; 0 if they have no SMPTE times.
  package var timeType: UInt32
  package var markers: [MediaMarker]
  package init(timeType: UInt32 = 0, markers: [MediaMarker]) {
    self.timeType = timeType
    self.markers = markers
  }
}

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

/// The regions of a file.
package struct MediaRegions: Hashable, Sendable {
  /// SMPTE time type of the markers; 0 if they have no SMPTE times.
  package var timeType: UInt32
  package var regions: [MediaRegion]
  package init(timeType: UInt32 = 0, regions: [MediaRegion]) {
    self.timeType = timeType
    self.regions = regions
  }
}
