/// Functions with which a session tells its manager how far an `open`, `switch` or `save` has come. Any
/// thread.
package struct ManagerReport: Sendable {
  private let tellProgress: @Sendable (Float) -> Void
  private let tellMessage: @Sendable (String, Int32) -> Void

  package init(
    progress: @escaping @Sendable (Float) -> Void = { _ in },
    message: @escaping @Sendable (String, Int32) -> Void = { _, _ in }
  ) {
    tellProgress = progress
    tellMessage = message
  }

  /// Reports the finished part of the work, 0 to 1.
  package func progress(_ part: Float) { tellProgress(min(max(part, 0), 1)) }

  /// Reports what the session does, for people. The priority is 0 (least) to 3.
  package func message(_ text: String, priority: Int32 = 0) {
    tellMessage(text, min(max(priority, 0), 3))
  }
}
