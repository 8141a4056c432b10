import Codecs
import FileSupport
import Foundation
import RealTime
import Testing

@testable import Files

/// Returns a rising tone as floats, so that no two parts are alike.
func risingTone(frames: Int, rate: Double) -> [Float] {
  var phase = 0.0
  return (0..<frames).map { frame in
    phase += 2 * Double.pi * (300 + 2500 * Double(frame) / Double(frames)) / rate
    return Float(0.5 * sin(phase))
  }
}

/// Reads frames of linear PCM and returns the samples as numbers from -1 to 1.
func storedSamples(
  _ file: any MediaFile, from frame: Int64 = 0, count: Int = .max
) throws -> [Double] {
  guard case .pcm(let format) = file.format else { return [] }
  let frames = Int(min(Int64(count), max(0, try file.packetCount - frame)))
  var bytes = [UInt8](repeating: 0, count: frames * format.bytesPerFrame)
  var extents: [PacketExtent] = []
  let read = try bytes.withUnsafeMutableBytes {
    try file.readPackets(from: frame, count: count, into: $0, extents: &extents)
  }
  let size = format.bytesPerSample
  return stride(from: 0, to: read * format.bytesPerFrame, by: size).map { start in
    var bits: UInt64 = 0
    for index in 0..<size {
      bits = bits << 8 | UInt64(bytes[start + (format.isBigEndian ? index : size - 1 - index)])
    }
    let unused = 64 - 8 * size
    return switch (format.kind, size) {
    case (.float, 4): Double(Float(bitPattern: UInt32(bits)))
    case (.float, _): Double(bitPattern: bits)
    case (.unsignedInteger, _): (Double(bits) - 128) / 128
    default: Double(Int64(bitPattern: bits << unused)) / 0x1p63
    }
  }
}

/// Returns the decoded samples of a mono file.
func decodedSound(_ file: any MediaFile) throws -> [Float] {
  let format = file.format.decoded
  var options = StreamConverter.Options()
  options.cookie = file.cookie
  let converter = try StreamConverter(from: file.format, to: .pcm(format), options)
  let reader = MediaReader(file)
  let frames = Int(try file.frameCount)
  var samples = [Float](repeating: 0, count: frames * format.channels)
  let count = try samples.withUnsafeMutableBytes { memory in
    let buffers = try require(SampleBuffers(format, at: [memory.baseAddress!]))
    var sink = StreamConverter.Sink.frames(buffers, room: frames)
    try reader.read(&sink, through: converter)
    return sink.count
  }
  expectEqual(count, frames)
  return samples
}

func decodedSound(_ path: String) throws -> [Float] {
  try decodedSound(MediaFiles.open(path: path))
}

/// Returns by how many frames a sound lags behind another, measured on a part of it from `start` on.
func lateness(_ sound: [Float], behind original: [Float], at start: Int = 6_000) -> Int? {
  let reach = 2_500
  let length = 2_000
  guard start >= reach, sound.count >= start + reach + length, original.count >= start + length
  else { return nil }
  return sound.withUnsafeBufferPointer { sound in
    original.withUnsafeBufferPointer { original in
      let likenesses = (-reach...reach).map { late in
        let (part, whole) = (
          sound.baseAddress! + start + late, original.baseAddress! + start
        )
        var sum: Float = 0
        var frame = 0
        while frame < length {
          sum += part[frame] * whole[frame]
          frame &+= 1
        }
        return sum
      }
      return likenesses.indices.max { likenesses[$0] < likenesses[$1] }.map { $0 - reach }
    }
  }
}

/// An encoder that writes to a file.
struct SoundEncoding {
  let converter: StreamConverter
  let writer: MediaWriter
  let file: any MediaFile

  /// Creates a mono file.
  init(_ store: any ByteStore, _ container: Container, _ codec: Codec, rate: Double) throws {
    let wanted = StreamFormat.packets(PacketFormat(codec: codec, sampleRate: rate, channels: 1))
    converter = try StreamConverter(from: .pcm(wanted.decoded), to: wanted)
    file = try MediaFiles.create(store, container: container, format: converter.output)
    writer = try MediaWriter(file)
  }

  func write(_ samples: [Float]) throws {
    var samples = samples
    let format = StreamFormat.pcm(
      PCMFormat(
        sampleRate: converter.input.sampleRate, channels: 1, kind: .float, bitsPerSample: 32))
    try samples.withUnsafeMutableBytes { memory in
      let buffers = try require(SampleBuffers(format.decoded, at: [memory.baseAddress!]))
      var source = StreamConverter.Source.frames(buffers, count: memory.count / 4)
      try writer.write(&source, through: converter)
    }
  }

  func finish() throws {
    try writer.finish(through: converter)
    try file.close()
  }
}
