/// An object that an `EngineThread` serves.
package protocol EngineService: AnyObject, Sendable {
  /// Does what is due, with no lock held while a function of the app runs.
  ///
  /// - Returns: The host time in nanoseconds of the next call; nil if only a signal brings one.
  func serve() -> UInt64?
}
