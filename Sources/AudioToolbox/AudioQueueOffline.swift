import AudioQueue
public import CAudioToolbox
import RealTime

// The functions of AudioQueue.h that render a queue's sound to memory.

/// Channels that a layout speaks of; nil if it says nothing of them.
private func channels(of layout: AudioChannelLayout) -> Int? {
  switch layout.mChannelLayoutTag {
  case kAudioChannelLayoutTag_UseChannelBitmap: layout.mChannelBitmap.rawValue.nonzeroBitCount
  case kAudioChannelLayoutTag_UseChannelDescriptions:
    layout.mNumberChannelDescriptions == 0 ? nil : Int(layout.mNumberChannelDescriptions)
  case let tag: Int(AudioChannelLayoutTag_GetNumberOfChannels(tag))
  }
}

/// Has the queue render to memory, or play through its device again.
@c @implementation
public func AudioQueueSetOfflineRenderFormat(
  _ inAQ: AudioQueueRef, _ inFormat: UnsafePointer<AudioStreamBasicDescription>?,
  _ inLayout: UnsafePointer<AudioChannelLayout>?
) -> OSStatus {
  unsafe withQueue(inAQ, "AudioQueueSetOfflineRenderFormat") { (handle) throws(QueueError) in
    guard let description = unsafe inFormat?.pointee else {
      return try handle.queue.setOfflineFormat(nil)
    }
    guard let format = PCMFormat(description) else { throw .unsupportedFormat }
    // Only the head: the descriptions themselves are nobody's concern.
    if let layout = unsafe inLayout?.pointee, let channels = channels(of: layout) {
      guard channels == format.channels else { throw .unsupportedFormat }
    }
    try handle.queue.setOfflineFormat(format)
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
    let bytes = try handle.queue.render(frames: Int(inNumberFrames), intoBuffer: id)
    // A callback that disposed of the queue has not taken the header with it: `handle` keeps it.
    unsafe ioBuffer.pointee.mAudioDataByteSize = UInt32(bytes)
  }
}
