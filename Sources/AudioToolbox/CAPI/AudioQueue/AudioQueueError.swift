public import CAudioToolbox
public import FoundationEssentials

/// The reason why a queue call failed: a result code of the C API other than `noErr`.
///
/// ```swift
/// do throws(AudioQueueError) {
///   try queue.setValue("jack:studio", of: .device)
/// } catch {
///   print(error)  // kAudioQueueErr_InvalidDevice (-66680): the device does not exist or …
///   if error.status != kAudioQueueErr_InvalidDevice { throw error }
/// }
/// ```
public struct AudioQueueError: Error, Hashable, Sendable {
  /// The result code.
  public let status: OSStatus

  /// Creates an error from a result code.
  public init(_ status: OSStatus) { self.status = status }

  /// The task was cancelled while it waited. Async methods throw this error instead of
  /// `CancellationError`, so that a single error type covers all failures.
  public static let cancelled = AudioQueueError(-128)
}

extension AudioQueueError: CustomStringConvertible, LocalizedError {
  /// The name of the result code's constant, its number and an explanation.
  public var description: String {
    guard let (name, reason) = Self.texts[status] else { return "OSStatus \(status)" }
    return "\(name) (\(status)): \(reason)"
  }

  /// The same text, for code that holds an `any Error`.
  public var errorDescription: String? { description }

  private static let texts: [OSStatus: (name: String, reason: String)] = [
    kAudioQueueErr_BufferEnqueuedTwice: (
      "kAudioQueueErr_BufferEnqueuedTwice", "the buffer is enqueued already"
    ),
    kAudioQueueErr_InvalidBuffer: (
      "kAudioQueueErr_InvalidBuffer", "the buffer is not one of this queue's"
    ),
    kAudioQueueErr_BufferEmpty: ("kAudioQueueErr_BufferEmpty", "the buffer holds no sound"),
    kAudioQueueErr_DisposalPending: (
      "kAudioQueueErr_DisposalPending", "the queue is about to go and takes no more calls"
    ),
    kAudioQueueErr_InvalidProperty: (
      "kAudioQueueErr_InvalidProperty", "the queue has no such property"
    ),
    kAudioQueueErr_InvalidPropertySize: (
      "kAudioQueueErr_InvalidPropertySize", "the size is not that of the property"
    ),
    kAudioQueueErr_InvalidParameter: (
      "kAudioQueueErr_InvalidParameter", "the queue has no such parameter"
    ),
    kAudioQueueErr_CannotStart: (
      "kAudioQueueErr_CannotStart", "the sound server cannot be reached; the log says why"
    ),
    kAudioQueueErr_InvalidDevice: (
      "kAudioQueueErr_InvalidDevice", "the device does not exist or does not answer"
    ),
    kAudioQueueErr_BufferInQueue: (
      "kAudioQueueErr_BufferInQueue", "the buffer is enqueued and cannot be freed"
    ),
    kAudioQueueErr_InvalidRunState: (
      "kAudioQueueErr_InvalidRunState", "the queue or its device runs and should not, or does not"
    ),
    kAudioQueueErr_InvalidQueueType: (
      "kAudioQueueErr_InvalidQueueType", "this is a call for another type of queue"
    ),
    kAudioQueueErr_Permissions: ("kAudioQueueErr_Permissions", "the property can only be read"),
    kAudioQueueErr_InvalidPropertyValue: (
      "kAudioQueueErr_InvalidPropertyValue", "the property does not take this value"
    ),
    kAudioQueueErr_PrimeTimedOut: (
      "kAudioQueueErr_PrimeTimedOut", "the frames are not enqueued or were not ready in time"
    ),
    kAudioQueueErr_CodecNotFound: (
      "kAudioQueueErr_CodecNotFound", "there is no codec for the format"
    ),
    kAudioQueueErr_InvalidCodecAccess: (
      "kAudioQueueErr_InvalidCodecAccess", "the codec cannot be used"
    ),
    kAudioQueueErr_QueueInvalidated: (
      "kAudioQueueErr_QueueInvalidated", "the sound server went away"
    ),
    kAudioQueueErr_RecordUnderrun: (
      "kAudioQueueErr_RecordUnderrun", "no buffer was there for what was recorded"
    ),
    kAudioQueueErr_EnqueueDuringReset: (
      "kAudioQueueErr_EnqueueDuringReset", "the queue is handing its buffers back"
    ),
    kAudioQueueErr_InvalidOfflineMode: (
      "kAudioQueueErr_InvalidOfflineMode", "the queue renders offline and should not, or does not"
    ),
    kAudioFormatUnsupportedDataFormatError: (
      "kAudioFormatUnsupportedDataFormatError", "this is not a format that the queue plays"
    ),
    kAudioSessionIncompatibleCategory: (
      "kAudioSessionIncompatibleCategory", "the audio session's category does not allow the start"
    ),
    kAudio_ParamError: ("kAudio_ParamError", "an argument is wrong; the log says which"),
    kAudio_MemFullError: ("kAudio_MemFullError", "there is no memory left"),
    cancelled.status: ("userCanceledErr", "the task was cancelled"),
  ]
}

/// Throws if the status is not `noErr`.
func check(_ status: OSStatus) throws(AudioQueueError) {
  if status != noErr { throw AudioQueueError(status) }
}
