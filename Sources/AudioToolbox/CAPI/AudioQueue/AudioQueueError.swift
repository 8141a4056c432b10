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
    guard let (name, meaning) = textsOfQueueError(status) else { return "OSStatus \(status)" }
    return "\(name) (\(status)): \(meaning)"
  }

  /// The same text, for code that holds an `any Error`.
  public var errorDescription: String? { description }
}

/// Throws if the status is not `noErr`.
func check(_ status: OSStatus) throws(AudioQueueError) {
  if status != noErr { throw AudioQueueError(status) }
}
