import AudioQueue
public import CAudioToolbox
import Codecs
import Glibc
import Synchronization

// The tap functions of AudioQueue.h.

/// The object behind an `AudioQueueProcessingTapRef`.
@safe
private final class TapHandle: @unchecked Sendable {
  /// A tap callback in progress.
  private struct Present: @unchecked Sendable {
    let thread: pthread_t
    let call: TapCall
  }

  /// The taps of all queues that have not been disposed of.
  static let all = HandleTable<TapHandle>()

  let owner: QueueHandle
  let isSiphon: Bool
  private let present = Mutex<Present?>(nil)

  init(_ owner: QueueHandle, isSiphon: Bool) {
    self.owner = owner
    self.isSiphon = isSiphon
  }

  /// Returns the tap call that the calling thread is inside. Throws `notInTap` outside a call.
  func presentCall() throws(QueueError) -> TapCall {
    guard
      let call = present.withLock({ $0.flatMap { $0.thread == pthread_self() ? $0.call : nil } })
    else { throw .notInTap }
    return call
  }

  /// Runs the app's tap callback.
  func process(
    _ call: TapCall, _ reference: AudioQueueProcessingTapRef,
    _ callback: AudioQueueProcessingTapCallback, _ clientData: UnsafeMutableRawPointer?
  ) {
    present.withLock { $0 = Present(thread: pthread_self(), call: call) }
    defer { present.withLock { $0 = nil } }
    var time = AudioTimeStamp(sampleTime: call.sampleTime)
    var flags = call.flags
    var frames = UInt32(isSiphon ? call.frames : 0)
    let list = unsafe UnsafeMutableRawPointer.allocate(
      byteCount: MemoryLayout<AudioBufferList>.size + (call.channels - 1)
        * MemoryLayout<AudioBuffer>.stride,
      alignment: MemoryLayout<AudioBufferList>.alignment)
    defer { unsafe list.deallocate() }
    let head = unsafe list.initializeMemory(as: AudioBufferList.self, to: AudioBufferList())
    let buffers = unsafe head.buffers
    unsafe head.pointee.mNumberBuffers = UInt32(call.channels)
    for channel in 0..<call.channels {
      unsafe (buffers + channel).initialize(
        to: AudioBuffer(
          mNumberChannels: 1, mDataByteSize: UInt32(call.frames * MemoryLayout<Float>.stride),
          mData: UnsafeMutableRawPointer(call.output[channel])))
    }
    // Programs that pass no data get none, whatever the type says.
    let data = unsafe unsafeBitCast(clientData, to: UnsafeMutableRawPointer.self)
    unsafe callback(data, reference, UInt32(call.frames), &time, &flags, &frames, head)
    call.hasEnded = flags.contains(.endOfStream)
    call.givenFrames = Int(frames)
    // The callback may set the data pointers instead of copying the sound.
    let count = min(call.givenFrames, call.frames)
    for channel in 0..<call.channels {
      let data = unsafe buffers[channel].mData
      if unsafe data == UnsafeMutableRawPointer(call.output[channel]) { continue }
      if let data = unsafe data {
        unsafe call.output[channel].update(
          from: data.assumingMemoryBound(to: Float.self), count: count)
      } else {
        unsafe call.output[channel].update(repeating: 0, count: count)
      }
    }
  }
}

extension TapCall {
  fileprivate var flags: AudioQueueProcessingTapFlags {
    var flags: AudioQueueProcessingTapFlags = []
    if isStart { flags.insert(.startOfStream) }
    if isEnd { flags.insert(.endOfStream) }
    return flags
  }
}

extension UnsafeMutablePointer<AudioBufferList> {
  /// The first of the consecutive buffers.
  fileprivate var buffers: UnsafeMutablePointer<AudioBuffer> {
    let offset = unsafe MemoryLayout<AudioBufferList>.offset(of: \AudioBufferList.mBuffers)!
    return unsafe (UnsafeMutableRawPointer(self) + offset).assumingMemoryBound(
      to: AudioBuffer.self)
  }
}

extension AudioTimeStamp {
  fileprivate init(sampleTime: Float64) {
    self.init()
    mSampleTime = sampleTime
    mFlags = .sampleTimeValid
  }
}

extension QueueHandle {
  /// Removes the tap of a disposed queue from the table.
  func forgetTap() {
    if let tap = tap.withLock({ $0 }) { TapHandle.all.remove(tap) }
  }
}

/// Runs the body of a C function with the tap behind `reference`.
private func withTap(
  _ reference: AudioQueueProcessingTapRef, _ function: String,
  needs pointers: UnsafeRawPointer?..., body: (TapHandle) throws(QueueError) -> Void
) -> OSStatus {
  answer(function) { () throws(QueueError) in
    guard let tap = TapHandle.all.object(UInt(bitPattern: reference)) else {
      throw .badArgument("there is no such tap")
    }
    if unsafe hasNull(pointers) { throw .badArgument("a pointer is NULL") }
    try body(tap)
  }
}

/// Adds a tap to a queue.
@c @implementation
public func AudioQueueProcessingTapNew(
  _ inAQ: AudioQueueRef, _ inCallback: @escaping AudioQueueProcessingTapCallback,
  _ inClientData: UnsafeMutableRawPointer?, _ inFlags: AudioQueueProcessingTapFlags,
  _ outMaxFrames: UnsafeMutablePointer<UInt32>,
  _ outProcessingFormat: UnsafeMutablePointer<AudioStreamBasicDescription>,
  _ outAQTap: UnsafeMutablePointer<AudioQueueProcessingTapRef?>
) -> OSStatus {
  let client = unsafe ClientData(pointer: inClientData)
  return unsafe withQueue(
    inAQ, "AudioQueueProcessingTapNew",
    needs: unsafeBitCast(inCallback, to: UnsafeRawPointer?.self), outMaxFrames,
    outProcessingFormat, outAQTap
  ) { (queue) throws(QueueError) in
    let position: ProcessingTap.Position
    let isSiphon = inFlags.contains(.siphon)
    switch inFlags.subtracting(.siphon) {
    case .preEffects: position = .preEffects
    case .postEffects: position = .postEffects
    default: throw .badArgument("the flags are \(inFlags.rawValue)")
    }
    let number = TapHandle.all.add { _ in TapHandle(queue, isSiphon: isSiphon) }
    do throws(QueueError) {
      // The closure looks the handle up: a captured object would keep the queue alive.
      try queue.playbackQueue.addTap(
        ProcessingTap(position, isSiphon: isSiphon) { call in
          guard let tap = TapHandle.all.object(number),
            let reference = unsafe AudioQueueProcessingTapRef(bitPattern: number)
          else { return }
          unsafe tap.process(call, reference, inCallback, client.pointer)
        })
    } catch {
      TapHandle.all.remove(number)
      throw error
    }
    queue.tap.withLock { $0 = number }
    unsafe outMaxFrames.pointee = UInt32(ProcessingTap.mostFrames)
    unsafe outProcessingFormat.pointee = queue.processingDescription
    unsafe outAQTap.pointee = AudioQueueProcessingTapRef(bitPattern: number)
  }
}

/// The app's client data for the callback.
@safe private struct ClientData: @unchecked Sendable {
  let pointer: UnsafeMutableRawPointer?
  init(pointer: UnsafeMutableRawPointer?) { unsafe self.pointer = pointer }
}

/// Removes a tap from its queue.
@c @implementation
public func AudioQueueProcessingTapDispose(_ inAQTap: AudioQueueProcessingTapRef) -> OSStatus {
  unsafe withTap(inAQTap, "AudioQueueProcessingTapDispose") { (tap) throws(QueueError) in
    try tap.owner.playbackQueue.removeTap()
    tap.owner.forgetTap()
  }
}

/// Copies the tap's source frames to the caller's buffers, or points NULL data pointers at them.
@c @implementation
public func AudioQueueProcessingTapGetSourceAudio(
  _ inAQTap: AudioQueueProcessingTapRef, _ inNumberFrames: UInt32,
  _ ioTimeStamp: UnsafeMutablePointer<AudioTimeStamp>,
  _ outFlags: UnsafeMutablePointer<AudioQueueProcessingTapFlags>,
  _ outNumberFrames: UnsafeMutablePointer<UInt32>, _ ioData: UnsafeMutablePointer<AudioBufferList>
) -> OSStatus {
  unsafe withTap(
    inAQTap, "AudioQueueProcessingTapGetSourceAudio", needs: ioTimeStamp, outFlags,
    outNumberFrames, ioData
  ) { (tap) throws(QueueError) in
    let call = try tap.presentCall()
    if tap.isSiphon { throw .wrongTap }
    let buffers = unsafe ioData.buffers
    guard unsafe ioData.pointee.mNumberBuffers == call.channels else { throw .wrongBuffers }
    var room = Int(inNumberFrames)
    for channel in 0..<call.channels {
      let buffer = unsafe buffers[channel]
      if unsafe buffer.mData == nil { continue }
      room = unsafe min(room, Int(buffer.mDataByteSize) / MemoryLayout<Float>.stride)
    }
    let source = unsafe call.takeSource(room)
    let frames = unsafe source.frames
    for channel in 0..<call.channels {
      if let data = unsafe buffers[channel].mData {
        unsafe data.assumingMemoryBound(to: Float.self).update(
          from: source.planes[channel], count: frames)
      } else {
        unsafe buffers[channel].mData = UnsafeMutableRawPointer(source.planes[channel])
      }
      unsafe buffers[channel].mNumberChannels = 1
      unsafe buffers[channel].mDataByteSize = UInt32(frames * MemoryLayout<Float>.stride)
    }
    unsafe ioTimeStamp.pointee = unsafe AudioTimeStamp(sampleTime: source.time)
    unsafe outFlags.pointee = call.flags
    unsafe outNumberFrames.pointee = UInt32(frames)
  }
}

/// Returns the frame of the run at which the frames of a tap call are heard.
@c @implementation
public func AudioQueueProcessingTapGetQueueTime(
  _ inAQTap: AudioQueueProcessingTapRef, _ outQueueSampleTime: UnsafeMutablePointer<Float64>,
  _ outQueueFrameCount: UnsafeMutablePointer<UInt32>
) -> OSStatus {
  unsafe withTap(
    inAQTap, "AudioQueueProcessingTapGetQueueTime", needs: outQueueSampleTime, outQueueFrameCount
  ) { (tap) throws(QueueError) in
    let call = try tap.presentCall()
    unsafe outQueueSampleTime.pointee = call.queueTime
    unsafe outQueueFrameCount.pointee = UInt32(call.queueFrames)
  }
}
