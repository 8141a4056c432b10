import TestSupport
import Testing

@testable import AudioQueue

@Suite struct BufferTableTests {
  private func buffer(_ id: UInt32) throws -> QueueBuffer {
    try require(QueueBuffer(id: id, capacity: 16, packetCapacity: 0))
  }

  /// Threads that allocate side by side add their buffers in any order.
  @Test(arguments: [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [2, 5, 1, 4, 3]] as [[UInt32]])
  func findsBuffersByTheirNumbersInWhateverOrderTheyCome(_ numbers: [UInt32]) throws {
    var table = BufferTable()
    for number in numbers { table.insert(try buffer(number)) }
    expectEqual(table.records.map(\.id), [1, 2, 3, 4, 5])
    for number in 1...5 as ClosedRange<UInt32> { expectEqual(table[number]?.id, number) }
    expectNil(table[0]?.id)
    expectNil(table[6]?.id)
    table.remove(3)
    table.remove(3)
    expectNil(table[3]?.id)
    expectEqual(table.records.map(\.id), [1, 2, 4, 5])
  }

  @Test func tellsWhoOwnsABuffer() throws {
    var table = BufferTable()
    for number in [1, 2, 7] as [UInt32] { table.insert(try buffer(number)) }
    table.setFree(false, 2)
    expectEqual(([1, 2, 7] as [UInt32]).map(table.isFree), [true, false, true])
    table.setFree(true, 2)
    expectTrue(table.isFree(2))
    // A buffer that was freed belongs to nobody.
    table.remove(7)
    table.setFree(true, 7)
    expectTrue(!table.isFree(7))
  }
}
