import FileSupport
import Foundation
import Testing

@testable import Files

/// The bytes of pipes that do not end.
@Suite struct PipedFileTests {
  @Test func aLongPipeTakesNoMoreRoomThanIsKept() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("pipe")
    try require(mkfifo(path, 0o600) == 0)
    let (total, kept) = (24 << 20, 4 << 20)
    let arrival = try PipedFile.arrival(path)
    arrival.keep(latest: Int64(kept))
    let writer = Thread {
      let pipe = open(path, O_WRONLY)
      var bytes = [UInt8](repeating: 0, count: 1 << 16)
      for block in 0..<total >> 16 {
        for index in stride(from: 0, to: bytes.count, by: 256) { bytes[index] = UInt8(block & 255) }
        var done = 0
        while done < bytes.count {
          let count = bytes.withUnsafeBytes {
            write(pipe, $0.baseAddress! + done, bytes.count - done)
          }
          if count <= 0 { break }
          done += count
        }
      }
      close(pipe)
    }
    writer.start()
    try expectEqual(arrival.wait(beyond: .max), Int64(total))
    var status = stat()
    expectEqual(fstat(arrival.store.descriptor, &status), 0)
    expectTrue(Int(status.st_blocks) * 512 <= kept + 2 << 20 && arrival.hasDropped)
    for offset in [total - kept, total - 1 << 16] {
      let block = try arrival.store.bytes(at: Int64(offset), count: 1 << 16)
      expectEqual(block?[512], UInt8(offset >> 16 & 255))
    }
  }
}
