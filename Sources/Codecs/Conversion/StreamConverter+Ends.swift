extension StreamConverter {
  /// The converter's input, and how much of it is consumed. The caller owns the memory.
  package struct Source {
    enum Content {
      case nothing
      case frames(SampleBuffers)
      case packets(Packets)
    }
    let content: Content
    /// Index of the next frame or packet.
    package private(set) var next = 0
    /// Remaining frames or packets.
    package private(set) var left: Int
    /// True if the stream ends after them.
    package let isLast: Bool

    /// No input yet.
    package static var nothing: Source { Source(.nothing, 0, isLast: false) }
    /// The end of the stream.
    package static var end: Source { Source(.nothing, 0, isLast: true) }

    package static func frames(_ buffers: SampleBuffers, count: Int) -> Source {
      Source(.frames(buffers), count, isLast: false)
    }

    /// Creates a source of packets. Every extent must lie within `memory`.
    package static func packets(_ memory: UnsafeRawBufferPointer, _ extents: [PacketExtent])
      -> Source
    {
      let packets = unsafe Packets(memory, .varying(extents))
      return Source(.packets(packets), extents.count, isLast: false)
    }

    /// Creates a source of packets of equal size.
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

    /// Returns how many packets can be decoded in one call.
    func together(from first: Int, frames: Int) -> Int {
      if case .uniform = sizes { return max(1, 2048 / frames) }
      return 1
    }

    /// Returns the frames of packets: as the extents give them, or `each` where they do not.
    func frames(_ first: Int, count: Int, each: Int) -> Int {
      guard case .varying(let extents) = sizes else { return count * each }
      return extents[first..<first + count].reduce(0) { $0 + ($1.frames > 0 ? $1.frames : each) }
    }

    /// Returns the frames of a packet to leave out.
    func trim(_ packet: Int) -> PacketTrim {
      if case .varying(let extents) = sizes { extents[packet].trim } else { PacketTrim() }
    }

    /// Returns the bytes of packets; empty if they lie outside the memory.
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

  /// The converter's output, and how much of it is filled. The caller owns the memory.
  @safe
  package struct Sink {
    enum Content {
      case frames(SampleBuffers)
      case packets
    }
    let content: Content
    private let capacity: Int
    private let memory: UnsafeMutableRawBufferPointer
    /// True if the next packet does not fit.
    private var isClosed = false
    /// Frames or packets written.
    package private(set) var count = 0
    /// For packets: the bytes written, and the position of each packet.
    package private(set) var bytes = 0
    package private(set) var extents: [PacketExtent] = []

    package static func frames(_ buffers: SampleBuffers, room: Int) -> Sink {
      unsafe Sink(.frames(buffers), room, UnsafeMutableRawBufferPointer(start: nil, count: 0))
    }

    /// Creates a sink for up to `room` packets.
    package static func packets(_ memory: UnsafeMutableRawBufferPointer, room: Int) -> Sink {
      unsafe Sink(.packets, room, memory)
    }

    private init(_ content: Content, _ capacity: Int, _ memory: UnsafeMutableRawBufferPointer) {
      self.content = content
      self.capacity = capacity
      unsafe self.memory = memory
    }

    /// Remaining space in frames or packets.
    package var room: Int { capacity - count }
    package var isFull: Bool { count == capacity || isClosed }

    mutating func add(_ frames: Int) { count += frames }

    /// Appends a packet; returns false if it does not fit.
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

    /// Appends packets of `size` bytes each.
    ///
    /// - Returns: Number of packets that fit.
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
