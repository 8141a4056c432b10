import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// A store in memory, as an app may have one. It can be made to run out of room.
final class MemoryStore: ByteStore, @unchecked Sendable {
  var data = Data()
  var room = Int.max
  let name = "memory"
  var isWritable = true

  init(_ data: Data = Data()) { self.data = data }
  func byteCount() -> Int64 { Int64(data.count) }
  func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    guard offset >= 0, offset < data.count else { return 0 }
    let count = min(buffer.count, data.count - Int(offset))
    data.copyBytes(to: buffer, from: Int(offset)..<Int(offset) + count)
    return count
  }
  func write(at offset: Int64, from buffer: UnsafeRawBufferPointer) throws(SoundFileError) {
    let end = Int(offset) + buffer.count
    if end > data.count { data.append(Data(count: min(end, room) - data.count)) }
    let fits = min(end, data.count) - Int(offset)
    data.replaceSubrange(Int(offset)..<Int(offset) + fits, with: Data(buffer.prefix(fits)))
    if fits < buffer.count { throw SoundFileError(.noRoom, path: name) }
  }
  func setByteCount(_ count: Int64) {
    data = data.count < count ? data + Data(count: Int(count) - data.count) : data.prefix(Int(count))
  }
  func synchronize() {}
}

/// A kind of file with a coding that it can hold.
private struct Shape: Sendable, CustomTestStringConvertible {
  let container: Container
  let coding: Coding
  var isBigEndian = false
  var channels = 2

  func format(rate: Double = 44_100) -> PCMFormat {
    let kind: PCMFormat.Kind =
      coding == .u8 ? .unsignedInteger : [.f32, .f64].contains(coding) ? .float : .signedInteger
    return PCMFormat(
      sampleRate: rate, channels: channels, kind: kind, bitsPerSample: coding.bits,
      isBigEndian: isBigEndian)
  }

  /// Samples as the file holds them.
  func samples(_ frames: Int) -> Data {
    let samples = coding.samples(frames * channels)
    return isBigEndian ? coding.swapped(samples) : samples
  }

  var testDescription: String { "\(container) \(coding) \(isBigEndian) \(channels)" }

  static let all: [Shape] = Container.allCases.filter(\.holdsPCM).flatMap { container in
    Coding.allCases.flatMap { coding in
      [false, true].flatMap { order in
        (coding == .s16 ? [1, 2, 3, 6] : [2]).map { Shape(container: container, coding: coding, isBigEndian: order, channels: $0) }
      }
    }
  }.filter {
    ($0.coding.bytes > 1 || !$0.isBigEndian) && SoundFile.canHold($0.format(), in: $0.container)
  }
}

private func write(_ data: Data, to file: SoundFile, at position: Int64) throws(SoundFileError) {
  let bytes = [UInt8](data)
  try file.write(bytes, at: position)
}

extension SoundFile {
  fileprivate func write(_ bytes: [UInt8], at position: Int64) throws(SoundFileError) {
    let done = bytes.withUnsafeBytes { buffer in
      Result { () throws(SoundFileError) in try writeBytes(at: position, from: buffer) }
    }
    try done.get()
  }

  fileprivate func contents() throws -> Data {
    var data = Data(count: Int(byteCount))
    let count = try data.withUnsafeMutableBytes { try readBytes(at: 0, into: $0) }
    #expect(count == data.count)
    return data
  }
}

@Suite struct WritingTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test func everyKindHasItsCodings() {
    // 7 kinds; what each of them can hold: u8 s8 s16 s24 s32 f32 f64, little and big.
    let counts = Dictionary(grouping: Shape.all.filter { $0.channels == 2 }, by: \.container)
      .mapValues(\.count)
    #expect(
      counts == [
        .wave: 6, .rf64: 6, .wave64: 6, .aiff: 4, .aifc: 8, .caf: 11, .next: 6,
      ])
  }

  @Test(arguments: Shape.all)
  fileprivate func whatIsWrittenIsReadByAll(shape: Shape) throws {
    let samples = shape.samples(1001)
    let path = folder.file("a.\(shape.container.extensions[0])")
    let file = try SoundFile.create(
      path: path, container: shape.container, format: shape.format(), isReplacing: false)
    let half = samples.count / 3
    try write(samples.prefix(half), to: file, at: 0)
    try write(samples.dropFirst(half), to: file, at: Int64(half))
    #expect(try file.contents() == samples, "it can be read while it is written")
    try file.close()

    let again = try SoundFile(path: path)
    #expect(again.format == shape.format() && again.container == shape.container)
    #expect(again.frames == 1001 && !again.isTruncated)
    #expect(try again.contents() == samples)

    // ffmpeg and libsndfile see the same.
    let width = shape.coding.bytes == 1 ? "" : shape.isBigEndian ? "be" : "le"
    let decoded = try tool(
      "ffmpeg",
      ["-v", "warning", "-guess_layout_max", "0", "-i", path, "-f", "\(shape.coding)\(width)", "-c:a",
        "pcm_\(shape.coding)\(width)", "-"])
    #expect(decoded.errors == "")
    #expect(decoded.output == samples)
    let info = try tool("sndfile-info", [path])
    #expect(info.text.contains("Frames      : 1001") && !info.text.contains("***"), "\(info.text)")
  }
}
