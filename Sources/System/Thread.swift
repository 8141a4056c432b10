import Foundation

/// Runs `body` on a new thread called `name`, which ends with it.
package func startThread(named name: String, _ body: @escaping @Sendable () -> Void) {
  let thread = Thread(block: body)
  thread.name = name
  thread.start()
}
