import Foundation

/// The encoding of samples.
package enum Coding: String, CaseIterable, Sendable {
  case u8, s8, s16, s24, s32, f32, f64

  /// Bytes per sample.
  package var bytes: Int {
    switch self {
    case .u8, .s8: 1
    case .s16: 2
    case .s24: 3
    case .s32, .f32: 4
    case .f64: 8
    }
  }
  package var bits: Int { bytes * 8 }

  /// Returns little-endian samples with a long period. No tool rounds the floats.
  package func samples(_ count: Int) -> Data {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    var data = Data(capacity: count * bytes)
    for _ in 0..<count {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      let fraction = Double(Int16(truncatingIfNeeded: state >> 20)) / 32768
      let pattern: UInt64 =
        switch self {
        case .f32: UInt64(Float(fraction).bitPattern)
        case .f64: fraction.bitPattern
        default: state >> 20
        }
      withUnsafeBytes(of: pattern.littleEndian) { data.append(contentsOf: $0.prefix(bytes)) }
    }
    return data
  }

  /// Returns the samples in the other byte order.
  package func swapped(_ data: Data) -> Data {
    let source = [UInt8](data)
    return Data(source.indices.map { source[$0 - $0 % bytes + (bytes - 1 - $0 % bytes)] })
  }
}

/// The program that writes a sound file.
package enum Writer: String, Sendable {
  case sox, ffmpeg, sndfile
}

/// A sound file to create; the extension selects the container.
package struct Recipe: Sendable, CustomStringConvertible {
  package let writer: Writer
  package let name: String
  package let coding: Coding
  package let isBigEndian: Bool
  package var channels = 2
  package var rate = 44_100
  package static let frames = 1_000

  /// Describes a file called `name`, whose extension selects the container.
  package init(_ writer: Writer, _ name: String, _ coding: Coding, bigEndian: Bool = false) {
    self.writer = writer
    self.name = name
    self.coding = coding
    isBigEndian = bigEndian
  }

  package var description: String {
    "\(writer) \(name) \(coding)\(coding.bytes == 1 ? "" : isBigEndian ? " big" : " little")"
  }

  /// The samples as stored in the file.
  package var bytes: Data {
    let samples = coding.samples(Recipe.frames * channels)
    return isBigEndian ? coding.swapped(samples) : samples
  }

  /// Creates the file and returns its path.
  package func make(in folder: TemporaryFolder) throws -> String {
    let samples = try folder.write(coding.samples(Recipe.frames * channels), to: "\(name).raw")
    let path = folder.file(name)
    switch writer {
    case .sox:
      let encoding =
        switch coding {
        case .u8: "unsigned-integer"
        case .f32, .f64: "floating-point"
        default: "signed-integer"
        }
      let shape = ["-b", "\(coding.bits)", "-e", encoding]
      let raw = ["-t", "raw", "-L", "-r", "\(rate)", "-c", "\(channels)"] + shape
      try tool("sox", ["-D"] + raw + [samples] + shape + (isBigEndian ? ["-B"] : []) + [path])
    case .ffmpeg:
      let width = coding.bytes == 1 ? "" : "le"
      let codec = "pcm_\(coding)" + (coding.bytes == 1 ? "" : isBigEndian ? "be" : "le")
      let raw = ["-f", "\(coding)\(width)", "-ar", "\(rate)", "-ac", "\(channels)", "-i", samples]
      let rf64 = name.hasSuffix(".rf64") ? ["-rf64", "always", "-f", "wav"] : []
      try tool(
        "ffmpeg", ["-v", "error", "-fflags", "+bitexact"] + raw + ["-c:a", codec] + rf64 + [path])
    case .sndfile:
      // sndfile-convert reads no raw files, so it gets a WAVE file.
      let wave = Recipe(.ffmpeg, "\(name).wav", coding == .s8 ? .u8 : coding)
      let source = try wave.make(in: folder)
      let flag =
        switch coding {
        case .u8: "-pcmu8"
        case .s8: "-pcms8"
        case .s16: "-pcm16"
        case .s24: "-pcm24"
        case .s32: "-pcm32"
        case .f32: "-float32"
        case .f64: "-float64"
        }
      try tool("sndfile-convert", [flag, source, path])
    }
    return path
  }
}

/// A recipe for every file type in every encoding that it can hold, by several programs.
package let recipes: [Recipe] = {
  var recipes: [Recipe] = []
  for coding in [Coding.u8, .s16, .s24, .s32, .f32, .f64] {
    recipes.append(Recipe(.sox, "a.wav", coding))
    recipes.append(Recipe(.ffmpeg, "a.wav", coding))
    recipes.append(Recipe(.sndfile, "a.wav", coding))
    recipes.append(Recipe(.ffmpeg, "a.w64", coding))
    recipes.append(Recipe(.sndfile, "a.w64", coding))
    recipes.append(Recipe(.ffmpeg, "a.rf64", coding))
    recipes.append(Recipe(.sndfile, "a.rf64", coding))
  }
  for coding in [Coding.s16, .s24, .s32] {
    recipes.append(Recipe(.sox, "a.aiff", coding, bigEndian: true))
    recipes.append(Recipe(.ffmpeg, "a.aiff", coding, bigEndian: true))
    recipes.append(Recipe(.sndfile, "a.aiff", coding, bigEndian: true))
    recipes.append(Recipe(.sox, "a.aifc", coding, bigEndian: true))
  }
  recipes.append(Recipe(.sox, "a.aiff", .s8))
  recipes.append(Recipe(.ffmpeg, "a.aiff", .s8))
  recipes.append(Recipe(.ffmpeg, "c.aiff", .s16))
  recipes.append(Recipe(.ffmpeg, "c.aiff", .f32, bigEndian: true))
  recipes.append(Recipe(.ffmpeg, "c.aiff", .f64, bigEndian: true))
  for coding in [Coding.s8, .s16, .s24, .s32, .f32, .f64] {
    recipes.append(Recipe(.ffmpeg, "l.caf", coding))
    recipes.append(Recipe(.ffmpeg, "a.caf", coding, bigEndian: coding != .s8))
    recipes.append(Recipe(.sox, "a.au", coding, bigEndian: coding != .s8))
    recipes.append(Recipe(.ffmpeg, "a.au", coding, bigEndian: coding != .s8))
  }
  return recipes
}()
