import AudioQueue
import Files
import RealTime
import Sessions
import Timeline

/// The actions of the keys of `cuejack record`. Main thread.
final class RecordKeys {
  private let recorder: FileRecorder
  private let recording: RecordingParts
  /// The start that the recording waits for; nil if it waits for none.
  private let trigger: RecordingTrigger?
  /// True if the frame of the start was not known when the recording was announced.
  private let tellsStart: Bool
  /// True once the start was reported.
  private var hasToldStart = false
  private(set) var isPaused = false
  /// True if q was pressed.
  private(set) var isAskedToQuit = false

  private static let help = "space  pause, go on    m  marker    q  end the recording"
  private static let waitingHelp = "space  start the recording    q  end without a recording"

  /// - Parameter start: The start by `--at`; nil if it was not given.
  init(
    _ recorder: FileRecorder, _ recording: RecordingParts, _ trigger: RecordingTrigger?,
    _ start: ChosenStart?
  ) {
    self.recorder = recorder
    self.recording = recording
    self.trigger = trigger
    tellsStart = trigger != nil || start.map { $0.exactFrame == nil } ?? false
  }

  /// True while the recording waits for its start.
  var isWaiting: Bool { trigger?.hasBegun == false }

  /// Carries out a key.
  func press(_ key: KeyReader.Key) {
    switch key {
    case .character(" "): if isWaiting { begin() } else { togglePause() }
    case .character("m"): addMarker()
    case .character("q"): isAskedToQuit = true
    case .character("?"): Screen.shared.say(isWaiting ? Self.waitingHelp : Self.help)
    default: break
    }
  }

  /// Starts the recording now.
  private func begin() {
    guard let frame = recorder.queue.currentFrame, frame >= 0 else {
      return Screen.shared.remark("cannot start now: the server runs no cycles yet")
    }
    trigger?.begin(at: Int64(held: frame.rounded()))
  }

  /// Reports the start that the recording has waited for, once.
  func tellStart() {
    guard tellsStart, !hasToldStart, let frame = recorder.firstDeviceFrame else { return }
    hasToldStart = true
    Screen.shared.say("\(recording.path): records from frame \(frame) on")
  }

  private func togglePause() {
    do throws(QueueError) {
      if isPaused { try recorder.resume() } else { try recorder.pause() }
      isPaused.toggle()
    } catch {
      Screen.shared.remark("cannot \(isPaused ? "go on" : "pause") now: \(error)")
    }
  }

  private func addMarker() {
    guard let frame = recorder.queue.currentFrame, frame >= 0, let first = recorder.firstFrame
    else {
      return
    }
    let position = max(0, Int64(frame) - first)
    let number = recording.addMarker(at: position)
    let seconds = Double(position) / recorder.queue.format.sampleRate
    Screen.shared.say("marker \(number) at \(exactClock(seconds))")
  }
}
