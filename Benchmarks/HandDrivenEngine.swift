import CRealTime
import RealTime
import Server
import Timeline

/// An engine whose cycles are driven by hand, with its voices and recorders.
///
/// No thread waits for the engine's signal, because waking a thread costs a system call in any
/// program.
final class HandDrivenEngine {
  private let memories: [any CycleMemory]
  private let ports: UnsafeMutableBufferPointer<Float>
  private let voices: UnsafeMutableBufferPointer<UnsafeMutablePointer<Voice>>
  private let recorders: UnsafeMutableBufferPointer<UnsafeMutablePointer<Recorder>>
  private let processList: UnsafeMutablePointer<ProcessList>
  private let signal: UnsafeMutablePointer<cue_signal>
  private let engine: UnsafeMutablePointer<Engine>
  private let period: Int
  /// Total frames of all cycles so far.
  private(set) var frames = 0

  /// Creates an engine with cycles of `period` frames.
  init(_ played: [VoiceMemory], _ recorded: [RecorderMemory], period: Int) {
    self.period = period
    memories = played + recorded
    // The planes of all channels lie one after another.
    let count = period * memories.reduce(0) { $0 + $1.channels }
    ports = UnsafeMutableRawBufferPointer.allocate(byteCount: 4 * count, alignment: 64)
      .bindMemory(to: Float.self)
    ports.initialize(repeating: .nan)
    var place = ports.baseAddress!
    for memory in memories {
      for channel in 0..<memory.channels {
        memory.ports[channel] = cue_port(port: nil, memory: place, connections: nil)
        place += period
      }
    }
    voices = .allocate(capacity: max(1, played.count))
    for (i, memory) in played.enumerated() { voices.initializeElement(at: i, to: memory.voice) }
    recorders = .allocate(capacity: max(1, recorded.count))
    for (i, memory) in recorded.enumerated() {
      recorders.initializeElement(at: i, to: memory.recorder)
    }
    processList = .allocate(capacity: 1)
    processList.initialize(
      to: ProcessList(
        voices: voices.baseAddress!, count: played.count, recorders: recorders.baseAddress!,
        recorderCount: recorded.count))
    signal = .allocate(capacity: 1)
    signal.initialize(to: cue_signal())
    cue_signal_initialize(signal)
    engine = .allocate(capacity: 1)
    engine.initialize(
      to: Engine(
        processList: processList, signal: signal, client: nil,
        anchor: TimeAnchor(frame: 0, microseconds: 0)))
  }

  deinit {
    engine.deinitialize(count: 1)
    engine.deallocate()
    cue_signal_destroy(signal)
    signal.deallocate()
    processList.deallocate()
    recorders.deallocate()
    voices.deallocate()
    ports.deallocate()
  }

  /// The port buffers: output of the latest cycle, or input of the next one.
  var samples: UnsafeMutableBufferPointer<Float> { ports }

  func run(cycles: Int) {
    var counter = UInt32(truncatingIfNeeded: frames)
    let length = UInt32(period)
    for _ in 0..<cycles {
      engine.pointee.cycle(
        length, cue_cycle_time(counter: counter, microseconds: 0, next_microseconds: 0))
      counter &+= length
    }
    frames += cycles * period
  }
}
