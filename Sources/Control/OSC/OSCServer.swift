import Glibc
import Logging
import Synchronization
import System

/// A thread that receives OSC packets on a socket. Answers go out on the same socket. It runs until `end()`.
package final class OSCServer: Sendable {
  /// The functions that the server calls, all on its thread.
  package struct Handlers: Sendable {
    /// Takes a packet and its source.
    package var packet: @Sendable (_ bytes: [UInt8], _ source: OSCAddress) -> Void
    /// Takes the address of a program that no longer receives.
    package var unreachable: @Sendable (OSCAddress) -> Void = { _ in }
    /// Does periodic work. Returns the seconds until the next call at the latest; nil for no limit.
    package var tick: @Sendable () -> Double? = { nil }

    package init(packet: @escaping @Sendable (_ bytes: [UInt8], _ source: OSCAddress) -> Void) {
      self.packet = packet
    }
  }

  package let socket: OSCSocket
  /// Two connected sockets: a byte written to the second one wakes the thread, which polls the first.
  private let wakeup: [CInt]
  private let isOver = Atomic<Bool>(false)
  /// True once the thread has returned.
  private let hasEnded = Monitor(false)
  private let thread = Atomic<UInt>(0)

  /// Starts receiving on a new thread called `name`.
  package init(on socket: OSCSocket, named name: String, _ handlers: Handlers) throws(OSCError) {
    var wakeup: [CInt] = [-1, -1]
    let kind = SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
    guard unsafe socketpair(AF_UNIX, CInt(kind), 0, &wakeup) == 0 else {
      throw .cannotBind(port: socket.port, unsafe String(cString: strerror(errno)))
    }
    self.socket = socket
    self.wakeup = wakeup
    startThread(named: name) { [self] in
      thread.store(UInt(pthread_self()), ordering: .releasing)
      run(handlers)
      hasEnded.change { $0 = true }
    }
  }

  deinit { for file in wakeup { close(file) } }

  /// Makes the thread call `tick` soon.
  package func wake() {
    // If the buffer is full, the thread wakes anyway.
    _ = unsafe write(wakeup[1], [1], 1)
  }

  /// Stops receiving. Returns when no handler runs any more, except on the server's own thread, where
  /// the calling handler is the last one. May be called more than once.
  package func end() {
    isOver.store(true, ordering: .releasing)
    wake()
    if thread.load(ordering: .acquiring) == UInt(pthread_self()) { return }
    hasEnded.wait { $0 ? () : nil }
  }

  private func run(_ handlers: Handlers) {
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    var hasToldStranger = false
    while !isOver.load(ordering: .acquiring) {
      let pause = handlers.tick()
      waitForPacket(seconds: pause)
      // A flood of packets must not keep `tick` from being called.
      for _ in 0..<64 where !isOver.load(ordering: .acquiring) {
        guard let reception = socket.receive(&buffer) else { break }
        switch reception {
        case .packet(let bytes, let source): handlers.packet(bytes, source)
        case .unreachable(let address): handlers.unreachable(address)
        case .stranger(let address):
          if !hasToldStranger {
            log.notice(
              "an OSC packet from \(address) is dropped: only \(socket.reach) may send any")
          }
          hasToldStranger = true
        }
      }
    }
  }

  /// Waits until a packet arrives, `wake()` is called or the time is over.
  private func waitForPacket(seconds: Double?) {
    var files = [
      pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: wakeup[0], events: Int16(POLLIN), revents: 0),
    ]
    let milliseconds = seconds.map { CInt(max(0, min(1e6, ($0 * 1000).rounded(.up)))) } ?? -1
    _ = unsafe poll(&files, nfds_t(files.count), milliseconds)
    guard files[1].revents != 0 else { return }
    var byte: UInt8 = 0
    while unsafe read(wakeup[0], &byte, 1) == 1 {}
  }
}
