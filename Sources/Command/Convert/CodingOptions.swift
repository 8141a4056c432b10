import ArgumentParser
import Codecs
import Files
import RealTime
import Sessions

extension SoundCoding: ExpressibleByArgument {
  package init?(argument: String) { self.init(argument) }

  package static var allValueStrings: [String] { names }

  package var defaultValueDescription: String { name }
}

/// Options of `cuejack record` and `cuejack convert` for the output format.
struct CodingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The sample format or codec. By default that of the container.", valueName: "format"))
  var format: SoundCoding?

  @Option(
    help: ArgumentHelp(
      "The sample rate. By default that of the input or the device, if the format has it.",
      valueName: "hertz"))
  var rate: Double?

  @Option(
    help: ArgumentHelp(
      "The number of channels. By default those of the file, or of the ports of --connect, else two.",
      valueName: "count"))
  var channels: Int?

  @Option(
    help: ArgumentHelp(
      "Bits per sample, without --format or with a lossless codec.",
      discussion: "8, 16, 24 or 32 for linear PCM, 16 or 24 for Apple Lossless and FLAC.",
      valueName: "count"),
    completion: .list(["8", "16", "24", "32"]))
  var bits: Int?

  @Option(
    help: ArgumentHelp(
      "Bits per second of a lossy codec. 128k is 128000.", valueName: "bits"))
  var bitrate: BitRate?

  func validate() throws {
    if let rate {
      try check(
        (1000...1_000_000).contains(rate), "--rate takes a number from 1000 to 1000000")
    }
    if let channels {
      try check(
        (1...PCMFormat.maximumChannels).contains(channels),
        "--channels takes a number from 1 to \(PCMFormat.maximumChannels)")
    }
    try checkBits(bits, format)
  }
}

/// Ends the command with a usage error unless `--bits` can be used, and used with `--format`.
func checkBits(_ bits: Int?, _ format: SoundCoding?) throws {
  guard let bits else { return }
  try check([8, 16, 24, 32].contains(bits), "--bits takes 8, 16, 24 or 32")
  if let format, case .pcm = format {
    try check(false, "--format \(format.name) says how many bits: leave --bits out")
  }
}

/// Tells which roles a file's format gives to channels that have none: an encoder may cut off the high
/// frequencies of one.
func tellOfRoles(_ format: StreamFormat, in container: Container, of path: String) {
  guard let remark = ChannelPlan(nil, to: format, in: container).remark else { return }
  Screen.shared.remark("\(PipeStore.name(of: path)): \(remark)")
}

extension SoundFormat {
  /// Takes the container from the file's name, and the coding from the options or the container.
  ///
  /// - Parameters:
  ///   - pcm: Default coding in containers that hold linear PCM, unless bits are given.
  ///   - losslessBits: Default bits of a sample for lossless codecs.
  init(
    path: String, _ options: CodingOptions, pcm: SoundCoding, losslessBits: Int
  ) throws(SoundFileError) {
    try self.init(
      path: path, coding: options.format, bits: options.bits, pcm: pcm, losslessBits: losslessBits)
  }
}
