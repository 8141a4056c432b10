import ArgumentParser
import Glibc
import Pictures

/// The options of `cuejack info` that measure or draw the sound.
struct MeasurementOptions: ParsableArguments {
  @Flag(help: "Measure loudness, loudness range, true peak and sample peak (EBU R 128).")
  var loudness = false

  @Flag(
    help: ArgumentHelp(
      "Print the SHA-256 sum of the decoded samples.",
      discussion: """
        It is that of interleaved little-endian samples: 32-bit integers for integers, FLAC and Apple \
        Lossless, with narrower ones in the high bits, and floats for all others. So a FLAC file and the \
        WAVE file that it was made from have the same sum.
        """))
  var checksum = false

  @Option(
    help: ArgumentHelp(
      "Draw the waveform to this file: PNG, SVG or PDF, by the end of its name.", valueName: "file"),
    completion: .picture)
  var waveform: String?

  @Option(
    help: ArgumentHelp(
      "Draw the spectrum over time to this file: PNG, SVG or PDF.", valueName: "file"),
    completion: .picture)
  var spectrum: String?

  @Flag(help: "Replace existing pictures.")
  var force = false

  func validate() throws {
    try checkOnce(["--waveform", "--spectrum"])
    for (option, file) in [("--waveform", waveform), ("--spectrum", spectrum)] {
      try check(
        file.map { PictureFormat(ofFile: $0) != nil } ?? true,
        "\(option) \(file ?? ""): the name must end in .png, .svg or .pdf")
    }
    try check(
      waveform == nil || waveform != spectrum, "--waveform and --spectrum need two files")
    try check(
      !force || waveform != nil || spectrum != nil, "--force is for --waveform and --spectrum")
  }

  var draws: Bool { waveform != nil || spectrum != nil }
}
