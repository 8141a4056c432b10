import AudioQueue
public import CAudioToolbox
import RealTime
import Timeline

// The offline rendering functions of AudioQueue.h.

/// Selects offline rendering to memory, or with NULL playback through the device.
@c @implementation
public func AudioQueueSetOfflineRenderFormat(
  _ inAQ: AudioQueueRef, _ inFormat: UnsafePointer<AudioStreamBasicDescription>?,
  _ inLayout: UnsafePointer<AudioChannelLayout>?
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueSetOfflineRenderFormat") { (handle) throws(QueueError) in
    guard let description = unsafe inFormat?.pointee else {
      return try handle.setOfflineFormat(nil, nil)
    }
    guard let format = PCMFormat(description) else { throw .unsupportedFormat }
    // Check the header first: a layout without channels is ignored, and a wrong channel count is an
    // error.
    let channels = unsafe inLayout.map { unsafe ChannelLayout.channels(of: $0.pointee) } ?? 0
    guard channels == 0 || channels == format.channels else { throw .unsupportedFormat }
    try handle.setOfflineFormat(format, channels == 0 ? nil : unsafe ChannelLayout(at: inLayout!))
  }
}

/// Renders the queue's next frames into a buffer.
@c @implementation
public func AudioQueueOfflineRender(
  _ inAQ: AudioQueueRef, _ inTimestamp: UnsafePointer<AudioTimeStamp>?,
  _ ioBuffer: AudioQueueBufferRef, _ inNumberFrames: UInt32
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueOfflineRender") { (handle) throws(QueueError) in
    guard let id = unsafe handle.id(of: ioBuffer) else { throw .invalidBuffer }
    let queue = try handle.playbackQueue
    var time: Int64?
    if case .frame(let frame) = unsafe try startTime(inTimestamp?.pointee) { time = frame }
    let bytes = try queue.render(frames: Int(inNumberFrames), intoBuffer: id, at: time)
    // `handle` keeps the header alive even if a callback has disposed of the queue.
    unsafe ioBuffer.pointee.mAudioDataByteSize = UInt32(bytes)
  }
}
