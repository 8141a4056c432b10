import ArgumentParser
import Sessions
import System

/// Options of `cuejack convert` that change the sound.
struct SoundChanges: ParsableArguments {
  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Trim both ends to the first and last sample above this level; keep this much before and behind.",
      discussion: "-50dB,0.1 keeps a tenth of a second. Without a time, nothing more is kept.",
      valueName: "level[,time]"),
    transform: SilenceTrim.init(parsing:))
  var silence: SilenceTrim?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "What each new channel has: channels by number or role, with factors, such as 2,1 or 0.5*L+0.5*R.",
      discussion: """
        A comma separates the new channels. The roles are \(ChannelMatrix.roleNames). 0 is a silent channel. \
        ROLE= before a channel gives it a role, as in L=1,R=2,C=0.5*1+0.5*2. Otherwise the channels have the \
        roles of their places in the file.
        """,
      valueName: "channels"),
    transform: ChannelMatrix.init(parsing:))
  var remix: ChannelMatrix?

  @Option(
    help: ArgumentHelp("Duration of the fade-in, a straight line.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var fadeIn: TimeValue?

  @Option(
    help: ArgumentHelp(
      "Duration of the fade-out at the end, a straight line.", valueName: "time"),
    transform: TimeValue.init(parsing:))
  var fadeOut: TimeValue?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Bring each file to this integrated loudness, such as -16 (EBU R 128); a limiter holds the true peak.",
      discussion: """
        The sound is measured first. Silence, and sound of less than 0.4 seconds, keeps its level, and a line \
        says so. A loudness that the limiter cannot reach within 0.5 LU is refused.
        """,
      valueName: "lufs"),
    transform: { try SoundChanges.decibels($0, "--loudness", -70...0) })
  var loudness: Double?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "The greatest true peak with --loudness. Default: -1.", valueName: "dbtp"),
    transform: { try SoundChanges.decibels($0, "--ceiling", -20...0) })
  var ceiling: Double?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Bring the greatest sample of each file to this level, such as -1dB.", valueName: "level"),
    transform: { try SoundChanges.decibels($0, "--peak", -60...0) })
  var peak: Double?

  /// The options that may be given once.
  static let singleOptions = [
    "--silence", "--remix", "--fade-in", "--fade-out", "--loudness", "--ceiling", "--peak",
  ]

  private static func decibels(
    _ text: String, _ option: String, _ range: ClosedRange<Double>
  ) throws -> Double {
    guard let value = Double(withoutDecibels(text)), range.contains(value) else {
      throw ValidationError(
        "\(option) \(text): it takes a number from \(Int(range.lowerBound)) to \(Int(range.upperBound))"
      )
    }
    return value
  }

  func validate() throws {
    try check(loudness == nil || peak == nil, "--loudness and --peak exclude each other")
    try check(ceiling == nil || loudness != nil, "--ceiling is for --loudness")
  }

  /// True if the samples change, by more than their number and order.
  var changesSamples: Bool { fadeIn != nil || fadeOut != nil || changesLevel }

  /// True if the level of the sound is measured and changed.
  var changesLevel: Bool { loudness != nil || peak != nil }

  /// True if no option is given.
  var isEmpty: Bool { !changesSamples && silence == nil && remix == nil }
}
