import AudioQueue
import Files
import RealTime
import Server
import Sessions
import Timeline

/// The actions of the keys of `cuejack record`. Main thread.
final class RecordKeys {
  private let recorder: FileRecorder
  private let output: any RecordingOutput
  private let recordings: [RecordingParts]
  private var recording: RecordingParts { recordings[0] }
  /// The start that the recording waits for; nil if it waits for none.
  private let trigger: RecordingTrigger?
  /// The start by `--at`; nil if there is none, or if it is no longer waited for.
  private(set) var givenStart: ChosenStart?
  /// True if the frame of the start was not known when the recording was announced.
  private var tellsStart: Bool
  /// True once the start was reported.
  private var hasToldStart = false
  private(set) var isPaused = false
  /// True if q was pressed.
  private(set) var isAskedToQuit = false

  private static let help = "space  pause, go on    m  marker    q  end the recording"
  private static let waitingHelp = "space  start the recording    q  end without a recording"

  /// - Parameter start: The start by `--at`; nil if it was not given.
  init(
    _ recorder: FileRecorder, _ output: any RecordingOutput, _ recordings: [RecordingParts],
    _ trigger: RecordingTrigger?, _ start: ChosenStart?
  ) {
    self.recorder = recorder
    self.output = output
    self.recordings = recordings
    self.trigger = trigger
    givenStart = start
    tellsStart = trigger?.hasBegun == false || start.map { $0.exactFrame == nil } ?? false
  }

  /// True while the recording waits for its start.
  var isWaiting: Bool { isBeforeStart || trigger?.hasBegun == false }

  /// True while the recording waits for the start by `--at`.
  private var isBeforeStart: Bool { givenStart != nil && recorder.queue.statistics.beganAt == nil }

  /// The start by `--at` that the recording waits for, as that option takes it; empty if it waits for none.
  var awaitedStart: String { isBeforeStart ? givenStart?.option ?? "" : "" }

  /// Starts the recording at another host time if the wall clock that it waits for was set.
  func followClock() {
    guard isBeforeStart, let device = recorder.queue.runningDevice, !device.isLost else { return }
    givenStart?.follow(device)
    if givenStart?.exactFrame == nil { tellsStart = true }
    guard let chosen = givenStart?.reset(on: device),
      let rate = try? recorder.queue.deviceSampleRate()
    else { return }
    givenStart = chosen
    Screen.shared.remark("the clock was set: \(chosen.words)")
    telling {
      try recorder.pause()
      try recorder.resume(at: chosen.time(sampleRate: rate))
    }
  }

  /// Carries out a key.
  func press(_ key: KeyReader.Key) {
    switch key {
    case .character(" "): telling { try isWaiting ? start() : setPaused(!isPaused) }
    case .character("m"): telling { try addMarker() }
    case .character("q"): quit()
    case .character("?"): Screen.shared.say(isWaiting ? Self.waitingHelp : Self.help)
    default: break
    }
  }

  private func telling(_ body: () throws -> Void) {
    do { try body() } catch { Screen.shared.remark("\(error)") }
  }

  func quit() { isAskedToQuit = true }

  /// Whether sound and the transport start the recording.
  var isArmed: Bool {
    get { trigger?.isArmed ?? true }
    set { trigger?.isArmed = newValue }
  }
  /// True if the recording can wait for a start.
  var canWait: Bool { trigger != nil }

  /// The state in one word.
  var motion: String { isWaiting ? "waiting" : isPaused ? "paused" : "recording" }

  /// The frame of the run that is recorded now.
  private func presentFrame() throws -> Int64 {
    guard let frame = recorder.queue.currentFrame, frame >= 0 else {
      throw Refusal("the server runs no cycles yet")
    }
    return Int64(held: frame.rounded())
  }

  /// Starts the recording now, or goes on after a pause.
  func start() throws {
    if isWaiting { try begin() }
    try setPaused(false)
  }

  /// Ends the take. Another one waits for its start if the recording repeats; else the recording ends.
  func stop() throws {
    guard let trigger, trigger.repeats else { return quit() }
    try endTake()
  }

  /// Ends the take, and lets the next one wait for its start.
  func endTake() throws {
    guard let trigger, trigger.repeats else {
      throw Refusal("a take follows another one with --again only")
    }
    guard trigger.end(at: try presentFrame()) else { throw Refusal("no take has begun") }
  }

  /// Goes on in another file, without a gap.
  func split() throws {
    guard output.split() else { throw Refusal("no file is being written, or it is a pipe") }
  }

  /// Starts the recording now. One that waits for the start by `--at` is paused then.
  private func begin() throws {
    let frame = try isBeforeStart ? 0 : presentFrame()
    if isBeforeStart { try setPaused(true) }
    trigger?.begin(at: frame)
  }

  /// Reports the start that the recording has waited for, once.
  func tellStart() {
    guard tellsStart, !hasToldStart, let frame = recorder.firstDeviceFrame else { return }
    hasToldStart = true
    Screen.shared.say("\(recording.path): records from frame \(frame) on")
  }

  /// Pauses, or goes on. A pause ends the wait for the start by `--at`.
  func setPaused(_ pauses: Bool) throws {
    if pauses == isPaused { return }
    let isBeforeStart = isBeforeStart
    do throws(QueueError) {
      if pauses { try recorder.pause() } else { try recorder.resume() }
      isPaused = pauses
      if isBeforeStart { (givenStart, tellsStart) = (nil, true) }
    } catch {
      throw Refusal("cannot \(isPaused ? "go on" : "pause") now: \(error)")
    }
  }

  /// Sets a marker at the frame that is recorded now.
  func addMarker() throws {
    guard let origin = recorder.origin, !isWaiting else {
      throw Refusal("nothing is recorded yet")
    }
    let position = max(0, try presentFrame() - origin)
    let numbers = recordings.map { $0.addMarker(at: position) }
    let seconds = Double(position) / recorder.queue.format.sampleRate
    Screen.shared.say("marker \(numbers[0]) at \(exactClock(seconds))")
  }
}
