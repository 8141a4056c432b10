/// A note of any pitch. A value.
package struct ExtendedNote: Sendable, Equatable {
  package struct Control: Sendable, Equatable {
    package let id: UInt32
    package let value: Float
    package init(id: UInt32, value: Float) {
      self.id = id
      self.value = value
    }
  }
  package var instrument: UInt32
  /// The MIDI channel.
  package var group: UInt32
  package var duration: Double
  package var pitch: Float
  package var velocity: Float
  package var controls: [Control]

  package init(
    instrument: UInt32, group: UInt32, duration: Double, pitch: Float, velocity: Float,
    controls: [Control] = []
  ) {
    self.instrument = instrument
    self.group = group
    self.duration = duration
    self.pitch = pitch
    self.velocity = velocity
    self.controls = controls
  }
}
