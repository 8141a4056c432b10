import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// Chunks about positions in the sound, as samplers and editors write them.
@Suite struct WaveNotesTests {
  private func number(_ value: Int) -> [UInt8] { [UInt8](value, count: 4, bigEndian: false) }

  private func chunk(_ id: ChunkID, _ bytes: [UInt8]) -> [UInt8] {
    ChunkGrammar.riff(bigEndian: false).chunk(id, bytes)
  }

  private func point(_ id: Int, _ position: Int) -> [UInt8] {
    number(id) + number(position) + Array("data".utf8) + number(7) + number(9) + number(position)
  }

  private func label(_ id: Int, _ name: String) -> [UInt8] {
    chunk("labl", number(id) + Array(name.utf8) + [0])
  }

  private func note(_ id: Int, _ text: String) -> [UInt8] {
    chunk("note", number(id) + Array(text.utf8) + [0])
  }

  private func stretch(_ id: Int, _ frames: Int, _ text: String) -> [UInt8] {
    chunk("ltxt", number(id) + number(frames) + Array("beat".utf8) + number(49) + Array(text.utf8))
  }

  private func loop(_ id: Int, _ first: Int, _ last: Int) -> [UInt8] {
    number(id) + number(33) + number(first) + number(last) + number(0x8000_0000) + number(5)
  }

  /// Returns a sampler chunk: note 72, an offset of 30 frames, and some vendor data.
  private func sampler(_ loops: [[UInt8]]) -> [UInt8] {
    [0x0100_0041, 12, 20833, 72, 0x4000_0000, 25, 30, loops.count, 6].flatMap(number)
      + loops.flatMap { $0 } + [1, 2, 3, 4, 5, 6]
  }

  private var file: [UInt8] { chunk("file", number(1) + Array("TEXT".utf8) + [1, 2, 3, 4]) }
  private var unknown: [UInt8] { chunk("odd ", [9, 9, 9]) }

  /// Creates a file with two markers, a region and a loop with all properties.
  private func make() throws -> (MemoryStore, SoundFile) {
    let store = MemoryStore()
    let format = PCMFormat(sampleRate: 48_000, channels: 1, kind: .signedInteger, bitsPerSample: 16)
    let file = try SoundFile.create(in: store, container: .wave, format: format)
    try file.setChunk("cue ", number(3) + point(1, 10) + point(2, 20) + point(3, 30))
    try file.setChunk(
      "LIST",
      Array("adtl".utf8) + label(1, "one") + note(1, "first") + self.file + label(2, "two")
        + note(2, "second") + unknown + label(3, "three") + stretch(3, 5, "sung") + label(4, "four")
    )
    try file.setChunk("smpl", sampler([loop(4, 40, 49)]))
    try file.checkpoint()
    return (store, file)
  }

  @Test("markers leave alone what a sampler is told, stretches, and notes on markers that stay")
  func markers() throws {
    let (store, file) = try make()
    let regions = try file.regions()
    var list = try require(try file.markers())
    expectEqual(list.markers.map(\.name), ["one", "two"])
    list.markers = [
      MediaMarker(position: 11, name: "uno", id: 1), MediaMarker(position: 99, name: "new", id: 9),
    ]
    try file.setMarkers(list)
    try file.close()

    let again = try SoundFile(store)
    expectTrue(try again.markers() == list && (try again.regions()) == regions)
    try expectEqual(again.chunk("smpl"), sampler([loop(4, 40, 49)]))
    let plain = number(9) + number(99) + Array("data".utf8) + number(0) + number(0) + number(99)
    try expectEqual(again.chunk("cue "), number(3) + point(1, 11) + plain + point(3, 30))
    try expectEqual(
      again.chunk("LIST"),
      Array("adtl".utf8) + note(1, "first") + self.file + unknown
        + label(3, "three") + stretch(3, 5, "sung") + label(4, "four") + label(1, "uno")
        + label(9, "new"))
  }

  @Test(
    "regions leave alone markers, what a sampler is told beside loops, and what they do not tell")
  func regions() throws {
    let (store, file) = try make()
    let markers = try file.markers()
    var list = try require(try file.regions())
    expectTrue(list.regions.map(\.id) == [3, 4] && list.regions.map(\.name) == ["three", "four"])
    // Setting the same regions again changes only the order of notes.
    list.regions[0].markers[0].position = 31
    list.regions[1].markers[0].position = 41
    try file.setRegions(list)
    try file.close()
    let again = try SoundFile(store)
    expectTrue(try again.markers() == markers && (try again.regions()) == list)
    try expectEqual(again.chunk("smpl"), sampler([loop(4, 41, 49)]))
    try expectEqual(again.chunk("cue "), number(3) + point(1, 10) + point(2, 20) + point(3, 31))
    let notes =
      Array("adtl".utf8) + label(1, "one") + note(1, "first") + self.file
      + label(2, "two") + note(2, "second") + unknown + label(3, "three") + label(4, "four")
    try expectEqual(again.chunk("LIST"), notes + stretch(3, 4, "sung"))

    // Without regions, the sampler chunk keeps its note.
    try again.setRegions(MediaRegions(regions: []))
    try expectEqual(again.chunk("smpl"), sampler([]))
    try expectEqual(again.markers(), markers)
    try expectEqual(again.regions()?.regions.isEmpty, true)
  }
}
