import AudioToolbox
import AudioUnits
import CRealTime
import Glibc
import RealTime
import Synchronization
import System

/// The part of an engine that renders its output node without a device. Renders: one thread at a time, which may be
/// real-time.
@safe
final class ManualRenderer: @unchecked Sendable {
  /// The mode and the format of renders. They change only while the engine does not run.
  struct Setup {
    var isOn = false
    var isOffline = true
    var format = AVAudioFormat.absent
    var maximumFrames: AVAudioFrameCount = 4096
  }
  private let setup = Mutex(Setup())
  private let root: Atomic<UnsafeMutableRawPointer?>
  private let running = Atomic<Bool>(false)
  /// Renders that have begun and not ended.
  private let renders = Atomic<Int>(0)
  private let frame = Atomic<Int64>(0)
  private let lacksInput = Atomic<Bool>(false)

  init() { unsafe root = Atomic(nil) }

  var current: Setup { setup.withLock { $0 } }
  func set(_ body: (inout Setup) -> Void) { setup.withLock { body(&$0) } }
  /// Frames of the longest render.
  var maximumFrames: Int { Int(current.maximumFrames) }

  /// Sets the unit of the output node.
  func setRoot(_ unit: AudioUnits.Unit) {
    unsafe root.store(UnsafeMutableRawPointer(unit.render), ordering: .releasing)
  }

  var isRunning: Bool { running.load(ordering: .sequentiallyConsistent) }
  func start() { running.store(true, ordering: .sequentiallyConsistent) }
  func stop() { running.store(false, ordering: .sequentiallyConsistent) }

  /// Ends rendering, and waits up to two seconds for a render in progress: afterwards its units may go.
  func end() {
    stop()
    let deadline = HostTime.now + 2_000_000_000
    while renders.load(ordering: .sequentiallyConsistent) > 0, HostTime.now < deadline {
      usleep(100)
    }
  }

  /// Frames that were rendered.
  var sampleTime: Int64 { frame.load(ordering: .relaxed) }
  func resetTime() { frame.store(0, ordering: .relaxed) }

  /// Notes that the input node's function has given too little.
  func lackInput() { lacksInput.store(true, ordering: .relaxed) }

  /// Renders frames into a list whose buffers have room for them.
  func render(
    _ frames: AVAudioFrameCount, _ list: UnsafeMutablePointer<cue_buffer_list>
  ) -> (AVAudioEngineManualRenderingStatus, OSStatus) {
    renders.add(1, ordering: .sequentiallyConsistent)
    defer { renders.subtract(1, ordering: .sequentiallyConsistent) }
    guard isRunning, let root = unsafe root.load(ordering: .acquiring) else {
      return (.error, AVAudioEngineManualRenderingError.notRunning.rawValue)
    }
    var time = cue_time_stamp()
    time.sample_time = Double(frame.load(ordering: .relaxed))
    time.flags = UInt32(cue_time_has_sample)
    var flags: UInt32 = 0
    lacksInput.store(false, ordering: .relaxed)
    let status = unsafe root.assumingMemoryBound(to: RenderUnit.self).pointee.render(
      &flags, &time, bus: 0, frames: Int(frames), list)
    if status == RenderError.wrongContext { return (.cannotDoInCurrentContext, status) }
    if status != 0 { return (.error, status) }
    frame.add(Int64(frames), ordering: .relaxed)
    return (
      lacksInput.load(ordering: .relaxed) ? .insufficientDataFromInputNode : .success, 0
    )
  }
}
