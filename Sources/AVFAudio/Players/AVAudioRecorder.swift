import AudioQueue
import AudioToolbox
import AudioUnits
import Codecs
import Files
public import Foundation
import Logging
import RealTime
import Server
import Synchronization
import System
import Timeline

/// What an `AVAudioRecorder` tells, on the main queue. A program whose main thread runs neither a run loop nor
/// `dispatchMain()` is told nothing.
public protocol AVAudioRecorderDelegate: AnyObject {
  /// Called when a recording is complete: after `stop`, or at the end of its duration.
  ///
  /// `flag` is false if the file lacks sound, because it could not be written.
  func audioRecorderDidFinishRecording(_ recorder: AVAudioRecorder, successfully flag: Bool)
  /// Called if the file cannot be written.
  func audioRecorderEncodeErrorDidOccur(_ recorder: AVAudioRecorder, error: (any Error)?)
}

extension AVAudioRecorderDelegate {
  /// Does nothing.
  public func audioRecorderDidFinishRecording(_ recorder: AVAudioRecorder, successfully flag: Bool)
  {}
  /// Does nothing.
  public func audioRecorderEncodeErrorDidOccur(_ recorder: AVAudioRecorder, error: (any Error)?) {}
}

/// A recorder of the sound card's inputs into a file. Any thread that is not real-time.
///
/// Each recording has a JACK client of its own, named after the program, with ports `in_1` …. The file is complete when
/// `stop` returns; one of a process that was killed lacks less than the last second. The time for which the server
/// was away is silence in the file. Releasing the last reference stops the recorder.
open class AVAudioRecorder: NSObject, @unchecked Sendable {
  /// The file.
  public let url: URL
  /// The format of the sound in the file.
  public let format: AVAudioFormat
  /// The format of the sound in the file and the settings of its encoder.
  public let settings: [String: Any]
  /// Gets told what happens.
  public weak var delegate: (any AVAudioRecorderDelegate)?

  private enum Phase { case idle, prepared, recording, paused }
  private struct Take {
    let queue: InputQueue
    let file: RecordingFile
  }
  private struct State {
    var phase = Phase.idle
    /// What is recorded; nil while the recorder is idle.
    var take: Take?
    /// The number of the latest take. The end of an earlier one is ignored.
    var number = 0
    var isMetering = false
    var levels: [PlaybackQueue.Level] = []
    var device: String?
  }
  /// Held while the queue is controlled.
  private let state = Mutex(State())

  // MARK: Opening

  /// Creates a recorder. The file is created, in place of one of the same name, by `prepareToRecord` or `record`.
  ///
  /// The settings are as those of `AVAudioFile`: the format of the sound in the file, and those of its encoder.
  public init(url: URL, settings: [String: Any]) throws {
    do {
      let draft = try OpenedFile.Draft(
        url, settings, .pcmFormatFloat32, isInterleaved: true)
      guard MediaFiles.canWrite(draft.converter.output, in: draft.container) else {
        throw AudioSettings.Fault(
          reason: "a \(draft.container) file does not hold \(draft.fileFormat)")
      }
      format = draft.fileFormat
    } catch {
      throw OpenedFile.failure(error, url)
    }
    self.url = url
    self.settings = settings.merging(format.settings) { given, _ in given }
  }

  /// Creates a recorder to no file, which cannot record, for programs that replace it later.
  public override init() {
    url = URL(fileURLWithPath: "/")
    format = .fallback
    settings = [:]
  }

  /// Creates a recorder of a format.
  public convenience init(url: URL, format: AVAudioFormat) throws {
    try self.init(url: url, settings: format.settings)
  }

  deinit { _ = state.withLock { finish(&$0) } }

  /// The server to record from, as `jack:SERVER`; nil for the default one.
  package var device: String? {
    get { state.withLock { $0.device } }
    set { state.withLock { $0.device = newValue } }
  }

  // MARK: Recording

  /// Creates the file and opens the device, so that `record` begins sooner.
  ///
  /// - Returns: False if that fails; the log has the reason.
  @discardableResult
  open func prepareToRecord() -> Bool {
    state.withLock { state in told("prepareToRecord") { try prepare(&state) } }
  }

  /// Records into a new file from the next cycle on, or goes on after a pause. Does nothing while the recorder records.
  ///
  /// - Returns: False if there is no server, the audio session's category does not allow it, or the file cannot be
  ///   created; the log has the reason.
  @discardableResult
  open func record() -> Bool { record(at: nil, for: nil) }

  /// Records from a moment of `deviceCurrentTime` on. Recorders and players that are given the same one begin on the same
  /// frame. A moment that has passed means the present one.
  ///
  /// - Returns: False for a moment that is not finite, and as `record()`.
  @discardableResult
  open func record(atTime time: TimeInterval) -> Bool { record(at: time, for: nil) }

  /// Records for a number of seconds, to the frame.
  ///
  /// - Returns: False for a duration that is not above 0, and as `record()`.
  @discardableResult
  open func record(forDuration duration: TimeInterval) -> Bool { record(at: nil, for: duration) }

  /// Records for a number of seconds from a moment of `deviceCurrentTime` on.
  ///
  /// - Returns: False for a moment that is not finite, a duration that is not above 0, and as `record()`.
  @discardableResult
  open func record(atTime time: TimeInterval, forDuration duration: TimeInterval) -> Bool {
    record(at: time, for: duration)
  }

  private func record(at time: TimeInterval?, for duration: TimeInterval?) -> Bool {
    told("record") {
      let start = try time.map { time in
        guard time.isFinite else { throw AudioSettings.Fault(reason: "\(time) is no time") }
        return StartTime.hostTime(AVAudioTime.hostTime(forSeconds: min(time, 1e9)))
      }
      let frames = try duration.map { seconds in
        guard seconds > 0 else { throw AudioSettings.Fault(reason: "\(seconds) is no duration") }
        return Int64(held: (seconds * format.sampleRate).rounded())
      }
      try state.withLock { try self.start(&$0, at: start, frames) }
    }
  }

  private func start(_ state: inout State, at time: StartTime?, _ frames: Int64?) throws {
    if state.phase == .recording { return }
    _ = try AudioSession.admit(plays: false, records: true)
    try prepare(&state)
    guard let take = state.take else { return }
    if let frames {
      let present = Int64(held: max(0, take.queue.currentFrame ?? 0).rounded())
      take.file.end(at: present.addingReportingOverflow(frames).overflow ? .max : present + frames)
    }
    // The first frame is recorded only if the ports are connected by then.
    if let time { _ = try take.queue.nearestStart(to: time) }
    try take.queue.start(at: time ?? .atOnce)
    state.phase = .recording
  }

  private func prepare(_ state: inout State) throws {
    guard state.phase == .idle else { return }
    let number = state.number + 1
    let file = RecordingFile { [weak self] in
      // The queue's thread waits for no stop.
      DispatchQueue.global().async { [weak self] in self?.ended(number) }
    }
    let samples = PCMFormat(
      sampleRate: format.sampleRate, channels: Int(format.channelCount), kind: .float,
      bitsPerSample: 32)
    let queue = try InputQueue(
      samples, options: QueueOptions(clientName: clientName), server: JackServer(),
      callingBackOn: .ownThread,
      QueueHandlers(
        bufferDone: { queue, recording in
          file.write(recording)
          try? queue.enqueue(recording.buffer)
        }, changed: { _, _ in }))
    do {
      if let device = state.device { try queue.setDeviceUID(device) }
      // Four seconds, for disks that are busy.
      let frames = max(1, Int(held: format.sampleRate / 10))
      let buffers = try (0..<40).map { _ in
        try queue.allocateBuffer(capacity: frames * samples.bytesPerFrame)
      }
      for buffer in buffers { try queue.enqueue(buffer.id) }
      queue.isMetering = state.isMetering
      // A file of the same name stays if there is no server.
      _ = try queue.deviceSampleRate()
      file.open(
        try AVAudioFile(
          forWriting: url, settings: settings, commonFormat: .pcmFormatFloat32, interleaved: true),
        buffers, frames: AVAudioFrameCount(frames))
    } catch {
      try? queue.dispose(atOnce: true)
      throw error
    }
    state.number = number
    state.take = Take(queue: queue, file: file)
    state.phase = .prepared
  }

  /// Holds the recording: what comes in until the next `record` is left out.
  open func pause() {
    _ = told("pause") {
      try state.withLock { state in
        guard state.phase == .recording else { return }
        try state.take?.queue.pause()
        state.phase = .paused
      }
    }
  }

  /// Ends the recording and completes the file.
  open func stop() { end { _ in true } }

  /// Ends a take that has come to its end.
  private func ended(_ number: Int) { end { $0 == number } }

  private func end(if isMeant: (_ number: Int) -> Bool) {
    let ended = state.withLock { state in
      guard state.phase != .idle, isMeant(state.number) else { return NSError??.none }
      let isTold = state.phase != .prepared
      let failure = finish(&state)
      return isTold ? .some(failure) : .none
    }
    guard let failure = ended else { return }
    if let failure {
      log.error("AVAudioRecorder: \(failure.localizedDescription)")
    }
    DispatchQueue.main.async { [self] in
      if let failure { delegate?.audioRecorderEncodeErrorDidOccur(self, error: failure) }
      delegate?.audioRecorderDidFinishRecording(self, successfully: failure == nil)
    }
  }

  private func finish(_ state: inout State) -> NSError? {
    guard let take = state.take else { return nil }
    // The queue's thread writes the last frames meanwhile.
    try? take.queue.stop(atOnce: true)
    try? take.queue.dispose(atOnce: true)
    state.take = nil
    state.phase = .idle
    return take.file.close()
  }

  /// Deletes the file. The recorder must be stopped.
  ///
  /// - Returns: False if the recorder is not, or the file cannot be deleted; the log has the reason.
  @discardableResult
  open func deleteRecording() -> Bool {
    told("deleteRecording") {
      try state.withLock { state in
        guard state.phase == .idle else {
          throw AudioSettings.Fault(reason: "the recorder must be stopped first")
        }
        // Not `removeItem`, which removes folders with all that is in them.
        guard unsafe unlink(url.path) == 0 else {
          throw AudioSettings.Fault(
            reason: "\(url.path): \(unsafe String(cString: strerror(errno)))")
        }
      }
    }
  }

  /// Runs a part of a method.
  ///
  /// - Returns: False if it fails; the log has the reason.
  private func told(_ method: String, _ body: () throws -> Void) -> Bool {
    do {
      try body()
      return true
    } catch {
      let reason =
        (error as? QueueError)?.reason ?? (error as? AudioSessionRefusal)?.reason
        ?? (error as? AudioSettings.Fault)?.reason ?? error.localizedDescription
      let name = reason.contains(url.path) ? "" : "\(url.path): "
      log.error("AVAudioRecorder.\(method): \(name)\(reason)")
      return false
    }
  }

  // MARK: Times

  /// True from `record` until `pause`, `stop` or the end, also before the moment of `record(atTime:)`.
  public var isRecording: Bool { state.withLock { $0.phase == .recording } }

  /// Seconds that were recorded; 0 before and after a recording.
  public var currentTime: TimeInterval {
    max(0, state.withLock { $0.take?.queue.currentFrame } ?? 0) / format.sampleRate
  }

  /// The present moment in seconds, for `record(atTime:)`. It is that of `CLOCK_MONOTONIC`, for all recorders of all
  /// processes.
  public var deviceCurrentTime: TimeInterval { AVAudioTime.seconds(forHostTime: HostTime.now) }

  // MARK: Levels

  /// True if levels are measured.
  public var isMeteringEnabled: Bool {
    get { state.withLock { $0.isMetering } }
    set {
      state.withLock { state in
        state.isMetering = newValue
        state.take?.queue.isMetering = newValue
      }
    }
  }

  /// Takes the levels of the latest cycle, for `averagePower` and `peakPower`.
  public func updateMeters() {
    state.withLock { state in
      state.levels = (state.take?.queue.levels ?? []).map {
        PlaybackQueue.Level(average: 20 * log10($0.rms), peak: 20 * log10($0.peak))
      }
    }
  }

  /// Returns the root mean square of a channel in decibels, at most 0; -160 for silence, and for a channel that is
  /// not there.
  @discardableResult
  public func averagePower(forChannel channelNumber: Int) -> Float {
    state.withLock { $0.levels.power(of: channelNumber, \.average) }
  }

  /// Returns the largest sample of a channel in decibels, at most 0; -160 for silence, and for a channel that is not
  /// there.
  @discardableResult
  public func peakPower(forChannel channelNumber: Int) -> Float {
    state.withLock { $0.levels.power(of: channelNumber, \.peak) }
  }
}
