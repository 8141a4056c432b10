import CGlibc
import Glibc

/// Runs `body` on a new thread called `name`, which ends with it. The system keeps 15 bytes of the
/// name. Ends the process if the system has no room for the thread.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) {
  var attributes = pthread_attr_t()
  unsafe pthread_attr_init(&attributes)
  defer { unsafe pthread_attr_destroy(&attributes) }
  unsafe pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
  let start = unsafe Unmanaged.passRetained(ThreadStart(name: name, body: body))
  var thread = pthread_t()
  let status = unsafe pthread_create(
    &thread, &attributes,
    { start in
      if let start = unsafe start {
        unsafe Unmanaged<ThreadStart>.fromOpaque(start).takeRetainedValue().run()
      }
      return nil
    }, unsafe start.toOpaque())
  precondition(status == 0, "cannot start the thread \(name): error \(status)")
}

/// Runs `body` to its end, even if another thread cancels this one meanwhile: a thread that JACK's
/// library has set to be cancelled at any instruction then ends after it, with no lock held and
/// nothing leaked.
package func withoutCancellation(_ body: () -> Void) {
  var state: CInt = 0
  unsafe pthread_setcancelstate(CInt(PTHREAD_CANCEL_DISABLE), &state)
  body()
  pthread_setcancelstate(state, nil)
}

/// The name and the function of a new thread, passed to it.
private final class ThreadStart: Sendable {
  private let name: String
  private let body: @Sendable () -> Void

  init(name: String, body: @escaping @Sendable () -> Void) {
    self.name = name
    self.body = body
  }

  func run() {
    _ = unsafe cue_thread_set_name(
      UInt(pthread_self()), String(decoding: name.utf8.prefix(15), as: UTF8.self))
    body()
  }
}
