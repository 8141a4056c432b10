import Synchronization
import System

/// Stands between remote control and a command. The main thread of the command publishes values here, and takes the
/// messages from here that it carries out. Threads of OSC only read the values and add messages.
package final class RemoteDesk: RemoteTarget {
  /// The value of an address.
  package enum Reading: Sendable {
    case values([OSCValue])
    /// Read for each question, on any thread.
    case live(@Sendable () -> [OSCValue])
  }

  /// A message to carry out: its address, its values, and the work to end then.
  package struct Job: Sendable {
    package let address: String
    package let values: [OSCValue]
    package let work: RemoteWork
  }

  private struct State {
    var version = 0
    var nodes: [RemoteNode] = []
    var readings: [String: Reading] = [:]
    var jobs: [Job] = []
    var isOver = false
    /// Host time in nanoseconds of the latest reading of a value.
    var readAt: UInt64 = 0

    var isRead: Bool { HostTime.now < readAt + 2_000_000_000 }
  }
  private let state = Mutex(State())
  private let onJob: @Sendable () -> Void

  /// - Parameter onJob: Called when there is a message to carry out, and when `isRead` becomes true.
  package init(onJob: @escaping @Sendable () -> Void) { self.onJob = onJob }

  // MARK: The main thread

  /// True if a value was read within the last two seconds.
  package var isRead: Bool { state.withLock { $0.isRead } }

  /// Takes the messages that wait.
  package func takeJobs() -> [Job] {
    state.withLock { state in
      defer { state.jobs = [] }
      return state.jobs
    }
  }

  /// Publishes the present values, by address.
  ///
  /// - Parameter nodes: The addresses; nil if they stay.
  package func publish(_ readings: [String: Reading], _ nodes: [RemoteNode]?) {
    state.withLock { state in
      state.readings = readings
      guard let nodes else { return }
      state.nodes = nodes
      state.version += 1
    }
  }

  /// Refuses the messages that wait, and all later ones.
  package func end() {
    state.withLock { $0.isOver = true }
    for job in takeJobs() { job.work.end(Self.refusal(job.address)) }
  }

  // MARK: The server's thread

  package var remoteNodes: [RemoteNode] { state.withLock { $0.nodes } }
  package var remoteVersion: Int { state.withLock { $0.version } }

  package func remoteValues(at address: String) -> [OSCValue]? {
    let (reading, isFirst) = state.withLock { state in
      defer { state.readAt = HostTime.now }
      return (state.readings[address], !state.isRead)
    }
    if isFirst { onJob() }
    return switch reading {
    case .values(let values)?: values
    case .live(let read)?: read()
    case nil: nil
    }
  }

  package func setRemote(_ address: String, to values: [OSCValue]) throws(RemoteError)
    -> RemoteWork?
  { ask(address, values) }

  package func perform(_ address: String, _ arguments: [OSCValue]) throws(RemoteError)
    -> RemoteWork?
  { ask(address, arguments) }

  private func ask(_ address: String, _ values: [OSCValue]) -> RemoteWork {
    let work = RemoteWork()
    let isTaken = state.withLock { state in
      if !state.isOver { state.jobs.append(Job(address: address, values: values, work: work)) }
      return !state.isOver
    }
    if isTaken { onJob() } else { work.end(Self.refusal(address)) }
    return work
  }

  private static func refusal(_ address: String) -> RemoteWork.Outcome {
    .failure(.refused(address, "the command ends"))
  }
}
