/// A buffer that grows on demand. One thread at a time.
@safe
final class GrowingMemory {
  private(set) var bytes: UnsafeMutableRawBufferPointer

  init() { unsafe bytes = .allocate(byteCount: 0, alignment: 16) }

  deinit { unsafe bytes.deallocate() }

  /// Grows the buffer to at least `count` bytes. Growing discards the contents.
  func reserve(_ count: Int) {
    guard unsafe bytes.count < count else { return }
    unsafe bytes.deallocate()
    unsafe bytes = .allocate(byteCount: count, alignment: 16)
  }
}
