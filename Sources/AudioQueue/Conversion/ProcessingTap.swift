/// An app callback that observes or replaces the sound on its way to the ports.
///
/// Called on the thread that converts: the worker thread or, offline, the thread that renders or
/// primes. Never called on the process thread.
package struct ProcessingTap: Sendable {
  package enum Position: Sendable { case preEffects, postEffects }

  /// The maximum number of frames per call.
  package static var mostFrames: Int { Chain.blockFrames }

  package let position: Position
  /// True if the tap only observes: its changes are not heard.
  package let isSiphon: Bool
  package let process: @Sendable (TapCall) -> Void

  package init(
    _ position: Position, isSiphon: Bool, process: @escaping @Sendable (TapCall) -> Void
  ) {
    self.position = position
    self.isSiphon = isSiphon
    self.process = process
  }
}
