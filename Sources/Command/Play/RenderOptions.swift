import ArgumentParser
import Files
import Sessions

/// Options of `cuejack play` for the file that it writes instead of playing.
struct RenderOptions: ParsableArguments {
  @Option(
    name: .customLong("render"),
    help: ArgumentHelp(
      "Write a sound file instead of playing. Needs no server.",
      discussion: """
        The extension selects the container: \(SoundFormat.extensions). The file has the sample rate of the \
        first file. In containers for linear PCM, it has the sample format of the first file, with 16 bits \
        at least and 32-bit floats for floats. All files are mixed as they would sound; a mono file goes to \
        the first two channels. Samples beyond full scale are clipped and counted. With -, the \
        sound goes to standard output, and messages go to standard error.
        """,
      valueName: "file"),
    completion: .file())
  var path: String?

  @Option(
    help: ArgumentHelp(
      "The kind of file that --render writes to - or a FIFO. Default: wav.", valueName: "extension")
  )
  var to: String?

  @Flag(help: "Allow --render to replace an existing file.")
  var force = false

  @Option(
    help: ArgumentHelp(
      "The sample format or codec of --render. By default that of the container.",
      valueName: "format"))
  var format: SoundCoding?

  @Option(
    help: ArgumentHelp(
      "Bits per sample of --render, without --format or with a lossless codec.",
      valueName: "count"))
  var bits: Int?

  @Option(
    help: ArgumentHelp(
      "Bits per second of --render with a lossy codec. 128k is 128000.", valueName: "bits"))
  var bitrate: BitRate?

  func validate() throws {
    try checkBits(bits, format)
    try check(
      to == nil || path.map(PipedFile.isPipe) == true, "--to is for --render - and other pipes")
    try OutputTarget.checkKind(to)
    if let path { try OutputTarget.checkTerminal(path) }
    let given = [
      ("--force", force), ("--format", format != nil), ("--bits", bits != nil),
      ("--bitrate", bitrate != nil),
    ]
    for (option, isGiven) in given where isGiven {
      try check(path != nil, "\(option) is for --render")
    }
  }
}
