import Codecs
import Files
import Foundation
import RealTime
import TestSupport

/// Cost of encoding or decoding a sound file with a program: medians of several runs.
struct CodecCost: Row {
  /// The codec, and whether it encodes or decodes.
  var work: String
  var program: String
  /// Seconds of sound.
  var seconds: Int
  var runs: Int
  /// Processor time of the process, in user and kernel mode.
  var processorMilliseconds: Spread
  /// Seconds of sound per second of processor time.
  var timesRealTime: Double

  private struct Coding {
    var name: String
    var codec: Codec
    var file: String
    /// ffmpeg's options. Both programs use the same libraries with the same settings.
    var encoder: [String]
    var decoder: [String]
    var rate = 44100
  }

  private static let codings = [
    Coding(
      name: "AAC, 128 kbit/s", codec: .aac, file: "m4a", encoder: ["aac", "-b:a", "128k"],
      decoder: []),
    Coding(
      name: "Apple Lossless", codec: .alac, file: "m4a", encoder: ["alac", "-sample_fmt", "s16p"],
      decoder: []),
    Coding(
      name: "FLAC", codec: .flac, file: "flac", encoder: ["flac", "-sample_fmt", "s16"],
      decoder: []),
    Coding(
      name: "MP3, 128 kbit/s", codec: .mp3, file: "mp3", encoder: ["libmp3lame", "-b:a", "128k"],
      decoder: []),
    Coding(
      name: "Opus, 128 kbit/s", codec: .opus, file: "ogg", encoder: ["libopus", "-b:a", "128k"],
      decoder: ["-c:a", "libopus", "-request_sample_fmt", "flt"], rate: 48000),
  ]

  static func all(_ effort: Effort, found: (CodecCost) -> Void) throws {
    try withTemporaryFolder { folder in
      for coding in codings where coding.codec.hasEncoder {
        progress("codecs: \(coding.name)")
        try cost(of: coding, in: folder, effort).forEach(found)
      }
    }
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "A stereo file of 16 bits encoded, and decoded to floats: processor time, and seconds of sound in a"
        + " second of it (medians of \(effort.codings), least and greatest)",
      "",
      "work                      program    sound" + right("processor", 29)
        + "   real time   ratio",
    ]
  }

  func lines(after rows: [CodecCost]) -> [String] {
    // The ratio is that to the first program of the same work.
    let ours = rows.first { $0.work == work } ?? self
    return [
      left(work, 26) + left(program, 9) + right("\(seconds) s", 7)
        + right("\(processorMilliseconds.text(1)) ms", 29)
        + right("\(number(timesRealTime, 0)) x", 12)
        + right(number(processorMilliseconds.median / ours.processorMilliseconds.median, 2), 8)
    ]
  }

  private static func cost(of coding: Coding, in folder: URL, _ effort: Effort) throws
    -> [CodecCost]
  {
    let seconds = effort.codedSeconds
    let source = folder.appendingPathComponent("\(coding.rate).wav")
    if !FileManager.default.fileExists(atPath: source.path) {
      try waveFile(seconds: seconds, rate: coding.rate).write(to: source)
    }
    let ours = try builtProduct(named: "cuejack-bench").path
    let quiet = ["-v", "error", "-nostdin", "-threads", "1", "-y"]
    let coded = folder.appendingPathComponent("coded.\(coding.file)").path
    let raw = folder.appendingPathComponent("decoded.raw").path
    let encoders: [Program] = [
      Program(
        name: "Cuejack", path: ours,
        arguments: ["--encode", source.path, "--code-to", coded, "--codec", coding.codec.rawValue]),
      Program(
        name: "ffmpeg", path: "ffmpeg",
        arguments: quiet + ["-i", source.path, "-c:a"] + coding.encoder + [coded]),
    ]
    // Both decode the file that ffmpeg encoded last.
    let decoders: [Program] = [
      Program(name: "Cuejack", path: ours, arguments: ["--decode", coded, "--code-to", raw]),
      Program(
        name: "ffmpeg", path: "ffmpeg",
        arguments: quiet + coding.decoder + ["-i", coded, "-f", "f32le", "-c:a", "pcm_f32le", raw]),
    ]
    // Decoded lengths may differ by a few packets.
    let bytes = 8 * seconds * coding.rate
    return try measure("\(coding.name), encode", encoders, output: coded, effort)
      + measure("\(coding.name), decode", decoders, output: raw, effort) {
        abs($0 - bytes) <= 8 * 16384
      }
  }

  private struct Program {
    var name: String
    var path: String
    var arguments: [String]
  }

  private static func measure(
    _ work: String, _ programs: [Program], output: String, _ effort: Effort,
    isRight: (Int) -> Bool = { $0 > 0 }
  ) throws -> [CodecCost] {
    var times = programs.map { _ in [Double]() }
    var sizes = programs.map { _ in 0 }
    let words = URL(fileURLWithPath: output + ".words")
    for _ in 0..<effort.codings {
      for (i, program) in programs.enumerated() {
        let child = try Child(program.path, program.arguments, output: words)
        guard child.wait(seconds: 300) == 0 else {
          throw SupportError("\(work), \(program.name) failed: \(text(of: words).suffix(1000))")
        }
        times[i].append(1000 * child.processorSeconds)
        let attributes = try FileManager.default.attributesOfItem(atPath: output)
        sizes[i] = attributes[.size] as? Int ?? 0
      }
    }
    // All programs must have done the same work.
    let largest = sizes.max() ?? 0
    guard sizes.allSatisfy({ isRight($0) && 10 * (largest - $0) <= max(largest, 200_000) }) else {
      throw SupportError("\(work): files of \(sizes) bytes")
    }
    return zip(programs, times).map { program, times in
      CodecCost(
        work: work, program: program.name, seconds: effort.codedSeconds, runs: times.count,
        processorMilliseconds: Spread(times),
        timesRealTime: 1000 * Double(effort.codedSeconds) / median(times))
    }
  }

  /// Returns a stereo WAVE file of 16 bits: moving chords with some noise.
  private static func waveFile(seconds: Int, rate: Int) -> Data {
    let frames = seconds * rate
    var samples = [Int16](repeating: 0, count: 2 * frames)
    var state: UInt64 = 88_172_645_463_325_252
    for frame in 0..<frames {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      let noise = Double(Int16(truncatingIfNeeded: state >> 20)) / 32768
      let time = Double(frame) / Double(rate)
      let root = 2 * Double.pi * 110 * (1 + floor(time.truncatingRemainder(dividingBy: 4)) / 4)
      let fade = exp(-2 * time.truncatingRemainder(dividingBy: 0.5))
      let left = sin(root * time) + 0.5 * sin(3 * root * time) + fade * sin(7 * root * time)
      let right = sin(1.25 * root * time) + 0.5 * sin(1.5 * root * time) + fade * noise
      samples[2 * frame] = Int16(7000 * left + 300 * noise)
      samples[2 * frame + 1] = Int16(7000 * right)
    }
    func bytes<T: FixedWidthInteger>(_ value: T) -> Data {
      withUnsafeBytes(of: value.littleEndian) { Data($0) }
    }
    let sound = samples.withUnsafeBytes { Data($0) }
    var file = Data("RIFF".utf8) + bytes(UInt32(36 + sound.count)) + Data("WAVEfmt ".utf8)
    file += bytes(UInt32(16)) + bytes(UInt16(1)) + bytes(UInt16(2)) + bytes(UInt32(rate))
    file += bytes(UInt32(rate * 4)) + bytes(UInt16(4)) + bytes(UInt16(16))
    return file + Data("data".utf8) + bytes(UInt32(sound.count)) + sound
  }
}

/// The measured process: encodes or decodes one file, packet by packet.
enum CodingJob {
  private static let framesAtOnce = 16384

  static func encode(_ path: String, to output: String, _ codec: Codec) throws {
    let source = try SoundFile(path: path)
    let channels = source.format.channels
    let encoder = try PacketEncoder(
      PacketFormat(
        codec: codec, sampleRate: source.format.sampleRate, channels: channels, bitsPerSample: 16),
      PacketEncoder.Options(bitRate: 128_000))
    guard let container = Container(forPath: output) else {
      throw SupportError("\(output): what is it to be?")
    }
    let writer = try PacketFileWriter(
      FileStore(creating: output, isReplacing: true), container: container, format: encoder.format)
    writer.cookie = encoder.cookie
    writer.packetTable = PacketTable(
      validFrames: source.frames, primingFrames: encoder.primingFrames, remainderFrames: 0)
    guard let layout = source.format.layout else { throw SupportError("\(path): no such layout") }
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: framesAtOnce * source.format.bytesPerFrame, alignment: 64)
    defer { memory.deallocate() }
    let planes = Planes(channels: channels, capacity: framesAtOnce)
    func write() throws {
      while let packet = encoder.takePacket() {
        try packet.bytes.withUnsafeBytes {
          try writer.append(
            $0, [PacketExtent(offset: 0, bytes: $0.count, frames: packet.frames)])
        }
      }
    }
    var frame: Int64 = 0
    while case let count = try source.readRaw(
      startingAt: frame, frames: framesAtOnce, into: memory), count > 0
    {
      layout.copy(
        memory.baseAddress!, planeFrames: 0, frames: count, gain: ChannelGain(1),
        to: planes.pointers(), at: 0)
      try encoder.encode(planes.pointers(), frames: count)
      try write()
      frame += Int64(count)
    }
    try encoder.finish()
    try write()
    writer.cookie = encoder.cookie
    writer.packetTable?.remainderFrames = encoder.remainderFrames
    try writer.close()
  }

  static func decode(_ path: String, to output: String) throws {
    let file = try PacketFileReader(FileStore(path: path))
    let decoder = try PacketDecoder(file.format, cookie: file.cookie)
    let channels = decoder.format.channels
    guard let stream = fopen(output, "wb") else { throw SupportError("\(output): cannot write") }
    defer { fclose(stream) }
    var toSkip = try file.packetTable?.primingFrames ?? 0
    var left = try file.validFrames
    let planes = Planes(channels: channels, capacity: framesAtOnce)
    var floats = [Float](repeating: 0, count: framesAtOnce * channels)
    func write() throws {
      while case let taken = decoder.take(into: planes.pointers(), room: framesAtOnce), taken > 0 {
        let first = min(toSkip, taken)
        let count = Int(min(left, Int64(taken - first)))
        toSkip -= first
        left -= Int64(count)
        floats.withUnsafeMutableBytes {
          SampleLayout.float32(channels: channels).store(
            from: planes.pointers(), at: first, frames: count, to: $0.baseAddress!, planeFrames: 0)
        }
        guard fwrite(floats, 4 * channels, count, stream) == count else {
          throw SupportError("\(output): no room")
        }
      }
    }
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(1 << 16, try file.maximumPacketBytes), alignment: 64)
    defer { memory.deallocate() }
    var extents: [PacketExtent] = []
    var packet: Int64 = 0
    while case let count = try file.readPackets(
      from: packet, count: 64, into: memory, extents: &extents), count > 0
    {
      for extent in extents {
        try decoder.decode(
          UnsafeRawBufferPointer(rebasing: memory[extent.offset..<extent.offset + extent.bytes]))
      }
      try write()
      packet += Int64(count)
    }
    try decoder.decode(nil)
    try write()
  }
}
