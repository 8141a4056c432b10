package import Server

/// The reason why a queue rejects a call. There is one case per documented result code.
package enum QueueError: Error, Hashable, Sendable {
  /// An invalid argument; the string says why.
  case badArgument(String)
  /// The buffer does not belong to the queue.
  case invalidBuffer
  /// The buffer holds less than one whole frame.
  case bufferEmpty
  /// The data size is larger than the buffer's capacity.
  case bufferOverfull
  /// The buffer is enqueued and cannot be freed.
  case bufferInQueue
  /// The buffer is already enqueued.
  case enqueuedTwice
  /// The queue is handing its buffers back and accepts no others.
  case enqueueDuringReset
  /// A disposal is pending: the queue is playing its last buffers.
  case disposalPending
  /// The queue has been disposed of.
  case disposed
  /// The call requires a stopped queue and the queue is running, or the other way round.
  case invalidRunState
  /// The call requires a device while the queue renders offline, or the other way round.
  case invalidOfflineMode
  /// The device does not exist.
  case invalidDevice(String)
  /// The server could not be reached.
  case cannotStart(ServerError)
  /// The server has gone away.
  case invalidated
  /// The converter did not produce the frames in time.
  case primeTimedOut
  /// No memory for a buffer.
  case outOfMemory
  /// A packet description points outside the buffer's data.
  case packetOutsideBuffer
  /// The packets vary in size and there are no packet descriptions.
  case packetsNotDescribed
  /// The trimmed frames exceed the frames in the buffer.
  case trimmedTooMuch
  /// The buffer's start time is before that of a buffer enqueued earlier.
  case startsOutOfOrder
  /// The buffer's start time is too far away for any device to reach.
  case startOutOfRange
  /// The buffer has no room for one whole frame or packet.
  case bufferTooSmall
  /// A recording queue was passed to a playback call, or the other way round.
  case wrongQueueType
  /// No buffer was enqueued for the recorded frames.
  case recordUnderrun
  case invalidParameter
  /// The timeline does not belong to the queue.
  case invalidTimeline
  /// No field of the time stamp is valid.
  case noTime
  case invalidProperty
  case invalidPropertySize
  case invalidPropertyValue
  /// The property is read-only.
  case readOnly
  case unsupportedFormat
  /// There is no codec for the format.
  case codecNotFound
  /// The codec of the requested kind is not available.
  case invalidCodecAccess
  /// The queue already has a tap.
  case tooManyTaps
  /// The call is only valid inside the tap's callback.
  case notInTap
  /// The buffer list does not match the tap's channels.
  case wrongBuffers
  /// The call does not apply to a tap of this kind.
  case wrongTap
}
