import CSndfile
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// The limits of libsndfile for which Cuejack has code of its own: see docs/architecture.md. If a test
/// fails with a later libsndfile, that code may go.
@Suite struct SndfileLimitsTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  private let mono = PCMFormat(
    sampleRate: 48_000, channels: 1, kind: .signedInteger, bitsPerSample: 16)

  /// Creates a file of 1000 frames through Cuejack.
  private func make(
    _ name: String, _ container: Container, _ change: (SoundFile) throws -> Void = { _ in }
  ) throws -> String {
    let path = folder.file(name)
    var format = mono
    format.isBigEndian = container == .aiff
    let file = try SoundFile.create(
      path: path, container: container, format: format, isReplacing: true)
    try [UInt8](repeating: 7, count: 2000).withUnsafeBytes { try file.writeBytes(at: 0, from: $0) }
    try change(file)
    try file.close()
    return path
  }

  /// Opens a file in libsndfile, and closes it after `body`.
  @discardableResult private func library<Value>(
    _ path: String, _ mode: Int = SFM_READ, _ info: SF_INFO = SF_INFO(),
    _ body: (OpaquePointer, SF_INFO) throws -> Value
  ) throws -> Value {
    var info = info
    let file = try require(
      sf_open(path, Int32(mode), &info), "\(String(cString: sf_strerror(nil)))")
    defer { sf_close(file) }
    return try body(file, info)
  }

  private var waveInfo: SF_INFO {
    var info = SF_INFO()
    info.samplerate = 48_000
    info.channels = 1
    info.format = Int32(SF_FORMAT_WAV | SF_FORMAT_PCM_16)
    return info
  }

  @Test func libsndfileRoundsSampleRates() throws {
    let path = try make("rate.caf", .caf)
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    bytes.replaceSubrange(20..<28, with: [UInt8](bigEndian: 44_099.5))
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let rate = try library(path) { Double($1.samplerate) }
    expectEqual(rate, 44_100)
    try expectEqual(SoundFile(path: path).format.sampleRate, 44_099.5)
  }

  @Test func libsndfileReadsWholeFramesOnly() throws {
    let path = try make("bytes.wav", .wave)
    var bytes = [UInt8](repeating: 0, count: 3)
    try library(path) { file, _ in
      expectEqual(sf_read_raw(file, &bytes, 3), 0)
      expectEqual(sf_read_raw(file, &bytes, 2), 2)
    }
    let file = try SoundFile(path: path)
    try expectEqual(bytes.withUnsafeMutableBytes { try file.readBytes(at: 1, into: $0) }, 3)
    expectEqual(bytes, [7, 7, 7])
  }

  @Test func libsndfileLosesChunksBehindSoundThatGrows() throws {
    let samples = [Int16](repeating: 5, count: 500)
    func chunks(_ grow: (String) throws -> Void) throws -> [ChunkID] {
      let path = try make("grow.wav", .wave) { try $0.setChunk("test", [1, 2, 3, 4]) }
      try grow(path)
      let file = try SoundFile(path: path)
      expectEqual(file.frames, 1500)
      return file.chunkIDs
    }
    let byLibrary = try chunks { path in
      try library(path, SFM_RDWR) { file, _ in
        expectEqual(sf_seek(file, 0, SEEK_END), 1000)
        expectEqual(sf_writef_short(file, samples, 500), 500)
      }
    }
    expectTrue(!byLibrary.contains("test"))
    let byCuejack = try chunks { path in
      let file = try SoundFile(FileStore(path: path, isWritable: true))
      try samples.withUnsafeBytes { try file.writeBytes(at: 2000, from: $0) }
      try file.close()
    }
    expectTrue(byCuejack.contains("test"))
  }

  @Test func libsndfileWritesNoWAVEFilePast4GiB() throws {
    let end: Int64 = 5 << 30
    let path = folder.file("long.wav")
    try library(path, SFM_WRITE, waveInfo) { file, _ in
      expectEqual(sf_seek(file, end / 2, SEEK_SET), end / 2)
      _ = sf_writef_short(file, [1], 1)
    }
    let frames = try library(path) { $1.frames }
    expectTrue(frames <= Int64(UInt32.max) / 2)
    let own = try make("own.wav", .wave) { file in
      try [UInt8]([1, 0]).withUnsafeBytes { try file.writeBytes(at: end, from: $0) }
    }
    let file = try SoundFile(path: own)
    expectTrue(file.container == .rf64 && file.frames == end / 2 + 1)
    let all = try library(own) { $1.frames }
    expectEqual(all, end / 2 + 1)
  }

  @Test func libsndfileTakesMarkersOnlyBeforeTheSound() throws {
    let path = folder.file("late.wav")
    try library(path, SFM_WRITE, waveInfo) { file, _ in
      expectEqual(sf_writef_short(file, [1, 2, 3], 3), 3)
      var cues = SF_CUES()
      cues.cue_count = 1
      sf_command(file, Int32(SFC_SET_CUE), &cues, Int32(MemoryLayout<SF_CUES>.size))
    }
    expectTrue(try !SoundFile(path: path).chunkIDs.contains("cue "))
    let own = try make("own.wav", .wave) {
      try $0.setMarkers(MediaMarkers(markers: [MediaMarker(position: 2, name: "a", id: 1)]))
    }
    try expectEqual(SoundFile(path: own).markers()?.markers.count, 1)
  }

  @Test func libsndfileReadsNoMarkersOfCAFFilesAndNoRegions() throws {
    func cues(_ path: String) throws -> UInt32 {
      try library(path) { file, _ in
        var count: UInt32 = 0
        sf_command(file, Int32(SFC_GET_CUE_COUNT), &count, 4)
        return count
      }
    }
    let markers = MediaMarkers(markers: [MediaMarker(position: 2, name: "a", id: 1)])
    let caf = try make("a.caf", .caf) { try $0.setMarkers(markers) }
    try expectEqual(cues(caf), 0)
    try expectEqual(SoundFile(path: caf).markers()?.markers.map(\.position), [2])
    // libsndfile has a cue point where a region begins, and no length.
    let region = MediaRegion(
      id: 2, name: "b", flags: [],
      markers: [MediaMarker(position: 100, id: 2), MediaMarker(position: 300, id: 2)])
    let wave = try make("a.wav", .wave) { try $0.setRegions(MediaRegions(regions: [region])) }
    try expectEqual(cues(wave), 1)
    let found = try require(try SoundFile(path: wave).regions()?.regions.first)
    expectEqual(found.markers.map(\.position), [100, 300])
  }

  @Test func libsndfileReadsSixteenLoops() throws {
    let loops = (0..<20).map { (index: Int) -> MediaRegion in
      let start = MediaMarker(position: Double(10 * index), id: Int32(index))
      let end = MediaMarker(position: Double(10 * index + 5), id: Int32(index))
      return MediaRegion(
        id: UInt32(index), flags: [.loops, .playsForward], markers: [start, end])
    }
    let path = try make("loops.wav", .wave) { try $0.setRegions(MediaRegions(regions: loops)) }
    var instrument = SF_INSTRUMENT()
    try library(path) { file, _ in
      sf_command(
        file, Int32(SFC_GET_INSTRUMENT), &instrument, Int32(MemoryLayout<SF_INSTRUMENT>.size))
    }
    expectEqual(instrument.loop_count, 16)
    try expectEqual(SoundFile(path: path).regions()?.regions.count, 20)
  }

  @Test func libsndfileMisreadsRF64AfterChunksOfOddSize() throws {
    let path = try make("odd.rf64", .rf64) { _ in }
    var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let data = try require(Data(bytes).range(of: Data("data".utf8))).lowerBound
    let odd: [UInt8] = [0x74, 0x65, 0x73, 0x74, 3, 0, 0, 0, 9, 9, 9, 0]
    bytes.insert(contentsOf: odd, at: data)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    var info = SF_INFO()
    let handle = sf_open(path, Int32(SFM_READ), &info)
    defer { sf_close(handle) }
    expectTrue(handle == nil || info.frames != 1000)
    try expectEqual(SoundFile(path: path).frames, 1000)
  }

  @Test func libsndfileTakesExtensibleFormatsOfWave64ForIntegers() throws {
    let path = folder.file("float.w64")
    let format = PCMFormat(sampleRate: 48_000, channels: 4, kind: .float, bitsPerSample: 32)
    let file = try SoundFile.create(
      path: path, container: .wave64, format: format, isReplacing: true)
    try [Float](repeating: 0.5, count: 400).withUnsafeBytes {
      try file.writeBytes(at: 0, from: $0)
    }
    try file.close()
    let encoding = try library(path) { Int($1.format) & SF_FORMAT_SUBMASK }
    expectTrue(encoding != SF_FORMAT_FLOAT)
    try expectEqual(SoundFile(path: path).format, format)
  }

  @Test func libsndfileDoesNotReportHowLongATruncatedFileWas() throws {
    let path = try make("cut.aiff", .aiff)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    try bytes.prefix(bytes.count - 1000).write(to: URL(fileURLWithPath: path))
    let frames = try library(path) { $1.frames }
    expectEqual(frames, 500)
    let file = try SoundFile(path: path)
    expectTrue(file.frames == 500 && file.promisedFrames == 1000)
  }
}
