extension StreamConverter {
  /// What is to be converted, and how far that has come. The memory is somebody else's.
  package struct Source {
    enum Content {
      case nothing
      case frames(SampleBuffers)
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

    package static func frames(_ buffers: SampleBuffers, count: Int, isLast: Bool = false)
      -> Source
    {
      Source(.frames(buffers), count, isLast: isLast)
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

  /// Where the result goes, and how much of it is there. The memory is somebody else's.
  package struct Sink {
    enum Content {
      case frames(SampleBuffers)
    }
    let content: Content
    private let capacity: Int
    /// Frames or packets that are there.
    package internal(set) var count = 0

    package static func frames(_ buffers: SampleBuffers, room: Int) -> Sink {
      Sink(content: .frames(buffers), capacity: room)
    }

    private init(content: Content, capacity: Int) {
      self.content = content
      self.capacity = capacity
    }

    /// Frames or packets that there is room for.
    package var room: Int { capacity - count }
    package var isFull: Bool { count == capacity }
  }
}
