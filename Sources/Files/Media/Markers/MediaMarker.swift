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
