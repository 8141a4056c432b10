import Timeline

/// The part of a queue's state that only playback or only recording has.
protocol QueuePart: SendableMetatype {
  /// The callback's description of a returned buffer: its number, or a `Recording`.
  associatedtype Returned
  /// An element of the stream between the app and the process thread.
  associatedtype Item
  associatedtype Memory: QueueMemory
  associatedtype Converter: AnyObject

  /// The number of the returned buffer.
  static func id(of returned: Returned) -> UInt32
  /// Returns the start time of a run that was requested and has not begun.
  static func pendingStart(_ state: QueueState<Self>) -> StartPoint?
  /// Returns the index of the notification to deliver next.
  static func nextNotice(_ state: QueueState<Self>, onlyBuffers: Bool) -> Int?

  /// True if the rendering thread runs the cycles and makes the callbacks.
  var isOffline: Bool { get }
  /// True if the run is over, but the app has not received its last buffers.
  var isEnding: Bool { get }
  /// The number of runs that are over, if the queue counts them.
  var runsOver: Int { get }
  /// Records that the app is about to be told whether the queue runs.
  mutating func willTell(isRunning: Bool, runsOver: Int)
  /// Counts all runs that were requested as over.
  mutating func endRuns()
}

extension QueuePart {
  var isOffline: Bool { false }
  var isEnding: Bool { false }
  var runsOver: Int { 0 }
  mutating func endRuns() {}
}
