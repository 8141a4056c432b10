import ArgumentParser

/// The options of play and record for what they tell.
struct ReportOptions: ParsableArguments {
  @Flag(
    help: ArgumentHelp(
      "Measure loudness and true peak, also without a terminal.",
      discussion: "A terminal shows them for up to 16 channels without being asked."))
  var loudness = false

  @Flag(help: "Print events as JSON, one object on a line, instead of text.")
  var json = false

  /// Returns true if loudness is to be measured.
  func measuresLoudness(channels: Int) -> Bool {
    loudness || Screen.shared.isTerminal && channels <= PlayMeters.usualChannels
  }
}
