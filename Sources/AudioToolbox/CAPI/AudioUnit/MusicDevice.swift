import AudioUnits
public import CAudioToolbox
import CRealTime
import MIDI
import RealTime

// The functions of MusicDevice.h. The header documents each function.

/// Sends a MIDI channel message to a unit. Real-time safe.
@c @implementation @_noLocks
public func MusicDeviceMIDIEvent(
  _ inUnit: MusicDeviceComponent, _ inStatus: UInt32, _ inData1: UInt32, _ inData2: UInt32,
  _ inOffsetSampleFrame: UInt32
) -> OSStatus {
  guard let unit = unsafe enter(inUnit) else { return noSuchUnit }
  var status = RenderError.badArgument
  if inStatus >= 0x80, inStatus < 0xF0, inData1 < 0x80, inData2 < 0x80 {
    var message = (UInt8(inStatus), UInt8(inData1), UInt8(inData2))
    // Program changes and channel pressure have one data byte.
    let count = inStatus & 0xE0 == 0xC0 ? 2 : 3
    status = unsafe unit.pointee.send(&message, count: count, offset: Int(inOffsetSampleFrame))
  }
  cue_rt_leave_unit(UInt(bitPattern: inUnit))
  return status
}

/// Sends a parameter of the group scope to a unit, as a message of a MIDI channel. Real-time safe.
@_noLocks func send(
  group id: AudioUnitParameterID, _ channel: UInt32, _ value: Float, offset: Int,
  to unit: UnsafeMutablePointer<RenderUnit>
) -> OSStatus {
  guard channel < 16, value.isFinite else { return RenderError.badArgument }
  let data = UInt8(min(max(value, 0), 127))
  var message: (UInt8, UInt8, UInt8)
  var count = 3
  switch id {
  case 0..<128: message = (0xB0, UInt8(id), data)
  case kAUGroupParameterID_ChannelPressure:
    message = (0xD0, data, 0)
    count = 2
  case kAUGroupParameterID_PitchBend:
    let bend = UInt16(min(max(value, -8192), 8191) + 8192)
    message = (0xE0, UInt8(bend & 0x7F), UInt8(bend >> 7))
  case kAUGroupParameterID_KeyPressure_FirstKey...kAUGroupParameterID_KeyPressure_LastKey:
    message = (0xA0, UInt8(id & 0x7F), data)
  default: return RenderError.invalidParameter
  }
  message.0 |= UInt8(channel)
  let sent = unsafe unit.pointee.send(&message, count: count, offset: offset)
  return sent == RenderError.unsupported ? RenderError.invalidScope : sent
}

/// Sends a system exclusive message to a unit. Real-time safe.
@c @implementation @_noLocks
public func MusicDeviceSysEx(
  _ inUnit: MusicDeviceComponent, _ inData: UnsafePointer<UInt8>, _ inLength: UInt32
) -> OSStatus {
  guard let unit = unsafe enter(inUnit) else { return noSuchUnit }
  let count = Int(inLength)
  var status = RenderError.badArgument
  if unsafe !isNull(inData), unsafe count >= 2 && inData[0] == 0xF0 && inData[count &- 1] == 0xF7 {
    status = unsafe unit.pointee.send(inData, count: count, offset: 0)
  }
  cue_rt_leave_unit(UInt(bitPattern: inUnit))
  return status
}

/// Sends MIDI messages in universal packets to a unit.
@c @implementation
public func MusicDeviceMIDIEventList(
  _ inUnit: MusicDeviceComponent, _ inOffsetSampleFrame: UInt32,
  _ evtList: UnsafePointer<MIDIEventList>
) -> OSStatus {
  unsafe withUnit(inUnit, "MusicDeviceMIDIEventList", needs: evtList) {
    unit throws(AudioUnitError) in
    var reader = UniversalMIDI()
    for packet in unsafe MIDIPacketLayout.packets(evtList) {
      for message in reader.messages(packet.words) {
        try onUnit(unit.unit.send(midi: message, offset: Int(inOffsetSampleFrame)))
      }
    }
  }
}

/// Begins a note. A note's number says which it is, so that nothing needs to be kept of it.
@c @implementation
public func MusicDeviceStartNote(
  _ inUnit: MusicDeviceComponent, _ inInstrument: MusicDeviceInstrumentID,
  _ inGroupID: MusicDeviceGroupID, _ outNoteInstanceID: UnsafeMutablePointer<NoteInstanceID>?,
  _ inOffsetSampleFrame: UInt32, _ inParams: UnsafePointer<MusicDeviceNoteParams>
) -> OSStatus {
  unsafe withUnit(inUnit, "MusicDeviceStartNote", needs: inParams) { unit throws(AudioUnitError) in
    let (pitch, velocity) = unsafe (inParams.pointee.mPitch, inParams.pointee.mVelocity)
    guard inInstrument == kMusicNoteEvent_UseGroupInstrument, inGroupID < 16, pitch >= 0,
      pitch < 127.5, velocity >= 0, velocity <= 127
    else {
      throw .status(
        kAudioUnitErr_InvalidParameter,
        "instrument \(inInstrument), group \(inGroupID), note \(pitch), velocity \(velocity)")
    }
    let note = UInt32(pitch.rounded())
    // A note-on message of velocity 0 ends a note.
    let bytes = [
      UInt8(0x90 | inGroupID), UInt8(note), UInt8(max(1, velocity.rounded())),
    ]
    try onUnit(unit.unit.send(midi: bytes, offset: Int(inOffsetSampleFrame)))
    unsafe outNoteInstanceID?.pointee = note
  }
}

/// Ends a note.
@c @implementation
public func MusicDeviceStopNote(
  _ inUnit: MusicDeviceComponent, _ inGroupID: MusicDeviceGroupID,
  _ inNoteInstanceID: NoteInstanceID, _ inOffsetSampleFrame: UInt32
) -> OSStatus {
  unsafe withUnit(inUnit, "MusicDeviceStopNote") { unit throws(AudioUnitError) in
    guard inGroupID < 16, inNoteInstanceID < 128 else {
      throw .status(
        kAudioUnitErr_InvalidParameter, "there is no note \(inNoteInstanceID) in group \(inGroupID)"
      )
    }
    let bytes = [UInt8(0x80 | inGroupID), UInt8(inNoteInstanceID), 64]
    try onUnit(unit.unit.send(midi: bytes, offset: Int(inOffsetSampleFrame)))
  }
}
