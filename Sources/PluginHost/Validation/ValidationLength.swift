/// The thoroughness of a validation.
package enum ValidationLength: Codable, Hashable, Sendable {
  /// Instantiate, run a few blocks, free.
  case short
  /// Everything that a host may do, with this many seconds of noise at each sample rate.
  case full(seconds: Double)
}
