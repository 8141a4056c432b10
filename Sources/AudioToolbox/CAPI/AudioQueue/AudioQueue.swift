import AudioQueue
import AudioUnits
public import CAudioToolbox
import Codecs
public import CoreFoundation
public import Dispatch
import RealTime
import Server
import Timeline

// The functions of AudioQueue.h. The header documents each function and its units; the result codes
// are those of `QueueError.status`. All functions may be called on any thread that is not
// real-time, callbacks included.

// MARK: Creation and disposal

/// Creates a queue with a new handle.
///
/// - Parameter callback: Further pointers that must not be NULL.
func newQueue(
  _ function: String, _ format: UnsafePointer<AudioStreamBasicDescription>, _ flags: UInt32,
  _ out: UnsafeMutablePointer<AudioQueueRef?>, needs callback: UnsafeRawPointer?...,
  make: (AudioStreamBasicDescription, UInt) throws(QueueError) -> QueueHandle
) -> OSStatus {
  unsafe answer(function, needs: format, out) { () throws(QueueError) in
    if unsafe hasNull(callback) { throw .badArgument("there is no callback") }
    guard flags == 0 else { throw .badArgument("the flags are \(flags), not 0") }
    let handle = try QueueHandle.all.add { (handle) throws(QueueError) in
      try unsafe make(format.pointee, handle)
    }
    unsafe out.pointee = AudioQueueRef(bitPattern: handle)
  }
}

extension CallbackExecutor {
  /// Creates the callback executor for the run loop and mode of a C function. NULL selects a thread of
  /// the queue's own.
  init(runLoop: UnsafeRawPointer?, mode: UnsafeRawPointer?) {
    guard let loop = unsafe runLoop else {
      self = .ownThread
      return
    }
    let mode = unsafe mode.map { unsafe Unmanaged<CFString>.fromOpaque($0).takeUnretainedValue() }
    self = .runLoop(unsafe Unmanaged<CFRunLoop>.fromOpaque(loop).takeUnretainedValue(), mode: mode)
  }
}

/// Implements `AudioQueueNewOutput`. Raw pointers replace the Core Foundation references, which
/// Swift cannot use in a function that it implements for C.
@c(AudioQueueNewOutput)
public func newOutputQueue(
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>,
  _ inCallbackProc: @escaping AudioQueueOutputCallback, _ inUserData: UnsafeMutableRawPointer?,
  _ inCallbackRunLoop: UnsafeRawPointer?, _ inCallbackRunLoopMode: UnsafeRawPointer?,
  _ inFlags: UInt32, _ outAQ: UnsafeMutablePointer<AudioQueueRef?>
) -> OSStatus {
  unsafe newQueue(
    "AudioQueueNewOutput", inFormat, inFlags, outAQ,
    needs: unsafeBitCast(inCallbackProc, to: UnsafeRawPointer?.self)
  ) { (format, handle) throws(QueueError) in
    try unsafe .playing(
      format, handle: handle,
      callingBackOn: CallbackExecutor(runLoop: inCallbackRunLoop, mode: inCallbackRunLoopMode),
      .function(inCallbackProc, userData: inUserData))
  }
}

/// Implements `AudioQueueNewOutputWithDispatchQueue`. The declaration is not checked against the
/// header: only then can the function detect a NULL block.
@c(AudioQueueNewOutputWithDispatchQueue)
public func newOutputQueueOnDispatchQueue(
  _ outAQ: UnsafeMutablePointer<AudioQueueRef?>,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>, _ inFlags: UInt32,
  _ inCallbackDispatchQueue: dispatch_queue_t, _ inCallbackBlock: AudioQueueOutputCallbackBlock?
) -> OSStatus {
  unsafe newQueue(
    "AudioQueueNewOutputWithDispatchQueue", inFormat, inFlags, outAQ,
    needs: UnsafeRawPointer(inCallbackDispatchQueue)
  ) { (format, handle) throws(QueueError) in
    guard let block = unsafe inCallbackBlock else { throw .badArgument("the block is NULL") }
    return try unsafe .playing(
      format, handle: handle, callingBackOn: .dispatchQueue(inCallbackDispatchQueue),
      .block(block))
  }
}

/// Creates a playback queue whose callbacks run on a Swift `DispatchQueue`. On Linux that is not
/// the C type `dispatch_queue_t`.
@discardableResult
public func AudioQueueNewOutputWithDispatchQueue(
  _ outAQ: UnsafeMutablePointer<AudioQueueRef?>,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>, _ inFlags: UInt32,
  _ inCallbackDispatchQueue: DispatchQueue,
  _ inCallbackBlock: @escaping AudioQueueOutputCallbackBlock
) -> OSStatus {
  unsafe newQueue("AudioQueueNewOutputWithDispatchQueue", inFormat, inFlags, outAQ) {
    (format, handle) throws(QueueError) in
    try unsafe .playing(
      format, handle: handle, callingBackOn: .queue(inCallbackDispatchQueue),
      .block(inCallbackBlock))
  }
}

/// Disposes of a queue: at once, or after everything enqueued has been played or delivered.
@c @implementation
public func AudioQueueDispose(_ inAQ: AudioQueueRef, _ inImmediate: Bool) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueDispose") { (handle) throws(QueueError) in
    try handle.queue.dispose(atOnce: inImmediate)
  }
}

// MARK: Buffers

/// Allocates a buffer with the given capacity in bytes.
@c @implementation
public func AudioQueueAllocateBuffer(
  _ inAQ: AudioQueueRef, _ inBufferByteSize: UInt32,
  _ outBuffer: UnsafeMutablePointer<AudioQueueBufferRef?>
) -> OSStatus {
  unsafe AudioQueueAllocateBufferWithPacketDescriptions(inAQ, inBufferByteSize, 0, outBuffer)
}

/// Allocates a buffer with additional room for packet descriptions.
@c @implementation
public func AudioQueueAllocateBufferWithPacketDescriptions(
  _ inAQ: AudioQueueRef, _ inBufferByteSize: UInt32, _ inNumberPacketDescriptions: UInt32,
  _ outBuffer: UnsafeMutablePointer<AudioQueueBufferRef?>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueAllocateBuffer", needs: outBuffer) {
    (handle) throws(QueueError) in
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

/// Enqueues a buffer.
@c @implementation
public func AudioQueueEnqueueBuffer(
  _ inAQ: AudioQueueRef, _ inBuffer: AudioQueueBufferRef, _ inNumPacketDescs: UInt32,
  _ inPacketDescs: UnsafePointer<AudioStreamPacketDescription>?
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueEnqueueBuffer") { (handle) throws(QueueError) in
    let (id, bytes, packets) = try unsafe filled(
      handle, inBuffer, inPacketDescs, count: Int(inNumPacketDescs))
    try handle.queue.enqueue(id, bytes: bytes, packets: packets)
  }
}

/// Enqueues a buffer with trimming, parameter changes and a start time.
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
    let queue = try handle.playbackQueue
    var schedule = OutputQueue.Schedule(
      trimmedAtStart: Int(inTrimFramesAtStart), trimmedAtEnd: Int(inTrimFramesAtEnd))
    if inNumParamValues > 0 {
      guard let events = unsafe inParamValues else {
        throw .badArgument("\(inNumParamValues) parameters are nowhere")
      }
      for i in 0..<Int(inNumParamValues) {
        switch try unsafe Parameter(events[i].mID, events[i].mValue) {
        case .cycle(let changes): schedule.changes.add(changes)
        case .timePitch(let changes): schedule.timePitch.add(changes)
        }
      }
    }
    if let time = unsafe inStartTime?.pointee {
      schedule.start = try queue.runFrame(of: time)
    }
    let (id, bytes, packets) = try unsafe filled(
      handle, inBuffer, inPacketDescs, count: Int(inNumPacketDescs))
    let start = try queue.enqueue(id, bytes: bytes, packets: packets, schedule)
    unsafe outActualStartTime?.pointee = AudioTimeStamp(
      runFrame: start, hostTime: queue.hostTime(ofRunFrame: start))
  }
}

/// Returns a buffer's number in the queue, its size in bytes and the extents of its packets. The
/// packet descriptions come from the call or from the buffer.
///
/// - Throws: `invalidBuffer` if the buffer does not belong to the queue.
private func filled(
  _ handle: QueueHandle, _ buffer: AudioQueueBufferRef,
  _ packets: UnsafePointer<AudioStreamPacketDescription>?, count: Int
) throws(QueueError) -> (id: UInt32, bytes: Int, packets: [PacketExtent]) {
  guard let id = unsafe handle.id(of: buffer) else { throw .invalidBuffer }
  let bytes = unsafe Int(buffer.pointee.mAudioDataByteSize)
  // A recording queue fills the buffer, so its content does not matter.
  guard handle.queue is OutputQueue else { return (id, bytes, []) }
  if let packets = unsafe packets, count > 0 {
    return unsafe (id, bytes, extents(packets, count))
  }
  guard let own = unsafe buffer.pointee.mPacketDescriptions else { return (id, bytes, []) }
  let (ownCount, capacity) = unsafe (
    Int(buffer.pointee.mPacketDescriptionCount), Int(buffer.pointee.mPacketDescriptionCapacity)
  )
  // A count without descriptions refers to the buffer's own descriptions.
  if count > 0, count <= capacity, case .packets(let format) = handle.queue.streamFormat,
    format.bytesPerPacket == 0
  {
    return unsafe (id, bytes, extents(own, count))
  }
  guard ownCount <= capacity else { throw .packetOutsideBuffer }
  return unsafe (id, bytes, extents(own, ownCount))
}

private func extents(_ packets: UnsafePointer<AudioStreamPacketDescription>, _ count: Int)
  -> [PacketExtent]
{
  (0..<count).map { i in
    let packet = unsafe packets[i]
    return PacketExtent(
      offset: Int(packet.mStartOffset), bytes: Int(packet.mDataByteSize),
      frames: Int(packet.mVariableFramesInPacket))
  }
}

// MARK: Control

/// Starts or resumes the queue at a time of its device.
@c @implementation
public func AudioQueueStart(_ inAQ: AudioQueueRef, _ inStartTime: UnsafePointer<AudioTimeStamp>?)
  -> OSStatus
{
  let admission = admit(QueueHandle.all.object(UInt(bitPattern: inAQ))?.queue)
  if admission != noErr { return admission }
  return unsafe withQueue(inAQ, "AudioQueueStart") { (handle) throws(QueueError) in
    try handle.checkCodec()
    let start = unsafe try startTime(inStartTime?.pointee)
    try handle.queue.start(at: start)
  }
}

/// Asks the audio session whether a queue may start. One that renders offline always may.
private func admit(_ queue: (any Queue)?) -> OSStatus {
  guard let queue, (try? queue.checkOnline()) != nil else { return noErr }
  return answer("AudioQueueStart") { () throws(AudioSessionFailure) in
    let records = queue is InputQueue
    do throws(AudioSessionRefusal) {
      _ = try AudioSession.admit(plays: !records, records: records)
    } catch { throw .session(error) }
  }
}

extension StartTime {
  /// Converts a time stamp: its sample time if that is valid, otherwise its host time. Without
  /// either the start is "now". Nil if its sample time is no time of any clock.
  init?(_ time: AudioTimeStamp?) {
    guard let time else {
      self = .atOnce
      return
    }
    if time.mFlags.contains(.sampleTimeValid) {
      guard time.mSampleTime.isFrameTime else { return nil }
      self = .frame(Int64(held: time.mSampleTime.rounded()))
    } else if time.mFlags.contains(.hostTimeValid) {
      self = .hostTime(time.mHostTime)
    } else {
      self = .atOnce
    }
  }
}

/// Returns the start that a time stamp asks for.
func startTime(_ time: AudioTimeStamp?) throws(QueueError) -> StartTime {
  guard let start = StartTime(time) else {
    throw .badArgument("the sample time \(time?.mSampleTime ?? 0) is no time of a clock")
  }
  return start
}

/// Prepares enqueued frames ahead of the start.
@c @implementation
public func AudioQueuePrime(
  _ inAQ: AudioQueueRef, _ inNumberOfFramesToPrepare: UInt32,
  _ outNumberOfFramesPrepared: UnsafeMutablePointer<UInt32>?
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueuePrime") { (handle) throws(QueueError) in
    let queue = try handle.playbackQueue
    try handle.checkCodec()
    var frames = 0
    defer { unsafe outNumberOfFramesPrepared?.pointee = UInt32(clamping: frames) }
    try queue.prime(frames: Int(inNumberOfFramesToPrepare), &frames)
  }
}

/// Stops the queue: at once, or after all enqueued buffers have been played or filled.
@c @implementation
public func AudioQueueStop(_ inAQ: AudioQueueRef, _ inImmediate: Bool) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueStop") { (handle) throws(QueueError) in
    try handle.queue.stop(atOnce: inImmediate)
  }
}

/// Pauses the queue. It keeps its buffers and its time.
@c @implementation
public func AudioQueuePause(_ inAQ: AudioQueueRef) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueuePause") { (handle) throws(QueueError) in
    try handle.queue.pause()
  }
}

/// Flushes all enqueued buffers, so that they are played to their last frame.
@c @implementation
public func AudioQueueFlush(_ inAQ: AudioQueueRef) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueFlush") { (handle) throws(QueueError) in
    try handle.queue.flush()
  }
}

/// Hands back every buffer. A playback queue is silent afterwards.
@c @implementation
public func AudioQueueReset(_ inAQ: AudioQueueRef) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueReset") { (handle) throws(QueueError) in
    try handle.queue.reset()
  }
}

// MARK: Parameters

/// A parameter change from a call or from an enqueued buffer.
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

/// Reads the present value of a parameter.
@c @implementation
public func AudioQueueGetParameter(
  _ inAQ: AudioQueueRef, _ inParamID: AudioQueueParameterID,
  _ outValue: UnsafeMutablePointer<AudioQueueParameterValue>
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueGetParameter", needs: outValue) {
    (handle) throws(QueueError) in
    let queue = try handle.playbackQueue
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

/// Sets a parameter, effective with the next cycle.
@c @implementation
public func AudioQueueSetParameter(
  _ inAQ: AudioQueueRef, _ inParamID: AudioQueueParameterID, _ inValue: AudioQueueParameterValue
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueSetParameter") { (handle) throws(QueueError) in
    let queue = try handle.playbackQueue
    switch try Parameter(inParamID, inValue) {
    case .cycle(let changes): try queue.change(changes)
    case .timePitch(let changes): try queue.change(changes)
    }
  }
}
