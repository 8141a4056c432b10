import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

@Suite struct PacketFileReaderTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: PacketRecipe.all)
  func packetsAreThoseOfFfprobe(recipe: PacketRecipe) throws {
    let path = try recipe.make(in: folder)
    let probed = try Probed(path)
    let stream = try #require(probed.streams.first)
    let file = try PacketFileReader(FileStore(path: path))
    #expect(file.container == recipe.container)
    #expect(file.format.codec == recipe.codec)
    #expect(file.format.sampleRate == Double(stream.sample_rate))
    #expect(file.format.channels == stream.channels)

    let packets = try file.allPackets(atOnce: file.format.bytesPerPacket > 0 ? 10_000 : 7)
    #expect(try file.packetCount == Int64(packets.count))
    #expect(try file.maximumPacketBytes == packets.map(\.bytes.count).max())
    #expect(try file.byteCount == packets.reduce(0) { $0 + Int64($1.bytes.count) })
    if file.format.bytesPerPacket > 0 {
      let bytes = probed.packets.reduce(0) { $0 + Int($1.size)! }
      #expect(packets.count == bytes / file.format.bytesPerPacket)
    } else {
      let head = recipe.container == .adts ? 7 : 0
      #expect(stream.nb_read_packets == "\(packets.count)")
      #expect(probed.packets.map { Int($0.size)! - head } == packets.map(\.bytes.count))
      if head == 0 {
        #expect(probed.packets.map(\.data_hash) == packets.map { adler32($0.bytes) })
      }
    }
    print(
      "XX", recipe, file.format, file.cookie.count, try file.packetTable as Any,
      try file.frameCount, try file.duration, stream.duration ?? "", try file.bitRate, file.tags,
      file.channelRoles as Any)
  }
}
