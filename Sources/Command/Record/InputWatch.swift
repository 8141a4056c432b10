import AudioQueue
import RealTime
import Sessions
import Timeline

/// Warnings about inputs of a recording that are not connected, that other programs connect, or that carry digital
/// silence. Main thread.
struct InputWatch {
  /// Seconds of zeros after which an input counts as silent.
  static let patience = 5
  /// Calls between two looks at the connections, which ask the server.
  private static let interval = 5

  private let recorder: FileRecorder
  private let connections: InputConnections
  /// The ports that were reported as silent, by their numbers.
  private var silent: Set<Int> = []
  private var calls = 0

  init(_ recorder: FileRecorder) {
    self.recorder = recorder
    connections = InputConnections(recorder.queue)
  }

  /// Looks at the inputs and reports what has changed. Call it about ten times per second.
  mutating func look() {
    if recorder.queue.loss != nil { return }
    if calls % Self.interval == 0 {
      let (lost, found) = connections.look()
      for words in found { Screen.shared.remark(words) }
      if let lost { Screen.shared.remark(lost) }
    }
    calls += 1
    let most = Int64(held: Double(Self.patience) * recorder.queue.format.sampleRate)
    let zeros = recorder.silence
    let quiet = Set(zeros.indices.filter { zeros[$0] >= most })
    // Of a port that has no connection, nothing else is to be expected.
    let (reported, bare) = (connections.latest.reported, connections.latest.bare)
    let new = quiet.subtracting(silent).subtracting(bare).subtracting(reported)
    let loud = silent.subtracting(quiet)
    tell(new, "nothing but zeros for \(Self.patience) seconds")
    tell(loud.subtracting(reported), "sound again")
    silent = silent.union(new).subtracting(loud)
  }

  private func tell(_ numbers: Set<Int>, _ words: String) {
    if let words = connections.words(numbers, words) { Screen.shared.remark(words) }
  }
}
