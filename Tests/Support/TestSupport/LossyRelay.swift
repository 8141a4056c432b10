import Foundation
import Glibc
import Synchronization

/// A relay of UDP packets on this machine that loses one packet of `period`, and holds each up for a random time up to
/// `jitter` seconds. Packets stay in order. Any thread.
package final class LossyRelay: Sendable {
  private struct State {
    var passed = 0
    var lost = 0
    var isOver = false
    var hasEnded = false
  }

  /// The port that takes packets.
  package let port: UInt16
  private let state = Mutex(State())

  /// Starts the relay on a free port.
  ///
  /// - Parameters:
  ///   - target: The port of this machine to which packets go on.
  ///   - seed: Seed of the times, and the number of the first packet of each `period` that is lost.
  package init(to target: UInt16, losing period: Int = 1000, jitter: Double = 0.02, seed: Int)
    throws
  {
    let file = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    var address = Self.address(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(file, $0, length) == 0 && getsockname(file, $0, &length) == 0
      }
    }
    guard file >= 0, bound else { throw SupportError("no UDP port is free") }
    port = UInt16(bigEndian: address.sin_port)
    let thread = Thread { [self] in
      run(file, Self.address(target), period, jitter, UInt64(seed))
      close(file)
      state.withLock { $0.hasEnded = true }
    }
    thread.start()
  }

  /// Ends the relay.
  ///
  /// - Returns: The numbers of packets that were passed on and lost.
  @discardableResult
  package func end() -> (passed: Int, lost: Int) {
    state.withLock { $0.isOver = true }
    while !state.withLock({ $0.hasEnded }) { usleep(1000) }
    return state.withLock { ($0.passed, $0.lost) }
  }

  private static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    return address
  }

  /// Returns a port that no socket has at present.
  package static func freePort() throws -> UInt16 {
    let relay = try LossyRelay(to: 9, seed: 0)
    relay.end()
    return relay.port
  }

  private func run(
    _ file: Int32, _ target: sockaddr_in, _ period: Int, _ jitter: Double, _ seed: UInt64
  ) {
    var random = seed &* 2 &+ 1
    var count = 0
    var waiting: [(due: Double, bytes: [UInt8])] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    func now() -> Double { ProcessInfo.processInfo.systemUptime }
    while !state.withLock({ $0.isOver }) {
      var entry = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
      let patience = waiting.first.map { max(0, min(20, ($0.due - now()) * 1000)) } ?? 20
      if poll(&entry, 1, Int32(patience.rounded(.up))) > 0 {
        let size = recv(file, &buffer, buffer.count, 0)
        if size > 0 {
          count += 1
          if count % period == Int(seed) % period {
            state.withLock { $0.lost += 1 }
          } else {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let delay = Double(random >> 40) / Double(1 << 24) * jitter
            let due = max(now() + delay, waiting.last?.due ?? 0)
            waiting.append((due, Array(buffer[..<size])))
          }
        }
      }
      while let first = waiting.first, first.due <= now() {
        waiting.removeFirst()
        var address = target
        _ = withUnsafePointer(to: &address) { pointer in
          pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            sendto(
              file, first.bytes, first.bytes.count, 0, $0, socklen_t(MemoryLayout<sockaddr_in>.size)
            )
          }
        }
        state.withLock { $0.passed += 1 }
      }
    }
  }
}
