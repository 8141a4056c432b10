package import Codecs
package import Files
package import RealTime
import System

/// Container and coding of an output file.
package struct SoundFormat {
  package private(set) var container: Container
  private let coding: SoundCoding
  /// Significant bits of a sample for lossless codecs.
  private let losslessBits: Int

  /// The file name extensions that select a container.
  package static let extensions =
    Container.allCases.filter(\.isWritable).flatMap(\.extensions).reduce(into: [String]()) {
      if !$0.contains($1) { $0.append($1) }
    }.map { ".\($0)" }.joined(separator: ", ")

  /// Takes the container from the file's name, and the coding from `coding` and `bits` or the container.
  package init(
    path: String, coding chosen: SoundCoding?, bits chosenBits: Int?, pcm: SoundCoding,
    losslessBits: Int
  ) throws(SoundFileError) {
    guard let container = Container(forPath: path) else {
      throw SoundFileError(
        .cannotWrite("its name has to end in one of \(Self.extensions)"), path: path)
    }
    let integers = chosenBits.map { SoundCoding.integers(bits: $0, in: container) }
    let coding = chosen ?? Self.usualCoding(of: container, path) ?? integers ?? pcm
    if let bits = chosenBits, case .packets(let codec) = coding,
      !codec.encodedBits.contains(bits)
    {
      let kept = codec.encodedBits.map(String.init).joined(separator: " or ")
      throw SoundFileError(
        .notSupported(
          codec.isLossless
            ? "\(codec.name) keeps \(kept) bits of a sample, not \(bits)"
            : "\(codec.name) has no bits of a sample to choose: leave --bits out"), path: path)
    }
    self.init(container, coding, losslessBits: chosenBits ?? losslessBits)
  }

  /// Creates a format from a container and a coding.
  package init(_ container: Container, _ coding: SoundCoding, losslessBits: Int = 0) {
    self.container = container
    self.coding = coding
    self.losslessBits = losslessBits
    // AIFF holds only signed integers; everything else needs AIFF-C.
    if case .aiff = container {
      switch coding {
      case .pcm(.signedInteger, _): break
      default: self.container = .aifc
      }
    }
  }

  private static func usualCoding(of container: Container, _ path: String) -> SoundCoding? {
    if container.holdsPCM { return nil }
    return path.pathExtension.lowercased() == ".opus"
      ? .packets(.opus) : container.codecs.first.map(SoundCoding.packets)
  }

  /// Returns the format of the file's sound.
  package func stream(sampleRate: Double, channels: Int) -> StreamFormat {
    switch coding {
    case .pcm(let kind, let bits):
      return .pcm(
        PCMFormat(
          sampleRate: sampleRate, channels: channels, kind: kind, bitsPerSample: bits,
          isBigEndian: bits > 8 && container.isBigEndian))
    case .packets(let codec):
      return .packets(
        PacketFormat(
          codec: codec, sampleRate: sampleRate, channels: channels,
          bitsPerSample: codec.isLossless ? losslessBits : 0))
    }
  }

  /// Returns the lowest usable rate that is at least `wanted`, else the highest one.
  package func usableRate(for wanted: Double) -> Double {
    guard case .packets(let codec) = coding else { return wanted }
    let rates = codec.encodedSampleRates
    return rates.first { $0 >= wanted } ?? rates.last ?? wanted
  }

  /// Returns the largest usable number of channels up to `wanted`.
  package func usableChannels(for wanted: Int) -> Int {
    guard case .packets(let codec) = coding else { return wanted }
    return (1...max(1, wanted)).last { codec.encodes(channels: $0) } ?? 1
  }
}

extension StreamFormat {
  /// Short description of the coding.
  package var coding: String {
    switch self {
    case .pcm(let format): format.summary
    case .packets(let format): format.summary
    }
  }

  /// Short description of the format.
  package var summary: String {
    "\(coding), \(channels) channel\(channels == 1 ? "" : "s"), \(hertz(sampleRate))"
  }
}

extension PCMFormat {
  /// Short description of the samples.
  package var summary: String {
    let type = "\(bitsPerSample)-bit \(sampleType)"
    return bitsPerSample == 8 ? type : "\(type), \(isBigEndian ? "big" : "little")-endian"
  }

  /// Name of the sample type.
  package var sampleType: String {
    switch kind {
    case .signedInteger: "signed integer"
    case .unsignedInteger: "unsigned integer"
    case .float: "float"
    }
  }
}

/// Formats a rate with its unit.
package func hertz(_ rate: Double) -> String {
  rate == rate.rounded() ? "\(Int64(rate)) Hz" : "\(rate) Hz"
}

extension PacketFormat {
  /// Short description of the coding.
  package var summary: String {
    bitsPerSample > 0 ? "\(codec.name), \(bitsPerSample)-bit" : codec.name
  }
}
