import Glibc
import Synchronization
import System

/// A device's part in the agreement of all clients of a server on the moment at which runs resume. Any
/// thread that is not real time.
final class ReturnAgreement: Sendable {
  private let cycles: ClientCycles
  /// The device's entry in the table of clients that return together; nil if it has none.
  private let member = Mutex<ReturnTable.Member?>(nil)

  init(_ cycles: ClientCycles) { self.cycles = cycles }

  /// Adds the device to the table: its cycles run.
  func enter() {
    let client = cycles.client
    guard unsafe client.handle != nil else { return }
    member.withLock { $0 = ReturnTable.shared?.enter(server: client.returnKey) }
  }

  /// Notes that the server is lost, and that the last cycle ended at `microseconds`.
  func leave(at microseconds: UInt64) { member.withLock { $0 }?.leave(at: microseconds) }

  /// Removes the device from the table.
  func end() { member.withLock { $0 }?.end() }

  /// Agrees on a time to resume with all other clients that were on the server.
  ///
  /// - Parameters:
  ///   - seen: Number of losses up to which the device returns.
  ///   - loss: Host time, in microseconds, at which the last audible cycle ended.
  /// - Returns: Nil after another loss meanwhile. A time of 0 if the caller drives the cycles: runs
  ///   resume in the next one.
  func agree(_ seen: UInt64, loss: UInt64) -> ReturnTime? {
    let client = cycles.client
    guard unsafe client.handle != nil else {
      return ReturnTime(microseconds: 0, lossMicroseconds: loss)
    }
    guard let member = member.withLock({ $0 }) else { return .soon(loss) }
    member.beReady()
    let deadline = HostTime.now + 2 * ReturnTable.patienceMicroseconds * 1000
    while cycles.losses.count == seen, cycles.link.lifetime == .open {
      let decision = member.decision { microseconds in
        client.isPipeWire ? nil : cycles.frame(atHostTime: microseconds * 1000)
      }
      if let decision { return decision }
      if HostTime.now > deadline {
        member.stay()
        return .soon(loss)
      }
      usleep(2000)
    }
    member.leave(at: loss)
    return nil
  }
}

extension ReturnTime {
  /// Returns the time for a client that does not wait for others.
  fileprivate static func soon(_ loss: UInt64) -> ReturnTime {
    ReturnTime(
      microseconds: ReturnTable.now + ReturnTable.leadMicroseconds, lossMicroseconds: loss)
  }
}
