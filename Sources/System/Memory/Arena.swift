import Synchronization

/// An allocator that packs the memory of process cycles, so that the nodes of a graph share pages.
/// A cycle with a TLB miss for each value takes longer than the plugins themselves. Any thread.
package final class Arena: Sendable {
  /// The arena for what every cycle reads.
  package static let small = Arena(pageBytes: 1 << 16)
  /// The arena for samples, events and rings, kept apart so that they do not separate the small
  /// values.
  package static let large = Arena(pageBytes: 1 << 18)

  private let pageBytes: Int
  private let current = Mutex<ArenaPage?>(nil)

  private init(pageBytes: Int) { self.pageBytes = pageBytes }

  /// Returns zeroed memory for `count` values. It stays valid until the caller releases `pages`.
  package func allocate<Value: ~Copyable>(
    _ count: Int, of type: Value.Type, keptBy pages: inout [ArenaPage]
  ) -> UnsafeMutablePointer<Value> {
    let bytes = max(1, count) * MemoryLayout<Value>.stride
    // Blocks of 64 bytes and more begin on a cache line.
    let alignment = max(MemoryLayout<Value>.alignment, bytes < 64 ? 16 : 64)
    let (block, page) = unsafe current.withLock { current in
      if let page = current, let block = unsafe page.take(bytes: bytes, alignment: alignment) {
        return unsafe (block, page)
      }
      let isLarge = bytes > pageBytes / 4
      let page = ArenaPage(bytes: isLarge ? bytes : pageBytes)
      let block = unsafe page.take(bytes: bytes, alignment: alignment)!
      if !isLarge { current = page }
      return unsafe (block, page)
    }
    if pages.last !== page { pages.append(page) }
    return unsafe block.bindMemory(to: type, capacity: max(1, count))
  }
}
