import ArgumentParser
import Files
import System

/// Options of `cuejack play` for the loudness that tags give.
struct ReplayGainOptions: ParsableArguments {
  /// The tags that give a file its gain.
  enum Choice: String, CaseIterable, ExpressibleByArgument {
    case off, track, album

    /// Nil if tags are not read.
    var level: ReplayGain.Scope? { ReplayGain.Scope(rawValue: rawValue) }
  }

  @Option(
    name: .customLong("replaygain"),
    help: ArgumentHelp(
      "Bring each file to the loudness that its ReplayGain or R 128 tags give.",
      discussion: """
        The loudness is -18 LUFS. With album, the files of an album keep their differences. A file that has the \
        tags of one kind only is played with these. The gain is lowered so far that the peak of the tags stays \
        within full scale; without a peak, no gain is above 0 dB. --gain is added to it. A pipe that plays while \
        it arrives has no tags.
        """, valueName: "tags"))
  var scope = Choice.off

  @Option(
    name: .customLong("replaygain-fallback"), parsing: .unconditional,
    help: ArgumentHelp(
      "With --replaygain, the gain of files without such tags: from -60 to 30 dB.",
      valueName: "dB"))
  var fallback: Double?

  /// The options that may be given once.
  static let singleOptions = ["--replaygain", "--replaygain-fallback"]

  /// The factor for files without tags.
  var fallbackFactor: Float { factor(decibels: fallback ?? 0) }

  func validate() throws {
    try check(fallback == nil || scope != .off, "--replaygain-fallback is for --replaygain")
    try check(
      fallback.map((-60...30).contains) != false,
      "--replaygain-fallback takes decibels from -60 to 30")
  }
}
