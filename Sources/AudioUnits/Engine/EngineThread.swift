package import CRealTime
import Synchronization
import System

/// A thread of an engine, which serves objects when renders or other threads signal. Any thread, except
/// where said.
@safe
package final class EngineThread: @unchecked Sendable {
  /// Renders post it. It stays as long as this object.
  package let signal: UnsafeMutablePointer<cue_signal>
  private let name: String
  private struct Weak { weak var service: (any EngineService)? }
  private struct State {
    var services: [Weak] = []
    var hasThread = false
    var isOver = false
  }
  private let state = Mutex(State())

  package init(named name: String) {
    self.name = name
    unsafe signal = .allocate(capacity: 1)
    unsafe signal.initialize(to: cue_signal())
    unsafe cue_signal_initialize(signal)
  }

  deinit {
    unsafe cue_signal_destroy(signal)
    unsafe signal.deallocate()
  }

  /// Serves an object from now on, as long as it exists.
  package func add(_ service: any EngineService) {
    let isFirst = state.withLock { state in
      state.services.removeAll { $0.service == nil || $0.service === service }
      state.services.append(Weak(service: service))
      defer { state.hasThread = true }
      return !state.hasThread
    }
    if isFirst { startThread(named: name) { self.run() } }
    wake()
  }

  package func remove(_ service: any EngineService) {
    state.withLock { $0.services.removeAll { $0.service == nil || $0.service === service } }
  }

  package func wake() { unsafe cue_rt_signal_post(signal) }

  /// Ends the thread once it has served what is due.
  package func end() {
    state.withLock { $0.isOver = true }
    wake()
  }

  private func run() {
    while true {
      // Before the services, so that what they have at the end is served.
      let isOver = state.withLock { $0.isOver }
      var next: UInt64?
      for item in state.withLock({ $0.services }) {
        guard let due = item.service?.serve() else { continue }
        next = min(next ?? due, due)
      }
      if isOver { return }
      guard let next else {
        unsafe cue_signal_wait(signal)
        continue
      }
      let now = HostTime.now
      let milliseconds = next > now ? (next - now + 999_999) / 1_000_000 : 0
      if milliseconds > 0 { unsafe cue_signal_wait_for(signal, UInt32(min(milliseconds, 60_000))) }
    }
  }
}
