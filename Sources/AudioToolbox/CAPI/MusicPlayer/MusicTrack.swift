import AudioUnits
public import CAudioToolbox
import MIDI
import Music

// The functions of MusicPlayer.h for tracks. The header documents each function.

/// Returns the sequence of a track.
@c @implementation
public func MusicTrackGetSequence(
  _ inTrack: MusicTrack, _ outSequence: UnsafeMutablePointer<MusicSequence?>
) -> OSStatus {
  unsafe withTrack(inTrack, "MusicTrackGetSequence", needs: outSequence) { handle in
    unsafe outSequence.pointee = MusicSequence(bitPattern: handle.owner.handle)
  }
}

/// Sets the node that plays a track.
@c @implementation
public func MusicTrackSetDestNode(_ inTrack: MusicTrack, _ inNode: AUNode) -> OSStatus {
  unsafe withTrack(inTrack, "MusicTrackSetDestNode") { handle throws(MusicFailure) in
    if handle.track.isTempoTrack {
      throw .music(.illegalDestination("the tempo track is played by no unit"))
    }
    try onMusic { () throws(MusicError) in
      if inNode != 0, let target = handle.track.sequence.target as? GraphTarget,
        !target.graph.nodes.contains(inNode)
      {
        throw .illegalDestination("the graph has no node \(inNode)")
      }
      try handle.track.change { $0.destination = inNode == 0 ? .none : .node(inNode) }
    }
  }
}

/// Returns the node that plays a track.
@c @implementation
public func MusicTrackGetDestNode(_ inTrack: MusicTrack, _ outNode: UnsafeMutablePointer<AUNode>)
  -> OSStatus
{
  unsafe withTrack(inTrack, "MusicTrackGetDestNode", needs: outNode) {
    handle throws(MusicFailure) in
    let settings = try onMusic { () throws(MusicError) in try handle.track.settings }
    guard case .node(let node) = settings.destination else {
      throw .music(.illegalDestination("the track has no node"))
    }
    unsafe outNode.pointee = node
  }
}

/// Returns a destination of MIDI messages; nil for 0.
func musicDestination(_ endpoint: MIDIEndpointRef) throws(MusicFailure) -> EventSequence.Destination
{
  if endpoint == 0 { return .none }
  do throws(MIDIFailure) { return .endpoint(try findEndpoint(endpoint, isSource: false)) } catch {
    throw .status(error.status, error.reason)
  }
}

/// Sets the endpoint that plays a track.
@c @implementation
public func MusicTrackSetDestMIDIEndpoint(_ inTrack: MusicTrack, _ inEndpoint: MIDIEndpointRef)
  -> OSStatus
{
  unsafe withTrack(inTrack, "MusicTrackSetDestMIDIEndpoint") { handle throws(MusicFailure) in
    if handle.track.isTempoTrack {
      throw .music(.illegalDestination("the tempo track is played to no endpoint"))
    }
    let destination = try musicDestination(inEndpoint)
    try onMusic { () throws(MusicError) in
      try handle.track.change { $0.destination = destination }
    }
  }
}

/// Returns the endpoint that plays a track.
@c @implementation
public func MusicTrackGetDestMIDIEndpoint(
  _ inTrack: MusicTrack, _ outEndpoint: UnsafeMutablePointer<MIDIEndpointRef>
) -> OSStatus {
  unsafe withTrack(inTrack, "MusicTrackGetDestMIDIEndpoint", needs: outEndpoint) {
    handle throws(MusicFailure) in
    let settings = try onMusic { () throws(MusicError) in try handle.track.settings }
    guard case .endpoint(let endpoint) = settings.destination else {
      throw .music(.illegalDestination("the track has no endpoint"))
    }
    unsafe outEndpoint.pointee = endpoint.reference
  }
}

/// Returns a property of a track.
private func property(_ id: UInt32, of track: EventTrack) throws(MusicFailure) -> CopiedValue {
  let (settings, length) = try onMusic { () throws(MusicError) in
    (try track.settings, try track.length)
  }
  switch id {
  case kSequenceTrackProperty_LoopInfo:
    // The structure ends with four bytes that mean nothing.
    var bytes = [UInt8](repeating: 0, count: MemoryLayout<MusicTrackLoopInfo>.stride)
    unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe bytes.storeBytes(of: settings.loop.duration, as: Double.self)
      unsafe bytes.storeBytes(
        of: Int32(clamping: settings.loop.count), toByteOffset: 8, as: Int32.self)
    }
    return CopiedValue(bytes: bytes)
  case kSequenceTrackProperty_OffsetTime: return CopiedValue(settings.offset)
  case kSequenceTrackProperty_MuteStatus: return CopiedValue(settings.isMuted)
  case kSequenceTrackProperty_SoloStatus: return CopiedValue(settings.isSoloed)
  case kSequenceTrackProperty_AutomatedParameters:
    return CopiedValue(UInt32(settings.hasAutomation ? 1 : 0))
  case kSequenceTrackProperty_TrackLength: return CopiedValue(length)
  case kSequenceTrackProperty_TimeResolution where track.isTempoTrack:
    return CopiedValue(Int16(clamping: track.sequence.resolution))
  default:
    throw .status(kAudioUnitErr_InvalidProperty, "the track has no property \(id)")
  }
}

/// Returns a property.
@c @implementation
public func MusicTrackGetProperty(
  _ inTrack: MusicTrack, _ inPropertyID: UInt32, _ outData: UnsafeMutableRawPointer?,
  _ ioLength: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withTrack(inTrack, "MusicTrackGetProperty", needs: ioLength) {
    handle throws(MusicFailure) in
    let value = try property(inPropertyID, of: handle.track)
    if let data = unsafe outData {
      // Programs that do not set the length have memory for the value.
      let memory = unsafe UnsafeMutableRawBufferPointer(start: data, count: Int(ioLength.pointee))
      guard unsafe value.write(to: memory) != nil else {
        throw .badArgument("the property \(inPropertyID) has \(value.byteCount) bytes")
      }
    }
    unsafe ioLength.pointee = UInt32(value.byteCount)
  }
}

/// Sets a property.
@c @implementation
public func MusicTrackSetProperty(
  _ inTrack: MusicTrack, _ inPropertyID: UInt32, _ inData: UnsafeMutableRawPointer,
  _ inLength: UInt32
) -> OSStatus {
  unsafe withTrack(inTrack, "MusicTrackSetProperty", needs: inData) {
    handle throws(MusicFailure) in
    func value<Value: BitwiseCopyable>(_ type: Value.Type) throws(MusicFailure) -> Value {
      guard inLength >= MemoryLayout<Value>.size else {
        throw .badArgument("the property \(inPropertyID) has \(MemoryLayout<Value>.size) bytes")
      }
      return unsafe inData.loadUnaligned(as: type)
    }
    func beats(_ beats: Double, _ range: ClosedRange<Double>) throws(MusicFailure) -> Double {
      guard range.contains(beats) else { throw .badArgument("\(beats) beats") }
      return beats
    }
    let positive = 0...EventTrack.mostBeats
    let change: (inout EventSequence.Settings) -> Void
    switch inPropertyID {
    case kSequenceTrackProperty_LoopInfo:
      let info = try value(MusicTrackLoopInfo.self)
      guard info.numberOfLoops >= 0 else { throw .badArgument("\(info.numberOfLoops) loops") }
      let loop = EventSequence.Loop(
        duration: try beats(info.loopDuration, positive), count: Int(info.numberOfLoops))
      change = { $0.loop = loop }
    case kSequenceTrackProperty_OffsetTime:
      let offset = try beats(try value(Double.self), -EventTrack.mostBeats...EventTrack.mostBeats)
      change = { $0.offset = offset }
    case kSequenceTrackProperty_MuteStatus:
      let isOn = try value(UInt8.self) != 0
      change = { $0.isMuted = isOn }
    case kSequenceTrackProperty_SoloStatus:
      let isOn = try value(UInt8.self) != 0
      change = { $0.isSoloed = isOn }
    case kSequenceTrackProperty_AutomatedParameters:
      let isOn = try value(UInt32.self) != 0
      change = { $0.hasAutomation = isOn }
    case kSequenceTrackProperty_TrackLength:
      let length = try beats(try value(Double.self), positive)
      change = { $0.length = length > 0 ? length : nil }
    case kSequenceTrackProperty_TimeResolution where handle.track.isTempoTrack:
      throw .status(kAudioUnitErr_PropertyNotWritable, "the resolution is that of the file")
    default:
      throw .status(kAudioUnitErr_InvalidProperty, "the track has no property \(inPropertyID)")
    }
    try onMusic { () throws(MusicError) in try handle.track.change(change) }
  }
}

// MARK: Edits

/// Moves events.
@c @implementation
public func MusicTrackMoveEvents(
  _ inTrack: MusicTrack, _ inStartTime: MusicTimeStamp, _ inEndTime: MusicTimeStamp,
  _ inMoveTime: MusicTimeStamp
) -> OSStatus {
  unsafe edit(inTrack, "MusicTrackMoveEvents") { track throws(MusicError) in
    try track.move(from: inStartTime, to: inEndTime, by: inMoveTime)
  }
}

/// Removes events.
@c @implementation
public func MusicTrackClear(
  _ inTrack: MusicTrack, _ inStartTime: MusicTimeStamp, _ inEndTime: MusicTimeStamp
) -> OSStatus {
  unsafe edit(inTrack, "MusicTrackClear") { track throws(MusicError) in
    try track.remove(from: inStartTime, to: inEndTime, closesGap: false)
  }
}

/// Removes events with their time.
@c @implementation
public func MusicTrackCut(
  _ inTrack: MusicTrack, _ inStartTime: MusicTimeStamp, _ inEndTime: MusicTimeStamp
) -> OSStatus {
  unsafe edit(inTrack, "MusicTrackCut") { track throws(MusicError) in
    try track.remove(from: inStartTime, to: inEndTime, closesGap: true)
  }
}

/// Inserts events with their time.
@c @implementation
public func MusicTrackCopyInsert(
  _ inSourceTrack: MusicTrack, _ inSourceStartTime: MusicTimeStamp,
  _ inSourceEndTime: MusicTimeStamp, _ inDestTrack: MusicTrack,
  _ inDestInsertTime: MusicTimeStamp
) -> OSStatus {
  unsafe withTrack(inDestTrack, "MusicTrackCopyInsert") { handle throws(MusicFailure) in
    let source = try unsafe TrackHandle.find(inSourceTrack).track
    try onMusic { () throws(MusicError) in
      try source.copy(
        from: inSourceStartTime, to: inSourceEndTime, into: handle.track, at: inDestInsertTime,
        makesRoom: true)
    }
  }
}

/// Adds events to those of another track.
@c @implementation
public func MusicTrackMerge(
  _ inSourceTrack: MusicTrack, _ inSourceStartTime: MusicTimeStamp,
  _ inSourceEndTime: MusicTimeStamp, _ inDestTrack: MusicTrack,
  _ inDestInsertTime: MusicTimeStamp
) -> OSStatus {
  unsafe withTrack(inDestTrack, "MusicTrackMerge") { handle throws(MusicFailure) in
    let source = try unsafe TrackHandle.find(inSourceTrack).track
    try onMusic { () throws(MusicError) in
      try source.copy(
        from: inSourceStartTime, to: inSourceEndTime, into: handle.track, at: inDestInsertTime,
        makesRoom: false)
    }
  }
}

private func edit(
  _ track: MusicTrack, _ function: String, _ body: (EventTrack) throws(MusicError) -> Void
) -> OSStatus {
  unsafe withTrack(track, function) { handle throws(MusicFailure) in
    try onMusic { () throws(MusicError) in try body(handle.track) }
  }
}
