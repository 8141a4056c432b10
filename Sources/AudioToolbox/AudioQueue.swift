import AudioQueue
public import CAudioToolbox
import Codecs
public import CoreFoundation
public import Dispatch
import RealTime
import Server
import Timeline

// The functions of AudioQueue.h. What each does, and in which units, stands in the header; the
// results are those of `QueueError.status`. All may be called on any thread that is not real time,
// callbacks included.

// MARK: New and dispose

private func newQueue(
  _ function: String, _ format: UnsafePointer<AudioStreamBasicDescription>, _ flags: UInt32,
  _ place: CallbackPlace, _ callback: QueueHandle.Callback,
  _ out: UnsafeMutablePointer<AudioQueueRef?>
) -> OSStatus {
  guard flags == 0 else { return kAudio_ParamError }
  return result(of: function) { () throws(QueueError) in
    let handle = try QueueHandle.all.add { (handle) throws(QueueError) in
      try unsafe QueueHandle(format.pointee, handle: handle, callingBackOn: place, callback)
    }
    unsafe out.pointee = AudioQueueRef(bitPattern: handle)
  }
}

/// Implements `AudioQueueNewOutput`. Raw pointers stand for the Core Foundation references, which
/// Swift cannot name in a function that it implements for C.
@c(AudioQueueNewOutput)
public func newOutputQueue(
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>,
  _ inCallbackProc: @escaping AudioQueueOutputCallback, _ inUserData: UnsafeMutableRawPointer?,
  _ inCallbackRunLoop: UnsafeRawPointer?, _ inCallbackRunLoopMode: UnsafeRawPointer?,
  _ inFlags: UInt32, _ outAQ: UnsafeMutablePointer<AudioQueueRef?>
) -> OSStatus {
  var place = CallbackPlace.ownThread
  if let loop = unsafe inCallbackRunLoop {
    let mode = unsafe inCallbackRunLoopMode.map {
      unsafe Unmanaged<CFString>.fromOpaque($0).takeUnretainedValue()
    }
    place = .runLoop(unsafe Unmanaged<CFRunLoop>.fromOpaque(loop).takeUnretainedValue(), mode: mode)
  }
  return unsafe newQueue(
    "AudioQueueNewOutput", inFormat, inFlags, place,
    .function(inCallbackProc, userData: inUserData), outAQ)
}

/// Makes a queue that plays and calls a block on a dispatch queue of the C interface.
@c @implementation
public func AudioQueueNewOutputWithDispatchQueue(
  _ outAQ: UnsafeMutablePointer<AudioQueueRef?>,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>, _ inFlags: UInt32,
  _ inCallbackDispatchQueue: dispatch_queue_t,
  _ inCallbackBlock: @escaping AudioQueueOutputCallbackBlock
) -> OSStatus {
  unsafe newQueue(
    "AudioQueueNewOutputWithDispatchQueue", inFormat, inFlags,
    .dispatchQueue(inCallbackDispatchQueue), .block(inCallbackBlock), outAQ)
}

/// The same for a queue of Swift's Dispatch, which on Linux is not the C type.
public func AudioQueueNewOutputWithDispatchQueue(
  _ outAQ: UnsafeMutablePointer<AudioQueueRef?>,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>, _ inFlags: UInt32,
  _ inCallbackDispatchQueue: DispatchQueue,
  _ inCallbackBlock: @escaping AudioQueueOutputCallbackBlock
) -> OSStatus {
  unsafe newQueue(
    "AudioQueueNewOutputWithDispatchQueue", inFormat, inFlags, .queue(inCallbackDispatchQueue),
    .block(inCallbackBlock), outAQ)
}

/// Ends a queue: at once, or when all that is enqueued has been played.
@c @implementation
public func AudioQueueDispose(_ inAQ: AudioQueueRef, _ inImmediate: Bool) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueDispose") { (handle) throws(QueueError) in
    try handle.queue.dispose(afterPlaying: !inImmediate)
  }
}

// MARK: Buffers

/// Makes a buffer with room for a number of bytes.
@c @implementation
public func AudioQueueAllocateBuffer(
  _ inAQ: AudioQueueRef, _ inBufferByteSize: UInt32,
  _ outBuffer: UnsafeMutablePointer<AudioQueueBufferRef?>
) -> OSStatus {
  unsafe AudioQueueAllocateBufferWithPacketDescriptions(inAQ, inBufferByteSize, 0, outBuffer)
}

/// Makes a buffer with room for packet descriptions too.
@c @implementation
public func AudioQueueAllocateBufferWithPacketDescriptions(
  _ inAQ: AudioQueueRef, _ inBufferByteSize: UInt32, _ inNumberPacketDescriptions: UInt32,
  _ outBuffer: UnsafeMutablePointer<AudioQueueBufferRef?>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueAllocateBuffer") { (handle) throws(QueueError) in
    unsafe outBuffer.pointee = try handle.allocateBuffer(
      capacity: Int(inBufferByteSize), descriptions: Int(inNumberPacketDescriptions))
  }
}

/// Frees a buffer that is not enqueued.
@c @implementation
public func AudioQueueFreeBuffer(_ inAQ: AudioQueueRef, _ inBuffer: AudioQueueBufferRef)
  -> OSStatus
{
  unsafe withQueue(inAQ, "AudioQueueFreeBuffer") { (handle) throws(QueueError) in
    try unsafe handle.freeBuffer(inBuffer)
  }
}

/// Hands a filled buffer to the queue.
@c @implementation
public func AudioQueueEnqueueBuffer(
  _ inAQ: AudioQueueRef, _ inBuffer: AudioQueueBufferRef, _ inNumPacketDescs: UInt32,
  _ inPacketDescs: UnsafePointer<AudioStreamPacketDescription>?
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueEnqueueBuffer") { (handle) throws(QueueError) in
    _ = try unsafe enqueue(
      handle, inBuffer, UnsafeBufferPointer(start: inPacketDescs, count: Int(inNumPacketDescs)))
  }
}

/// Hands a filled buffer to the queue and says how it is to be played.
@c @implementation
public func AudioQueueEnqueueBufferWithParameters(
  _ inAQ: AudioQueueRef, _ inBuffer: AudioQueueBufferRef, _ inNumPacketDescs: UInt32,
  _ inPacketDescs: UnsafePointer<AudioStreamPacketDescription>?,
  _ inTrimFramesAtStart: UInt32, _ inTrimFramesAtEnd: UInt32, _ inNumParamValues: UInt32,
  _ inParamValues: UnsafePointer<AudioQueueParameterEvent>?,
  _ inStartTime: UnsafePointer<AudioTimeStamp>?,
  _ outActualStartTime: UnsafeMutablePointer<AudioTimeStamp>?
) -> OSStatus {
  unsafe outActualStartTime?.pointee = AudioTimeStamp()
  return unsafe withQueue(inAQ, "AudioQueueEnqueueBufferWithParameters") {
    (handle) throws(QueueError) in
    var schedule = OutputQueue.Schedule(
      trimmedAtStart: Int(inTrimFramesAtStart), trimmedAtEnd: Int(inTrimFramesAtEnd))
    if let events = unsafe inParamValues {
      for i in 0..<Int(inNumParamValues) {
        switch try unsafe Parameter(events[i].mID, events[i].mValue) {
        case .cycle(let changes): schedule.changes.add(changes)
        case .timePitch(let changes): schedule.timePitch.add(changes)
        }
      }
    }
    if let time = unsafe inStartTime?.pointee {
      schedule.start = try handle.queue.runFrame(of: time)
    }
    let start = try unsafe enqueue(
      handle, inBuffer, UnsafeBufferPointer(start: inPacketDescs, count: Int(inNumPacketDescs)),
      schedule)
    unsafe outActualStartTime?.pointee = AudioTimeStamp(
      runFrame: start, hostTime: handle.queue.hostTime(ofRunFrame: start))
  }
}

/// - Returns: The frame of the run at which the buffer will begin.
private func enqueue(
  _ handle: QueueHandle, _ buffer: AudioQueueBufferRef,
  _ packets: UnsafeBufferPointer<AudioStreamPacketDescription>,
  _ schedule: OutputQueue.Schedule = OutputQueue.Schedule()
) throws(QueueError) -> Int64 {
  guard let id = unsafe handle.id(of: buffer) else { throw .invalidBuffer }
  let bytes = unsafe buffer.pointee.mAudioDataByteSize
  // PCM needs no descriptions, but those that are given must be true.
  if unsafe packets.baseAddress != nil {
    for i in packets.indices {
      let packet = unsafe packets[i]
      guard packet.mStartOffset >= 0,
        packet.mStartOffset <= Int64(bytes) - Int64(packet.mDataByteSize)
      else { throw .packetOutsideBuffer }
    }
  }
  return try handle.queue.enqueue(id, bytes: Int(bytes), schedule)
}

// MARK: Control

/// Starts or resumes the queue at a time of its device.
@c @implementation
public func AudioQueueStart(_ inAQ: AudioQueueRef, _ inStartTime: UnsafePointer<AudioTimeStamp>?)
  -> OSStatus
{
  unsafe withQueue(inAQ, "AudioQueueStart") { (handle) throws(QueueError) in
    try unsafe handle.queue.start(at: StartTime(inStartTime?.pointee))
  }
}

extension StartTime {
  /// What a time stamp says: its sample time if that is valid, else its host time, else at once.
  init(_ time: AudioTimeStamp?) {
    guard let time else {
      self = .atOnce
      return
    }
    if time.mFlags.contains(.sampleTimeValid), time.mSampleTime.isFinite,
      abs(time.mSampleTime) < 0x1p62
    {
      self = .frame(Int64(time.mSampleTime.rounded()))
    } else if time.mFlags.contains(.hostTimeValid) {
      self = .hostTime(time.mHostTime)
    } else {
      self = .atOnce
    }
  }
}

/// Readies enqueued sound ahead of the start.
@c @implementation
public func AudioQueuePrime(
  _ inAQ: AudioQueueRef, _ inNumberOfFramesToPrepare: UInt32,
  _ outNumberOfFramesPrepared: UnsafeMutablePointer<UInt32>?
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueuePrime") { (handle) throws(QueueError) in
    let frames = try handle.queue.prime(frames: Int(inNumberOfFramesToPrepare))
    unsafe outNumberOfFramesPrepared?.pointee = UInt32(clamping: frames)
  }
}

/// Stops the queue: at once, or when all that is enqueued has been played.
@c @implementation
public func AudioQueueStop(_ inAQ: AudioQueueRef, _ inImmediate: Bool) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueStop") { (handle) throws(QueueError) in
    if inImmediate { try handle.queue.stop() } else { try handle.queue.stopAfterPlaying() }
  }
}

/// Halts the queue; buffers and time stay where they are.
@c @implementation
public func AudioQueuePause(_ inAQ: AudioQueueRef) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueuePause") { (handle) throws(QueueError) in
    try handle.queue.pause()
  }
}

/// Sees to it that all that was enqueued is played to its last frame.
@c @implementation
public func AudioQueueFlush(_ inAQ: AudioQueueRef) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueFlush") { (handle) throws(QueueError) in
    try handle.queue.flush()
  }
}

/// Silences the queue and hands back every buffer.
@c @implementation
public func AudioQueueReset(_ inAQ: AudioQueueRef) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueReset") { (handle) throws(QueueError) in
    try handle.queue.reset()
  }
}

// MARK: Parameters

/// A parameter that a program sets or has set with a buffer.
private enum Parameter {
  case cycle(ParameterChanges)
  case timePitch(TimePitchChanges)

  init(_ parameter: AudioQueueParameterID, _ value: AudioQueueParameterValue) throws(QueueError) {
    guard !value.isNaN else { throw .invalidParameter }
    switch parameter {
    case kAudioQueueParam_Volume: self = .cycle(ParameterChanges(volume: value))
    case kAudioQueueParam_VolumeRampTime: self = .cycle(ParameterChanges(rampSeconds: value))
    case kAudioQueueParam_Pan: self = .cycle(ParameterChanges(pan: value))
    case kAudioQueueParam_PlayRate: self = .timePitch(TimePitchChanges(rate: Double(value)))
    case kAudioQueueParam_Pitch: self = .timePitch(TimePitchChanges(cents: Double(value)))
    default: throw .invalidParameter
    }
  }
}

/// Reads a parameter as it is at this moment.
@c @implementation
public func AudioQueueGetParameter(
  _ inAQ: AudioQueueRef, _ inParamID: AudioQueueParameterID,
  _ outValue: UnsafeMutablePointer<AudioQueueParameterValue>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueGetParameter") { (handle) throws(QueueError) in
    let queue = handle.queue
    let value: Float
    switch inParamID {
    case kAudioQueueParam_Volume: value = queue.parameters.volume
    case kAudioQueueParam_VolumeRampTime: value = queue.parameters.rampSeconds
    case kAudioQueueParam_Pan: value = queue.parameters.pan
    case kAudioQueueParam_PlayRate where queue.isTimePitchEnabled:
      value = Float(queue.timePitch.rate)
    case kAudioQueueParam_Pitch where queue.isTimePitchEnabled:
      value = Float(queue.timePitch.cents)
    default: throw .invalidParameter
    }
    unsafe outValue.pointee = value
  }
}

/// Sets a parameter from the next cycle on.
@c @implementation
public func AudioQueueSetParameter(
  _ inAQ: AudioQueueRef, _ inParamID: AudioQueueParameterID, _ inValue: AudioQueueParameterValue
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueSetParameter") { (handle) throws(QueueError) in
    switch try Parameter(inParamID, inValue) {
    case .cycle(let changes): try handle.queue.change(changes)
    case .timePitch(let changes): try handle.queue.change(changes)
    }
  }
}
