/// An event of a track, without its time. A value.
package enum EventContent: Sendable, Equatable {
  /// A note of a MIDI channel, with its length in beats.
  case note(channel: UInt8, number: UInt8, velocity: UInt8, release: UInt8, duration: Double)
  /// A message of a MIDI channel: its status byte and its data, 0 for a second byte that it has not.
  case channel(UInt8, UInt8, UInt8)
  /// A system message; an exclusive one from 0xF0 to 0xF7.
  case system([UInt8])
  /// A meta event of a MIDI file without its length.
  case meta(UInt8, [UInt8])
  /// Data of the program, whose function hears of it.
  case user([UInt8])
  /// A parameter of the track's unit.
  case parameter(id: UInt32, scope: UInt32, element: UInt32, value: Float)
  /// A note of any pitch, with values of controls that begin with it.
  case extendedNote(ExtendedNote)
  /// Beats a minute from here on.
  case tempo(Double)

  /// The beats for which the event lasts; 0 for all but notes.
  package var duration: Double {
    switch self {
    case .note(_, _, _, _, let duration): duration
    case .extendedNote(let note): note.duration
    default: 0
    }
  }

  var isMeta: Bool { if case .meta = self { true } else { false } }

  /// True for tempo, time signatures and time code, which the tempo track keeps.
  package var isOfTime: Bool {
    switch self {
    case .tempo: true
    case .meta(let kind, _): [0x51, 0x54, 0x58, 0x59].contains(kind)
    default: false
    }
  }
}
