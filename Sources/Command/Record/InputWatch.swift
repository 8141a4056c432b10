import AudioQueue
import RealTime
import Server
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
  private let client: String
  private let ports: [String]
  /// The ports that were reported, by their numbers.
  private var unconnected: Set<Int> = []
  private var silent: Set<Int> = []
  /// Ports without a connection when they were looked at last. A change counts if it lasts.
  private var seen: Set<Int> = []
  private var calls = 0
  /// The connections of each port, as they were looked at last; nil before.
  private var sources: [[String]]?

  init(_ recorder: FileRecorder) {
    self.recorder = recorder
    let statistics = recorder.queue.statistics
    client = statistics.clientName
    ports = statistics.portNames
  }

  /// Looks at the inputs and reports what has changed. Call it about ten times per second.
  mutating func look() {
    // While the server is away, its ports are, too.
    guard let device = recorder.queue.runningDevice, recorder.queue.loss == nil else { return }
    if calls % Self.interval == 0 {
      let present = ports.map { device.client.connections(of: $0) }
      tellNew(present)
      let now = Set(ports.indices.filter { present[$0].isEmpty })
      let isFirst = calls == 0
      let lost = now.subtracting(unconnected).filter { isFirst || seen.contains($0) }
      let found = unconnected.subtracting(now)
      tell(
        lost, isFirst ? "not connected: records silence" : "lost the connection: records silence")
      unconnected = unconnected.union(lost).subtracting(found)
      seen = now
    }
    calls += 1
    let most = Int64(held: Double(Self.patience) * recorder.queue.format.sampleRate)
    let zeros = recorder.silence
    let quiet = Set(zeros.indices.filter { zeros[$0] >= most })
    // Of a port that has no connection, nothing else is to be expected.
    let new = quiet.subtracting(silent).subtracting(seen).subtracting(unconnected)
    let loud = silent.subtracting(quiet)
    tell(new, "nothing but zeros for \(Self.patience) seconds")
    tell(loud.subtracting(unconnected), "sound again")
    silent = silent.union(new).subtracting(loud)
  }

  /// Names connections that have been made since the last call. Those of the first call are announced already.
  private mutating func tellNew(_ present: [[String]]) {
    for (number, others) in present.enumerated() {
      let new = others.filter { sources?[number].contains($0) == false }
      for other in new {
        Screen.shared.remark("\(client):\(ports[number]): connected to \(other) now")
      }
    }
    sources = present
  }

  private func tell(_ numbers: Set<Int>, _ words: String) {
    if numbers.isEmpty { return }
    let names = numbers.sorted().map { "\(client):\(ports[$0])" }.joined(separator: ", ")
    Screen.shared.remark("\(names): \(words)")
  }
}
