/// Changes of a voice's parameters. NaN leaves a parameter as it is.
package struct ParameterChanges: BitwiseCopyable, Sendable {
  /// Target gain, 0 to 1.
  package var volume: Float
  /// Ramp time in seconds of this gain change and of later ones.
  package var rampSeconds: Float
  /// Balance, -1 (left) to 1 (right).
  package var pan: Float

  package init(volume: Float = .nan, rampSeconds: Float = .nan, pan: Float = .nan) {
    self.volume = volume
    self.rampSeconds = rampSeconds
    self.pan = pan
  }

  /// True if nothing changes.
  package var isEmpty: Bool { volume.isNaN && rampSeconds.isNaN && pan.isNaN }

  /// Adds later changes, which take precedence.
  package mutating func add(_ changes: ParameterChanges) {
    if !changes.volume.isNaN { volume = changes.volume }
    if !changes.rampSeconds.isNaN { rampSeconds = changes.rampSeconds }
    if !changes.pan.isNaN { pan = changes.pan }
  }
}
