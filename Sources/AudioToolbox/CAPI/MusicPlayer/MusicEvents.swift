public import CAudioToolbox
import CoreFoundation
import Music

// Events as C structures.

/// An event in the form of a C program: its type and the bytes of its structure.
struct EventStructure {
  let type: MusicEventType
  let bytes: [UInt8]
}

/// Returns the bytes of a structure.
private func bytes<Value: BitwiseCopyable>(of value: Value) -> [UInt8] {
  unsafe withUnsafeBytes(of: value) { unsafe Array($0) }
}

/// Returns a word and data behind it.
private func bytes(_ word: UInt32, _ data: [UInt8]) -> [UInt8] { bytes(of: word) + data }

extension EventContent {
  var structure: EventStructure {
    switch self {
    case .note(let channel, let number, let velocity, let release, let duration):
      let message = MIDINoteMessage(
        channel: channel, note: number, velocity: velocity, releaseVelocity: release,
        duration: Float32(duration))
      return EventStructure(
        type: kMusicEventType_MIDINoteMessage, bytes: bytes(of: message))
    case .channel(let status, let first, let second):
      return EventStructure(
        type: kMusicEventType_MIDIChannelMessage, bytes: [status, first, second, 0])
    case .system(let data):
      return EventStructure(
        type: kMusicEventType_MIDIRawData, bytes: bytes(UInt32(data.count), data))
    case .meta(let kind, let data):
      return EventStructure(
        type: kMusicEventType_Meta,
        bytes: [kind, 0, 0, 0] + bytes(UInt32(data.count), data)
      )
    case .user(let data):
      return EventStructure(
        type: kMusicEventType_User, bytes: bytes(UInt32(data.count), data))
    case .parameter(let id, let scope, let element, let value):
      let event = ParameterEvent(parameterID: id, scope: scope, element: element, value: value)
      return EventStructure(type: kMusicEventType_Parameter, bytes: bytes(of: event))
    case .extendedNote(let note):
      var result = bytes(of: note.instrument) + bytes(of: note.group)
      result += bytes(of: Float32(note.duration)) + bytes(of: UInt32(2 + note.controls.count))
      result += bytes(of: note.pitch) + bytes(of: note.velocity)
      for control in note.controls { result += bytes(of: control.id) + bytes(of: control.value) }
      // The structure has room for a control.
      while result.count < MemoryLayout<ExtendedNoteOnEvent>.size { result.append(0) }
      return EventStructure(type: kMusicEventType_ExtendedNote, bytes: result)
    case .tempo(let tempo):
      return EventStructure(
        type: kMusicEventType_ExtendedTempo,
        bytes: bytes(of: ExtendedTempoEvent(bpm: tempo)))
    }
  }

  /// Reads a structure of a C program.
  init(_ type: MusicEventType, _ data: UnsafeRawPointer) throws(MusicFailure) {
    func bytes(at offset: Int) throws(MusicFailure) -> [UInt8] {
      let count = unsafe data.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
      guard count <= Self.mostBytes else {
        throw .badArgument("an event has \(count) bytes, and can have \(Self.mostBytes)")
      }
      return unsafe Array(
        UnsafeRawBufferPointer(start: data + offset + 4, count: Int(count)))
    }
    switch type {
    case kMusicEventType_MIDINoteMessage:
      let note = unsafe data.loadUnaligned(as: MIDINoteMessage.self)
      self = .note(
        channel: note.channel, number: note.note, velocity: note.velocity,
        release: note.releaseVelocity, duration: Double(note.duration))
    case kMusicEventType_MIDIChannelMessage:
      let message = unsafe data.loadUnaligned(as: MIDIChannelMessage.self)
      self = .channel(message.status, message.data1, message.data2)
    case kMusicEventType_MIDIRawData: self = .system(try bytes(at: 0))
    case kMusicEventType_Meta:
      self = .meta(unsafe data.load(as: UInt8.self), try bytes(at: 4))
    case kMusicEventType_User: self = .user(try bytes(at: 0))
    case kMusicEventType_Parameter:
      let event = unsafe data.loadUnaligned(as: ParameterEvent.self)
      self = .parameter(
        id: event.parameterID, scope: event.scope, element: event.element, value: event.value)
    case kMusicEventType_ExtendedNote:
      let event = unsafe data.loadUnaligned(as: ExtendedNoteOnEvent.self)
      let count = Int(event.extendedParams.argCount) - 2
      guard (0...1024).contains(count) else {
        throw .badArgument("a note has \(event.extendedParams.argCount) values")
      }
      let controls = (0..<count).map { i in
        let control = unsafe data.loadUnaligned(
          fromByteOffset: 24 + 8 * i, as: NoteParamsControlValue.self)
        return ExtendedNote.Control(id: control.mID, value: control.mValue)
      }
      self = .extendedNote(
        ExtendedNote(
          instrument: event.instrumentID, group: event.groupID, duration: Double(event.duration),
          pitch: event.extendedParams.mPitch, velocity: event.extendedParams.mVelocity,
          controls: controls))
    case kMusicEventType_ExtendedTempo:
      self = .tempo(unsafe data.loadUnaligned(as: ExtendedTempoEvent.self).bpm)
    default: throw .music(.invalidEvent("there are no events of the type \(type)"))
    }
  }

  /// Bytes of the longest event.
  private static var mostBytes: UInt32 { 1 << 20 }
}

/// Adds an event of a C structure to a track.
private func add(
  _ type: MusicEventType, _ data: UnsafeRawPointer?, to track: MusicTrack?, at beat: MusicTimeStamp,
  _ function: String
) -> OSStatus {
  unsafe withTrack(track, function, needs: data) { handle throws(MusicFailure) in
    let content = try unsafe EventContent(type, data!)
    try onMusic { () throws(MusicError) in try handle.track.add(content, at: beat) }
  }
}

/// Adds a note.
@c @implementation
public func MusicTrackNewMIDINoteEvent(
  _ inTrack: MusicTrack, _ inTimeStamp: MusicTimeStamp, _ inMessage: UnsafePointer<MIDINoteMessage>
) -> OSStatus {
  unsafe add(
    kMusicEventType_MIDINoteMessage, inMessage, to: inTrack, at: inTimeStamp,
    "MusicTrackNewMIDINoteEvent")
}

/// Adds a channel message.
@c @implementation
public func MusicTrackNewMIDIChannelEvent(
  _ inTrack: MusicTrack, _ inTimeStamp: MusicTimeStamp,
  _ inMessage: UnsafePointer<MIDIChannelMessage>
) -> OSStatus {
  unsafe add(
    kMusicEventType_MIDIChannelMessage, inMessage, to: inTrack, at: inTimeStamp,
    "MusicTrackNewMIDIChannelEvent")
}

/// Adds a system message.
@c @implementation
public func MusicTrackNewMIDIRawDataEvent(
  _ inTrack: MusicTrack, _ inTimeStamp: MusicTimeStamp, _ inRawData: UnsafePointer<MIDIRawData>
) -> OSStatus {
  unsafe add(
    kMusicEventType_MIDIRawData, inRawData, to: inTrack, at: inTimeStamp,
    "MusicTrackNewMIDIRawDataEvent")
}

/// Adds a note of any pitch.
@c @implementation
public func MusicTrackNewExtendedNoteEvent(
  _ inTrack: MusicTrack, _ inTimeStamp: MusicTimeStamp, _ inInfo: UnsafePointer<ExtendedNoteOnEvent>
) -> OSStatus {
  unsafe add(
    kMusicEventType_ExtendedNote, inInfo, to: inTrack, at: inTimeStamp,
    "MusicTrackNewExtendedNoteEvent")
}

/// Adds a parameter of the unit.
@c @implementation
public func MusicTrackNewParameterEvent(
  _ inTrack: MusicTrack, _ inTimeStamp: MusicTimeStamp, _ inInfo: UnsafePointer<ParameterEvent>
) -> OSStatus {
  unsafe add(
    kMusicEventType_Parameter, inInfo, to: inTrack, at: inTimeStamp, "MusicTrackNewParameterEvent")
}

/// Adds a tempo.
@c @implementation
public func MusicTrackNewExtendedTempoEvent(
  _ inTrack: MusicTrack, _ inTimeStamp: MusicTimeStamp, _ inBPM: Float64
) -> OSStatus {
  var event = ExtendedTempoEvent(bpm: inBPM)
  return unsafe add(
    kMusicEventType_ExtendedTempo, &event, to: inTrack, at: inTimeStamp,
    "MusicTrackNewExtendedTempoEvent")
}

/// Adds a meta event.
@c @implementation
public func MusicTrackNewMetaEvent(
  _ inTrack: MusicTrack, _ inTimeStamp: MusicTimeStamp, _ inMetaEvent: UnsafePointer<MIDIMetaEvent>
) -> OSStatus {
  unsafe add(
    kMusicEventType_Meta, inMetaEvent, to: inTrack, at: inTimeStamp, "MusicTrackNewMetaEvent")
}

/// Adds data of the program.
@c @implementation
public func MusicTrackNewUserEvent(
  _ inTrack: MusicTrack, _ inTimeStamp: MusicTimeStamp,
  _ inUserData: UnsafePointer<MusicEventUserData>
) -> OSStatus {
  unsafe add(
    kMusicEventType_User, inUserData, to: inTrack, at: inTimeStamp, "MusicTrackNewUserEvent")
}
