package import Server

/// Why a queue refuses a call. One case for each documented result.
package enum QueueError: Error, Hashable, Sendable {
  /// An argument that no queue takes; says why.
  case badArgument(String)
  /// The buffer is not the queue's.
  case invalidBuffer
  /// The buffer holds not one whole frame.
  case bufferEmpty
  /// The buffer holds more than it has room for.
  case bufferOverfull
  /// The buffer is enqueued: it cannot be freed.
  case bufferInQueue
  /// The buffer is enqueued: it cannot be enqueued again.
  case enqueuedTwice
  /// The queue is handing its buffers back.
  case enqueueDuringReset
  /// The queue is being disposed of, once what it holds has been played.
  case disposalPending
  /// The queue has been disposed of.
  case disposed
  /// The queue is running, and the call is for one that is not; or the other way round.
  case invalidRunState
  /// The queue renders offline and the call is for one that plays; or the other way round.
  case invalidOfflineMode
  /// The device does not exist.
  case invalidDevice(String)
  /// The server could not be reached.
  case cannotStart(ServerError)
  /// The server went away.
  case invalidated
  /// The converter did not produce the frames in time.
  case primeTimedOut
  /// No memory for a buffer.
  case outOfMemory
  /// A packet description points outside the buffer.
  case packetOutsideBuffer
  /// The format's packets vary, and there are no descriptions of them.
  case packetsNotDescribed
  /// More frames are to be left out than the buffer has.
  case trimmedTooMuch
  /// The buffer is to begin before one that was enqueued before it.
  case startsOutOfOrder
  /// The buffer is to begin at a time that no device comes to.
  case startOutOfRange
  /// The buffer has not room for one whole frame.
  case bufferTooSmall
  /// The queue records and should play, or the other way round.
  case wrongQueueType
  /// No buffer was there to take what was recorded.
  case recordUnderrun
  case invalidParameter
  /// The timeline is not the queue's.
  case invalidTimeline
  /// A time stamp in which no field is valid.
  case noTime
  case invalidProperty
  case invalidPropertySize
  case invalidPropertyValue
  /// The property can only be read.
  case readOnly
  case unsupportedFormat
  /// There is no decoder for the format.
  case codecNotFound
  /// There is no codec of the kind that was asked for.
  case invalidCodecAccess
  /// The queue has a tap already.
  case tooManyTaps
  /// The call is for a tap's function, while it runs.
  case notInTap
  /// The buffers do not suit the tap's channels.
  case wrongBuffers
  /// The call is for taps of another kind.
  case wrongTap
}
