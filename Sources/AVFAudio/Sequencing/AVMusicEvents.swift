public import AudioToolbox
public import Foundation
import Music

/// An event of an `AVMusicTrack`, without its time. One thread at a time.
open class AVMusicEvent: NSObject, @unchecked Sendable {
  /// The event as the track keeps it. Numbers that no event of MIDI has are held to the range.
  var content: EventContent { .user([]) }

  /// Returns the object for an event.
  static func make(_ content: EventContent) -> AVMusicEvent {
    switch content {
    case .note(let channel, let number, let velocity, let release, let duration):
      let note = AVMIDINoteEvent(
        channel: UInt32(channel), key: UInt32(number), velocity: UInt32(velocity),
        duration: duration)
      note.release = release
      return note
    case .channel(let status, let first, let second):
      return AVMIDIChannelEvent.make(status, first, second)
    case .system(let bytes): return AVMIDISysexEvent(data: Data(bytes))
    case .meta(let kind, let bytes): return AVMIDIMetaEvent(kind, Data(bytes))
    case .user(let bytes): return AVMusicUserEvent(data: Data(bytes))
    case .parameter(let id, let scope, let element, let value):
      return AVParameterEvent(parameterID: id, scope: scope, element: element, value: value)
    case .extendedNote(let note):
      return AVExtendedNoteOnEvent(
        midiNote: note.pitch, velocity: note.velocity, instrumentID: note.instrument,
        groupID: note.group, duration: note.duration)
    case .tempo(let tempo): return AVExtendedTempoEvent(tempo: tempo)
    }
  }
}

/// Returns a number as seven bits.
private func seven(_ value: UInt32) -> UInt8 { UInt8(min(value, 127)) }

/// A note with its length.
open class AVMIDINoteEvent: AVMusicEvent, @unchecked Sendable {
  /// 0 to 15.
  open var channel: UInt32
  /// 0 to 127; 60 is the middle C.
  open var key: UInt32
  /// 1 to 127.
  open var velocity: UInt32
  /// Beats.
  open var duration: AVMusicTimeStamp
  var release: UInt8 = 0

  /// Creates a note.
  public init(channel: UInt32, key keyNum: UInt32, velocity: UInt32, duration: AVMusicTimeStamp) {
    self.channel = channel
    key = keyNum
    self.velocity = velocity
    self.duration = duration
  }

  override var content: EventContent {
    .note(
      channel: UInt8(min(channel, 15)), number: seven(key), velocity: seven(velocity),
      release: release, duration: duration)
  }
}

/// A message of a MIDI channel that is no note.
open class AVMIDIChannelEvent: AVMusicEvent, @unchecked Sendable {
  /// 0 to 15.
  open var channel: UInt32

  init(_ channel: UInt32) { self.channel = channel }

  func message(_ status: UInt8, _ first: UInt8, _ second: UInt8 = 0) -> EventContent {
    .channel(status | UInt8(min(channel, 15)), first, second)
  }

  static func make(_ status: UInt8, _ first: UInt8, _ second: UInt8) -> AVMIDIChannelEvent {
    let channel = UInt32(status & 0xF)
    switch status & 0xF0 {
    case 0xA0:
      return AVMIDIPolyPressureEvent(
        channel: channel, key: UInt32(first), pressure: UInt32(second))
    case 0xB0: return AVMIDIControlChangeEvent(channel, first, UInt32(second))
    case 0xC0: return AVMIDIProgramChangeEvent(channel: channel, programNumber: UInt32(first))
    case 0xD0: return AVMIDIChannelPressureEvent(channel: channel, pressure: UInt32(first))
    case 0xE0:
      return AVMIDIPitchBendEvent(channel: channel, value: UInt32(first) | UInt32(second) << 7)
    default: return OtherChannelEvent(channel, status & 0xF0, first, second)
    }
  }
}

/// A note message without a length.
private final class OtherChannelEvent: AVMIDIChannelEvent, @unchecked Sendable {
  private let status, first, second: UInt8

  init(_ channel: UInt32, _ status: UInt8, _ first: UInt8, _ second: UInt8) {
    (self.status, self.first, self.second) = (status, first, second)
    super.init(channel)
  }

  override var content: EventContent { message(status, first, second) }
}

/// A controller.
open class AVMIDIControlChangeEvent: AVMIDIChannelEvent, @unchecked Sendable {
  /// Controllers that have a name.
  public enum MessageType: Int, Sendable {
    case bankSelect = 0
    case modWheel = 1
    case breath = 2
    case foot = 4
    case portamentoTime = 5
    case dataEntry = 6
    case volume = 7
    case balance = 8
    case pan = 10
    case expression = 11
    case sustain = 64
    case portamento = 65
    case sostenuto = 66
    case soft = 67
    case legatoPedal = 68
    case hold2Pedal = 69
    case filterResonance = 71
    case releaseTime = 72
    case attackTime = 73
    case brightness = 74
    case decayTime = 75
    case vibratoRate = 76
    case vibratoDepth = 77
    case vibratoDelay = 78
    case reverbLevel = 91
    case chorusLevel = 93
    case RPN_LSB = 100
    case RPN_MSB = 101
    case allSoundOff = 120
    case resetAllControllers = 121
    case allNotesOff = 123
    case omniModeOff = 124
    case omniModeOn = 125
    case monoModeOn = 126
    case monoModeOff = 127
  }
  private let number: UInt8
  /// 0 to 127.
  public let value: UInt32

  init(_ channel: UInt32, _ number: UInt8, _ value: UInt32) {
    self.number = number
    self.value = value
    super.init(channel)
  }

  /// Creates a message that moves a controller.
  public convenience init(channel: UInt32, messageType: MessageType, value: UInt32) {
    self.init(channel, UInt8(messageType.rawValue), value)
  }

  /// The controller. One without a name reads as `dataEntry`, and stays what it is.
  public var messageType: MessageType { MessageType(rawValue: Int(number)) ?? .dataEntry }

  override var content: EventContent { message(0xB0, number, seven(value)) }
}

/// The pressure on a key.
open class AVMIDIPolyPressureEvent: AVMIDIChannelEvent, @unchecked Sendable {
  /// 0 to 127.
  open var key: UInt32
  /// 0 to 127.
  open var pressure: UInt32

  /// Creates a message about one key.
  public init(channel: UInt32, key: UInt32, pressure: UInt32) {
    self.key = key
    self.pressure = pressure
    super.init(channel)
  }

  override var content: EventContent { message(0xA0, seven(key), seven(pressure)) }
}

/// A change of the program.
open class AVMIDIProgramChangeEvent: AVMIDIChannelEvent, @unchecked Sendable {
  /// 0 to 127.
  open var programNumber: UInt32

  /// Creates a message that changes the program.
  public init(channel: UInt32, programNumber: UInt32) {
    self.programNumber = programNumber
    super.init(channel)
  }

  override var content: EventContent { message(0xC0, seven(programNumber)) }
}

/// The pressure on all keys of a channel.
open class AVMIDIChannelPressureEvent: AVMIDIChannelEvent, @unchecked Sendable {
  /// 0 to 127.
  open var pressure: UInt32

  /// Creates a message about all keys.
  public init(channel: UInt32, pressure: UInt32) {
    self.pressure = pressure
    super.init(channel)
  }

  override var content: EventContent { message(0xD0, seven(pressure)) }
}

/// A bend of the pitch.
open class AVMIDIPitchBendEvent: AVMIDIChannelEvent, @unchecked Sendable {
  /// 0 to 16,383, which is straight at 8,192.
  open var value: UInt32

  /// Creates a message that bends the pitch.
  public init(channel: UInt32, value: UInt32) {
    self.value = value
    super.init(channel)
  }

  override var content: EventContent {
    let held = min(value, 16_383)
    return message(0xE0, UInt8(held & 0x7F), UInt8(held >> 7))
  }
}

/// A system message of bytes.
open class AVMIDISysexEvent: AVMusicEvent, @unchecked Sendable {
  private let data: Data

  /// - Parameter data: From 0xF0 to 0xF7.
  public init(data: Data) { self.data = data }

  /// Bytes of the message.
  public var sizeInBytes: UInt32 { UInt32(clamping: data.count) }

  override var content: EventContent { .system(Array(data)) }
}

/// A meta event of MIDI files.
open class AVMIDIMetaEvent: AVMusicEvent, @unchecked Sendable {
  /// Meta events that have a name.
  public enum EventType: Int, Sendable {
    case sequenceNumber = 0x00
    case text = 0x01
    case copyright = 0x02
    case trackName = 0x03
    case instrument = 0x04
    case lyric = 0x05
    case marker = 0x06
    case cuePoint = 0x07
    case midiChannel = 0x20
    case midiPort = 0x21
    case endOfTrack = 0x2F
    case tempo = 0x51
    case smpteOffset = 0x54
    case timeSignature = 0x58
    case keySignature = 0x59
    case proprietaryEvent = 0x7F
  }
  private let kind: UInt8
  private let data: Data

  init(_ kind: UInt8, _ data: Data) {
    self.kind = kind
    self.data = data
  }

  /// Creates a meta event of its data, without their length.
  public convenience init(type: EventType, data: Data) { self.init(UInt8(type.rawValue), data) }

  /// The event. One without a name reads as `proprietaryEvent`, and stays what it is.
  public var type: EventType { EventType(rawValue: Int(kind)) ?? .proprietaryEvent }

  override var content: EventContent { .meta(kind, Array(data)) }
}

/// Data of the program, for its `AVAudioSequencerUserCallback`.
open class AVMusicUserEvent: AVMusicEvent, @unchecked Sendable {
  private let data: Data

  /// Creates an event of data.
  public init(data: Data) { self.data = data }

  /// Bytes of the data.
  public var sizeInBytes: UInt32 { UInt32(clamping: data.count) }

  override var content: EventContent { .user(Array(data)) }
}

/// A parameter of the track's unit.
open class AVParameterEvent: AVMusicEvent, @unchecked Sendable {
  /// The number of the parameter.
  open var parameterID: UInt32
  /// Its scope.
  open var scope: UInt32
  /// Its element.
  open var element: UInt32
  /// Its value.
  open var value: Float

  /// Creates an event that sets a parameter.
  public init(parameterID: UInt32, scope: UInt32, element: UInt32, value: Float) {
    self.parameterID = parameterID
    self.scope = scope
    self.element = element
    self.value = value
  }

  override var content: EventContent {
    .parameter(id: parameterID, scope: scope, element: element, value: value)
  }
}

/// A tempo, in the tempo track.
open class AVExtendedTempoEvent: AVMusicEvent, @unchecked Sendable {
  /// Beats a minute: 0.001 to 1,000,000.
  open var tempo: Double

  /// Creates a tempo.
  public init(tempo: Double) { self.tempo = tempo }

  override var content: EventContent { .tempo(tempo) }
}

/// A note of any pitch, which units here hear as the nearest MIDI note.
open class AVExtendedNoteOnEvent: AVMusicEvent, @unchecked Sendable {
  /// The instrument that the group has.
  public static let defaultInstrument: UInt32 = .max
  /// 0 to 127; 60 is the middle C.
  open var midiNote: Float
  /// 0 to 127.
  open var velocity: Float
  /// `defaultInstrument`: units here have no others.
  open var instrumentID: UInt32
  /// The MIDI channel, 0 to 15.
  open var groupID: UInt32
  /// Beats.
  open var duration: AVMusicTimeStamp

  /// Creates a note.
  public init(
    midiNote: Float, velocity: Float, instrumentID: UInt32, groupID: UInt32,
    duration: AVMusicTimeStamp
  ) {
    self.midiNote = midiNote
    self.velocity = velocity
    self.instrumentID = instrumentID
    self.groupID = groupID
    self.duration = duration
  }

  /// Creates a note.
  public convenience init(
    midiNote: Float, velocity: Float, groupID: UInt32, duration: AVMusicTimeStamp
  ) {
    self.init(
      midiNote: midiNote, velocity: velocity, instrumentID: Self.defaultInstrument,
      groupID: groupID, duration: duration)
  }

  override var content: EventContent {
    .extendedNote(
      ExtendedNote(
        instrument: instrumentID, group: groupID, duration: duration, pitch: midiNote,
        velocity: velocity))
  }
}
