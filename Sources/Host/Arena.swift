import Glibc
import Server
import Synchronization

/// A piece of memory that arenas give parts of. It is given back with the last who keeps it.
@safe
final class Slab: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer
  /// Changed by its arena only.
  private var used = 0

  /// That many bytes of zeros, touched and, where the system allows it, locked.
  init(bytes: Int) {
    let place = unsafe mmap(
      nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)
    guard let place = unsafe place, unsafe place != MAP_FAILED else {
      fatalError("there is no memory left")
    }
    unsafe memory = UnsafeMutableRawBufferPointer(start: place, count: bytes)
    unsafe lockIntoMemory(UnsafeRawBufferPointer(memory))
  }

  deinit { unsafe munmap(memory.baseAddress!, memory.count) }

  /// Memory that nobody has had; nil if there is not as much left.
  func take(bytes: Int, alignment: Int) -> UnsafeMutableRawPointer? {
    let start = (used + alignment - 1) / alignment * alignment
    guard unsafe start + bytes <= memory.count else { return nil }
    used = start + bytes
    return unsafe memory.baseAddress! + start
  }
}

/// Packs memory that cycles touch, so that the nodes of a graph share pages: a cycle that has to look up
/// a page for each thing it reads takes longer than the plugins themselves. Any thread.
final class Arena: Sendable {
  /// For what every cycle reads.
  static let small = Arena(slabBytes: 1 << 16)
  /// For samples, events and rings, which would come between the others.
  static let large = Arena(slabBytes: 1 << 18)

  private let slabBytes: Int
  private let current = Mutex<Slab?>(nil)

  private init(slabBytes: Int) { self.slabBytes = slabBytes }

  /// Zeros for `count` values, which stay until `slabs` are let go of.
  func allocate<Value: ~Copyable>(
    _ count: Int, of type: Value.Type, keptBy slabs: inout [Slab]
  ) -> UnsafeMutablePointer<Value> {
    let bytes = max(1, count) * MemoryLayout<Value>.stride
    // What is longer than a line of the caches begins with one.
    let alignment = max(MemoryLayout<Value>.alignment, bytes < 64 ? 16 : 64)
    let (place, slab) = unsafe current.withLock { current in
      if let slab = current, let place = unsafe slab.take(bytes: bytes, alignment: alignment) {
        return unsafe (place, slab)
      }
      let isLarge = bytes > slabBytes / 4
      let slab = Slab(bytes: isLarge ? bytes : slabBytes)
      let place = unsafe slab.take(bytes: bytes, alignment: alignment)!
      if !isLarge { current = slab }
      return unsafe (place, slab)
    }
    if slabs.last !== slab { slabs.append(slab) }
    return unsafe place.bindMemory(to: type, capacity: max(1, count))
  }
}
