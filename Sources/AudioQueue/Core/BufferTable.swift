/// The buffers of a queue, in the order of their numbers.
///
/// Every enqueue and every callback looks a buffer up and changes its owner. In a dictionary that would allocate memory
/// each time.
struct BufferTable {
  struct Record {
    let id: UInt32
    /// True while the app owns the buffer and may fill, enqueue or free it.
    var isFree = true
    let buffer: QueueBuffer
  }
  private(set) var records: [Record] = []

  /// Returns the buffer number `id`; nil if there is none.
  subscript(id: UInt32) -> QueueBuffer? { index(of: id).map { records[$0].buffer } }

  /// Returns true if the app owns buffer number `id`.
  func isFree(_ id: UInt32) -> Bool { index(of: id).map { records[$0].isFree } ?? false }

  /// Gives buffer number `id` to the app or to the queue.
  mutating func setFree(_ isFree: Bool, _ id: UInt32) {
    if let index = index(of: id) { records[index].isFree = isFree }
  }

  /// Adds a buffer, which the app owns.
  mutating func insert(_ buffer: QueueBuffer) {
    records.insert(Record(id: buffer.id, buffer: buffer), at: firstIndex(from: buffer.id))
  }

  mutating func remove(_ id: UInt32) {
    if let index = index(of: id) { records.remove(at: index) }
  }

  private func index(of id: UInt32) -> Int? {
    let index = firstIndex(from: id)
    return index < records.count && records[index].id == id ? index : nil
  }

  /// Returns the index of the first buffer whose number is `id` or greater.
  private func firstIndex(from id: UInt32) -> Int {
    var (first, end) = (0, records.count)
    while first < end {
      let middle = (first + end) / 2
      if records[middle].id < id { first = middle + 1 } else { end = middle }
    }
    return first
  }
}
