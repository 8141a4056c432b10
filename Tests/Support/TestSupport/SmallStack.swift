import Foundation

/// Runs a body on a thread with as much stack as JACK's process thread, and waits for it.
package func onSmallStack(_ body: @escaping () throws -> Void) throws {
  let done = DispatchSemaphore(value: 0)
  nonisolated(unsafe) let body = body
  nonisolated(unsafe) var failure: (any Error)?
  let thread = Thread {
    do { try body() } catch { failure = error }
    done.signal()
  }
  thread.stackSize = 512 << 10
  thread.start()
  done.wait()
  if let failure { throw failure }
}
