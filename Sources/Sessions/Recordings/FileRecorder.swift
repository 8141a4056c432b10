package import AudioQueue
package import RealTime
package import Server
package import Timeline

/// A recording queue and the sound file that it records to. Any thread that is not real time.
///
/// The queue's callback thread writes the file. The queue's buffers allow the disk to stall for
/// four seconds before frames are lost. Lost frames become silence in the file, so that it stays in
/// time.
package final class FileRecorder: Sendable {
  package let queue: InputQueue
  private let feed: RecordingFeed

  /// Creates a recorder for a file that is given later. `onEvent` is called when the owner should
  /// check the recorder's state, and `onFailure` with the reason if the file cannot be written.
  ///
  /// - Parameter format: The input format of the file's writer. With a rate of 0, the device is
  ///   opened and its rate is used.
  package init(
    _ format: PCMFormat, options: InputQueue.Options, server: any Server,
    onFailure: @escaping @Sendable (String) -> Void, onEvent: @escaping @Sendable () -> Void
  ) throws(QueueError) {
    let feed = RecordingFeed(onFailure, onEvent)
    self.feed = feed
    queue = try InputQueue(
      format, options: options, server: server, callingBackOn: .ownThread,
      InputQueue.Handlers(
        bufferDone: { queue, recording in feed.take(recording, of: queue) },
        changed: { _, _ in onEvent() }))
  }

  /// Opens the device, connects its ports and allocates the buffers. Blocks.
  package func prepare() throws(QueueError) {
    _ = try queue.deviceSampleRate()
    try feed.allocate(queue)
  }

  /// Records to `file`, starting at `time`.
  ///
  /// - Parameters:
  ///   - limit: Frames to record; nil to record until `stop`.
  ///   - trigger: Begins and ends what is written, while the queue runs; nil to write all of the run.
  ///   - observer: Is told of what is written.
  package func start(
    _ file: any RecordingOutput, at time: StartTime, limit: Int64?,
    trigger: RecordingTrigger? = nil, observer: (any RecordingObserver)? = nil
  ) throws(QueueError) {
    feed.begin(file, limit: limit, trigger: trigger, observer)
    if trigger?.followsTransport == true { queue.runningDevice?.watchTransport() }
    try feed.enqueueIdle(queue)
    try queue.start(at: time)
  }

  /// Pauses recording. The time until `resume` is not in the file.
  package func pause() throws(QueueError) { try queue.pause() }
  package func resume(at time: StartTime = .atOnce) throws(QueueError) {
    try queue.start(at: time)
  }

  /// Writes nothing from a device frame on, which has not come. Only for a recording without a trigger.
  func end(atDeviceFrame frame: Int64) {
    if let frames = queue.runFrame(atDeviceFrame: frame) { feed.end(after: max(0, frames)) }
  }

  /// Stops recording, and waits until everything recorded is written, unless writing has failed.
  package func stop() {
    feed.end()
    // Even on an error, the buffers come back.
    try? queue.stopAndDeliverSoon()
    feed.waitUntilIdle()
  }

  package func close() { try? queue.dispose(atOnce: true) }

  /// True if nothing more will be written: the limit is reached, or recording has failed.
  package var isOver: Bool { feed.isOver }
  /// True if the file could not be written, or the queue cannot continue; `onFailure` has
  /// been called.
  package var hasFailed: Bool { feed.hasFailed }
  /// Why recording has failed; nil if it has not.
  package var failure: String? { feed.failure }
  /// Frames recorded, including silence for lost ones.
  package var frames: Int64 { feed.frames }
  /// How often frames were lost because the disk or the machine was too slow.
  package var overruns: UInt64 {
    let breaks = queue.discontinuities
    return breaks.interruptions + breaks.starvations
  }
  /// Frames of silence in the file for lost frames.
  package var silentFrames: Int64 { feed.silentFrames + queue.statistics.silencedFrames }
  /// The frame of the queue's run that was written first; nil before it.
  package var firstFrame: Int64? { feed.firstFrame }
  /// The device frame of that frame, unless the server went away before it.
  package var firstDeviceFrame: Int64? {
    guard let first = firstFrame, let began = queue.statistics.beganAt,
      let deviceRate = try? queue.deviceSampleRate()
    else { return nil }
    return began + Int64(held: (Double(first) * deviceRate / queue.format.sampleRate).rounded())
  }
  /// The frame of the queue's run from which the recording's frames count in the present take; nil before it.
  package var origin: Int64? { feed.origin }
  /// The gain of the input as a factor. A change takes the length of a buffer, an eighth of a second.
  package var gain: Float {
    get { feed.gain }
    set { feed.gain = newValue }
  }
  /// Frames of the queue's run that have arrived, written or not.
  package var receivedFrames: Int64 { feed.receivedFrames }
  /// For each channel, the frames up to now that were digital silence: all their samples were zero.
  package var silence: [Int64] { feed.silence }
}
