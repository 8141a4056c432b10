import Foundation
import TestSupport

/// A server of a test's own, without playback ports. The names of the JACK clients on it end in its
/// number: libjack tells the clients of all servers of a machine apart by name only.
struct Lane: Sendable {
  let server: JackDaemon
  let number: Int

  /// Runs a program.
  func run(_ program: ClientProgram, _ arguments: [String]) throws -> CommandResult {
    try program.run(
      arguments, as: "\(program.name)-\(number)", environment: server.environment)
  }

  /// Runs a program and returns what is heard of it, too.
  func hear(_ program: ClientProgram, _ arguments: [String]) throws -> (
    result: CommandResult, recording: PeerRecording
  ) {
    let card = try card()
    let result = try run(program, arguments)
    return (result, try card.end())
  }

  /// How often the server has reported that it was late by more than a quarter of a period.
  var stalls: Int {
    server.log.matches(of: #/XRun = (\d+) usec/#).count {
      Int($0.output.1)! > server.period * 250_000 / server.rate
    }
  }

  /// Records what programs play.
  func card() throws -> JackPeer { try JackPeer.card("card-\(number)", on: server) }
}

/// Calls `body` with each item, on several threads with a server each. Returns what `body` says is
/// wrong, and what it throws, each after its item.
///
/// If something is wrong and a processor was too busy meanwhile, it calls `body` again, twice at most: no
/// program plays on while its threads do not run. The server was late by more than a quarter of a period
/// then, or a thread of the test, on any processor, by more than an eighth: a queue that runs out of buffers outputs
/// what its converter holds back within the last period, and several delays add up there.
func onServers<Item: Sendable & CustomStringConvertible>(
  _ items: [Item], servers count: Int = 4,
  _ body: @escaping @Sendable (Item, Lane) throws -> String?
) throws -> [String] {
  let shared = Shared(items)
  // One after the other: libjack in this process asks whether each answers.
  let lanes = try (0..<min(count, items.count)).map {
    Lane(server: try JackDaemon(period: 2048, playbackPorts: 0, synchronous: true), number: $0 + 1)
  }
  let watch = BusyWatch(patience: 0.125 * 2048 / 48000)
  defer { watch.end() }
  let group = DispatchGroup()
  for lane in lanes {
    group.enter()
    Thread.detachNewThread {
      while let item = shared.next() {
        var wrong: String?
        for attempt in 1...3 {
          let (stalls, lateWakes) = (lane.stalls, watch.lateWakes)
          do { wrong = try body(item, lane) } catch { wrong = "\(error)" }
          if wrong != nil {
            // jackd's log is written by a thread of its own.
            usleep(200_000)
          }
          guard let wrong, attempt < 3, lane.stalls > stalls || watch.lateWakes > lateWakes
          else { break }
          print("\(item) again, because the machine stood still: \(wrong)")
        }
        if let wrong { shared.report("\(item): \(wrong)") }
      }
      group.leave()
    }
  }
  group.wait()
  withExtendedLifetime(lanes) {}
  return shared.reports
}

/// Items that several threads take, and what they report. Any thread.
private final class Shared<Item: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var items: ArraySlice<Item>
  private var found: [String] = []

  init(_ items: [Item]) { self.items = items[...] }

  func next() -> Item? { lock.withLock { items.popFirst() } }
  func report(_ words: String) { lock.withLock { found.append(words) } }
  var reports: [String] { lock.withLock { found } }
}
