import AudioQueue
public import CAudioToolbox
import Codecs
public import Dispatch
import RealTime
import Server
import System

// The recording functions of AudioQueue.h.

extension QueueHandle {
  /// The app's callback for a buffer that a recording queue returns.
  @safe enum InputCallback: @unchecked Sendable {
    case function(AudioQueueInputCallback, userData: UnsafeMutableRawPointer?)
    case block(AudioQueueInputCallbackBlock)
  }

  /// Creates a recording queue. A sample rate of 0 selects the device's rate.
  static func recording(
    _ description: AudioStreamBasicDescription, handle: UInt,
    callingBackOn executor: CallbackExecutor,
    _ callback: InputCallback
  ) throws(QueueError) -> QueueHandle {
    var complete = description
    if description.mSampleRate == 0 { complete.mSampleRate = 48000 }
    var format = try format(of: complete)
    format.sampleRate = description.mSampleRate
    // The closures look the handle up: a captured object would be a reference cycle.
    let queue = try InputQueue(
      format, options: InputQueue.Options(clientName: clientName),
      server: JackServer(), callingBackOn: executor,
      InputQueue.Handlers(
        bufferDone: { queue, recording in
          guard let this = all.object(handle),
            let reference = unsafe AudioQueueRef(bitPattern: handle)
          else { return }
          var time = AudioTimeStamp()
          time.mSampleTime = Double(recording.startFrame)
          time.mHostTime = recording.hostTime
          time.mFlags = [.sampleTimeValid, .hostTimeValid]
          let (count, packets) = this.packets(of: recording)
          unsafe this.lendHeader(ofBuffer: recording.buffer) { header in
            unsafe header.pointee.mAudioDataByteSize = UInt32(recording.bytes)
            unsafe header.describe(packets)
            unsafe packets.withUnsafeBufferPointer { packets in
              let packets = packets.isEmpty ? nil : packets.baseAddress
              switch callback {
              case .function(let function, let userData):
                unsafe function(userData, reference, header, &time, count, packets)
              case .block(let block): unsafe block(reference, header, &time, count, packets)
              }
            }
          }
        },
        changed: { _, change in all.object(handle)?.tell(change, as: handle) }))
    return QueueHandle(queue, handle: handle)
  }

  /// Returns the number of packets in a buffer, and their descriptions if they vary in size.
  private func packets(of recording: Recording) -> (UInt32, [AudioStreamPacketDescription]) {
    if description.mBytesPerPacket > 0 {
      return (UInt32(clamping: recording.bytes / Int(description.mBytesPerPacket)), [])
    }
    let packets = recording.packets.map {
      AudioStreamPacketDescription(
        mStartOffset: Int64($0.offset), mVariableFramesInPacket: UInt32($0.frames),
        mDataByteSize: UInt32($0.bytes))
    }
    return (UInt32(clamping: packets.count), packets)
  }

  /// The queue as a recording queue. Throws if it is a playback queue.
  var recordingQueue: InputQueue {
    get throws(QueueError) {
      guard let queue = queue as? InputQueue else { throw .wrongQueueType }
      return queue
    }
  }
}

/// Implements `AudioQueueNewInput`. Raw pointers replace the Core Foundation references.
@c(AudioQueueNewInput)
public func newInputQueue(
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>,
  _ inCallbackProc: @escaping AudioQueueInputCallback, _ inUserData: UnsafeMutableRawPointer?,
  _ inCallbackRunLoop: UnsafeRawPointer?, _ inCallbackRunLoopMode: UnsafeRawPointer?,
  _ inFlags: UInt32, _ outAQ: UnsafeMutablePointer<AudioQueueRef?>
) -> OSStatus {
  unsafe newQueue(
    "AudioQueueNewInput", inFormat, inFlags, outAQ,
    needs: unsafeBitCast(inCallbackProc, to: UnsafeRawPointer?.self)
  ) { (format, handle) throws(QueueError) in
    try unsafe .recording(
      format, handle: handle,
      callingBackOn: CallbackExecutor(runLoop: inCallbackRunLoop, mode: inCallbackRunLoopMode),
      .function(inCallbackProc, userData: inUserData))
  }
}

/// Implements `AudioQueueNewInputWithDispatchQueue`. The declaration is not checked against the
/// header: only then can the function detect a NULL block.
@c(AudioQueueNewInputWithDispatchQueue)
public func newInputQueueOnDispatchQueue(
  _ outAQ: UnsafeMutablePointer<AudioQueueRef?>,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>, _ inFlags: UInt32,
  _ inCallbackDispatchQueue: dispatch_queue_t, _ inCallbackBlock: AudioQueueInputCallbackBlock?
) -> OSStatus {
  unsafe newQueue(
    "AudioQueueNewInputWithDispatchQueue", inFormat, inFlags, outAQ,
    needs: UnsafeRawPointer(inCallbackDispatchQueue)
  ) { (format, handle) throws(QueueError) in
    guard let block = unsafe inCallbackBlock else { throw .badArgument("the block is NULL") }
    return try unsafe .recording(
      format, handle: handle, callingBackOn: .dispatchQueue(inCallbackDispatchQueue),
      .block(block))
  }
}

/// Creates a recording queue whose callbacks run on a Swift `DispatchQueue`. On Linux that is not
/// the C type `dispatch_queue_t`.
@discardableResult
public func AudioQueueNewInputWithDispatchQueue(
  _ outAQ: UnsafeMutablePointer<AudioQueueRef?>,
  _ inFormat: UnsafePointer<AudioStreamBasicDescription>, _ inFlags: UInt32,
  _ inCallbackDispatchQueue: DispatchQueue,
  _ inCallbackBlock: @escaping AudioQueueInputCallbackBlock
) -> OSStatus {
  unsafe newQueue("AudioQueueNewInputWithDispatchQueue", inFormat, inFlags, outAQ) {
    (format, handle) throws(QueueError) in
    try unsafe .recording(
      format, handle: handle, callingBackOn: .queue(inCallbackDispatchQueue),
      .block(inCallbackBlock))
  }
}

extension UnsafeMutablePointer<AudioQueueBuffer> {
  /// Stores packet descriptions in the buffer, as many as it was allocated for.
  fileprivate func describe(_ packets: [AudioStreamPacketDescription]) {
    let count = unsafe min(packets.count, Int(pointee.mPacketDescriptionCapacity))
    unsafe pointee.mPacketDescriptionCount = UInt32(count)
    guard let memory = unsafe pointee.mPacketDescriptions else { return }
    for i in 0..<count { unsafe memory[i] = packets[i] }
  }
}

extension InputQueue {
  /// Returns the format of the ports: non-interleaved floats at the device's rate.
  func portDescription() throws(QueueError) -> AudioStreamBasicDescription {
    let ports = PCMFormat(
      sampleRate: try deviceSampleRate(), channels: 1, kind: .float, bitsPerSample: 32)
    var description = ports.streamDescription
    description.mFormatFlags |= kAudioFormatFlagIsNonInterleaved
    description.mChannelsPerFrame = UInt32(format.channels)
    return description
  }
}
