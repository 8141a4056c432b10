/// Memory that grows with what it has to hold. One thread at a time.
@safe
final class GrowingMemory {
  private(set) var bytes: UnsafeMutableRawBufferPointer

  init() { unsafe bytes = .allocate(byteCount: 0, alignment: 16) }

  deinit { unsafe bytes.deallocate() }

  /// Has the memory hold so many bytes at the least. What was in it may be lost.
  func reserve(_ count: Int) {
    guard unsafe bytes.count < count else { return }
    unsafe bytes.deallocate()
    unsafe bytes = .allocate(byteCount: count, alignment: 16)
  }
}
