/// The I/O functions that a cycle calls, in order. Never changed once a cycle can read it.
@safe
package struct IOList: BitwiseCopyable {
  let slots: UnsafeMutablePointer<UnsafeMutablePointer<IOSlot>>
  let count: Int

  /// Creates a list in memory that the caller owns.
  package init(slots: UnsafeMutablePointer<UnsafeMutablePointer<IOSlot>>, count: Int) {
    unsafe self.slots = slots
    self.count = count
  }
}
