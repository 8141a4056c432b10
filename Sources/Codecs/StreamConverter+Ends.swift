extension StreamConverter {
  /// What is to be converted, and how far that has come. The memory is somebody else's.
  package struct Source {
    enum Content {
      case nothing
      case frames(SampleBuffers)
      case packets(Packets)
    }
    let content: Content
    /// The frame or packet that comes next.
    package private(set) var next = 0
    /// Frames or packets that are left.
    package private(set) var left: Int
    /// The stream ends after them.
    package let isLast: Bool

    /// Nothing so far.
    package static var nothing: Source { Source(.nothing, 0, isLast: false) }
    /// Nothing any more.
    package static var end: Source { Source(.nothing, 0, isLast: true) }

    package static func frames(_ buffers: SampleBuffers, count: Int) -> Source {
      Source(.frames(buffers), count, isLast: false)
    }

    /// Packets, which all must lie in the memory.
    package static func packets(_ memory: UnsafeRawBufferPointer, _ extents: [PacketExtent])
      -> Source
    {
      let packets = unsafe Packets(memory, .varying(extents))
      return Source(.packets(packets), extents.count, isLast: false)
    }

    /// Packets that all have so many bytes.
    package static func packets(_ memory: UnsafeRawBufferPointer, bytesPerPacket: Int) -> Source {
      let packets = unsafe Packets(memory, .uniform(bytesPerPacket))
      return Source(.packets(packets), memory.count / bytesPerPacket, isLast: false)
    }

    private init(_ content: Content, _ count: Int, isLast: Bool) {
      self.content = content
      left = count
      self.isLast = isLast
    }

    package var isEmpty: Bool { left == 0 }

    mutating func take(_ count: Int) {
      next += count
      left -= count
    }
    mutating func removeAll() { take(left) }
  }

  /// Packets in memory.
  @safe
  struct Packets {
    enum Sizes {
      case uniform(Int)
      case varying([PacketExtent])
    }
    private let memory: UnsafeRawBufferPointer
    private let sizes: Sizes

    fileprivate init(_ memory: UnsafeRawBufferPointer, _ sizes: Sizes) {
      unsafe self.memory = memory
      self.sizes = sizes
    }

    /// Packets that can be decoded at once.
    func together(from first: Int, frames: Int) -> Int {
      if case .uniform = sizes { return max(1, 2048 / frames) }
      return 1
    }

    /// Frames that packets stand for: as many as each tells, or `each` if it does not.
    func frames(_ first: Int, count: Int, each: Int) -> Int {
      guard case .varying(let extents) = sizes else { return count * each }
      return extents[first..<first + count].reduce(0) { $0 + ($1.frames > 0 ? $1.frames : each) }
    }

    /// The bytes of packets; none if they do not lie in the memory.
    func bytes(_ first: Int, count: Int) -> UnsafeRawBufferPointer {
      let (offset, bytes) =
        switch sizes {
        case .uniform(let bytes): (first * bytes, count * bytes)
        case .varying(let extents): (extents[first].offset, extents[first].bytes)
        }
      guard offset >= 0, bytes >= 0, unsafe offset <= memory.count,
        unsafe bytes <= memory.count - offset
      else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
      return unsafe UnsafeRawBufferPointer(rebasing: memory[offset..<offset + bytes])
    }
  }

  /// Where the result goes, and how much of it is there. The memory is somebody else's.
  @safe
  package struct Sink {
    enum Content {
      case frames(SampleBuffers)
      case packets
    }
    let content: Content
    private let capacity: Int
    private let memory: UnsafeMutableRawBufferPointer
    /// The next packet does not fit.
    private var isClosed = false
    /// Frames or packets that are there.
    package private(set) var count = 0
    /// Of packets: the bytes that are there, and where each packet lies.
    package private(set) var bytes = 0
    package private(set) var extents: [PacketExtent] = []

    package static func frames(_ buffers: SampleBuffers, room: Int) -> Sink {
      unsafe Sink(.frames(buffers), room, UnsafeMutableRawBufferPointer(start: nil, count: 0))
    }

    /// Room for packets.
    package static func packets(_ memory: UnsafeMutableRawBufferPointer, room: Int) -> Sink {
      unsafe Sink(.packets, room, memory)
    }

    private init(_ content: Content, _ capacity: Int, _ memory: UnsafeMutableRawBufferPointer) {
      self.content = content
      self.capacity = capacity
      unsafe self.memory = memory
    }

    /// Frames or packets that there is room for.
    package var room: Int { capacity - count }
    package var isFull: Bool { count == capacity || isClosed }

    mutating func add(_ frames: Int) { count += frames }

    /// Adds a packet; false if there is no room for it.
    mutating func add(_ packet: [UInt8], frames: Int) -> Bool {
      guard unsafe packet.count <= memory.count - bytes else {
        isClosed = true
        return false
      }
      unsafe memory[bytes...].copyBytes(from: packet)
      extents.append(PacketExtent(offset: bytes, bytes: packet.count, frames: frames))
      bytes += packet.count
      count += 1
      return true
    }

    /// Adds packets that all have `size` bytes.
    ///
    /// - Returns: How many found room.
    mutating func add(_ packets: ArraySlice<UInt8>, of size: Int) -> Int {
      let wanted = min(packets.count / size, room)
      let added = min(wanted, unsafe (memory.count - bytes) / size)
      if added < wanted { isClosed = true }
      unsafe memory[bytes...].copyBytes(from: packets.prefix(added * size))
      for packet in 0..<added {
        extents.append(PacketExtent(offset: bytes + packet * size, bytes: size))
      }
      bytes += added * size
      count += added
      return added
    }
  }
}
