import Synchronization

/// A parameter of an audio unit: its address and its value, which any thread sets and reads.
package struct UnitParameterSlot: ~Copyable {
  let key: UInt64
  /// True if the unit sets the value, and programs only read it.
  let isMeter: Bool
  private let least: Float
  private let most: Float
  private let bits: Atomic<UInt32>

  package init(_ key: UInt64, _ range: ClosedRange<Float>, _ value: Float, isMeter: Bool) {
    self.key = key
    self.isMeter = isMeter
    least = range.lowerBound
    most = range.upperBound
    bits = Atomic(value.bitPattern)
  }

  package var value: Float { @_noLocks get { Float(bitPattern: bits.load(ordering: .relaxed)) } }

  /// Sets the value, clipped to its range.
  @_noLocks package borrowing func set(_ value: Float) {
    bits.store(min(max(value, least), most).bitPattern, ordering: .relaxed)
  }
}
