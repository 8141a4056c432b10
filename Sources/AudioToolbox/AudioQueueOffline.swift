import AudioQueue
public import CAudioToolbox
import RealTime

// The functions of AudioQueue.h that render a queue's sound to memory.

/// Has the queue render to memory, or play through its device again.
@c @implementation
public func AudioQueueSetOfflineRenderFormat(
  _ inAQ: AudioQueueRef, _ inFormat: UnsafePointer<AudioStreamBasicDescription>?,
  _ inLayout: UnsafePointer<AudioChannelLayout>?
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueSetOfflineRenderFormat") { (handle) throws(QueueError) in
    guard let description = unsafe inFormat?.pointee else {
      return try handle.playbackQueue.setOfflineFormat(nil)
    }
    guard let format = PCMFormat(description) else { throw .unsupportedFormat }
    // Only the head: the descriptions themselves are nobody's concern, and without any it says nothing.
    let channels = unsafe inLayout.map { unsafe ChannelLayout.channels(of: $0.pointee) } ?? 0
    guard channels == 0 || channels == format.channels else { throw .unsupportedFormat }
    try handle.playbackQueue.setOfflineFormat(format)
  }
}

/// Renders the queue's next frames to a buffer.
@c @implementation
public func AudioQueueOfflineRender(
  _ inAQ: AudioQueueRef, _ inTimestamp: UnsafePointer<AudioTimeStamp>?,
  _ ioBuffer: AudioQueueBufferRef, _ inNumberFrames: UInt32
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueOfflineRender") { (handle) throws(QueueError) in
    guard let id = unsafe handle.id(of: ioBuffer) else { throw .invalidBuffer }
    let bytes = try handle.playbackQueue.render(frames: Int(inNumberFrames), intoBuffer: id)
    // A callback that disposed of the queue has not taken the header with it: `handle` keeps it.
    unsafe ioBuffer.pointee.mAudioDataByteSize = UInt32(bytes)
  }
}
