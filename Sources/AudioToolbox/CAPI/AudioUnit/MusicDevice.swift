import AudioUnits
public import CAudioToolbox
import MIDI

// The functions of MusicDevice.h. The header documents each function.

/// Sends a MIDI channel message to a unit.
@c @implementation
public func MusicDeviceMIDIEvent(
  _ inUnit: MusicDeviceComponent, _ inStatus: UInt32, _ inData1: UInt32, _ inData2: UInt32,
  _ inOffsetSampleFrame: UInt32
) -> OSStatus {
  unsafe withUnit(inUnit, "MusicDeviceMIDIEvent") { unit throws(AudioUnitError) in
    guard inStatus >= 0x80, inStatus < 0xF0, inData1 < 0x80, inData2 < 0x80 else {
      throw .badArgument("\(inStatus) \(inData1) \(inData2) is no channel message")
    }
    // Program changes and channel pressure have one data byte.
    let isShort = inStatus & 0xE0 == 0xC0
    let bytes = [UInt8(inStatus), UInt8(inData1)] + (isShort ? [] : [UInt8(inData2)])
    try onUnit(unit.unit.send(midi: bytes, offset: Int(inOffsetSampleFrame)))
  }
}

/// Sends a system exclusive message to a unit.
@c @implementation
public func MusicDeviceSysEx(
  _ inUnit: MusicDeviceComponent, _ inData: UnsafePointer<UInt8>, _ inLength: UInt32
) -> OSStatus {
  unsafe withUnit(inUnit, "MusicDeviceSysEx", needs: inData) { unit throws(AudioUnitError) in
    let bytes = unsafe Array(UnsafeBufferPointer(start: inData, count: Int(inLength)))
    guard bytes.first == 0xF0, bytes.last == 0xF7, bytes.count >= 2 else {
      throw .badArgument("a system exclusive message begins with 0xF0 and ends with 0xF7")
    }
    try onUnit(unit.unit.send(midi: bytes, offset: 0))
  }
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
