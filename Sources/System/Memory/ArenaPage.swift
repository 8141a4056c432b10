import Glibc

/// A memory block from which an arena allocates. The last owner of the object frees it.
@safe
package final class ArenaPage: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer
  /// Bytes allocated so far. Only the arena changes it.
  private var used = 0

  /// Allocates `bytes` zero bytes, touches every page and, where the system permits, locks them.
  init(bytes: Int) {
    let block = unsafe mmap(
      nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)
    guard let block = unsafe block, unsafe block != MAP_FAILED else {
      fatalError("there is no memory left")
    }
    unsafe memory = UnsafeMutableRawBufferPointer(start: block, count: bytes)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(memory))
  }

  deinit { unsafe munmap(memory.baseAddress!, memory.count) }

  /// Returns memory that was not allocated before, or nil if the block has too little left.
  func take(bytes: Int, alignment: Int) -> UnsafeMutableRawPointer? {
    let start = (used + alignment - 1) / alignment * alignment
    guard unsafe start + bytes <= memory.count else { return nil }
    used = start + bytes
    return unsafe memory.baseAddress! + start
  }
}
