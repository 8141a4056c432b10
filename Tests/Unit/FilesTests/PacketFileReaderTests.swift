import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

@Suite(.tags(.program)) struct PacketFileReaderTests {
  @Test(arguments: PacketRecipe.all)
  func packetsAreThoseOfFfprobe(recipe: PacketRecipe) throws {
    let path = try recipe.make()
    let probed = try Probed(path)
    let stream = try require(probed.streams.first)
    let file = try PacketFileReader(FileStore(path: path))
    expectEqual(file.container, recipe.container)
    expectEqual(file.format.codec, recipe.codec)
    expectEqual(file.format.sampleRate, Double(stream.sample_rate))
    expectEqual(file.format.channels, stream.channels)

    let packets = try file.allPackets(atOnce: file.format.bytesPerPacket > 0 ? 10_000 : 7)
    try expectEqual(file.packetCount, Int64(packets.count))
    try expectEqual(file.maximumPacketBytes, packets.map(\.bytes.count).max())
    try expectEqual(file.byteCount, packets.reduce(0) { $0 + Int64($1.bytes.count) })
    if file.format.bytesPerPacket > 0 {
      let bytes = probed.packets.reduce(0) { $0 + Int($1.size)! }
      expectEqual(packets.count, bytes / file.format.bytesPerPacket)
    } else {
      let head = recipe.container == .adts ? 7 : 0
      expectEqual(stream.nb_read_packets, "\(packets.count)")
      expectEqual(probed.packets.map { Int($0.size)! - head }, packets.map(\.bytes.count))
      if head == 0 {
        expectEqual(probed.packets.map(\.data_hash), packets.map { adler32($0.bytes) })
      }
    }
  }

  /// The part of the tone that a file declares as valid.
  @Test(
    arguments: PacketRecipe.all.filter {
      $0.container != .caf && ![.adts, .mp2, .ac3].contains($0.container)
        && ![.ac3, .msIMA, .gsm, .ima4].contains($0.codec)
        && !["pieces.mp4", "mp3.wav"].contains($0.name)
    })
  func theSoundHasTheLengthOfTheTone(recipe: PacketRecipe) throws {
    let file = try PacketFileReader(FileStore(path: recipe.make()))
    try expectEqual(file.validFrames, Int64(recipe.frames))
    try expectEqual(file.duration, 1.3)
    if let table = try file.packetTable {
      try expectEqual(
        table.validFrames + Int64(table.primingFrames + table.remainderFrames), file.frameCount)
    }
  }

  @Test(arguments: ["a.m4a", "a.mp3", "a.flac", "a.opus", "a.ogg", "alac.caf", "ulaw.wav"])
  func tagsHaveCoreAudiosNames(name: String) throws {
    let recipe = PacketRecipe.all.first { $0.name == name }!
    var tags = try PacketFileReader(FileStore(path: recipe.make())).tags
    tags["encoding application"] = nil
    expectEqual(tags, PacketRecipe.tags)
  }

  @Test(arguments: ["a.mp3", "a.opus", "a.m4a", "ulaw.wav"])
  func anyPacketIsReachedAtOnce(name: String) throws {
    let recipe = PacketRecipe.all.first { $0.name == name }!
    let path = try recipe.make()
    let all = try PacketFileReader(FileStore(path: path)).allPackets(atOnce: 1000)
    let file = try PacketFileReader(FileStore(path: path))
    var memory = [UInt8](repeating: 0, count: 1 << 16)
    var extents: [PacketExtent] = []
    for number in [all.count - 1, 3, all.count / 2, 0] {
      let read = try memory.withUnsafeMutableBytes {
        try file.readPackets(from: Int64(number), count: 1, into: $0, extents: &extents)
      }
      expectEqual(read, 1)
      expectEqual(Array(memory[..<extents[0].bytes]), all[number].bytes)
      try expectEqual(file.packetBytes(of: Int64(number)), all[number].bytes.count)
    }
    for number in [Int64(all.count), .max, -1] {
      let read = try memory.withUnsafeMutableBytes {
        try file.readPackets(from: number, count: 5, into: $0, extents: &extents)
      }
      expectTrue(read == 0 && extents.isEmpty)
    }
    // Room for no packet, or for two.
    let sizes = all.prefix(3).map(\.bytes.count)
    for (room, fitting) in [(sizes[0] - 1, 0), (sizes[0] + sizes[1], 2)] {
      let read = try memory.withUnsafeMutableBytes {
        try file.readPackets(
          from: 0, count: 9, into: UnsafeMutableRawBufferPointer(rebasing: $0[..<room]),
          extents: &extents)
      }
      expectEqual(read, fitting)
    }
  }

  /// The recipes that differ most.
  private static let kinds = PacketRecipe.all.filter {
    [
      "a.m4a", "pieces.mp4", "opus.mp4", "a.aac", "a.mp3", "e.ac3", "a.flac", "a.opus", "a.ogg",
      "nb.amr", "alac.caf", "ima4.caf", "ulaw.wav", "mp3.wav", "ima4.aifc", "ulaw.au",
    ].contains($0.name)
  }

  @Test(arguments: kinds)
  func filesThatWereCutShortGiveWhatIsLeft(recipe: PacketRecipe) throws {
    let path = try recipe.make()
    let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let packets = try PacketFileReader(FileStore(path: path)).allPackets(atOnce: 1000)
    var opened = 0
    for cut in 1...20 {
      let store = ReplayedStore(whole.prefix(whole.count * cut / 21))
      do throws(SoundFileError) {
        let file = try PacketFileReader(store, container: recipe.container)
        let left = try file.packetCount
        expectTrue(left <= packets.count)
        let kept = (try? file.allPackets(atOnce: 1000)) ?? []
        expectTrue(kept.count == left)
        // The last packet may be partial if packets have no length field.
        let sure = max(0, kept.count - 1)
        expectTrue(kept[..<sure].map(\.bytes).elementsEqual(packets[..<sure].map(\.bytes)))
        if sure > 0 { opened += 1 }
      } catch {}
    }
    // Files with the table at their end have no packets without it.
    let hasTableAtEnd = ["a.m4a", "opus.mp4", "alac.caf"].contains(recipe.name)
    // Ogg's pages are a second long.
    expectTrue(hasTableAtEnd ? opened <= 1 : opened > (recipe.container == .ogg ? 0 : 10))
  }

  @Test(arguments: kinds)
  func rubbishIsRefusedOrRead(recipe: PacketRecipe) throws {
    let whole = [UInt8](
      try Data(contentsOf: URL(fileURLWithPath: recipe.make())))
    var state: UInt64 = 0x2545_F491_4F6C_DD1D
    func random(_ count: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state >> 33) % count
    }
    for round in 0..<18 {
      var bytes = whole
      for _ in 0...round % 6 {
        // Mostly headers and tables.
        let reach = round % 3 == 0 ? bytes.count : min(bytes.count, 600)
        let offset = round % 5 == 1 ? bytes.count - 1 - random(reach) : random(reach)
        bytes[offset] = [0, 0xFF, 0x7F, 0x80, UInt8(random(256))][random(5)]
      }
      do throws(SoundFileError) {
        let file = try PacketFileReader(ReplayedStore(bytes), container: recipe.container)
        let count = try file.packetCount
        expectTrue(count <= bytes.count)
        expectTrue(try file.byteCount <= 64 * Int64(bytes.count))
        _ = try file.packetTable
        _ = try file.bitRate
        _ = try? file.allPackets(atOnce: 100)
      } catch {}
    }
  }

  @Test(arguments: Container.allCases)
  func nothingAndZerosAreNoFiles(container: Container) throws {
    for count in [0, 1, 4, 12, 100, 5000] {
      let store = ReplayedStore([UInt8](repeating: 0, count: count))
      #expect(throws: SoundFileError.self) { try PacketFileReader(store, container: container) }
    }
  }

  @Test func tablesThatPromiseTooMuchAreRefused() throws {
    let path = try PacketRecipe.all[0].make()
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let offset = Data(bytes).range(of: Data("stsz".utf8))!.lowerBound
    bytes.replaceSubrange(offset + 8..<offset + 16, with: [0, 0, 0, 1, 0x0F, 0xFF, 0xFF, 0xFF])
    do throws(SoundFileError) {
      _ = try PacketFileReader(ReplayedStore(bytes))
      Issue.record("it opens")
    } catch {
      expectEqual(error.kind, .damaged("its tables promise 268435455 packets"))
    }
  }

  @Test func whatITunesSaysOfGaplessSoundCounts() throws {
    let file = try MPEG4File(FileStore(path: PacketRecipe.all[0].make()))
    func table(_ gapless: String?) -> PacketTable? {
      file.table(frames: 58_368, spanned: 58_354, sampleRate: 44_100, gapless: gapless)
    }
    let zeros = " 00000000 00000000 00000000"
    expectEqual(
      table(" 00000000 00000840 00000100 000000000000DAC0" + zeros),
      PacketTable(validFrames: 56_000, primingFrames: 2112, remainderFrames: 256))
    // Invalid tags leave the edit list in effect.
    let edit = PacketTable(validFrames: 57_330, primingFrames: 1024, remainderFrames: 14)
    for rubbish in [
      nil, "", " 0 0 0 0", " 00000000 00000840 00000100 7FFFFFFFFFFFFFFF" + zeros,
      " 00000000 FFFFFFFFFFFFFF 00000100 000000000000DAC0", "x y z w",
    ] {
      expectEqual(table(rubbish), edit)
    }
  }
}
